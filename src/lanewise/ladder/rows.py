"""What the ladder shows of a rung on a device: counts, occupancy, whether result and claim hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from lanewise.errors import LanewiseError, LimitReached, UnsupportedCode, UsageError
from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.device import load as load_device
from lanewise.ladder import reference
from lanewise.ladder.catalog import MACHINE, Claim, Rung, Subject, load
from lanewise.ladder.emulate import Outcome, run
from lanewise.ladder.plan import Plan, resolve
from lanewise.ladder.share import shared
from lanewise.records import LaunchRecord

Sizes = tuple[tuple[str, int], ...]

#: The largest ||out - reference|| / ||reference|| of a right result, by the output's type; integers are exact.
TOLERANCE: Mapping[str, float] = {"f16": 1e-3, "bf16": 8e-3, "f32": 2e-6, "f64": 1e-14}


@dataclass(frozen=True, slots=True)
class Checked:
    """A change that a claim names: `factor` as claimed, `found` as counted (None where the rung before counts 0)."""

    metric: str
    factor: float
    found: float | None
    holds: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A rung at one problem on one device.

    `refused` says why it did not run (its needs, the device's capability, code that cannot be emulated); the fields
    after it are then empty. `error` is the relative one against the float64 reference. Registers, shared bytes and
    occupancy are those of the launch with the most PTX instructions.
    """

    rung: str
    title: str
    device: str
    element: str
    problem: Mapping[str, int]
    refused: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    instructions: int | None = None  # of the machine code, by warps
    registers: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    limited_by: tuple[str, ...] = ()
    error: float | None = None
    right: bool | None = None
    claim: str | None = None
    against: str | None = None
    checked: tuple[Checked, ...] = ()
    time_us: float | None = None  # modelled, all launches and copies together; None where it is not known of each
    bounds: tuple[str, ...] = ()  # what decides the time of the launch that takes longest, and what its warps wait for
    measured_us: float | None = None  # on this machine's card, where it has one

    @property
    def claim_holds(self) -> bool | None:
        """None where nothing was checked."""
        return all(change.holds for change in self.checked) if self.checked else None


@dataclass(frozen=True, slots=True)
class Ask:
    """A rung of a subject to be run at a problem on a device, with elements of a type."""

    subject: str
    rung: str
    device: str
    sizes: Sizes
    element: str


Ran = tuple[Plan, Outcome, reference.Inputs]


def ran(ask: Ask) -> Ran | None:
    """What a run gave; None where it was refused."""
    emulated = Emulated(load(ask.subject), load_device(ask.device))
    try:
        return emulated.outcome(emulated.subject.rung(ask.rung), dict(ask.sizes), ask.element)
    except LanewiseError:  # the row runs into it again, and says it
        return None


class Emulated:
    """Runs rungs of one subject on one device, each once a problem. `element`: the type of the elements; without one,
    each rung's own (`Rung.element`), with which its claim is checked."""

    def __init__(self, subject: Subject, device: DeviceSpec, element: str | None = None) -> None:
        self.subject = subject
        self.device = device
        self.element = element
        self._known: dict[tuple[str, Sizes, str], Ran] = {}

    def rows(
        self,
        problem: Mapping[str, int],
        rungs: Sequence[Rung] = (),
        *,
        told: Callable[[Ask], None] | None = None,
        processes: int | None = None,
    ) -> list[Row]:
        """A row for each rung (all where none are named). UsageError for a size there is not. `told` hears of each run
        as it begins; `processes` as of `shared`. LimitReached, before anything runs, for a problem too large."""
        chosen = rungs or self.subject.rungs
        for rung in chosen:
            with suppress(UsageError):  # its row says it
                self._plan(rung, {**self.subject.problem, **problem}, self._element(rung))
        for ask, found in shared(ran, self._asks(problem, chosen), told=told, processes=processes).items():
            if found is not None:
                self._known[ask.rung, ask.sizes, ask.element] = found
        return [self.row(rung, problem) for rung in chosen]

    def _asks(self, problem: Mapping[str, int], rungs: Sequence[Rung]) -> list[Ask]:
        """All runs that the rows need: of the rungs, and of their claims at other sizes."""
        wanted: dict[tuple[str, Sizes, str], None] = {}
        for rung in rungs:
            wanted[rung.name, _sizes(self.subject, problem), self._element(rung)] = None
            if rung.claim and self._claims(rung):
                for one in (self.subject.rung(rung.claim.against), rung):
                    wanted[one.name, _sizes(self.subject, rung.claim.problem), one.element] = None
        return [Ask(self.subject.name, name, self.device.key, sizes, element) for name, sizes, element in wanted]

    def _element(self, rung: Rung) -> str:
        return self.element or rung.element

    def _claims(self, rung: Rung) -> bool:
        """Whether the rung is shown with the type that its claim speaks of."""
        return self._element(rung) == rung.element

    def row(self, rung: Rung, problem: Mapping[str, int]) -> Row:
        sizes = {**self.subject.problem, **problem}
        head = (rung.name, rung.title, self.device.key, self._element(rung), sizes)
        claim = rung.claim if self._claims(rung) else None
        unknown = [name for name in problem if name not in self.subject.problem]
        try:
            plan, outcome, made = self.outcome(rung, sizes)
        except UnsupportedCode as error:
            return Row(*head, refused=error.message)
        except UsageError as error:
            if unknown:
                raise
            return Row(*head, refused=error.message)
        expected = reference.expected(self.subject, plan.element, sizes, made)
        output = next(buffer for buffer in plan.buffers if buffer.role == "output")
        off = reference.error(reference.output(outcome.outputs, expected), expected, output.type)
        main = max(outcome.launches, key=lambda launch: launch.ptx_instructions, default=None)
        resources = main.resources if main else None
        return Row(
            *head,
            counts=dict(outcome.counts),
            instructions=_instructions(outcome.launches),
            registers=resources.registers if resources else None,
            shared_bytes=resources.static_shared_bytes + main.dynamic_shared_bytes if main and resources else None,
            occupancy=main.occupancy.fraction if main and main.occupancy else None,
            limited_by=main.occupancy.binding if main and main.occupancy else (),
            error=off,
            right=off <= TOLERANCE.get(output.type, 0.0),
            claim=claim.text if claim else None,
            against=claim.against if claim else None,
            checked=self._check(rung, claim) if claim else (),
            time_us=outcome.time_us,
            bounds=_bounds(outcome.launches),
        )

    def outcome(self, rung: Rung, sizes: Mapping[str, int], element: str | None = None) -> Ran:
        """The plan, what its run gave, and its inputs. Raises as `resolve` and `emulate.run` do."""
        kind = element or self._element(rung)
        key = (rung.name, _sizes(self.subject, sizes), kind)
        if key not in self._known:
            plan = self._plan(rung, sizes, kind)
            made = reference.inputs(self.subject, plan, sizes)
            self._known[key] = plan, run(plan, made, device=self.device.key), made
        return self._known[key]

    def _plan(self, rung: Rung, sizes: Mapping[str, int], element: str) -> Plan:
        """UsageError for what the rung or the device does not take, LimitReached for what is too large."""
        major, minor = self.device.compute_capability
        if barred := rung.barred(10 * major + minor):
            raise UsageError(f"{barred}; {self.device.name} has {major}.{minor}")
        plan = resolve(
            self.subject,
            rung,
            element,
            sizes,
            sms=self.device.values.sm_count,
            sm_threads=self.device.limits.max_threads_per_sm,
        )
        _refuse_size(plan, self.device)
        return plan

    def _check(self, rung: Rung, claim: Claim) -> tuple[Checked, ...]:
        """The claim's changes at its own sizes; nothing where the rung before cannot run here."""
        sizes = {**self.subject.problem, **claim.problem}
        try:
            below = self.subject.rung(claim.against)
            _, before, _ = self.outcome(below, sizes, below.element)
            _, after, _ = self.outcome(rung, sizes, rung.element)
        except (UnsupportedCode, UsageError):
            return ()
        known = all(_instructions(outcome.launches) is not None for outcome in (before, after))
        return tuple(
            checked(change.metric, change.factor, change.tolerance, before.counts, after.counts)
            for change in claim.changes
            if known or not (change.metric.startswith(MACHINE) or change.metric == "instructions")
        )


_COPIES = 6  # of the buffers, at the most: on the device, from it, inputs and reference in float64


def _refuse_size(plan: Plan, device: DeviceSpec) -> None:
    """LimitReached for data that the device's memory or this machine's does not hold."""
    needed = sum(buffer.bytes for buffer in plan.buffers)
    name = f"{plan.rung.subject}/{plan.rung.name}"
    if needed > device.values.memory_bytes:
        there = device.values.memory_bytes / 1e9
        raise LimitReached(
            f"out of device memory: {name} needs {needed / 1e9:,.1f} GB, {device.name} has {there:,.1f} GB",
            next_step="Take a smaller --size.",
        )
    if _COPIES * needed > free_bytes():
        raise LimitReached(
            f"{name} needs {_COPIES * needed / 1e9:,.1f} GB of this machine's memory, and {free_bytes() / 1e9:,.1f} GB "
            "are free",
            next_step="Take a smaller --size: what kernels ask of memory shows at small ones too.",
        )


def free_bytes() -> int:
    """Memory of this machine that nobody uses, file caches included in what is free where the system says so."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _sizes(subject: Subject, problem: Mapping[str, int]) -> Sizes:
    return tuple(sorted({**subject.problem, **problem}.items()))


def checked(
    metric: str, factor: float, tolerance: float, before: Mapping[str, int], after: Mapping[str, int]
) -> Checked:
    """A change against the counts: it holds within `tolerance` of the factor (relative, at least a millionth)."""
    if before[metric] == 0:
        return Checked(metric, factor, None, False)
    found = after[metric] / before[metric]
    return Checked(metric, factor, found, abs(found - factor) <= max(tolerance, 1e-6) * factor)


def _instructions(launches: Sequence[LaunchRecord]) -> int | None:
    known = [launch.instructions for launch in launches if launch.instructions is not None]
    return sum(known) if len(known) == len(launches) else None


def _bounds(launches: Sequence[LaunchRecord]) -> tuple[str, ...]:
    longest = max(launches, key=lambda launch: launch.time_us or 0.0, default=None)
    return tuple(word for word in (longest.bound, longest.stall) if word) if longest else ()
