"""What hurts in a kernel, worst first, in sentences; or that nothing does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.records import Space
from lanewise.report import text
from lanewise.report.excerpt import AccessRow, SourceRow, basename
from lanewise.report.fold import Fold
from lanewise.report.judge import (
    RANK,
    SECTORS,
    WARP_LANES,
    Cost,
    Weight,
    bank_words,
    conflict_words,
    cost,
    lane_words,
    pattern_words,
    totals,
)

# Local memory is worth a sentence from this share of a kernel's sectors on, in percent.
LOCAL_PERCENT = 10
_OF = {"load": " of ", "store": " to ", "atomic": " on "}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to look at: `where` and `what` in a few words, and a sentence. `excess` in `unit`, one launch's or
    summed as the fold's counts are; 0 for what is not counted in sectors or wavefronts."""

    where: str
    what: str
    sentence: str
    excess: int = 0
    unit: str = ""

    @property
    def rank(self) -> int:
        return RANK.get(self.unit, 0) * self.excess


def problems(fold: Fold, rows: Sequence[SourceRow]) -> list[Problem]:
    """Accesses of a line, kind and array that are marked in the excerpt, by their excess; then local memory, branches
    and idle lanes."""
    whole = totals(fold.accesses)
    groups: dict[object, tuple[SourceRow, list[AccessRow]]] = {}
    for row in rows:
        for access in row.accesses:
            if access.weight > Weight.FINE:
                record = access.access
                key = (row.file, row.line, record.ptx_line if row.line is None else None, record.kind, record.space)
                groups.setdefault((*key, record.array), (row, []))[1].append(access)
    found = [_access_problem(row, accesses, whole) for row, accesses in groups.values()]
    found.sort(key=lambda problem: -problem.rank)
    found += _local_memory(whole)
    found += [_branch_problem(row) for row in rows if row.branch_weight > Weight.FINE]
    found += _idle_lanes(fold)
    return found


def _access_problem(row: SourceRow, accesses: Sequence[AccessRow], whole: Mapping[Space, Cost]) -> Problem:
    costs = [(measured.excess, row) for row in accesses if (measured := cost(row.access)) is not None]
    where = _where(row)
    record = max(costs, key=lambda item: item[0])[1].access if costs else accesses[0].access
    what = f"{record.kind.value}{_OF[record.kind.value] + text.clean(record.array) if record.array else ''}"
    measured = cost(record)
    if measured is None:  # constant memory, the only one that is marked without a count
        sentence = (
            f"{where}: the lanes of the {what} read different constants, and constant memory serves one at a time."
        )
        return Problem(where, what, sentence)
    total, excess = whole[record.space].actual, sum(excess for excess, _ in costs)
    each = text.per(measured.actual, record.requests)
    unit = measured.unit.removesuffix("s") if each == "1" else measured.unit
    ideal = text.per(measured.ideal, record.requests)
    words = (conflict_words(record), pattern_words(record), lane_words(record), bank_words(record))
    reason = "; ".join(word for word in words if word)
    sentence = (
        f"{where}: the {what} {'moves' if measured.unit == SECTORS else 'takes'} {'up to ' if len(costs) > 1 else ''}"
        f"{each} {unit} a request where {ideal} would do{f' ({reason})' if reason else ''}. Excess: "
        f"{text.count(excess)} of this kernel's {text.count(total)} {record.space.value} {measured.unit} "
        f"({text.percent(excess, total)})."
    )
    return Problem(where, what, sentence, excess, measured.unit)


def _local_memory(whole: Mapping[Space, Cost]) -> list[Problem]:
    local, other = (whole[space].actual if space in whole else 0 for space in (Space.LOCAL, Space.GLOBAL))
    everything = local + other
    if not local or 100 * local < LOCAL_PERCENT * everything:
        return []
    sentence = (
        f"Local memory takes {text.count(local)} of this kernel's {text.count(everything)} sectors "
        f"({text.percent(local, everything)}): a thread's own array or spilled registers live in memory."
    )
    return [Problem("local memory", "traffic", sentence)]


def _branch_problem(row: SourceRow) -> Problem:
    divergent, branches = text.count(row.divergent_branches), text.count(row.branches)
    sentence = f"{_where(row)}: {divergent} of {branches} branches split their warp: its sides run in turn."
    return Problem(_where(row), "branch", sentence)


def _idle_lanes(fold: Fold) -> list[Problem]:
    warps, threads = fold.ptx_instructions, fold.ptx_thread_instructions
    if 4 * threads > 3 * WARP_LANES * warps or warps == 0:
        return []
    x, y, z = fold.first.block
    block = x * y * z
    if block < WARP_LANES:
        cause = f"a block of {text.plural(block, 'thread')} does not fill a warp"
    else:
        cause = "the others sat out (branches, threads that had exited)"
    sentence = f"{text.per(threads, warps)} of {WARP_LANES} lanes were active, over all instructions: {cause}."
    return [Problem("lanes", "idle", sentence)]


def _where(row: SourceRow) -> str:
    if row.line is None or row.file is None:
        return f"PTX line {row.accesses[0].access.ptx_line}"
    return f"{text.clean(basename(row.file))}:{row.line}"


def praise(fold: Fold) -> str:
    """What to say of a kernel without problems."""
    if not fold.accesses:
        return "This kernel touches no memory."
    if all(access.requests == 0 for access in fold.accesses):
        return "No instruction of this kernel that touches memory was executed."
    excess = any(measured.excess for access in fold.accesses if (measured := cost(access)) is not None)
    distance = "within 10% of" if excess else "at"
    return f"Nothing to gain from how lanes lie in memory: every access is {distance} its ideal."
