"""Run a launch again with a change, leaving no trace: what a rule asks for before it says that a change helps.

Device memory is a copy on write while it lasts, so nothing that a re-run writes is there after it, for this process or
the program. Its output is thrown away, and the caches of the model are a copy of those before the launch. A change
counts only where it leaves the same bytes as the launch: those that are there, if it reads nothing that it writes, else
those that it leaves when it is run again on the same memory.

What is compared are the lines that the launch's accesses stored (`emulator.trace`; where only a share of all lines is
followed, those of the share). Lines that are stored and never read are filled with a pattern first: an element that a
changed launch forgets is then seen, though the launch itself has put the right value there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lanewise.advice.change import Change, swapped_program, with_bounds
from lanewise.advice.sampling import BLOCKS, Request, Sampler
from lanewise.collect import launch_record, modelled_on
from lanewise.demangle import demangle
from lanewise.emulator.engine import Engine, Launched
from lanewise.emulator.launch import Dim, Limits
from lanewise.emulator.program import Program
from lanewise.emulator.trace import KIND_SHIFT, LOAD, LOCAL_BIT, STORE, Trace, followed
from lanewise.emulator.unit import reachable
from lanewise.errors import EnvironmentProblem, LanewiseError
from lanewise.hardware.coalescing import LINE_BYTES
from lanewise.hardware.occupancy import occupancy
from lanewise.model.launch import DeviceModel, Modelled
from lanewise.ptx.syntax import Function, Instruction, Special, Symbol
from lanewise.records import AccessKind, KernelResources, LaunchRecord, Space
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.program import MachineProgram

# A launch above these is not run again: counts, so that it does not depend on the machine. About a second each.
MOST_INSTRUCTIONS = 10**10  # of PTX, by threads
MOST_PASSES = 2 * 10**9  # sectors and wavefronts
MOST_SAMPLED = 10**8  # instructions of the blocks that are sampled: what they did before is enough
_LIMIT = -1  # code of the fault that a limit is
_MORE = 4  # times the instructions of the launch after which a changed one is given up
_PATTERN = 0xA5
_OF_GRID_SYNC = "%envreg"  # where grid.sync() finds what it works with
_LAUNCHES_KERNELS = "cudaLaunchDevice"
_ELSEWHERE = (Space.TEXTURE, Space.SURFACE)
_HEAP = frozenset(("malloc", "free"))
Lines = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Setting:
    """A launch as it was asked for, and what its kernel was made into. `assemble` makes machine code of other texts of
    its modules: (resources by symbol, the program's machine code)."""

    program: Program
    texts: tuple[str, ...]
    name: str
    grid: Dim
    block: Dim
    dynamic_shared: int
    params: bytes
    cluster: Dim | None
    cooperative: bool
    machine: MachineKernel
    resources: KernelResources
    assemble: Callable[[Sequence[str]], tuple[Mapping[str, KernelResources], MachineProgram]]


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An array in the shared memory of a block: bytes [start, start + size)."""

    name: str
    start: int
    size: int
    dynamic: bool  # its size is said by the launch


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a re-run. `record` and `modelled` are of the changed launch, None where it was not run to its end
    (`why_not` says why); `same_results`: both launches left the same in memory."""

    record: LaunchRecord | None
    modelled: Modelled | None
    same_results: bool
    why_not: str | None = None

    @property
    def time_us(self) -> float | None:
        """Of the changed launch, where its results are the same."""
        return self.record.time_us if self.record is not None and self.same_results else None


@dataclass(frozen=True, slots=True)
class _Stored:
    """The lines that a launch stored, of those that are followed at a level, and their bytes after it."""

    lines: Lines
    data: npt.NDArray[np.uint8]
    level: int

    def same(self, other: _Stored) -> bool:
        level = max(self.level, other.level)
        (lines, data), (others, their_data) = self._at(level), other._at(level)
        return np.array_equal(lines, others) and np.array_equal(data, their_data)

    def _at(self, level: int) -> tuple[Lines, npt.NDArray[np.uint8]]:
        kept = followed(self.lines, level)
        return self.lines[kept], self.data[kept]


class Tries:
    """Experiments with one launch that has ended. `before` is the model as it was before the launch, None where that
    was not kept; `alone`: no other thread or process of the program launches kernels.

    `refusal` says why nothing can be run again; None where it can.
    """

    def __init__(
        self,
        engine: Engine,
        setting: Setting,
        record: LaunchRecord,
        launched: Launched,
        before: DeviceModel | None,
        *,
        alone: bool,
    ) -> None:
        self._engine = engine
        self._memory = engine.memory
        self._setting = setting
        self._record = record
        self._launched = launched
        self._before = before
        self._baseline: _Stored | None = None  # what the launch leaves when it is run again, where that was needed
        self._outcomes: dict[Change, Outcome] = {}
        self._requests: tuple[Request, ...] | None = None
        self.refusal = self._refusal(alone)
        self._left: tuple[_Stored | None] | None = None

    @property
    def grid(self) -> Dim:
        return self._setting.grid

    @property
    def block(self) -> Dim:
        return self._setting.block

    # ------------------------------------------------------------------ what can be tried
    def _refusal(self, alone: bool) -> str | None:
        s, info = self._setting, self._launched.kernel.info
        if not alone:
            return "other threads of the program use the device"
        functions = reachable(s.program, s.program.function(s.name))
        if info.spins or (s.cooperative and any(_reads(function, _OF_GRID_SYNC) for function in functions)):
            return "its blocks wait for each other"
        if s.cluster is not None:
            return "it runs in clusters"
        if info.unseen_writes or info.copies or any(site.space in _ELSEWHERE for site in info.sites):
            return "it moves bytes in ways that are not followed"
        if any(_uses_heap(function) for function in functions):
            return "it allocates memory"
        if self._launched.fault is not None or self._launched.outcome.trace is None:
            return "it did not run to its end"
        if self._memory.fd is None:
            return "device memory cannot be copied on this system"
        return None

    def _is_long(self) -> bool:
        passes = sum((a.sectors or 0) + (a.wavefronts or 0) for a in self._record.accesses if a.basis == "ptx")
        return self._record.ptx_thread_instructions > MOST_INSTRUCTIONS or passes > MOST_PASSES

    @property
    def asks_for_block(self) -> bool:
        """Whether the kernel reads the size of its block: one that does not is written for the size that it has."""
        program = self._setting.program
        functions = reachable(program, program.function(self._setting.name))
        return any(_reads(function, "%ntid") for function in functions)

    # ------------------------------------------------------------------ re-runs
    def rerun(self, change: Change) -> Outcome:
        """Run the launch again with a change. Never raises for what the change does."""
        if change not in self._outcomes:
            self._outcomes[change] = self._rerun(change)
        return self._outcomes[change]

    def _rerun(self, change: Change) -> Outcome:
        if self.refusal is not None or self._before is None:
            return Outcome(None, None, False, self.refusal or "its shape was launched often before")
        if self._is_long():
            return Outcome(None, None, False, "it is too long to run again")
        s = self._setting
        made = (s.resources, s.machine) if change.resident is None else self._with_bounds(change)
        if made is None:
            return Outcome(None, None, False, "the compiler does not change the kernel")
        resources, machine = made
        program = self._engine.variant(s.program, "x and y exchanged", swapped_program) if change.swapped else s.program
        if not _fits(self._before, change, resources, s.dynamic_shared):
            return Outcome(None, None, False, "the changed launch does not fit the device")
        try:
            launched, stored = self._run(program, change.grid, change.block, machine)
            if launched.fault is not None:
                return Outcome(None, None, False, launched.fault.message)
            left = self._left_by_launch()
            same = left is not None and stored.same(left)
            if not same and self._baseline is None:
                again, self._baseline = self._run(s.program, s.grid, s.block, s.machine)
                if again.fault is not None:
                    self.refusal = "it cannot be run twice"
                    return Outcome(None, None, False, self.refusal)
        except EnvironmentProblem as error:
            self.refusal = error.message
            return Outcome(None, None, False, self.refusal)
        record = launch_record(
            self._record.id,
            launched,
            symbol=s.name,
            grid=change.grid,
            block=change.block,
            cluster=None,
            dynamic_shared=s.dynamic_shared,
            stream=self._record.stream,
            device=self._before.spec,
            resources=resources,
            machine=machine,
        )
        record, modelled = modelled_on(self._before.fork(), record, launched, machine)
        return Outcome(record, modelled, same or (self._baseline is not None and stored.same(self._baseline)))

    def _left_by_launch(self) -> _Stored | None:
        """What the launch left, where it would leave the same again: it reads nothing that it writes."""
        if self._left is None:
            trace = self._launched.outcome.trace
            assert trace is not None
            stored = _stored_lines(trace)
            again = len(stored) == len(_only_stored(trace))
            self._left = (_Stored(stored, self._lines()[stored], trace.level) if again else None,)
        return self._left[0]

    def _run(self, program: Program, grid: Dim, block: Dim, machine: MachineKernel) -> tuple[Launched, _Stored]:
        s, original = self._setting, self._launched.outcome.trace
        assert original is not None
        plan = replace(machine.plan, trace=True)
        with self._memory.scratch():
            lines = self._lines()
            lines[_only_stored(original)] = _PATTERN
            launched = self._engine.launch(
                program, s.name, grid, block, s.dynamic_shared, s.params, plan=plan, limits=self._limits()
            )
            trace = launched.outcome.trace
            if launched.fault is not None or trace is None:
                return launched, _Stored(np.zeros(0, np.uint32), np.zeros((0, LINE_BYTES), np.uint8), 0)
            stored = _stored_lines(trace)
            return launched, _Stored(stored, lines[stored], trace.level)

    def _lines(self) -> npt.NDArray[np.uint8]:
        """Device memory by lines."""
        memory = self._memory
        whole = np.frombuffer(memory.arena.view(memory.base, memory.size), np.uint8)
        return whole[: memory.size // LINE_BYTES * LINE_BYTES].reshape(-1, LINE_BYTES)

    def _limits(self) -> Limits:
        """Where blocks meet in atomics, results may depend on their order: it is one and the same then."""
        atomics = any(
            site.kind == AccessKind.ATOMIC and site.space == Space.GLOBAL for site in self._launched.kernel.info.sites
        )
        limits = self._engine.limits
        most = _MORE * self._record.ptx_thread_instructions + 10**6
        return replace(limits, instructions=most, threads=1 if atomics else limits.threads, schedule=0)

    def _with_bounds(self, change: Change) -> tuple[KernelResources, MachineKernel] | None:
        """What ptxas makes of the kernel when it is told to make room for more blocks."""
        s = self._setting
        assert change.resident is not None
        module = s.program.module_of(s.program.function(s.name))
        text = with_bounds(s.texts[module], s.name, change.block, change.resident)
        if text is None:
            return None
        texts = (*s.texts[:module], text, *s.texts[module + 1 :])
        try:
            resources, code = s.assemble(texts)
            machine = code.kernel(s.program, s.name)
        except LanewiseError:
            return None
        if machine is None or s.name not in resources or resources[s.name] == s.resources:
            return None
        return resources[s.name], machine

    # ------------------------------------------------------------------ requests
    def arrays(self) -> tuple[SharedArray, ...]:
        """The arrays in shared memory; one of dynamic size ends where the launch's shared memory does."""
        info = self._launched.kernel.info
        end = info.static_shared + self._setting.dynamic_shared
        placed = [
            SharedArray(demangle(name).split("::")[-1], start, size or end - start, not size)
            for name, start, size in info.shared_arrays
        ]
        return tuple(array for array in placed if array.size > 0)

    def requests(self) -> tuple[Request, ...]:
        """Requests that the first blocks make of global and shared memory; empty where the launch cannot be run again.
        The sites are those of the launch."""
        if self._requests is None:
            self._requests = () if self.refusal is not None else self._sampled()
        return self._requests

    def _sampled(self) -> tuple[Request, ...]:
        s = self._setting
        try:
            sampler = Sampler()
            with self._memory.scratch():
                launched = self._engine.launch(
                    s.program,
                    s.name,
                    s.grid,
                    s.block,
                    s.dynamic_shared,
                    s.params,
                    plan=replace(s.machine.plan, trace=True),
                    instrument=sampler,
                    limits=replace(self._limits(), threads=1, instructions=MOST_SAMPLED),
                    first_blocks=BLOCKS,
                )
        except EnvironmentProblem:
            return ()
        return sampler.requests if launched.fault is None or launched.fault_code == _LIMIT else ()


def _uses_heap(function: Function) -> bool:
    return any(
        isinstance(item, Instruction)
        and item.opcode == "call"
        and any(
            isinstance(o, Symbol) and (o.name in _HEAP or o.name.startswith(_LAUNCHES_KERNELS)) for o in item.operands
        )
        for item in function.body
    )


def _reads(function: Function, special: str) -> bool:
    """Whether it reads a special register whose name begins so."""
    return any(
        isinstance(operand, Special) and operand.name.startswith(special)
        for item in function.body
        if isinstance(item, Instruction)
        for operand in item.operands
    )


def _fits(model: DeviceModel, change: Change, resources: KernelResources, dynamic_shared: int) -> bool:
    found = occupancy(
        model.spec,
        threads_per_block=change.block[0] * change.block[1] * change.block[2],
        registers_per_thread=resources.registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=dynamic_shared,
    )
    return found.active_blocks > 0


def _global(trace: Trace) -> tuple[Lines, npt.NDArray[np.uint32]]:
    """Lines of global memory in a trace, and what was done to each."""
    records = trace.records[(trace.records["what"] >> LOCAL_BIT & 1) == 0]
    return records["line"], records["what"] >> KIND_SHIFT & 3


def _stored_lines(trace: Trace) -> Lines:
    """Lines that were written, in order, each once."""
    lines, kinds = _global(trace)
    return np.unique(lines[kinds != LOAD])


def _only_stored(trace: Trace) -> Lines:
    """Lines of which nothing was read."""
    lines, kinds = _global(trace)
    return np.setdiff1d(lines[kinds == STORE], lines[kinds != STORE])
