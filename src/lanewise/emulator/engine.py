"""The emulator as one object: load modules, launch kernels, get raw counts."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from lanewise.demangle import demangle
from lanewise.emulator import program as programs
from lanewise.emulator.compile import CodeCache, CompiledKernel, compile_kernel
from lanewise.emulator.counts import warp_instructions
from lanewise.emulator.faults import finding, plain_code
from lanewise.emulator.instrument import SILENT, Events, Instrument, LaunchStart
from lanewise.emulator.kinds import lane_shape
from lanewise.emulator.launch import Dim, LaunchOutcome, Limits, Progress, most_quick, run
from lanewise.emulator.machine import NOTHING, CountingPlan
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.program import Program
from lanewise.emulator.services import HostServices
from lanewise.emulator.unit import reachable
from lanewise.emulator.unsupported import unsupported
from lanewise.errors import UnsupportedCode
from lanewise.ptx.syntax import PtxModule
from lanewise.records import Allocation, Finding, Unsupported

LOCAL_BYTES = 512 << 10  # CUDA C++ programming guide, compute capabilities: local memory of a thread
PARAMETER_BYTES = 32764  # PTX ISA 9.x: the most that kernel parameters may take


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch that was carried out (to its end, or to a fault)."""

    kernel: CompiledKernel
    outcome: LaunchOutcome
    fault: Finding | None
    fault_code: int  # layout.Fault of the fault; 0 a deadlock, -1 a limit
    output: bytes  # what the kernel printed


class Engine:
    """Runs kernels of loaded programs on the host's processor."""

    def __init__(
        self,
        memory: DeviceMemory,
        limits: Limits | None = None,
        store: CodeCache | None = None,
        *,
        quick: bool = True,
    ) -> None:
        """`quick`: a kernel is compiled without optimising at first, and optimised when it has enough to do."""
        self._quick = quick
        self.memory = memory
        self.limits = limits or Limits()
        self.store = store or CodeCache()
        self._kernels: dict[tuple[int, str, int, CountingPlan, Events], CompiledKernel] = {}
        self._checked: dict[tuple[int, str], tuple[Unsupported, ...]] = {}
        self._programs: list[Program] = []
        self._variants: dict[tuple[int, str], Program] = {}
        self._stop = threading.Event()
        self._params = memory.allocate(PARAMETER_BYTES + 4, kind="parameters", name="kernel parameters")
        self._grid_workspace: Allocation | None = None

    def load(self, modules: Sequence[PtxModule]) -> Program:
        """Modules linked into one program, its variables placed and initialised."""
        program = programs.load(modules, self.memory)
        self._programs.append(program)
        return program

    def variant(self, program: Program, what: str, change: Callable[[Program], Program]) -> Program:
        """A program changed for an experiment, made once; `what` names the change. Its variables are the same."""
        key = (id(program), what)
        if key not in self._variants:
            self._variants[key] = change(program)
        return self._variants[key]

    def unload(self, program: Program) -> None:
        """Free the variables of a program."""
        for allocation in program.variables.values():
            self.memory.free(allocation.base)
        program.variables.clear()

    def unsupported(self, program: Program, name: str) -> tuple[Unsupported, ...]:
        """What keeps a kernel from running; empty where nothing does."""
        key = (id(program), name)
        if key not in self._checked:
            self._checked[key] = unsupported(program, program.function(name))
        return self._checked[key]

    def kernel(
        self,
        program: Program,
        name: str,
        block: Dim,
        plan: CountingPlan = NOTHING,
        events: Events = SILENT,
        *,
        quick: bool = False,
    ) -> CompiledKernel:
        """Machine code of a kernel for blocks of a shape; `quick` as of `compile_kernel`. Raises UnsupportedCode."""
        shape = lane_shape(block)
        key = (id(program), name, shape.row, plan, events)
        if key not in self._kernels or (self._kernels[key].quick and not quick):
            items = self.unsupported(program, name)
            if items:
                raise UnsupportedCode(
                    f"{demangle(name)} uses {len(items)} instruction{'s' if len(items) > 1 else ''} that cannot be run",
                    items,
                )
            self._check_local(program, name)
            self._kernels[key] = compile_kernel(
                program, program.function(name), shape, self.store, plan, events, quick=quick
            )
            _refuse_local(name, self._kernels[key].info.local_bytes)
        return self._kernels[key]

    def _check_local(self, program: Program, name: str) -> None:
        """Frames beyond what addresses of local memory reach are refused before they are translated."""
        for function in reachable(program, program.function(name)):
            _refuse_local(name, sum(v.size for v in function.variables if v.space in ("local", "param")))

    def launch(
        self,
        program: Program,
        name: str,
        grid: Dim,
        block: Dim,
        dynamic_shared: int,
        params: bytes,
        progress: Progress | None = None,
        plan: CountingPlan = NOTHING,
        cluster: Dim | None = None,
        cooperative: bool = False,
        instrument: Instrument | None = None,
        limits: Limits | None = None,
        first_blocks: int | None = None,
    ) -> Launched:
        """Run a kernel. A fault is reported, not raised. `cluster`: blocks that run together, a divisor of the grid.
        `limits`: in place of the engine's; `first_blocks`: no more blocks than these are run."""
        made = partial(self.kernel, program, name, block, plan, SILENT if instrument is None else instrument.events)
        kernel = made(quick=self._quick)
        if kernel.quick and kernel.executed > most_quick(kernel.info):
            kernel = made()
        self.memory.write(self._params.base, params)
        services = HostServices(self.memory)
        workspace = self._workspace() if cooperative else 0
        hooks = (0, 0)
        if instrument is not None:
            hooks = instrument.begin(LaunchStart(kernel.info, grid, block, dynamic_shared, params))
        outcome = run(
            kernel,
            self.memory,
            grid,
            block,
            dynamic_shared,
            self._params.base,
            limits or self.limits,
            services,
            progress,
            self._stop,
            cluster,
            workspace,
            hooks,
            first_blocks,
            made if kernel.quick else None,
        )
        if kernel.quick:
            kernel.executed += warp_instructions(kernel.info, outcome.counters)
        if instrument is not None:
            instrument.end()
        self._stop.clear()
        fault = None
        if outcome.fault is not None:
            fault = finding(outcome.fault, kernel.info, demangle(name), block, self.memory)
        code = plain_code(outcome.fault) if outcome.fault is not None else 0
        return Launched(kernel, outcome, fault, code, services.output())

    def _workspace(self) -> int:
        """Address of a fresh grid workspace: its size and the word that the blocks of a grid count on."""
        if self._grid_workspace is None:
            self._grid_workspace = self.memory.allocate(8, kind="parameters", name="grid workspace")
        self.memory.write(self._grid_workspace.base, struct.pack("<II", 8, 0))
        return self._grid_workspace.base

    def interrupt(self) -> None:
        """End the launch that is under way, soon. May be called from any thread."""
        self._stop.set()


def _refuse_local(name: str, size: int) -> None:
    if size > LOCAL_BYTES:
        what = f"{size:,} bytes of local memory"
        reason = f"a thread has at most {LOCAL_BYTES:,}"
        raise UnsupportedCode(
            f"{demangle(name)} uses {what}, and {reason}", [Unsupported(what, reason, name, None, None)]
        )
