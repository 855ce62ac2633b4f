"""One process of the program: what it loaded and allocated, and the answers to its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NoReturn

from lanewise.cudart import launch_checks
from lanewise.cudart.backend import Backend, Copied, FunctionInfo, LaunchRequest, ModuleImage, StreamEvent
from lanewise.cudart.call_sites import CallSite, CallSites
from lanewise.cudart.codes import CudaError
from lanewise.cudart.properties import DEFAULT_LIMITS, view_of
from lanewise.cudart.protocol import VERSION, AllocationKind, Fields, Op, ProtocolError, encode
from lanewise.demangle import demangle
from lanewise.emulator import tensor_maps
from lanewise.emulator.memory import DeviceMemory, OutOfDeviceMemory
from lanewise.emulator.tensor_maps import TensorMap
from lanewise.errors import KernelFault, LanewiseError, LimitReached, PtxSyntaxError, UnsupportedCode
from lanewise.hardware.clusters import active_clusters, largest_cluster
from lanewise.hardware.launch import refuse_cluster
from lanewise.records import Allocation, Finding, Severity
from lanewise.toolchain import fatbin
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.arch import parse as parse_arch

DRIVER_VERSION = 13000
# Device time: a launch costs so much by itself, and this many thread-level instructions pass in a nanosecond. Nominal
# values, there so that a program's own timing is a finite number and the same in every run.
_FAULTS = {
    "bounds": CudaError.ILLEGAL_ADDRESS,
    "misaligned": CudaError.MISALIGNED_ADDRESS,
    "assert": CudaError.ASSERT,
    "limit": CudaError.LAUNCH_TIMEOUT,
}


@dataclass(slots=True)
class Shared:
    """What all processes of one run share; lists are in the order of events."""

    backend: Backend
    memory: DeviceMemory
    host_limit: int | None = None  # bytes of live allocations that this machine can back
    lock: threading.RLock = field(default_factory=threading.RLock)
    call_sites: CallSites = field(default_factory=CallSites)
    processes: int = 0
    unsupported_calls: dict[str, None] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    leaks: list[Allocation] = field(default_factory=list)  # live when their process ended


@dataclass(slots=True)
class Reply:
    payload: bytes = b""
    error: CudaError = CudaError.SUCCESS
    fault: CudaError = CudaError.SUCCESS
    elapsed_ns: int = 0


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, error: CudaError) -> None:
        super().__init__(error.name)
        self.error = error


class Session:
    """Answers the requests of one process. Methods take the fields of a request, as their docstrings list them."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._backend = shared.backend
        self._memory = shared.memory
        self._process = shared.processes
        shared.processes += 1
        self._allocations: set[int] = set()
        self._programs: dict[int, Any] = {}
        self._functions: dict[int, FunctionInfo] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._max_dynamic_shared: dict[int, int] = {}
        self._non_portable: set[int] = set()  # functions whose clusters may be larger than portable
        self._next = 1
        self.pid: int | None = None
        self._answers: dict[Op, Callable[[Fields, int], Reply]] = {
            Op.HELLO: self._hello,
            Op.ALLOCATE: self._allocate,
            Op.FREE: self._free,
            Op.FIND: self._find,
            Op.MEMORY_INFO: self._memory_info,
            Op.LOAD: self._load,
            Op.FUNCTION: self._function,
            Op.SYMBOL: self._symbol,
            Op.LAUNCH: self._launch,
            Op.OCCUPANCY: self._occupancy,
            Op.SET_MAX_DYNAMIC_SHARED: self._set_max_dynamic_shared,
            Op.SET_LIMIT: self._set_limit,
            Op.RESET: self._reset,
            Op.TOUCH: self._touch,
            Op.UNSUPPORTED: self._unsupported,
            Op.REFUSED: self._refused,
            Op.COPIED: self._copied,
            Op.BAD_CALL: self._bad_call,
            Op.ORDER: self._order,
            Op.ENCODE_TENSOR_MAP: self._encode_tensor_map,
            Op.MOVE_TENSOR_MAP: self._move_tensor_map,
            Op.ALLOW_CLUSTERS: self._allow_clusters,
            Op.CLUSTERS: self._clusters,
        }

    def answer(self, operation: int, host_thread: int, payload: bytes) -> Reply:
        """The reply to one request. Whatever goes wrong is kept in `Shared.errors` and becomes a CUDA error."""
        try:
            with self._shared.lock:
                return self._answers[Op(operation)](Fields(payload), host_thread)
        except Refused as refusal:
            return Reply(error=refusal.error)
        except OutOfDeviceMemory:
            return Reply(error=CudaError.MEMORY_ALLOCATION)
        except Exception as error:  # a mistake of ours must not leave the program waiting
            self._shared.errors.append(error)
            code = error_of(error)
            return Reply(fault=code) if code.is_sticky else Reply(error=code)

    def close(self) -> None:
        """The process has ended: free what it had."""
        with self._shared.lock:
            for base in sorted(self._allocations):
                allocation = self._memory.find(base)
                if allocation is not None:
                    self._shared.leaks.append(self._memory.describe(allocation))
            self._release()

    # --- requests
    def _hello(self, fields: Fields, thread: int) -> Reply:
        """protocol version, process id -> arena base, arena size, and the device (`client/device.c`)"""
        if fields.u64() != VERSION:
            raise ProtocolError("the runtime library in the program is of another version")
        self.pid = fields.u64()
        view = view_of(self._backend.spec, self._memory.capacity)
        parts: list[int | bytes | str] = [self._memory.base, self._memory.size, DRIVER_VERSION, view.name]
        numbers = [(name, values) for name, values in sorted(view.values.items())]
        parts.append(len(numbers))
        for name, values in numbers:
            parts += [name, len(values), *values]
        parts.append(len(view.attributes))
        for number, value in view.attributes.items():
            parts += [number, value]
        rates = self._backend.spec.rates
        times = round(1000 * rates.event_us), round(1000 * rates.host_gb_s)
        return Reply(encode(*parts, len(DEFAULT_LIMITS), *DEFAULT_LIMITS, *times))

    def _allocate(self, fields: Fields, thread: int) -> Reply:
        """size, kind, file and address of the call -> address, id"""
        size, kind = fields.u64(), AllocationKind(fields.u64())
        site = CallSite(fields.text(), fields.u64(), fields.u64())
        made = self._memory.allocate(size, kind=kind.name.lower())
        limit = self._shared.host_limit
        if limit is not None and self._memory.allocated > limit:
            self._memory.free(made.base)
            self._report_host_limit(size, limit)
            raise Refused(CudaError.MEMORY_ALLOCATION)
        self._allocations.add(made.base)
        self._shared.call_sites.add(made.id, site)
        return Reply(encode(made.base, made.id))

    def _free(self, fields: Fields, thread: int) -> Reply:
        """address -> nothing"""
        base = fields.u64()
        if base not in self._allocations:
            raise Refused(CudaError.INVALID_VALUE)
        self._allocations.discard(base)
        self._memory.free(base)
        return Reply()

    def _find(self, fields: Fields, thread: int) -> Reply:
        """address -> base, size, id, kind: of a variable; others the process knows itself"""
        found = self._memory.find(fields.u64())
        if found is None or found.kind not in ("global", "constant", "managed"):
            raise Refused(CudaError.INVALID_VALUE)
        kind = AllocationKind.MANAGED if found.kind == "managed" else AllocationKind.GLOBAL
        return Reply(encode(found.base, found.size, found.id, kind))

    def _memory_info(self, fields: Fields, thread: int) -> Reply:
        """nothing -> free, total"""
        free = self._memory.capacity - self._memory.used
        if self._shared.host_limit is not None:
            free = max(0, min(free, self._shared.host_limit - self._memory.allocated))
        return Reply(encode(free, self._memory.capacity))

    def _load(self, fields: Fields, thread: int) -> Reply:
        """linked, number of images, images, number of managed variables, names -> program"""
        linked = bool(fields.u64())
        containers = [fields.blob() for _ in range(fields.u64())]
        managed = frozenset(fields.text() for _ in range(fields.u64()))
        images, linked_code = read_images(containers, linked, parse_arch(self._backend.arch))
        program = self._backend.load(images, linked_code=linked_code, managed=managed)
        self._programs[self._next] = program
        self._next += 1
        return Reply(encode(self._next - 1))

    def _function(self, fields: Fields, thread: int) -> Reply:
        """program, name -> number, attributes, number of parameters, {offset, size}..., cluster"""
        number, name = fields.u64(), fields.text()
        function = self._backend.function(self._program(number), name)
        if function is None:
            raise Refused(CudaError.INVALID_DEVICE_FUNCTION)
        identity = self._numbers.setdefault((number, name), self._next)
        if identity == self._next:
            self._next += 1
        self._functions[identity] = function
        spec, resources = self._backend.spec, function.resources
        limit = self._max_dynamic_shared.get(identity, launch_checks.default_dynamic_shared(function, spec))
        parts: list[int | bytes | str] = [
            identity,
            resources.registers,
            resources.static_shared_bytes,
            resources.local_bytes,
            resources.constant_bytes,
            launch_checks.max_threads(function, spec),
            limit,
            function.ptx_version,
            function.binary_version,
            len(function.params),
        ]
        for param in function.params:
            parts += [param.offset, param.size]
        parts += function.cluster or (0, 0, 0)
        return Reply(encode(*parts))

    def _symbol(self, fields: Fields, thread: int) -> Reply:
        """program, name -> address, size, id of the allocation"""
        place = self._backend.symbol(self._program(fields.u64()), fields.text())
        if place is None:
            raise Refused(CudaError.INVALID_SYMBOL)
        allocation: Allocation | None = self._memory.find(place[0])
        return Reply(encode(*place, allocation.id if allocation else 0))

    def _launch(self, fields: Fields, thread: int) -> Reply:
        """function, grid, block, cluster (0: none), dynamic shared bytes, stream, cooperative, parameters
        -> stdout, stderr"""
        identity = fields.u64()
        function = self._known(identity)
        x, y, z, a, b, c, p, q, r = (fields.u64() for _ in range(9))
        request = LaunchRequest(
            function=function,
            grid=(x, y, z),
            block=(a, b, c),
            cluster=(p, q, r) if p or q or r else None,
            dynamic_shared_bytes=fields.u64(),
            stream=fields.u64(),
            cooperative=bool(fields.u64()),
            params=fields.blob(),
            host_thread=thread,
            process=self._process,
        )
        refusal = launch_checks.check(
            request, self._backend.spec, self._max_dynamic_shared.get(identity),
            non_portable=identity in self._non_portable,
        )  # fmt: skip
        if refusal is not None:
            self._report_refusal(function, *refusal)
            raise Refused(refusal[0])
        outcome = self._backend.launch(request)
        printed = outcome.output or outcome.messages
        reply = Reply(encode(outcome.output, outcome.messages) if printed else b"", elapsed_ns=outcome.nanoseconds)
        if outcome.error.is_sticky:
            reply.fault = outcome.error
        else:
            reply.error = outcome.error
        return reply

    def _occupancy(self, fields: Fields, thread: int) -> Reply:
        """function, threads of a block, dynamic shared bytes -> blocks"""
        function = self._known(fields.u64())
        threads, shared = fields.u64(), fields.u64()
        return Reply(encode(launch_checks.active_blocks(function, threads, shared, self._backend.spec)))

    def _allow_clusters(self, fields: Fields, thread: int) -> Reply:
        """function, whether its clusters may be larger than portable -> nothing"""
        identity = fields.u64()
        self._known(identity)
        (self._non_portable.add if fields.u64() else self._non_portable.discard)(identity)
        return Reply()

    def _clusters(self, fields: Fields, thread: int) -> Reply:
        """function, threads of a block, dynamic shared bytes, grid, cluster (0: the kernel's) -> clusters at one time;
        without a cluster (all of it, and the grid, 0): the largest"""
        identity = fields.u64()
        function, spec = self._known(identity), self._backend.spec
        threads, shared = fields.u64(), fields.u64()
        x, y, z, p, q, r = (fields.u64() for _ in range(6))
        blocks = launch_checks.active_blocks(function, threads, shared, spec)
        non_portable = identity in self._non_portable
        if not x:
            if function.cluster and refuse_cluster(spec, function.cluster, function.cluster, non_portable=non_portable):
                raise Refused(CudaError.INVALID_CLUSTER_SIZE)
            return Reply(encode(largest_cluster(spec, blocks, non_portable=non_portable)))
        cluster = (p, q, r) if p or q or r else function.cluster or (1, 1, 1)
        if refuse_cluster(spec, (x, y, z), cluster, non_portable=non_portable):
            raise Refused(CudaError.INVALID_CLUSTER_SIZE)
        return Reply(encode(active_clusters(spec, blocks, prod(cluster))))

    def _set_max_dynamic_shared(self, fields: Fields, thread: int) -> Reply:
        """function, bytes -> nothing"""
        identity, value = fields.u64(), fields.i64()
        if not launch_checks.allows_dynamic_shared(self._known(identity), value, self._backend.spec):
            raise Refused(CudaError.INVALID_VALUE)
        self._max_dynamic_shared[identity] = value
        return Reply()

    def _set_limit(self, fields: Fields, thread: int) -> Reply:
        """cudaLimit, value -> nothing"""
        if not self._backend.set_limit(fields.u64(), fields.u64()):
            raise Refused(CudaError.UNSUPPORTED_LIMIT)
        return Reply()

    def _reset(self, fields: Fields, thread: int) -> Reply:
        """nothing -> nothing"""
        self._release()
        return Reply()

    def _touch(self, fields: Fields, thread: int) -> Reply:
        """allocation, address of the first byte of the file that holds the instruction, instruction, then file and what
        was done in words, each ending in a zero -> nothing"""
        site = self._shared.call_sites.find(fields.u64())
        base, instruction = fields.u64(), fields.u64()
        path, _, text = fields.rest().decode("utf-8", "replace").rstrip("\0").partition("\0")
        name, made_at = site.lookup() if site else (None, None)
        evidence = (f"it was allocated for {name!r} at {made_at.file}:{made_at.line}",) if name and made_at else ()
        _, source = CallSite(path, base, instruction + 1).lookup()
        step = "copy it to the host with cudaMemcpy, or allocate it with cudaMallocManaged"
        self._shared.findings.append(
            Finding("host-access", Severity.ERROR, text, source=source, evidence=evidence, next_step=step)
        )
        return Reply()

    def _unsupported(self, fields: Fields, thread: int) -> Reply:
        """name of a call -> nothing"""
        self._shared.unsupported_calls[fields.text()] = None
        return Reply()

    def _refused(self, fields: Fields, thread: int) -> Reply:
        """name of the error, what broke which rule, file and address of the call -> nothing"""
        error, text = fields.text(), fields.text()
        _, source = CallSite(fields.text(), fields.u64(), fields.u64()).lookup()
        step = f"the call returned {error}: check its result, and change what the message names"
        finding = Finding("call", Severity.WARNING, text, source=source, next_step=step)
        if finding not in self._shared.findings:
            self._shared.findings.append(finding)
        return Reply()

    def _copied(self, fields: Fields, thread: int) -> Reply:
        """destination, source (0: host memory), bytes, file and address of the call -> nothing"""
        to, source, size = fields.u64(), fields.u64(), fields.u64()
        site = CallSite(fields.text(), fields.u64(), fields.u64())
        for finding in self._backend.copied(Copied(to, source, size, self._process, thread, site.line)):
            if finding not in self._shared.findings:
                self._shared.findings.append(finding)
        return Reply()

    def _order(self, fields: Fields, thread: int) -> Reply:
        """what, stream, its flags, number, how many nodes come before, their places -> nothing"""
        what, stream, flags, number, count = (fields.u64() for _ in range(5))
        after = tuple(fields.u64() for _ in range(count))
        self._backend.order(StreamEvent(what, self._process, thread, stream, flags, number, after))
        return Reply()

    def _bad_call(self, fields: Fields, thread: int) -> Reply:
        """call, destination, source, bytes, kind of the copy, file and address of the call -> nothing"""
        call = fields.text()
        to, source, size, kind = (fields.u64() for _ in range(4))
        _, place = CallSite(fields.text(), fields.u64(), fields.u64()).lookup()
        finding = self._backend.bad_call(call, to, source, size, kind, place)
        if finding is not None and finding not in self._shared.findings:
            self._shared.findings.append(finding)
        return Reply()

    def _encode_tensor_map(self, fields: Fields, thread: int) -> Reply:
        """mode (0: tiled, 1: im2col), type, rank, address, interleave, swizzle, promotion, fill, dimensions, strides,
        steps, then the box, or lower corner, upper corner, channels, pixels -> the map"""
        is_im2col, kind, rank, address, interleave, swizzle, promotion, fill = (fields.u64() for _ in range(8))
        count = rank if rank <= tensor_maps.MAX_RANK else 0

        def take(how_many: int) -> tuple[int, ...]:
            return tuple(fields.u64() for _ in range(max(0, how_many)))

        dims, strides, steps = take(count), take(count - 1), take(count)
        box = () if is_im2col else take(count)
        lower, upper = (tuple(map(_signed_32, take(count - 2 if is_im2col else 0))) for _ in range(2))
        channels, pixels = take(2 if is_im2col else 0) or (0, 0)
        tensor = TensorMap(
            kind, address, dims, strides, steps, box, lower, upper, channels, pixels, interleave, swizzle, promotion,
            fill, is_im2col=bool(is_im2col),
        )  # fmt: skip
        found = f"tensorRank = {rank}" if count < rank else tensor_maps.problem(tensor)
        if found is not None:
            self._report_tensor_map("cuTensorMapEncodeIm2col" if is_im2col else "cuTensorMapEncodeTiled", found)
        return Reply(encode(tensor_maps.encode(tensor)))

    def _move_tensor_map(self, fields: Fields, thread: int) -> Reply:
        """map, address -> the map with this address"""
        tensor, address = tensor_maps.decode(fields.blob()), fields.u64()
        if tensor is None:
            self._report_tensor_map("cuTensorMapReplaceAddress", "the map was not made by cuTensorMapEncode*")
        moved = replace(tensor, address=address)
        found = tensor_maps.problem(moved)
        if found is not None:
            self._report_tensor_map("cuTensorMapReplaceAddress", found)
        return Reply(encode(tensor_maps.encode(moved)))

    def _report_tensor_map(self, call: str, problem: str) -> NoReturn:
        """A call that breaks a rule: told once, and refused."""
        finding = Finding(
            "tensor map",
            Severity.WARNING,
            f"{call} was refused (CUDA_ERROR_INVALID_VALUE): {problem}",
            next_step=f"see {tensor_maps.DOCUMENT}; check the result of the call",
        )
        if finding not in self._shared.findings:
            self._shared.findings.append(finding)
        raise Refused(CudaError.INVALID_VALUE)

    # --- inside
    def _report_host_limit(self, size: int, limit: int) -> None:
        finding = Finding(
            "memory",
            Severity.WARNING,
            f"{size:,} bytes of device memory were refused: {self._memory.allocated:,} are allocated, and this machine "
            f"has room for {limit:,}",
            next_step="use smaller sizes, or a machine with more memory",
        )
        if not any(other.check == "memory" for other in self._shared.findings):
            self._shared.findings.append(finding)

    def _report_refusal(self, function: FunctionInfo, error: CudaError, reason: str) -> None:
        finding = Finding(
            "launch",
            Severity.WARNING,
            f"the launch was refused ({error.text}): {reason}",
            kernel=demangle(function.name),
            next_step="check cudaGetLastError after each launch, and choose sizes within the limits",
        )
        if finding not in self._shared.findings:
            self._shared.findings.append(finding)

    def _program(self, number: int) -> Any:
        if number not in self._programs:
            raise Refused(CudaError.INVALID_RESOURCE_HANDLE)
        return self._programs[number]

    def _known(self, number: int) -> FunctionInfo:
        if number not in self._functions:
            raise Refused(CudaError.INVALID_DEVICE_FUNCTION)
        return self._functions[number]

    def _release(self) -> None:
        for base in sorted(self._allocations):
            self._memory.free(base)
        self._allocations.clear()
        for program in self._programs.values():
            self._backend.unload(program)
        self._non_portable.clear()
        for known in (self._programs, self._functions, self._numbers, self._max_dynamic_shared):
            known.clear()


def _signed_32(value: int) -> int:
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)


def read_images(containers: Sequence[bytes], linked: bool, arch: Arch) -> tuple[tuple[ModuleImage, ...], bytes | None]:
    """The modules of what a program registered: PTX that runs on `arch` from each container, and linked machine code.

    UsageError where there is no such PTX.
    """
    entries = [fatbin.entries(container) if container else [] for container in containers]
    linked_code = None
    if linked:
        code = fatbin.choose_machine_code(entries[0], arch)
        linked_code = code.data if code else None
        entries = entries[1:]
    images = []
    for found in entries:
        ptx = fatbin.choose_ptx(found, arch)
        if ptx is None:
            if not found or fatbin.is_device_runtime(found):
                continue
            raise fatbin.no_ptx(found, arch)
        images.append(ModuleImage(ptx.name, ptx.text, ptx.options))
    return tuple(images), linked_code


def error_of(error: Exception) -> CudaError:
    """The CUDA error that a program sees for one of our exceptions."""
    if isinstance(error, KernelFault):
        return _FAULTS.get(error.finding.check, CudaError.LAUNCH_FAILURE)
    for kind, code in (
        (UnsupportedCode, CudaError.NOT_SUPPORTED),
        (PtxSyntaxError, CudaError.INVALID_PTX),
        (LimitReached, CudaError.LAUNCH_TIMEOUT),
        (fatbin.BadFatbin, CudaError.INVALID_KERNEL_IMAGE),
        (LanewiseError, CudaError.NO_KERNEL_IMAGE_FOR_DEVICE),
    ):
        if isinstance(error, kind):
            return code
    return CudaError.UNKNOWN
