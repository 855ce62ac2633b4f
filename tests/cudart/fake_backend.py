"""A device for tests of the runtime: modules are parsed for names, layouts and variables; kernels are Python."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import prod

import numpy as np

from lanewise import ptx
from lanewise.cudart.backend import Copied, FunctionInfo, LaunchOutcome, LaunchRequest, ModuleImage, StreamEvent
from lanewise.cudart.codes import CudaError
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware import device
from lanewise.ptx.syntax import PtxModule
from lanewise.records import Finding, KernelResources, SourceLine


@dataclass(slots=True)
class Program:
    modules: list[PtxModule]
    linked: bool
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)


class FakeBackend:
    """`launches` keeps every request; `programs` what was loaded."""

    spec = device.load("h200")
    arch = "sm_90"

    def __init__(self, memory: DeviceMemory) -> None:
        self.memory = memory
        self.launches: list[LaunchRequest] = []
        self.programs: list[Program] = []
        self.images: list[tuple[ModuleImage, ...]] = []
        self.unloaded = 0
        self.limits: dict[int, int] = {}
        self.interrupted = threading.Event()

    def load(self, images: tuple[ModuleImage, ...], *, linked_code: bytes | None, managed: Collection[str]) -> Program:
        program = Program([ptx.parse(image.ptx) for image in images], linked_code is not None)
        for module in program.modules:
            for variable in module.variables.values():
                if variable.space not in ("global", "const") or variable.linkage == "extern":
                    continue
                kind = "managed" if variable.name in managed else "global"
                made = self.memory.allocate(variable.size, kind=kind, name=variable.name)
                values = [value for value in variable.initial if isinstance(value, int)]
                width = variable.size // variable.count
                data = b"".join(value.to_bytes(width, "little", signed=value < 0) for value in values)
                self.memory.write(made.base, data)
                program.symbols[variable.name] = (made.base, made.size)
        self.programs.append(program)
        self.images.append(images)
        return program

    def unload(self, program: Program) -> None:
        for address, _ in program.symbols.values():
            self.memory.free(address)
        self.unloaded += 1

    def function(self, program: Program, name: str) -> FunctionInfo | None:
        for module in program.modules:
            function = module.functions.get(name)
            if function is not None and function.is_kernel:
                bound = function.directives.get("maxntid")
                shared = sum(variable.size for variable in function.variables if variable.space == "shared")
                resources = KernelResources(registers=32, static_shared_bytes=shared, local_bytes=0)
                most = prod(bound) if bound else None
                return FunctionInfo((program, name), name, function.params, resources, most, 90, 90)
        return None

    def symbol(self, program: Program, name: str) -> tuple[int, int] | None:
        return program.symbols.get(name)

    def launch(self, request: LaunchRequest) -> LaunchOutcome:
        self.launches.append(request)
        program, name = request.function.handle
        arguments = [request.params[p.offset : p.offset + p.size] for p in request.function.params]
        return KERNELS[name](self, program, request, arguments)

    def set_limit(self, limit: int, value: int) -> bool:
        self.limits[limit] = value
        return True

    def order(self, event: StreamEvent) -> None:
        return None

    def copied(self, copied: Copied) -> tuple[Finding, ...]:
        return ()

    def bad_call(self, call: str, to: int, source: int, size: int, kind: int, place: SourceLine | None) -> None:
        return None

    def interrupt(self) -> None:
        self.interrupted.set()


Kernel = Callable[[FakeBackend, Program, LaunchRequest, list[bytes]], LaunchOutcome]


def _ints(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _iota(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    """out[i] = first + i for each thread of the grid."""
    threads = prod(request.grid) * prod(request.block)
    self.memory.write(_ints(arguments[0]), (_ints(arguments[1]) + np.arange(threads)).astype(np.int32))
    return LaunchOutcome(nanoseconds=2000 + threads)


def _add_scale(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    """total += scale * s.b + s.a, with the variables of the program."""
    a, b, _ = struct.unpack("<i4xdc7x", arguments[0])
    scale = self.memory.read(program.symbols["scale"][0], 4)
    address, size = program.symbols["total"]
    (total,) = struct.unpack("<d", self.memory.read(address, size))
    self.memory.write(address, struct.pack("<d", total + struct.unpack("<f", scale)[0] * b + a))
    return LaunchOutcome()


def _double_managed(self: FakeBackend, program: Program, request: LaunchRequest, args: list[bytes]) -> LaunchOutcome:
    address, size = program.symbols["counters"]
    values = np.frombuffer(self.memory.read(address, size), np.int32)
    self.memory.write(address, values * 2)
    return LaunchOutcome()


def _say(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    return LaunchOutcome(output=f"kernel says {_ints(arguments[0])}\n".encode())


def _fail(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    code = CudaError(_ints(arguments[0]))
    return LaunchOutcome(code, messages=b"the assertion\n" if code is CudaError.ASSERT else b"")


def _mistake(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    raise RuntimeError("a mistake in the backend")


def _wait(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    self.interrupted.wait(30)
    return LaunchOutcome(CudaError.LAUNCH_TIMEOUT)


def _nothing(self: FakeBackend, program: Program, request: LaunchRequest, arguments: list[bytes]) -> LaunchOutcome:
    return LaunchOutcome()


KERNELS: dict[str, Kernel] = {
    "iota": _iota,
    "add_scale": _add_scale,
    "double_managed": _double_managed,
    "say": _say,
    "fail": _fail,
    "mistake": _mistake,
    "wait_for_end": _wait,
    "bounded": _nothing,
    "many": _nothing,
    "first_module": _nothing,
    "second_module": _nothing,
}
