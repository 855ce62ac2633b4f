"""The Python interface: compile CUDA C++ or PTX, launch on numpy arrays, read what every line did.

import lanewise, numpy as np
gemm = lanewise.compile(source)["gemm_tiled"]
record = gemm[(32, 32), (32, 32)](a, b, c, np.int32(n))
print(record.report())
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanewise.arguments import Unset, place
from lanewise.catalogue import ENGLISH, catalogue
from lanewise.checks import selection
from lanewise.checks.checker import Checker
from lanewise.cudart.backend import ModuleImage
from lanewise.demangle import demangle
from lanewise.device import EmulatedDevice, LoadedProgram, cluster_of
from lanewise.emulator.launch import Dim, Limits
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import KernelFault, UsageError
from lanewise.hardware import device as devices
from lanewise.hardware.launch import refuse, refuse_cluster, resident_blocks
from lanewise.ptx.syntax import TYPE_BITS
from lanewise.records import Access, Finding, KernelResources, LaunchRecord, LineCounts, Param, RunResult
from lanewise.report.json import to_json
from lanewise.report.terminal import report_text
from lanewise.request import DEFAULT_DEVICE
from lanewise.tensor_map import TensorMap
from lanewise.toolchain import nvrtc

SOURCE_NAME = "kernel.cu"


@dataclass(frozen=True, slots=True)
class Record:
    """What one launch did. `launch` has every count; `report()` shows it beside the source."""

    launch: LaunchRecord
    result: RunResult
    output: str  # what the kernel printed

    @property
    def accesses(self) -> tuple[Access, ...]:
        """One entry per memory instruction of PTX."""
        return tuple(access for access in self.launch.accesses if access.basis == "ptx")

    @property
    def machine_accesses(self) -> tuple[Access, ...]:
        """One entry per memory instruction of the machine code: what the hardware is charged (docs/metrics.md)."""
        return tuple(access for access in self.launch.accesses if access.basis == "sass")

    @property
    def lines(self) -> tuple[LineCounts, ...]:
        """Executions by source line."""
        return self.launch.lines

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.launch.findings

    @property
    def advice(self) -> tuple[Finding, ...]:
        """What to change; of `kernel[grid, block].advise(...)`."""
        return self.launch.advice

    def report(self, width: int = 100, language: str = ENGLISH) -> str:
        """The report of `lanewise run` for this launch; `language`: "en" or "zh". UsageError for another."""
        return report_text(self.result, width, words=catalogue(language))

    def json(self) -> str:
        """The same as JSON (docs/json.md)."""
        return to_json(self.result)

    def html(self, language: str = ENGLISH) -> str:
        """The same as a page of HTML that needs no other file (docs/html-report.md)."""
        from lanewise.report.html import to_html  # its templates and plots take a while to load

        return to_html(self.result, catalogue(language))


class Module:
    """A compiled source; `module["name"]` is one of its kernels, by its C++ name or its symbol."""

    def __init__(self, device: EmulatedDevice, loaded: LoadedProgram) -> None:
        self._device = device
        self._loaded = loaded

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels, as in C++."""
        return tuple(demangle(symbol) for symbol in self._symbols())

    def _symbols(self) -> list[str]:
        functions = self._loaded.program.modules[0].functions.values()
        return [f.name for f in functions if f.is_kernel and not f.is_declaration]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __getitem__(self, name: str) -> Kernel:
        """Raises UsageError, naming the kernels there are, for an unknown name or one that means several."""
        found = [s for s in self._symbols() if name in (s, demangle(s), _plain(demangle(s)))]
        if not found:
            found = [s for s in self._symbols() if _plain(demangle(s)).split("<")[0] == name]
        if len(found) != 1:
            what = "several kernels are" if found else "there is no kernel"
            raise UsageError(f"{what} called {name!r}", next_step=f"kernels: {', '.join(self.kernels) or 'none'}")
        return Kernel(self._device, self._loaded, found[0])


def _plain(demangled: str) -> str:
    """Without return type and parameters: `void k<4>(int*)` is `k<4>`."""
    depth = 0
    for at, letter in enumerate(demangled):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            demangled = demangled[:at]
            break
    return demangled.removeprefix("void ")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel; index it with grid and block (then bytes of dynamic shared memory, then the blocks of a cluster) to get
    something to call."""

    device: EmulatedDevice
    loaded: LoadedProgram
    symbol: str

    @property
    def params(self) -> tuple[Param, ...]:
        return self.loaded.program.function(self.symbol).params

    def __getitem__(self, configuration: tuple[Any, ...]) -> Launcher:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise UsageError("a launch needs [grid, block], [grid, block, dynamic shared bytes] or these and a cluster")
        grid, block = (_dim(extent) for extent in configuration[:2])
        cluster = _dim(configuration[3]) if len(configuration) == 4 else None
        return Launcher(self, grid, block, int(configuration[2]) if len(configuration) > 2 else 0, cluster)


def _dim(extent: int | Sequence[int]) -> Dim:
    parts = tuple(int(n) for n in ((extent,) if isinstance(extent, int | np.integer) else extent))
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"{extent!r} is no grid or block: give one to three numbers")
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True, slots=True)
class Launcher:
    """A kernel with its launch configuration."""

    kernel: Kernel
    grid: Dim
    block: Dim
    dynamic_shared: int
    cluster: Dim | None = None

    def __call__(self, *arguments: Any) -> Record:
        """Run. Arrays are copied to the device and back (views of one memory share it there too).

        Scalars are packed by the parameter's type.

        Raises KernelFault where the launch fails as it would on the card, UnsupportedCode, UsageError for arguments
        or a configuration that do not fit.
        """
        record, fault = self._launch(arguments, None)
        if fault is not None:
            raise KernelFault(fault)
        return record

    def check(self, *arguments: Any, checks: str = "all") -> Record:
        """Run with checks (such as `"race,bounds"`, see docs/checks.md): the record's `findings` say what is wrong.
        Accesses out of bounds are left out and the launch goes on; nothing is raised for what it does.

        Raises UnsupportedCode, UsageError, EnvironmentProblem where there is no host compiler.
        """
        device = self.kernel.device
        record, _ = self._launch(arguments, device.checker_for(selection.parse(checks)))
        return record

    def advise(self, *arguments: Any) -> Record:
        """Run, and say what to change: the record's `advice`, the most worth first (docs/advice.md). Raises as a call
        does."""
        record, fault = self._launch(arguments, None, advise=True)
        if fault is not None:
            raise KernelFault(fault)
        return record

    def _launch(
        self, arguments: tuple[Any, ...], checker: Checker | None, *, advise: bool = False
    ) -> tuple[Record, Finding | None]:
        device, loaded = self.kernel.device, self.kernel.loaded
        resources = device.resources(loaded, self.kernel.symbol)
        why = refuse(
            device.spec,
            self.grid,
            self.block,
            registers_per_thread=resources.registers if resources else 0,
            static_shared=resources.static_shared_bytes if resources else 0,
            dynamic_shared=self.dynamic_shared,
            dynamic_shared_allowed=self.dynamic_shared,
        )
        cluster = self.cluster or cluster_of(loaded.program.function(self.kernel.symbol))
        if why is None and cluster is not None:
            why = refuse_cluster(device.spec, self.grid, cluster, non_portable=True)
        if why is not None:
            raise UsageError(f"{demangle(self.kernel.symbol)} cannot be launched: {why}")
        params = self.kernel.params
        if len(arguments) != len(params):
            raise UsageError(f"{demangle(self.kernel.symbol)} takes {len(params)} arguments, not {len(arguments)}")
        memory = device.memory
        arrays = [a.array if isinstance(a, TensorMap) else a for a in arguments]
        places = place(memory, [a for a in arrays if isinstance(a, np.ndarray)])
        addresses = iter(places.addresses)
        if checker is not None:
            for array, part in zip(places.arrays, places.parts(), strict=True):
                (checker.uninitialised if isinstance(array, Unset) else checker.initialised)(*part)
        buffer = bytearray(max((p.offset + p.size for p in params), default=0))
        try:
            for param, argument in zip(params, arguments, strict=True):
                if isinstance(argument, np.ndarray):
                    data = next(addresses).to_bytes(8, "little")
                elif isinstance(argument, TensorMap):
                    data = argument.encoded(next(addresses))
                else:
                    data = _pack(param, argument)
                if len(data) != param.size:
                    raise UsageError(
                        f"argument {param.name} of {param.size} bytes ({param.type}) got {len(data)}",
                        next_step="give an array for a pointer, numpy scalars (np.int32, np.float64) for the rest",
                    )
                buffer[param.offset : param.offset + param.size] = data
            launched, launch = device.run(
                loaded,
                self.kernel.symbol,
                self.grid,
                self.block,
                self.dynamic_shared,
                bytes(buffer),
                cluster=cluster,
                cooperative=self._fits(resources),
                checker=checker,
                advise=advise,
            )
            if checker is not None:  # arrays are all copied back: what nobody has written may not be wanted
                leaving = (finding for part in places.parts() for finding in checker.leaves(*part, unwritten=False))
                launch = replace(launch, findings=(*launch.findings, *dict.fromkeys(leaving)))
            places.copy_back(memory)
        finally:
            places.free(memory)
        result = self._result(launch)
        if checker is not None:
            result = replace(result, check=checker.summary())
        return Record(launch, result, launched.output.decode(errors="replace")), launched.fault

    def _fits(self, resources: KernelResources | None) -> bool:
        """Whether all blocks run at one time, so that grid.sync() is possible."""
        x, y, z = self.block
        most = resident_blocks(
            self.kernel.device.spec,
            x * y * z,
            registers_per_thread=resources.registers if resources else 0,
            static_shared=resources.static_shared_bytes if resources else 0,
            dynamic_shared=self.dynamic_shared,
        )
        return self.grid[0] * self.grid[1] * self.grid[2] <= most

    def _result(self, launch: LaunchRecord) -> RunResult:
        device = self.kernel.device
        return RunResult(
            _plain(launch.kernel),
            device.spec.name,
            device.arch,
            None,
            (launch,),
            device.sources,
            launch.findings,
            notes=tuple(device.notes),
            has_host=False,
            code=(device.code[launch.symbol],) if launch.symbol in device.code else (),
        )


_FLOATS = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


def _pack(param: Param, argument: Any) -> bytes:
    """A scalar, or any object with bytes of its own (numpy scalars, structured ones too)."""
    if isinstance(argument, np.generic):
        return argument.tobytes()
    if isinstance(argument, bytes | bytearray):
        return bytes(argument)
    if argument is None:
        return bytes(param.size)
    if param.type in _FLOATS:
        return np.array(argument, _FLOATS[param.type]).tobytes()
    if isinstance(argument, bool | int) and param.type in TYPE_BITS:
        return (int(argument) & ((1 << (8 * param.size)) - 1)).to_bytes(param.size, "little")
    raise UsageError(
        f"argument {param.name} cannot be made of {argument!r}",
        next_step="give an array for a pointer, numpy scalars (np.int32, np.float64) for the rest",
    )


def compile(
    source: str,
    *,
    device: str = DEFAULT_DEVICE,
    arch: str | None = None,
    options: Sequence[str] = (),
    limits: Limits | None = None,
) -> Module:
    """Compile CUDA C++ (through NVRTC, no host compiler and no driver) or take PTX text, ready to launch.

    `options` are NVRTC's. Raises CompileError with the compiler's text, PtxSyntaxError, EnvironmentProblem.
    """
    spec = devices.load(device)
    emulated = EmulatedDevice(spec, memory=DeviceMemory(spec.values.memory_bytes), arch=arch, limits=limits)
    is_ptx = source.lstrip().startswith((".version", "//")) and ".version" in source
    text = source if is_ptx else nvrtc.compile_source(source, arch=emulated.arch, options=options, name=SOURCE_NAME)
    given = "" if is_ptx else nvrtc.assembler_options(options)
    loaded = emulated.load((ModuleImage(SOURCE_NAME, text, given),))
    if not is_ptx:
        for path in loaded.program.modules[0].files.values():
            if path.endswith(SOURCE_NAME):
                emulated.sources[path] = source
    return Module(emulated, loaded)
