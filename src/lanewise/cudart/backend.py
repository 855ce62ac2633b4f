"""What the server of the runtime library drives: the device that loads modules and runs kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from lanewise.cudart.codes import CudaError
from lanewise.hardware.device import DeviceSpec
from lanewise.records import Finding, KernelResources, Param, SourceLine

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ModuleImage:
    """The code of one module for the device: PTX text, and the assembler's options that it was compiled with."""

    name: str  # the source file's, as nvcc got it
    ptx: str
    options: str = ""


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A kernel of a loaded program.

    `handle` is the backend's own; `max_threads_per_block` is what `.maxntid` or `.reqntid` say, None without them;
    `cluster` is what `__cluster_dims__` says.
    """

    handle: Any
    name: str  # as in the PTX
    params: tuple[Param, ...]
    resources: KernelResources
    max_threads_per_block: int | None = None
    ptx_version: int = 0  # 90 for PTX made for sm_90
    binary_version: int = 0
    cluster: Dim3 | None = None


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One launch that passed the runtime's checks. `params` is the parameter buffer."""

    function: FunctionInfo
    grid: Dim3
    block: Dim3
    cluster: Dim3 | None
    dynamic_shared_bytes: int
    params: bytes
    stream: int  # 0: the default stream; else 1, 2, ... in the order of their creation
    host_thread: int  # 0, 1, ... in the order of their first call
    process: int  # 0, 1, ...: programs may fork
    cooperative: bool


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What came of a launch. `error` is a fault if it is sticky, else the launch was refused.

    `nanoseconds` pass as device time; `output` is what the kernel printed (to the program's stdout),
    `messages` what a card's driver would write to stderr: "FILE:LINE: FUNCTION: block: [0,0,0], thread: [0,0,0]
    Assertion `CONDITION` failed.", one line for each thread.
    """

    error: CudaError = CudaError.SUCCESS
    nanoseconds: int = 0
    output: bytes = b""
    messages: bytes = b""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """What orders the work of streams: `what` is one of ORDER_* of `client/lanewise.h`. `number`: of an event; `after`:
    of a graph's node, the places of those that come before it."""

    what: int
    process: int
    host_thread: int
    stream: int
    flags: int  # of the stream
    number: int
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Copied:
    """Bytes that the host has copied or set: to the device, from it, or within it; an address of 0 is host memory or a
    value. `place` says where the program asked for it, if that is known."""

    to: int
    source: int
    size: int
    process: int
    host_thread: int
    place: Callable[[], SourceLine | None]


class Backend(Protocol):
    """The device. Calls come one at a time, from threads of the server.

    Every method may raise LanewiseError: the program then sees a CUDA error that fits, and `HostResult.errors` has it.
    """

    @property
    def spec(self) -> DeviceSpec:
        """The device that the program sees."""

    @property
    def arch(self) -> str:
        """What PTX is chosen for, such as "sm_90"."""

    def load(self, images: tuple[ModuleImage, ...], *, linked_code: bytes | None, managed: Collection[str]) -> Any:
        """Load one program: one module, or (with -rdc=true) several that were linked into `linked_code`.

        Variables of the modules get memory: of kind "managed" for the names in `managed`, else "global" or
        "constant". Returns a handle of the backend's own.
        """

    def unload(self, program: Any) -> None:
        """Free what `load` allocated."""

    def function(self, program: Any, name: str) -> FunctionInfo | None:
        """A kernel by its name in the PTX, or None where there is none."""

    def symbol(self, program: Any, name: str) -> tuple[int, int] | None:
        """(address, bytes) of a variable by its name in the PTX, or None where there is none."""

    def launch(self, request: LaunchRequest) -> LaunchOutcome:
        """Run to the end."""

    def set_limit(self, limit: int, value: int) -> bool:
        """cudaDeviceSetLimit with a `cudaLimit` number. False where the device has no such limit."""

    def copied(self, copied: Copied) -> tuple[Finding, ...]:
        """Told only to runs with checks; returns what is wrong with them."""

    def order(self, event: StreamEvent) -> None:
        """Told only to runs with checks of programs that make streams or graphs."""

    def bad_call(
        self, call: str, to: int, source: int, size: int, kind: int, place: SourceLine | None
    ) -> Finding | None:
        """A copy, or (size 0) a free of `to`, was refused. Told only to runs with checks."""

    def interrupt(self) -> None:
        """End a launch that is under way, soon, with any outcome. May be called from any thread at any time."""
