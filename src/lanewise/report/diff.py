"""Two results of one program, before and after a change: what differs in each kernel, and on which source lines.

Values are sums over all launches of a kernel in one shape, so that a loop that launches less often counts as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lanewise.alike import shown_accesses
from lanewise.errors import UsageError
from lanewise.records import Access, Finding, LaunchRecord, RunResult
from lanewise.report import text
from lanewise.report.compare import base_name
from lanewise.report.excerpt import place
from lanewise.report.line_match import LineMatch, Place

#: Values by name. Of all but occupancy less is better.
VALUES = (
    "time",
    "instructions",
    "sectors",
    "sectors_excess",
    "wavefronts",
    "wavefronts_excess",
    "divergent_branches",
    "registers",
    "occupancy",
    "spills",
)
MORE_IS_BETTER = {"occupancy"}
#: What a launch that did not run to its end counted too little of.
CUT_SHORT = frozenset(VALUES) - {"registers", "occupancy", "spills"}


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after; None where it is not known."""

    name: str
    before: float | None
    after: float | None

    @property
    def worse_by(self) -> float | None:
        """Share of the value before by which it got worse, negative where it got better; None where it is not known."""
        if self.before is None or self.after is None:
            return None
        more = self.after - self.before
        worse = -more if self.name in MORE_IS_BETTER else more
        return worse / self.before if self.before else float("inf") if worse > 0 else float("-inf") if worse else 0.0


@dataclass(frozen=True, slots=True)
class LineDiff:
    """A source line that changed: its number before and after, None on the side where it is not; its text as it is
    after, or was; values that differ."""

    file: str
    before: int | None
    after: int | None
    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class KernelDiff:
    """Launches of a kernel in one shape on both sides. `changes` has every value, in the order of VALUES. `basis` is
    "ptx" where a side knows no machine code: both are then counted in PTX instructions. `remarks` say what was not
    compared, by their keys in the table `not_compared` of the catalogue."""

    before: tuple[LaunchRecord, ...]
    after: tuple[LaunchRecord, ...]
    basis: str
    changes: tuple[Change, ...]
    lines: tuple[LineDiff, ...]
    came: tuple[Finding, ...]
    went: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()

    @property
    def cut_short_before(self) -> bool:
        """It did not run to its end before: what it counted then is no measure."""
        return not _completed(self.before)

    @property
    def broke(self) -> bool:
        """It ran to its end before, and no longer does."""
        return _completed(self.before) and not _completed(self.after)


@dataclass(frozen=True, slots=True)
class RunDiff:
    """`only_before` and `only_after` are launches of kernels without a partner; `came` and `went` are findings of the
    runs as a whole."""

    kernels: tuple[KernelDiff, ...]
    only_before: tuple[LaunchRecord, ...]
    only_after: tuple[LaunchRecord, ...]
    came: tuple[Finding, ...]
    went: tuple[Finding, ...]


def diff(before: RunResult, after: RunResult) -> RunDiff:
    """Kernels of one name and shape are partners; of those left, kernels of one name in their order, first with their
    template arguments, then without. Lines are partners by their text (`LineMatch`).

    Raises UsageError where the devices differ, or no kernel has a partner.
    """
    if before.device != after.device:
        raise UsageError(
            f"the reports are of two devices: {before.device} before, {after.device} after",
            next_step="Run both versions for one device; `lanewise run --device A,B` sets devices side by side.",
        )
    pairs, only_before, only_after = _partners(before.launches, after.launches)
    if not pairs:
        raise UsageError(
            f"the reports have no kernel in common: {_named(before.launches)} before, {_named(after.launches)} after",
            next_step="Compare two versions of one program.",
        )
    lines = LineMatch(before.sources, after.sources)
    came, went = _findings(_of_the_run(before), _of_the_run(after), lines)
    return RunDiff(
        tuple(_kernel(old, new, before.sources, after.sources, lines) for old, new in pairs),
        only_before,
        only_after,
        came,
        went,
    )


Launches = tuple[LaunchRecord, ...]


def _partners(
    before: Iterable[LaunchRecord], after: Iterable[LaunchRecord]
) -> tuple[list[tuple[Launches, Launches]], Launches, Launches]:
    """Pairs in the order of `after`, and what has no partner."""
    old, new = _groups(before), _groups(after)
    partner: dict[int, int] = {}
    keys: tuple[Callable[[LaunchRecord], object], ...] = (
        lambda n: (n.kernel, n.grid, n.block, n.cluster),
        lambda n: text.kernel_name(n.kernel),
        lambda n: base_name(n.kernel),
    )
    for key in keys:
        for at, group in enumerate(new):
            if at not in partner:
                free = (k for k in range(len(old)) if k not in partner.values())
                found = next((k for k in free if key(old[k][0]) == key(group[0])), None)
                if found is not None:
                    partner[at] = found
    return (
        [(old[partner[at]], group) for at, group in enumerate(new) if at in partner],
        tuple(n for at, group in enumerate(old) if at not in partner.values() for n in group),
        tuple(n for at, group in enumerate(new) if at not in partner for n in group),
    )


def _groups(launches: Iterable[LaunchRecord]) -> list[Launches]:
    groups: dict[object, list[LaunchRecord]] = {}
    for launch in launches:
        groups.setdefault((launch.kernel, launch.grid, launch.block, launch.cluster), []).append(launch)
    return [tuple(group) for group in groups.values()]


def _named(launches: Iterable[LaunchRecord]) -> str:
    names = list(dict.fromkeys(text.kernel_name(launch.kernel) for launch in launches))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "") if names else "no launch"


def _completed(launches: Sequence[LaunchRecord]) -> bool:
    return all(launch.completed for launch in launches)


def _kernel(
    old: Launches, new: Launches, before: Mapping[str, str], after: Mapping[str, str], lines: LineMatch
) -> KernelDiff:
    machine = all(launch.instructions is not None for launch in (*old, *new))
    was, now = _values(old, machine), _values(new, machine)
    whole = _completed(old) and _completed(new)
    remarks = []
    if not whole:
        was, now = ({**side, **dict.fromkeys(CUT_SHORT)} for side in (was, now))
        remarks.append("cut_before" if _completed(new) else "cut_after" if _completed(old) else "cut_both")
    elif was["time"] is None or now["time"] is None:
        remarks.append("no_times")
    came, went = _findings(_own(old), _own(new), lines)
    if old[0].advised == new[0].advised:
        advice = _findings(_advice(old), _advice(new), lines)
        came, went = (*came, *advice[0]), (*went, *advice[1])
    else:
        remarks.append("advice")
    return KernelDiff(
        old,
        new,
        "sass" if machine else "ptx",
        tuple(Change(name, was[name], now[name]) for name in VALUES),
        _lines(old, new, machine, before, after, lines) if whole else (),
        came,
        went,
        tuple(remarks),
    )


def _values(launches: Launches, machine: bool) -> dict[str, float | None]:
    times = [launch.time_us for launch in launches]
    resources = [launch.resources for launch in launches]
    occupancies = [launch.occupancy for launch in launches]
    accesses = [access for launch in launches for access in _accesses(launch, machine)]
    return {
        "time": None if None in times else sum(time or 0.0 for time in times),
        "instructions": sum((n.instructions or 0) if machine else n.ptx_instructions for n in launches),
        **_costs(accesses),
        "divergent_branches": sum(line.divergent_branches for n in launches for line in n.lines),
        "registers": None if None in resources else max(r.registers for r in resources if r),
        "occupancy": None if None in occupancies else 100 * min(o.fraction for o in occupancies if o),
        "spills": None
        if None in resources
        else max(r.spill_store_bytes + r.spill_load_bytes for r in resources if r),
    }  # fmt: skip


def _accesses(launch: LaunchRecord, machine: bool) -> Iterable[Access]:
    """Those of both sides by the same instructions."""
    return shown_accesses(launch) if machine else (a for a in launch.accesses if a.basis == "ptx")


def _costs(accesses: Iterable[Access]) -> dict[str, float]:
    costs: dict[str, float] = {"sectors": 0, "sectors_excess": 0, "wavefronts": 0, "wavefronts_excess": 0}
    for access in accesses:
        for unit, actual, ideal in (
            ("sectors", access.sectors, access.sectors_ideal),
            ("wavefronts", access.wavefronts, access.wavefronts_ideal),
        ):
            if actual is not None:
                costs[unit] += actual
                costs[f"{unit}_excess"] += max(actual - (actual if ideal is None else ideal), 0)
    return costs


def _by_line(launches: Launches, machine: bool) -> dict[Place, dict[str, float]]:
    """Costs of memory, instructions of PTX and divergent branches of each line; code without a line stands nowhere."""
    accesses: dict[Place, list[Access]] = {}
    counted: dict[Place, dict[str, float]] = {}
    for launch in launches:
        for access in _accesses(launch, machine):
            at = place(access)
            if at.file is not None and at.line is not None:
                accesses.setdefault((at.file, at.line), []).append(access)
        for line in launch.lines:
            counts = counted.setdefault((line.file, line.line), {"instructions": 0, "divergent_branches": 0})
            counts["instructions"] += line.ptx_instructions
            counts["divergent_branches"] += line.divergent_branches
    return {at: {**counted.get(at, {}), **_costs(accesses.get(at, ()))} for at in {**counted, **accesses}}


def _lines(
    old: Launches, new: Launches, machine: bool, before: Mapping[str, str], after: Mapping[str, str], match: LineMatch
) -> tuple[LineDiff, ...]:
    """Lines that differ, as they stand after; then those that are gone."""
    was, now = _by_line(old, machine), _by_line(new, machine)
    partner = {at: match.before(at) for at in sorted(now)}
    found = [_line(was.get(p, {}) if p else {}, now[at], p, at, after) for at, p in partner.items()]
    gone = sorted(was.keys() - set(partner.values()))
    found += [_line(was[at], {}, at, None, before) for at in gone]
    return tuple(line for line in found if line.changes)


def _line(
    was: Mapping[str, float], now: Mapping[str, float], old: Place | None, new: Place | None, sources: Mapping[str, str]
) -> LineDiff:
    changes = (Change(name, was.get(name, 0), now.get(name, 0)) for name in VALUES if name in was or name in now)
    file, number = new or old or ("", 0)
    lines = sources.get(file, "").splitlines()
    words = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    differ = tuple(change for change in changes if change.before != change.after)
    return LineDiff(file, old[1] if old else None, new[1] if new else None, words, differ)


def _of_the_run(result: RunResult) -> tuple[Finding, ...]:
    """Those of no single launch."""
    of_launches = _own(result.launches)
    return tuple(finding for finding in result.findings if finding not in of_launches)


def _own(launches: Launches) -> tuple[Finding, ...]:
    return tuple(finding for launch in launches for finding in launch.findings)


def _advice(launches: Launches) -> tuple[Finding, ...]:
    return tuple(finding for launch in launches for finding in launch.advice)


def _findings(
    before: Iterable[Finding], after: Iterable[Finding], lines: LineMatch
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """(came, went): a finding is the same where check, kernel and line are."""

    def key(finding: Finding, at: object) -> object:
        return finding.check, finding.severity, base_name(finding.kernel or ""), at

    def of_after(finding: Finding) -> object:
        if finding.file is None or finding.line is None:
            return None
        there = (finding.file, finding.line)
        return lines.before(there) or ("new", there)

    def of_before(finding: Finding) -> object:
        return None if finding.file is None or finding.line is None else (finding.file, finding.line)

    old = {key(finding, of_before(finding)): finding for finding in before}
    new = {key(finding, of_after(finding)): finding for finding in after}
    return tuple(f for k, f in new.items() if k not in old), tuple(f for k, f in old.items() if k not in new)
