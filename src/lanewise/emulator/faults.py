"""A failed launch in words: what, where, which lanes and addresses, what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from lanewise.demangle import demangle
from lanewise.emulator import cluster_faults, copy_faults, matrix_faults, mbarrier_faults, tensor_faults
from lanewise.emulator.bulk_issue import UNIT
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.launch import Dim, FaultReport, PhaseWait
from lanewise.emulator.layout import BARRIER_OF_CLUSTER, Fault, MbarrierFault
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.unit import PLACE_BASE
from lanewise.records import AccessKind, Allocation, Finding, Severity, SourceLine

SHOWN_LANES = 4
SHOWN_WARPS = 8


def finding(report: FaultReport, info: KernelInfo, kernel: str, block: Dim, memory: DeviceMemory) -> Finding:
    """The finding for one fault of a launch with blocks of shape `block`."""
    place = _place(report, info)
    lanes = [lane for lane in range(32) if report.lanes >> lane & 1]
    threads = [_thread(report.warp, lane, block) for lane in lanes]
    check, message, evidence, next_step = _words(report, info, lanes, memory)
    if threads:
        shown = ", ".join(str(t) for t in threads[:SHOWN_LANES])
        more = f" and {len(threads) - SHOWN_LANES} more" if len(threads) > SHOWN_LANES else ""
        evidence = (f"threads {shown}{more} of block {report.block}", *evidence)
    return Finding(
        check,
        Severity.ERROR,
        message,
        kernel,
        place[2] if place else None,
        place[1] if place else None,
        threads[0] if threads else None,
        None if check == "limit" else report.block,
        evidence,
        next_step,
    )


def plain_code(report: FaultReport) -> int:
    """The fault that a runtime call tells of: what is misaligned or out of bounds is so whatever accesses it."""
    if report.code == Fault.MBARRIER and report.size == MbarrierFault.MISALIGNED:
        return Fault.MISALIGNED
    return copy_faults.plain_code(report.size) if report.code == Fault.COPY else report.code


def _place(report: FaultReport, info: KernelInfo) -> tuple[str, int, SourceLine | None] | None:
    if report.phases:
        return info.places[report.phases[0].place - PLACE_BASE]
    if report.waiting:  # the message names them all; the finding has the first
        return info.places[report.waiting[0][2] - PLACE_BASE]
    if report.site >= PLACE_BASE:
        return info.places[report.site - PLACE_BASE]
    if report.site < 0:
        return None
    site = info.sites[report.site]
    return site.function, site.ptx_line, site.source


def _thread(warp: int, lane: int, block: Dim) -> Dim:
    linear = 32 * warp + lane
    return linear % block[0], linear // block[0] % block[1], linear // (block[0] * block[1])


Words = tuple[str, str, tuple[str, ...], str | None]


def _words(report: FaultReport, info: KernelInfo, lanes: list[int], memory: DeviceMemory) -> Words:
    if report.code == -1:
        return (
            "limit",
            report.message,
            (),
            "if the kernel is meant to run this long, raise --max-instructions or --max-seconds",
        )
    if report.code == 0:
        return _mbarrier_deadlock(report, info) if report.phases else _deadlock(report, info)
    if report.code == Fault.MBARRIER:
        return mbarrier_faults.words(report.size, report.addresses[lanes[0]])
    if report.code == Fault.TENSOR:
        return tensor_faults.words(report.size, report.addresses[lanes[0]], memory)
    if report.code == Fault.COPY:
        if (what := copy_faults.beyond_global(report.size)) is not None:
            whole = copy_faults.length(report.size)
            return _global(replace(report, size=UNIT), lanes, what, memory, report.addresses[lanes[0]], whole)
        return copy_faults.words(report.size, report.addresses[lanes[0]])
    if report.code == Fault.MATRIX:
        return matrix_faults.words(report.size, report.addresses[lanes[0]])
    if report.code == Fault.BARRIER_COUNT:
        what = f"a barrier of {report.size} threads"
        return "barrier", what, (), "the threads of a barrier are a multiple of 32 (PTX ISA 9.7.13.1)"
    if report.code == Fault.BARRIER:
        return "barrier", f"there is no barrier {report.size}", (), "barriers of a block are numbered 0 to 15"
    if report.code == Fault.ASSERT:
        return "assert", report.message, (), None
    if report.code == Fault.TRAP:
        return "trap", "the kernel executed a trap instruction", (), None
    if report.code == Fault.STACK:
        if info.recursive:
            return "stack", "recursion ran out of stack", (), "bound the depth of the recursion"
        return (
            "stack",
            "the kernel needs more stack than a warp has",
            (),
            "use fewer variables, or shorter chains of calls",
        )
    if report.code == Fault.SURFACE_BOUNDS:
        return (
            "bounds",
            f"out-of-bounds surface access of {report.size} bytes, which traps (PTX ISA 9.7.11.1, .trap)",
            (f"handle {report.addresses[lanes[0]]:#x}",),
            "check the coordinates (x counts bytes), or pass cudaBoundaryModeClamp or cudaBoundaryModeZero",
        )
    if report.code == Fault.SURFACE_MISALIGNED:
        return (
            "misaligned",
            f"surface access of {report.size} bytes whose x is no multiple of {report.size}",
            (f"handle {report.addresses[lanes[0]]:#x}",),
            "x counts bytes: multiply the column by the size of an element",
        )
    if report.code in (Fault.HANDLE, Fault.GEOMETRY):
        return _handle(report, lanes, memory)
    if report.code == Fault.BAD_CALL:
        return "call", "an indirect call went to something that is no device function", (), "check the function pointer"
    if report.code in cluster_faults.CODES:
        return cluster_faults.words(report.code, _what(report, info), report.addresses[lanes[0]])
    return _access(report, info, lanes, memory)


def _handle(report: FaultReport, lanes: list[int], memory: DeviceMemory) -> Words:
    handle = report.addresses[lanes[0]]
    if report.code == Fault.GEOMETRY:
        return (
            "texture",
            "the instruction reads a texture of another geometry than its own (PTX ISA 9.7.10.3, 9.7.11.1)",
            (f"handle {handle:#x}",),
            "use the function that fits the array: tex2D for two dimensions, tex2DLayered for layers, and so on",
        )
    freed = memory.freed(handle)
    what = "was destroyed" if freed is not None and freed.kind in ("texture", "surface") else "is none"
    return (
        "texture",
        f"the handle of a texture or surface {what}",
        (f"handle {handle:#x}",),
        "pass what cudaCreateTextureObject or cudaCreateSurfaceObject gave, and destroy it after the last kernel",
    )


def _deadlock(report: FaultReport, info: KernelInfo) -> Words:
    return (
        "barrier",
        f"block {report.block} cannot go on: some threads wait at a barrier that the others never reach",
        _at_barriers(report, info),
        "every thread of the block that has not returned must reach the same barriers",
    )


def _mbarrier_deadlock(report: FaultReport, info: KernelInfo) -> Words:
    """Warps wait at mbarriers, some perhaps at barriers too, and nobody is left who could end their wait."""
    together: dict[PhaseWait, list[int]] = {}
    for phase in report.phases:
        together.setdefault(replace(phase, warp=0), []).append(phase.warp)
    evidence = tuple(
        _waiting(warps, mbarrier_faults.waits_for(phase), info.places[phase.place - PLACE_BASE])
        for phase, warps in sorted(together.items(), key=lambda item: item[1])
    )
    missing, next_step = mbarrier_faults.missing(report.phases[0].word)
    return (
        "barrier",
        f"block {report.block} cannot go on: threads wait at an mbarrier for a phase that never ends: {missing}",
        (*evidence, *_at_barriers(report, info)),
        next_step,
    )


def _at_barriers(report: FaultReport, info: KernelInfo) -> tuple[str, ...]:
    together: dict[tuple[int, int], list[int]] = {}
    for warp, barrier, place in report.waiting:
        together.setdefault((barrier, place), []).append(warp)
    return tuple(
        _waiting(warps, f"at {_barrier(barrier)}", info.places[place - PLACE_BASE])
        for (barrier, place), warps in sorted(together.items())
    )


def _barrier(number: int) -> str:
    return "the barrier of the cluster" if number == BARRIER_OF_CLUSTER else f"barrier {number}"


def _waiting(warps: list[int], what: str, place: tuple[str, int, SourceLine | None]) -> str:
    """Which warps wait, for what, on which line."""
    numbers = ", ".join(map(str, warps[:SHOWN_WARPS])) + (", ..." if len(warps) > SHOWN_WARPS else "")
    who = f"{len(warps)} warps wait" if len(warps) > 1 else "1 warp waits"
    _, ptx_line, source = place
    where = f"PTX line {ptx_line}"
    if source is not None:
        where = f"{PurePath(source.outermost.file).name}:{source.outermost.line}"
    return f"{who} {what}, {where}: {numbers}"


_KINDS = {AccessKind.LOAD: "read", AccessKind.STORE: "write", AccessKind.ATOMIC: "atomic access"}


def _what(report: FaultReport, info: KernelInfo) -> str:
    if report.site >= PLACE_BASE:
        return "asynchronous operation"
    return f"{_KINDS[info.sites[report.site].kind]} of {report.size} byte{'s' if report.size > 1 else ''}"


def _access(report: FaultReport, info: KernelInfo, lanes: list[int], memory: DeviceMemory) -> Words:
    if report.site >= PLACE_BASE:
        words = f"out-of-bounds or misaligned read of {report.size} bytes of the kernel's parameters"
        return "bounds", words, (f"address {report.addresses[lanes[0]]:#x}",), "check the index against the size"
    site = info.sites[report.site]
    address = report.addresses[lanes[0]]
    what = _what(report, info)
    named = f" {demangle(site.array)!r}" if site.array else ""
    if report.code == Fault.MISALIGNED:
        return (
            "misaligned",
            f"misaligned {what} in {site.space.value} memory{named}",
            (f"address {address:#x} is not a multiple of {report.size}",),
            f"the address of a {report.size}-byte access must be a multiple of {report.size}",
        )
    if report.code == Fault.SHARED_BOUNDS:
        evidence, step = _shared_evidence(info, address), cluster_faults.beyond_own(address)
        return "bounds", f"out-of-bounds {what} in shared memory{named}", (evidence,), step
    if report.code == Fault.LOCAL_BOUNDS:
        evidence = f"byte {_signed(address)} of the stack frame"
        return "bounds", f"out-of-bounds {what} in local memory{named}", (evidence,), None
    return _global(report, lanes, what, memory, address)


def _signed(offset: int) -> int:
    """An offset of 32 bits as the program meant it: one before the start is -1."""
    return offset - (1 << 32) if offset >> 31 else offset


def _shared_evidence(info: KernelInfo, address: int) -> str:
    offset = _signed(address)
    arrays = [a for a in info.shared_arrays if a[1] <= max(offset, 0)]
    if not arrays:
        return f"offset {offset} is outside the block's shared memory"
    name, start, size = max(arrays, key=lambda a: a[1])
    held = f"has {size} bytes" if size else "is sized by the launch"
    return f"offset {offset - start} from the start of {demangle(name)!r}, which {held}"


def _global(
    report: FaultReport, lanes: list[int], what: str, memory: DeviceMemory, address: int, length: int | None = None
) -> Words:
    """`length`: bytes from an address on, where they are more than the element."""
    if address < 4096:
        return (
            "bounds",
            f"{what} through a null pointer",
            (f"address {address:#x}",),
            "check that the pointer was allocated and passed to the kernel",
        )
    if (freed := memory.freed(address)) is not None:
        return (
            "bounds",
            f"{what} in freed memory",
            (f"address {address:#x} was in {_allocation(freed)}, which was freed",),
            "free memory only after the last kernel that uses it",
        )
    near = memory.nearest(address)
    if near is None:
        return "bounds", f"out-of-bounds {what}: no device memory is allocated", (f"address {address:#x}",), None
    low = min(report.addresses[lane] for lane in lanes)
    high = max(report.addresses[lane] for lane in lanes)
    per = max(1, report.size)
    evidence = [f"address {address:#x}, nearest allocation: {_allocation(near)} at {near.base:#x}"]
    if abs(address - near.base) < 1 << 40:
        first, last = (low - near.base) // per, (high + (length or per) - per - near.base) // per
        index = f"index {first}" if first == last else f"indices {first} to {last}"
        evidence.append(f"as elements of {per} bytes: {index}; valid are 0 to {near.size // per - 1}")
    return "bounds", f"out-of-bounds {what} in global memory", tuple(evidence), "check the index against the size"


def _allocation(a: Allocation) -> str:
    name = f" {a.name!r}" if a.name else ""
    return f"allocation {a.id}{name} of {a.size:,} bytes ({a.kind})"
