"""Run one kernel: worker threads, their memory, limits, faults, and the sums of the counters."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.emulator.compile import CompiledKernel, KernelInfo
from lanewise.emulator.counts import warp_instructions
from lanewise.emulator.layout import FUEL, Abort, AsyncQueue, Block, BulkQueue, Launch, Request, Status, Warp, Worker
from lanewise.emulator.layout import Service as ServiceCode
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.pool import Task
from lanewise.emulator.trace import MAX_BLOCKS, Trace, TraceBuffer, joined
from lanewise.errors import EnvironmentProblem

Dim = tuple[int, int, int]
Bytes = npt.NDArray[np.uint8]
STACK_GUARD = 64 << 20  # below the stacks: a frame that is too large is noticed only when it has been made
MAX_SLOTS = 4096
LOOKS = 4096  # about how often a small limit on instructions is looked at before it is reached
STACK_MEMORY = 16 << 30  # bytes of address space for the stacks of one worker
_I64, _U64, _U32 = struct.Struct("<q"), struct.Struct("<Q"), struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a kernel that does not end by itself, and how many host threads run it."""

    instructions: int = 10**14  # thread-level PTX instructions of one launch
    seconds: float = 600.0
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    schedule: int = 0  # 0: blocks and warps in their own order; others: other orders


@dataclass(frozen=True, slots=True)
class PhaseWait:
    """A warp that waits at the mbarrier at an offset of shared memory for a phase of `parity`; what its word holds."""

    warp: int
    place: int  # see `KernelInfo.places`
    offset: int
    parity: int
    word: int


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Where and how a launch failed. `lanes` is a mask; `addresses` (one a lane): offsets in shared, local memory."""

    code: int  # layout.Fault, or 0 for a deadlock, -1 for a limit
    site: int
    lanes: int
    addresses: tuple[int, ...]
    size: int
    block: Dim
    warp: int
    waiting: tuple[tuple[int, int, int], ...] = ()  # deadlock: (warp, barrier, number of the place, see KernelInfo)
    message: str = ""
    phases: tuple[PhaseWait, ...] = ()  # deadlock: the warps that wait at mbarriers


class ServiceFault(Exception):
    """A request to the host ended the launch (a failed assert)."""

    def __init__(self, report: FaultReport) -> None:
        super().__init__(report.message)
        self.report = report


@dataclass(slots=True)
class LaunchOutcome:
    """Counters of all workers added up, in the kernel's numbering; what was printed; how it ended."""

    counters: npt.NDArray[np.uint64]
    fault: FaultReport | None
    seconds: float
    blocks_done: int
    trace: Trace | None = None  # where the kernel was translated to tell its accesses


Progress = Callable[[int, int], None]
Service = Callable[["WorkerMemory", int], None]


def _address(data: npt.NDArray[np.generic]) -> int:
    """Where an array's first element lies (`data.ctypes.data`, faster)."""
    address: int = data.__array_interface__["data"][0]
    return address


def _raw(size: int) -> Bytes:
    """Zeroed memory that starts at a multiple of 128."""
    data = np.zeros(size + 128, np.uint8)
    start = -_address(data) % 128
    return data[start : start + size]


def _reserve(size: int) -> tuple[mmap.mmap, int]:
    """Address space that takes memory only where it is touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        space = mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise EnvironmentProblem(
            f"no room for {size:,} bytes of addresses for the kernel's threads: {error.strerror}",
            next_step="raise the limit on address space (ulimit -v), or use fewer threads a block",
        ) from error
    if hasattr(mmap, "MADV_NOHUGEPAGE") and sys.platform == "linux":
        space.madvise(mmap.MADV_NOHUGEPAGE)
    return space, _address(np.frombuffer(space, np.uint8))


class Fields:
    """Fields of a structure of `layout` as numbers."""

    def __init__(self, raw: Bytes) -> None:
        self.raw = raw
        self.address = _address(raw)
        self._bytes = raw.data

    def get(self, offset: int) -> int:
        value: int = _I64.unpack_from(self._bytes, offset)[0]
        return value

    def get32(self, offset: int) -> int:
        value: int = _U32.unpack_from(self._bytes, offset)[0]
        return value

    def set(self, offset: int, value: int) -> None:
        _U64.pack_into(self._bytes, offset, value & 0xFFFFFFFFFFFFFFFF)


def _column(table: Bytes, offset: int, kind: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """One field of all structures of a table (last axis: bytes), writable."""
    return table[..., offset : offset + np.dtype(kind).itemsize].view(kind)[..., 0]


class WorkerMemory:
    """Everything one host thread needs to run blocks of one launch."""

    def __init__(
        self, kernel: CompiledKernel, launch: Fields, warps: int, slots: int, shared: int, local: int, params: int
    ) -> None:
        info = kernel.info
        self.kernel = kernel
        self.fields = Fields(_raw(Worker.SIZE))
        self.counters: npt.NDArray[np.uint64] = _raw(max(8 * info.counters, 64)).view(np.uint64)
        self.cache = _raw(16 * len(info.sites) + 64)
        self.warps, self.slots = warps, slots
        self.block_size = -(-(Block.WARP_CONTEXTS + warps * Warp.SIZE) // 128) * 128
        self.blocks = _raw(self.block_size * slots)
        self.shared_size = -(-max(shared, 16) // 128) * 128
        self.local_size = 32 * (-(-max(local, 16) // 16) * 16)
        stack = info.stack_bytes
        sizes = [self.shared_size * slots, self.local_size * warps * slots, STACK_GUARD + stack * warps * slots]
        if info.copies:
            sizes += [AsyncQueue.SIZE * warps * slots, BulkQueue.SIZE * slots]
        self.spaces = [_reserve(max(mmap.PAGESIZE, n)) for n in sizes]
        shared_base, local_base, stack_base, *queues = (address for _, address in self.spaces)
        stack_base += STACK_GUARD
        f = self.fields
        f.set(Worker.LAUNCH, launch.address)
        f.set(Worker.FUEL, launch.get(Launch.REFILL))
        f.set(Worker.SLOTS, slots)
        f.set(Worker.BLOCKS, _address(self.blocks))
        f.set(Worker.BLOCK_SIZE, self.block_size)
        f.set(Worker.COUNTERS, _address(self.counters))
        f.set(Worker.CACHE, _address(self.cache))
        f.set(Worker.PARAMS, params)
        self.trace: TraceBuffer | None = None
        slot = np.arange(slots, dtype=np.uint64)
        rows = self.blocks.reshape(slots, self.block_size)
        _column(rows, Block.SHARED, np.uint64)[:] = shared_base + slot * self.shared_size
        _column(rows, Block.WARPS, np.uint64)[:] = warps
        number = np.arange(warps, dtype=np.uint64)
        place = slot[:, None] * warps + number
        contexts = rows[:, Block.WARP_CONTEXTS :][:, : warps * Warp.SIZE].reshape(slots, warps, Warp.SIZE)
        _column(contexts, Warp.INDEX, np.uint32)[:] = number
        _column(contexts, Warp.BLOCK, np.uint64)[:] = (_address(self.blocks) + slot * self.block_size)[:, None]
        _column(contexts, Warp.LOCAL, np.uint64)[:] = local_base + place * self.local_size
        _column(contexts, Warp.STACK_TOP, np.uint64)[:] = stack_base + (place + 1) * stack - 128
        if queues:
            _column(contexts, Warp.QUEUE, np.uint64)[:] = queues[0] + place * AsyncQueue.SIZE
            _column(rows, Block.BULK, np.uint64)[:] = queues[1] + slot * BulkQueue.SIZE
        _column(contexts, Warp.TIDS, np.uint64)[:] = launch.get(Launch.TIDS_TABLE) + number * 384

    def keep_trace(self, arena: int) -> None:
        """Make room for the records of accesses, which the kernel's code writes."""
        self.trace = TraceBuffer()
        for offset, value in (
            (Worker.TRACE_BEGIN, self.trace.begin),
            (Worker.TRACE_AT, self.trace.begin),
            (Worker.TRACE_LIMIT, self.trace.limit),
            (Worker.TRACE_ARENA, arena),
        ):
            self.fields.set(offset, value)

    def current(self) -> tuple[Fields, Fields]:
        """The warp that ran last, and its block."""
        address = self.fields.get(Worker.CURRENT) - _address(self.blocks)
        slot = address // self.block_size
        block = Fields(self.blocks[slot * self.block_size : (slot + 1) * self.block_size])
        start = address - slot * self.block_size
        return Fields(block.raw[start : start + Warp.SIZE]), block


@lru_cache(maxsize=64)
def warp_tables(block: Dim) -> tuple[Bytes, Bytes]:
    """Per warp {mask, tid of lane 0} and the tids of all lanes (see `layout.Launch`)."""
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // 32)
    linear = np.arange(32 * warps, dtype=np.int64)
    x, y, z = linear % block[0], linear // block[0] % block[1], linear // (block[0] * block[1])
    exists = (linear < threads).reshape(warps, 32)
    masks = (exists * (1 << np.arange(32, dtype=np.int64))).sum(axis=1)
    table = _raw(16 * warps)
    rows = table.view(np.uint32).reshape(warps, 4)
    rows[:, 0] = masks
    for column, values in enumerate((x, y, z), start=1):
        rows[:, column] = values[::32]
    tids = _raw(384 * warps)
    tids.view(np.int32).reshape(warps, 3, 32)[:] = np.stack([v.reshape(warps, 32) for v in (x, y, z)], axis=1)
    return table, tids


def _bounds(memory: DeviceMemory) -> npt.NDArray[np.uint64]:
    """The table of live allocations behind a row with their number: one pointer to change for all threads at once."""
    table = memory.table()
    return np.concatenate([np.array([[len(table), 0]], np.uint64), table])


def run(
    kernel: CompiledKernel,
    memory: DeviceMemory,
    grid: Dim,
    block: Dim,
    dynamic_shared: int,
    params: int,
    limits: Limits,
    service: Service,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    cluster: Dim | None = None,
    grid_workspace: int = 0,
    hooks: tuple[int, int] = (0, 0),
    first_blocks: int | None = None,
    faster: Callable[[], CompiledKernel] | None = None,
) -> LaunchOutcome:
    """Run every block of the grid. `params` is the address of the parameter buffer; `cluster`, of which the grid is a
    multiple, is how many blocks run together (None: the launch names no clusters); `grid_workspace` is the address of
    what grid.sync() works with (0: the launch is not cooperative); `hooks`: as of `Instrument.begin`; `first_blocks`:
    the most blocks that are run, in place of every block of the grid; `faster`: optimised code of the kernel, for
    the blocks that are left when they have much to do (`most_quick`)."""
    info = kernel.info
    cx, cy, cz = cluster or (1, 1, 1)
    together = cx * cy * cz
    clusters = (grid[0] // cx, grid[1] // cy, grid[2] // cz)
    total = grid[0] * grid[1] * grid[2]
    if first_blocks is not None:
        total = min(total, max(together, first_blocks // together * together))
    warps = -(-(block[0] * block[1] * block[2]) // 32)
    draws = total // together  # clusters
    launch = Fields(_raw(Launch.SIZE))
    table, tids = warp_tables(block)
    bounds = _bounds(memory)
    shared = info.static_shared + dynamic_shared
    sizes = np.array([b.instructions for b in info.blocks], np.uint64)
    for offset, value in (
        (Launch.COUNT, draws),
        (Launch.CLUSTER_X, cx), (Launch.CLUSTER_Y, cy), (Launch.CLUSTER_Z, cz),
        (Launch.CLUSTERS_X, clusters[0]), (Launch.CLUSTERS_Y, clusters[1]), (Launch.CLUSTERS_Z, clusters[2]),
        (Launch.GRID_WORKSPACE, grid_workspace),
        (Launch.CLUSTER_BLOCKS, together), (Launch.CLUSTER_EXPLICIT, int(cluster is not None)),
        (Launch.GRID_X, grid[0]), (Launch.GRID_Y, grid[1]), (Launch.GRID_Z, grid[2]),
        (Launch.BLOCK_X, block[0]), (Launch.BLOCK_Y, block[1]), (Launch.BLOCK_Z, block[2]),
        (Launch.BOUNDS, _address(bounds)),
        (Launch.SHARED_BYTES, shared), (Launch.LOCAL_BYTES, info.local_bytes),
        (Launch.WARP_TABLE, _address(table)), (Launch.TIDS_TABLE, _address(tids)),
        (Launch.DYNAMIC_SHARED, dynamic_shared),
        (Launch.STACK_BYTES, info.stack_bytes),
        (Launch.BUDGET, limits.instructions), (Launch.SIZES, sizes.ctypes.data), (Launch.SIZES_COUNT, len(sizes)),
        (Launch.REFILL, max(1, min(FUEL, limits.instructions // LOOKS))),
        (Launch.HOOKS, hooks[0]), (Launch.WATCH, hooks[1]),
        *_order(limits.schedule, draws, warps),
    ):  # fmt: skip
        launch.set(offset, value)
    count = max(1, min(limits.threads, draws))
    most = min(total, MAX_SLOTS, max(1, STACK_MEMORY // (info.stack_bytes * warps))) if info.spins else 1
    slots = max(1, most // together) * together
    workers = [WorkerMemory(kernel, launch, warps, slots, shared, info.local_bytes, params) for _ in range(count)]
    if info.tells:
        for worker in workers:
            worker.keep_trace(memory.arena.base)
    started = time.perf_counter()
    faults: list[FaultReport] = []
    errors: list[BaseException] = []
    lock = threading.Lock()
    keep = [bounds, sizes]

    def work(kernel: CompiledKernel, worker: WorkerMemory) -> None:
        try:
            while True:
                request = kernel.run(worker.fields.address)
                if request == Request.SERVICE:
                    with lock:
                        code = worker.fields.get(Worker.SERVICE)
                        service(worker, code)
                        table_now = _bounds(memory)
                        keep.append(table_now)
                        launch.set(Launch.BOUNDS, _address(table_now))
                        if code == ServiceCode.FREE:  # what was in bounds may be so no longer
                            for other in workers:
                                other.cache[:] = 0
                    continue
                if request in (Request.FAULT, Request.DEADLOCK):
                    with lock:
                        faults.append(_report(worker, request))
                    launch.set(Launch.ABORT, Abort.HOST)
                return
        except ServiceFault as fault:
            with lock:
                faults.append(fault.report)
            launch.set(Launch.ABORT, Abort.HOST)
        except BaseException as error:
            errors.append(error)
            launch.set(Launch.ABORT, Abort.HOST)

    def run_on(code: CompiledKernel) -> str:
        """Run what is left of the first Launch.COUNT clusters; the limit that ended them, if one did."""
        tasks = [Task(partial(work, code, worker)) for worker in workers]
        try:
            ended = _watch(tasks, workers, launch, limits, total, started, progress, stop)
        except BaseException:  # Ctrl-C, or a progress callback that raises
            launch.set(Launch.ABORT, Abort.HOST)
            raise
        if errors:
            raise errors[0]
        return ended

    limit_message = ""
    if faster is not None and limits.schedule == 0:  # the other orders depend on the number of clusters
        first = count
        while first < draws and not launch.get(Launch.ABORT):
            launch.set(Launch.COUNT, first)
            limit_message = run_on(kernel)
            launch.set(Launch.NEXT, first)  # each thread has asked once more than there were
            launch.set(Launch.COUNT, draws)
            executed = sum(warp_instructions(info, worker.counters) for worker in workers)
            if executed * (draws - first) // first > most_quick(info) and not launch.get(Launch.ABORT):
                paused = time.perf_counter()
                kernel = faster()
                started += time.perf_counter() - paused
                break
            first *= _GROWTH
    if not launch.get(Launch.ABORT):
        limit_message = run_on(kernel)
    counters = np.zeros_like(workers[0].counters)
    patterns = np.zeros_like(workers[0].counters)
    for worker in workers:
        counters += worker.counters
        patterns |= worker.counters
    _merge_patterns(counters, patterns, info, workers)
    done = sum(worker.fields.get(Worker.BLOCKS_DONE) for worker in workers)
    fault = min(faults, key=lambda f: (f.block[2], f.block[1], f.block[0], f.warp), default=None)
    if fault is None and limit_message:
        fault = FaultReport(-1, -1, 0, (), 0, (0, 0, 0), 0, message=limit_message)
    trace = _trace(workers) if info.tells and total <= MAX_BLOCKS else None
    return LaunchOutcome(counters, fault, time.perf_counter() - started, done, trace)


_GROWTH = 4  # times as many blocks have run when what is left is estimated again
_QUICK = 1 << 13  # instructions of a warp that unoptimised code may run for each line of LLVM text that it came from


def most_quick(info: KernelInfo) -> int:
    """Instructions of warps up to which optimising a kernel costs more than it saves."""
    return _QUICK * info.lines


def _trace(workers: list[WorkerMemory]) -> Trace:
    parts = [w.trace.kept(w.fields.get(Worker.TRACE_AT)) for w in workers if w.trace is not None]
    return joined(parts, [w.fields.get32(Worker.TRACE_MASK).bit_length() for w in workers])


def _order(schedule: int, count: int, warps: int) -> tuple[tuple[int, int], ...]:
    """The order of blocks (or clusters) and warps: their own for schedule 0, backwards for 1, then steps of all sizes.

    A step without a factor in common with the number visits each once."""
    step, start, first = 1, 0, 0
    if schedule:
        step, start = max(count - 1, 1), schedule * 7919 % count
        if schedule > 1:
            step = next(n for n in range((schedule * 2 + 1) * count // 7 + 1, 3 * count + 2) if math.gcd(n, count) == 1)
        first = schedule % warps
    return (Launch.ORDER_STEP, step), (Launch.ORDER_START, start), (Launch.WARP_START, first)


def _watch(
    tasks: list[Task],
    workers: list[WorkerMemory],
    launch: Fields,
    limits: Limits,
    total: int,
    started: float,
    progress: Progress | None,
    stop: threading.Event | None,
) -> str:
    """Wait for the workers; say which limit ended them, if one did."""
    message = ""
    pause = 0.002
    for task in tasks:
        ended = False
        while not ended:
            ended = task.ended(pause)
            pause = min(0.1, pause * 1.5)
            elapsed = time.perf_counter() - started
            if progress is not None:
                progress(sum(w.fields.get(Worker.BLOCKS_DONE) for w in workers), total)
            if message or ended:
                continue
            if stop is not None and stop.is_set():
                message = "the launch was interrupted"
            elif elapsed > limits.seconds:
                message = f"the limit of {limits.seconds:g} seconds a launch was reached"
            if message:
                launch.set(Launch.ABORT, Abort.HOST)
    if not message and launch.get(Launch.ABORT) == Abort.BUDGET:
        return f"the limit of {limits.instructions:,} thread-level PTX instructions a launch was reached"
    return message


def _merge_patterns(
    counters: npt.NDArray[np.uint64], either: npt.NDArray[np.uint64], info: object, workers: list[WorkerMemory]
) -> None:
    """Pattern bits of the workers are joined, not added; a stride that differs between them is none (-1)."""
    from lanewise.emulator.compile import KernelInfo
    from lanewise.emulator.layout import BLOCK_COUNTERS, SITE_COUNTERS, SITE_PATTERNS, SITE_STRIDE

    assert isinstance(info, KernelInfo)
    start = len(info.blocks) * BLOCK_COUNTERS
    count = len(info.sites)
    if count == 0:
        return
    table = counters[start : start + count * SITE_COUNTERS].reshape(count, SITE_COUNTERS)
    joined = either[start : start + count * SITE_COUNTERS].reshape(count, SITE_COUNTERS)
    table[:, SITE_PATTERNS] = joined[:, SITE_PATTERNS]
    strides = np.stack(
        [
            w.counters[start : start + count * SITE_COUNTERS].reshape(count, SITE_COUNTERS)[:, SITE_STRIDE]
            for w in workers
        ]
    )
    none = np.uint64(0xFFFFFFFFFFFFFFFF)
    for site in range(count):
        seen = {int(s) for s in strides[:, site]} - {0}
        table[site, SITE_STRIDE] = seen.pop() if len(seen) == 1 else (none if seen else 0)


def _report(worker: WorkerMemory, request: int) -> FaultReport:
    f = worker.fields
    if request == Request.DEADLOCK:
        slot = f.get(Worker.CURSOR)
        block = Fields(worker.blocks[slot * worker.block_size : (slot + 1) * worker.block_size])
        waiting = []
        phases = []
        where: Dim = (0, 0, 0)
        for number in range(worker.warps):
            start = Block.WARP_CONTEXTS + number * Warp.SIZE
            warp = Fields(block.raw[start : start + Warp.SIZE])
            where = (warp.get32(Warp.CTAID_X), warp.get32(Warp.CTAID_Y), warp.get32(Warp.CTAID_Z))
            if warp.get32(Warp.STATUS) == Status.WAITING:
                waiting.append((number, warp.get32(Warp.BARRIER), warp.get32(Warp.PLACE)))
            elif warp.get32(Warp.STATUS) == Status.PHASE:
                address = warp.get(Warp.WAIT_WORD)
                word = ctypes.c_uint64.from_address(address).value
                parity = warp.get32(Warp.WAIT_STATE) & 1
                phases.append(
                    PhaseWait(number, warp.get32(Warp.PLACE), address - block.get(Block.SHARED), parity, word)
                )
        first = waiting[0][0] if waiting else phases[0].warp if phases else 0
        return FaultReport(0, -1, 0, (), 0, where, first, tuple(waiting), phases=tuple(phases))
    warp, _ = worker.current()
    addresses = f.raw[Worker.FAULT_ADDRESSES : Worker.FAULT_ADDRESSES + 256].view(np.uint64)
    return FaultReport(
        f.get(Worker.FAULT_CODE),
        f.get(Worker.FAULT_SITE),
        f.get(Worker.FAULT_MASK),
        tuple(int(a) for a in addresses),
        f.get(Worker.FAULT_SIZE),
        (warp.get32(Warp.CTAID_X), warp.get32(Warp.CTAID_Y), warp.get32(Warp.CTAID_Z)),
        warp.get32(Warp.INDEX),
    )
