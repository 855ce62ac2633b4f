"""The emulated device: the runtime library and the Python API launch kernels on it, and it remembers the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lanewise.advice.advise import advise_on, advise_run
from lanewise.advice.history import History
from lanewise.advice.subject import Subject
from lanewise.advice.tries import Setting, Tries
from lanewise.alike import patterns
from lanewise.checks import calls
from lanewise.checks.checker import Checker
from lanewise.checks.selection import Check
from lanewise.collect import costs_of, launch_record, modelled_on
from lanewise.cudart.backend import Copied, FunctionInfo, LaunchOutcome, LaunchRequest, ModuleImage, StreamEvent
from lanewise.cudart.codes import CudaError
from lanewise.demangle import demangle
from lanewise.emulator import counts
from lanewise.emulator.compile import CodeCache, runtime_code
from lanewise.emulator.engine import Engine, Launched
from lanewise.emulator.launch import Limits
from lanewise.emulator.layout import Fault
from lanewise.emulator.machine import NOTHING
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.program import Program
from lanewise.errors import LanewiseError, UnsupportedCode
from lanewise.hardware.device import DeviceSpec
from lanewise.model.launch import DeviceModel, Modelled, coarse, unavailable
from lanewise.ptx import parse
from lanewise.ptx.syntax import Function
from lanewise.records import Finding, KernelCode, KernelResources, LaunchRecord, SourceLine, Unsupported
from lanewise.sass import listing
from lanewise.sass.code import kernel_code
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassFunction
from lanewise.sass.program import MachineProgram
from lanewise.toolchain import cache, machine_code
from lanewise.toolchain.ptxas import Assembled

Progress = Callable[[int, int, str], None]
Keep = Callable[[str, int], bool]  # (demangled kernel, launches of it kept before) -> is this one reported?


class ObjectCache(CodeCache):
    """Compiled kernels in the user's cache."""

    def get(self, key: str) -> bytes | None:
        return cache.default().get("kernels", key)

    def put(self, key: str, data: bytes) -> None:
        cache.default().put("kernels", key, data)


@dataclass(slots=True)
class LoadedProgram:
    """A program on the device and what ptxas says of its kernels (asked for when first needed)."""

    program: Program
    texts: tuple[str, ...]
    options: tuple[str, ...]  # of the assembler, for each
    assembled: Future[Assembled]  # made while the program goes on, as is the listing
    listed: Future[dict[str, SassFunction]]
    resources: dict[str, KernelResources] | None = None
    machine: MachineProgram | None = None


class EmulatedDevice:
    """Implements `cudart.backend.Backend`. Launches run one after the other, to their end."""

    def __init__(
        self,
        spec: DeviceSpec,
        *,
        memory: DeviceMemory,
        arch: str | None = None,
        limits: Limits | None = None,
        keep: Keep | None = None,
        progress: Progress | None = None,
        checks: Collection[Check] = (),
        cold: bool = False,
        beside: Sequence[DeviceSpec] = (),
        advice: bool = False,
    ) -> None:
        self._spec = spec
        self._arch = arch or spec.arch
        self.memory = memory
        self.engine = Engine(memory, limits, ObjectCache())
        self.checker: Checker | None = Checker(memory, checks) if checks else None  # of all launches
        self._checkers: dict[frozenset[Check], Checker] = {}  # of launches that ask for one
        self.records: list[LaunchRecord] = []
        self.unsupported: list[Unsupported] = []
        self.sources: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        self.code: dict[str, KernelCode] = {}  # of kernels that a launch is kept of
        self.left_out: dict[str, None] = {}  # kernels of which no launch is kept
        self._keep = keep or (lambda kernel, earlier: True)
        self._kept: dict[str, int] = {}
        self._progress = progress
        self._launches = 0
        self._advice = advice
        self._advised: set[object] = set()  # kernels and shapes
        self._history = History()
        self._shapes: Counter[object] = Counter()  # launches of each, where advice is wanted
        self._callers: set[tuple[int, int]] = set()  # processes and threads that launch
        self._background = ThreadPoolExecutor(1)
        self._shared_code_is_there = False
        self._model: DeviceModel | None = None
        self._beside: list[DeviceModel] = []
        self.records_beside: list[list[LaunchRecord]] = [[] for _ in beside]
        if not checks:  # a check wants to know what is wrong, not how long it takes
            try:
                self._model = DeviceModel(spec, cold=cold)
                self._beside = [DeviceModel(other, cold=cold) for other in beside]
                self.notes.update((coarse(one), None) for one in (spec, *beside) if one.coarse)
            except LanewiseError as error:
                self.notes[unavailable(error)] = None

    @property
    def spec(self) -> DeviceSpec:
        return self._spec

    @property
    def arch(self) -> str:
        return self._arch

    # ------------------------------------------------------------------ programs
    def load(
        self, images: tuple[ModuleImage, ...], *, linked_code: bytes | None = None, managed: Collection[str] = ()
    ) -> LoadedProgram:
        """Parse and load modules that belong together."""
        modules = [parse(image.ptx) for image in images]
        for module in modules:
            for name in managed:
                variable = module.variables.get(name)
                if variable is not None:
                    module.variables[name] = replace(variable, managed=True)
            for path in module.files.values():
                self._embed(path)
        program = self.engine.load(modules)
        texts = tuple(image.ptx for image in images)
        given = [(image.ptx, image.options) for image in images]
        assembled = self._background.submit(machine_code.assemble, given, arch=self._machine_arch(program))
        listed = self._background.submit(lambda: listing.listing(assembled.result().cubin))
        return LoadedProgram(program, texts, tuple(image.options for image in images), assembled, listed)

    def _embed(self, path: str) -> None:
        """Keep the text of a source file, so that a report needs no other file."""
        if path in self.sources:
            return
        try:
            self.sources[path] = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return

    def unload(self, program: LoadedProgram) -> None:
        self.engine.unload(program.program)

    def resources(self, loaded: LoadedProgram, name: str) -> KernelResources | None:
        """Registers and memory of a kernel, from ptxas; None where it cannot say (a note tells why)."""
        if loaded.resources is None:
            loaded.resources = {}
            try:
                made = loaded.assembled.result()
                loaded.resources = made.resources
                loaded.machine = MachineProgram(made.cubin, loaded.texts, loaded.listed.result)
            except LanewiseError as error:
                self.notes[f"registers and occupancy are not known: {error.message}"] = None
        return loaded.resources.get(name)

    def machine(self, loaded: LoadedProgram, name: str) -> MachineKernel | None:
        """The machine code of a kernel; None where it cannot be read (a note tells why)."""
        self.resources(loaded, name)
        if loaded.machine is None:
            return None
        try:
            return loaded.machine.kernel(loaded.program, name)
        except LanewiseError as error:
            loaded.machine = None
            self.notes[f"counts are of PTX, not of machine code: {error.message}"] = None
            return None

    def _machine_arch(self, program: Program) -> str:
        """Architecture-specific PTX ("sm_90a") fits only its own machine code."""
        target = program.modules[0].target
        return target if target[-1:] in ("a", "f") else self._arch

    def function(self, program: LoadedProgram, name: str) -> FunctionInfo | None:
        function = program.program.find_function(name)
        if function is None or not function.is_kernel:
            return None
        found = self.resources(program, name) or KernelResources(0, 0, 0)
        bound = function.directives.get("maxntid") or function.directives.get("reqntid")
        most = None
        if bound:
            most = 1
            for extent in bound:
                most *= extent
        made_for = int("".join(c for c in program.program.modules[0].target if c.isdigit()) or 0)
        return FunctionInfo(
            (program, name), name, function.params, found, most, made_for, made_for, cluster_of(function)
        )

    def symbol(self, program: LoadedProgram, name: str) -> tuple[int, int] | None:
        for (module, variable), allocation in program.program.variables.items():
            if variable == name:
                return allocation.base, program.program.modules[module].variables[variable].size
        return None

    # ------------------------------------------------------------------ launches
    def launch(self, request: LaunchRequest) -> LaunchOutcome:
        loaded, name = request.function.handle
        self._callers.add((request.process, request.host_thread))
        try:
            launched, record = self.run(
                loaded, name, request.grid, request.block, request.dynamic_shared_bytes, request.params, request.stream,
                request.cluster, request.cooperative, issuer=(request.process, request.host_thread),
            )  # fmt: skip
        except UnsupportedCode as error:
            self._note_unsupported(error)
            return LaunchOutcome(CudaError.NOT_SUPPORTED)
        error_code = CudaError.SUCCESS if launched.fault is None else _ERRORS.get(launched.fault_code, _LAUNCH_FAILURE)
        messages = _assertion(launched.fault) if launched.fault is not None else b""
        return LaunchOutcome(error_code, _nanoseconds(record), launched.output, messages)

    def run(
        self,
        loaded: LoadedProgram,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        dynamic_shared: int,
        params: bytes,
        stream: int = 0,
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
        checker: Checker | None = None,
        advise: bool = False,
        issuer: tuple[int, int] | None = None,
    ) -> tuple[Launched, LaunchRecord]:
        """Run one launch and record it. `cluster` None: as the kernel itself says; `checker`: of this launch, where the
        device has none for all; `advise`: say what to change, whatever was said before; `issuer`: process and thread
        of the host, where streams are followed. Raises UnsupportedCode."""
        checker = checker or self.checker
        cluster = cluster or cluster_of(loaded.program.function(name))
        kernel = demangle(name)
        tell = None if self._progress is None else _Teller(self._progress, kernel)
        if not self._shared_code_is_there:  # compile it while the machine code is listed
            runtime_code(self.engine.store)
            self._shared_code_is_there = True
        machine = self.machine(loaded, name)
        plan = NOTHING if machine is None else replace(machine.plan, trace=self._model is not None)
        before = self._before(advise, (id(loaded), name, grid, block, dynamic_shared, cluster))
        launched = self.engine.launch(
            loaded.program, name, grid, block, dynamic_shared, params, tell, plan, cluster, cooperative, checker
        )
        if self._progress is not None:
            total = grid[0] * grid[1] * grid[2]
            self._progress(total, total, kernel)
        record = launch_record(
            self._launches,
            launched,
            symbol=name,
            grid=grid,
            block=block,
            cluster=cluster,
            dynamic_shared=dynamic_shared,
            stream=stream,
            device=self._spec,
            resources=self.resources(loaded, name),
            machine=machine,
        )
        modelled = None
        if self._model is not None:
            record, modelled = modelled_on(self._model, record, launched, machine)
        if checker is not None:
            record = checker.record(launched, record)
            if issuer is not None:
                record = replace(record, findings=(*record.findings, *checker.beside(*issuer)))
        self._launches += 1
        if launched.fault is not None or record.findings or self._keep(kernel, self._kept.get(kernel, 0)):
            self._kept[kernel] = self._kept.get(kernel, 0) + 1
            if name not in self.code:
                self.code[name] = kernel_code(loaded.program, name, machine)
            if modelled is not None and machine is not None and (advise or self._is_first(record, loaded)):
                assert record.resources is not None
                setting = Setting(
                    loaded.program, loaded.texts, name, grid, block, dynamic_shared, params, cluster, cooperative,
                    machine, record.resources, partial(self._assembled, loaded),
                )  # fmt: skip
                tries = Tries(self.engine, setting, record, launched, before, alone=len(self._callers) < 2)
                record = self._with_advice(record, loaded, launched, machine, modelled, tries)
            self._history.add(record, launched.outcome.trace)
            self.records.append(record)
            for model, records in zip(self._beside, self.records_beside, strict=True):
                records.append(modelled_on(model, record, launched, machine)[0])
        elif kernel not in self._kept:
            self.left_out[kernel] = None
        return launched, record

    def _with_advice(
        self,
        record: LaunchRecord,
        loaded: LoadedProgram,
        launched: Launched,
        machine: MachineKernel,
        modelled: Modelled,
        tries: Tries,
    ) -> LaunchRecord:
        """The record with what to change."""
        info = launched.kernel.info
        assert launched.outcome.trace is not None  # it was modelled
        subject = Subject(
            record=record,
            spec=self._spec,
            function=loaded.program.function(record.symbol),
            machine=machine,
            costs=costs_of(record, launched, machine),
            sites=info.sites,
            counted=counts.site_counts(info, launched.outcome.counters),
            trace=launched.outcome.trace,
            modelled=modelled,
            sources=self.sources,
            before=self._history,
            cold=self._model is not None and self._model.cold,
            tries=tries,
        )
        return advise_on(subject)

    def _before(self, advise: bool, shape: object) -> DeviceModel | None:
        """The model as a launch finds it, where its first launches of a shape may be tried again; None: caches that
        are not known to be as they were."""
        if self._model is None or not (advise or self._advice):
            return None
        self._shapes[shape] += 1
        return self._model.fork() if advise or self._shapes[shape] <= _KEPT_BEFORE else None

    def _assembled(
        self, loaded: LoadedProgram, texts: Sequence[str]
    ) -> tuple[Mapping[str, KernelResources], MachineProgram]:
        """Machine code of other texts of a program's modules."""
        given = list(zip(texts, loaded.options, strict=True))
        made = machine_code.assemble(given, arch=self._machine_arch(loaded.program))
        return made.resources, MachineProgram(made.cubin, texts)

    def _is_first(self, record: LaunchRecord, loaded: LoadedProgram) -> bool:
        """Whether advice is wanted, and the kernel was not launched in this shape, with these patterns, before."""
        if not self._advice:
            return False
        shape = (id(loaded), record.symbol, record.grid, record.block, record.dynamic_shared_bytes, record.cluster)
        kind = (shape, patterns(record))
        if kind in self._advised:
            return False
        self._advised.add(kind)
        return True

    def finish(self) -> None:
        """The program has ended: add to its records what only all launches together show."""
        if self._advice:
            self.records = advise_run(self._history, self.records)

    def order(self, event: StreamEvent) -> None:
        """As of `Backend`."""
        if self.checker is not None:
            self.checker.order(
                event.process, event.what, event.host_thread, event.stream, event.flags, event.number, event.after
            )

    def copied(self, copied: Copied) -> tuple[Finding, ...]:
        """As of `Backend`: bytes of the host are defined, those that go to the host must be; copies may race."""
        if self.checker is None:
            return ()
        to, source, size = copied.to, copied.source, copied.size
        races = self.checker.copied_beside(copied.process, copied.host_thread, to, source, size, copied.place)
        return (*races, *self._definedness(to, source, size, copied.place))

    def _definedness(
        self, to: int, source: int, size: int, place: Callable[[], SourceLine | None]
    ) -> tuple[Finding, ...]:
        assert self.checker is not None
        of_device = [a for a in (to, source) if a and (found := self.memory.find(a)) and found.kind == "malloc"]
        if to in of_device and source in of_device:
            self.checker.copied(to, source, size)
        elif to in of_device:
            self.checker.initialised(to, size)
        elif source in of_device:
            return self.checker.leaves(source, size, place=place)
        return ()

    def bad_call(
        self, call: str, to: int, source: int, size: int, kind: int, place: SourceLine | None
    ) -> Finding | None:
        """As of `Backend`."""
        if self.checker is None or Check.BOUNDS not in self.checker.checks:
            return None
        return calls.refused(self.memory, call, to, source, size, kind, place)

    def checker_for(self, checks: frozenset[Check]) -> Checker:
        """A checker for single launches, its counts at zero. Raises EnvironmentProblem."""
        if checks not in self._checkers:
            self._checkers[checks] = Checker(self.memory, checks)
        checker = self._checkers[checks]
        checker.start_counts()
        return checker

    def _note_unsupported(self, error: UnsupportedCode) -> None:
        for item in error.items:
            if item not in self.unsupported:
                self.unsupported.append(item)

    def set_limit(self, limit: int, value: int) -> bool:
        """Stack, printf and heap sizes need no limit here; the L2's fetch granularity and persisting size are hints."""
        return limit in (0, 1, 2, 5, 6)

    def interrupt(self) -> None:
        self.engine.interrupt()


def cluster_of(function: Function) -> tuple[int, int, int] | None:
    """The cluster that a kernel is compiled for (`__cluster_dims__`); None where launches say it."""
    sizes = function.directives.get("reqnctapercluster")
    if not sizes:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


_KEPT_BEFORE = 16  # launches of a shape: more than one where it is seen with other patterns
_LAUNCH_NS, _INSTRUCTIONS_PER_NS = 2000, 10_000  # where no time is modelled


def _nanoseconds(record: LaunchRecord) -> int:
    """Device time of a launch: the modelled one, else a count that is the same in every run."""
    if record.time_us is not None:
        return round(1000 * record.time_us)
    return _LAUNCH_NS + record.ptx_thread_instructions // _INSTRUCTIONS_PER_NS


def _assertion(fault: Finding) -> bytes:
    """What a card's driver writes to stderr for a failed assertion."""
    if fault.check != "assert" or fault.block is None or fault.thread is None:
        return b""
    place, _, condition = fault.message.partition(": assertion ")
    block, thread = (",".join(map(str, index)) for index in (fault.block, fault.thread))
    return f"{place}: block: [{block}], thread: [{thread}] Assertion {condition}.\n".encode()


class _Teller:
    """Adds the kernel's name to progress calls."""

    def __init__(self, progress: Progress, kernel: str) -> None:
        self.progress, self.kernel = progress, kernel

    def __call__(self, done: int, total: int) -> None:
        self.progress(done, total, self.kernel)


_LAUNCH_FAILURE = CudaError.LAUNCH_FAILURE
_ERRORS = {
    -1: CudaError.LAUNCH_TIMEOUT,
    Fault.BOUNDS: CudaError.ILLEGAL_ADDRESS,
    Fault.SHARED_BOUNDS: CudaError.ILLEGAL_ADDRESS,
    Fault.LOCAL_BOUNDS: CudaError.ILLEGAL_ADDRESS,
    Fault.TENSOR: CudaError.ILLEGAL_INSTRUCTION,
    Fault.BARRIER_COUNT: CudaError.ILLEGAL_INSTRUCTION,  # as an H200 does
    Fault.CLUSTER_RANK: CudaError.LAUNCH_FAILURE,  # these as an H200 does
    Fault.CLUSTER_EXITED: CudaError.LAUNCH_FAILURE,
    Fault.CLUSTER_BOUNDS: CudaError.LAUNCH_FAILURE,
    Fault.CLUSTER_MISALIGNED: CudaError.MISALIGNED_ADDRESS,
    Fault.MISALIGNED: CudaError.MISALIGNED_ADDRESS,
    Fault.ASSERT: CudaError.ASSERT,
    Fault.TRAP: CudaError.LAUNCH_FAILURE,  # as an H200 does
    Fault.STACK: CudaError.HARDWARE_STACK_ERROR,
    Fault.BAD_CALL: CudaError.INVALID_PC,
    Fault.HANDLE: CudaError.ILLEGAL_ADDRESS,
    Fault.GEOMETRY: CudaError.LAUNCH_FAILURE,
    Fault.SURFACE_BOUNDS: CudaError.ILLEGAL_ADDRESS,  # these as an H200 does
    Fault.SURFACE_MISALIGNED: CudaError.MISALIGNED_ADDRESS,
}
