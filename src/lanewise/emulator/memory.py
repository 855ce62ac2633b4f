"""Device memory: one arena at a fixed address, shared with the host program, and the allocations in it.

Addresses handed out are the addresses that kernels use *and* the addresses of the bytes in this process, so that a
translated load is a plain load. Freed addresses are not used again before the arena has been gone through once: an
access through a dangling pointer is then known for what it is. Memory reads as zero when it is allocated.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lanewise.emulator.arena import PAGE, Arena
from lanewise.errors import EnvironmentProblem, LimitReached
from lanewise.records import Allocation, SourceLine

GUARD = 256  # bytes of nothing between two allocations: more than the widest access of one thread
ALIGNMENT = 512  # what cudaMalloc gives (256 is what the CUDA C++ Programming Guide promises)
HOST_VISIBLE = frozenset({"managed", "host"})  # kinds with whole pages of their own: the host process maps those
_BEYOND_DEVICE = HOST_VISIBLE  # managed memory may oversubscribe a device, pinned memory is the host's
_FREED_KEPT = 65_536
_GIB = 1 << 30


class OutOfDeviceMemory(LimitReached):
    """The device is full (cudaErrorMemoryAllocation). `requested` and `free` in bytes."""

    def __init__(self, requested: int, free: int) -> None:
        super().__init__(
            f"out of device memory: {requested:,} bytes requested, {free:,} free",
            next_step="use smaller sizes, or a device with more memory (--device)",
        )
        self.requested = requested
        self.free = free


class DeviceMemory:
    """Allocations of one device. Safe to use from several threads.

    `capacity` is the device's memory in bytes, a limit on what is allocated at one time; nothing is committed before it
    is touched. `arena_size` bytes of addresses are reserved: by default four times the capacity, so that freed
    addresses rest a while, or as much as the system gives.
    """

    def __init__(self, capacity: int = 16 * _GIB, *, arena_size: int | None = None, base: int | None = None) -> None:
        self.capacity = capacity
        self.arena = _reserve([arena_size] if arena_size is not None else _sizes(capacity), base)
        # Adds what is costly to know (a name, where it was made) to the allocations that messages are about.
        self.describe: Callable[[Allocation], Allocation] = lambda allocation: allocation
        self._lock = threading.RLock()
        self._next_id = 1
        self._cursor = self.arena.base + PAGE  # the arena's own address is never an allocation
        self._live: dict[int, Allocation] = {}
        self._begins: list[int] = []  # sorted keys of _live
        self._freed: dict[int, Allocation] = {}
        self._freed_begins: list[int] = []  # sorted keys of _freed
        self._freed_order: deque[int] = deque()
        self._used = 0
        self._allocated = 0
        self._generation = 0
        self._table: npt.NDArray[np.uint64] | None = None
        self._table_generation = -1

    # --- what there is
    @property
    def base(self) -> int:
        """First address of the arena."""
        return self.arena.base

    @property
    def size(self) -> int:
        """Bytes of addresses in the arena."""
        return self.arena.size

    @property
    def fd(self) -> int | None:
        """The memfd behind the arena, for a second process to map; None where the arena is private."""
        return self.arena.fd

    @property
    def used(self) -> int:
        """Bytes allocated on the device (managed and pinned memory excluded)."""
        return self._used

    @property
    def allocated(self) -> int:
        """Bytes of all live allocations."""
        return self._allocated

    @property
    def generation(self) -> int:
        """Changes whenever an allocation is made or freed."""
        return self._generation

    def allocations(self) -> tuple[Allocation, ...]:
        """The live allocations, by address."""
        with self._lock:
            return tuple(self._live[begin] for begin in self._begins)

    # --- making and freeing
    def allocate(
        self,
        size: int,
        *,
        alignment: int = ALIGNMENT,
        kind: str = "malloc",
        name: str | None = None,
        made_at: SourceLine | None = None,
    ) -> Allocation:
        """Reserve `size` > 0 bytes, zeroed, on a power-of-two `alignment`. Raises OutOfDeviceMemory."""
        if size <= 0:
            raise ValueError(f"an allocation needs a positive size, not {size}")
        if alignment <= 0 or alignment & (alignment - 1):
            raise ValueError(f"an alignment is a power of two, not {alignment}")
        if kind in HOST_VISIBLE:
            alignment = max(alignment, PAGE)
        with self._lock:
            free = self.capacity - self._used
            if kind not in _BEYOND_DEVICE and size > free:
                raise OutOfDeviceMemory(size, free)
            begin = self._place(size, alignment, kind)
            if begin is None:
                raise OutOfDeviceMemory(size, free)
            allocation = Allocation(self._next_id, begin, size, kind, name, made_at)
            self._next_id += 1
            self._live[begin] = allocation
            insort(self._begins, begin)
            if kind not in _BEYOND_DEVICE:
                self._used += size
            self._allocated += size
            self._generation += 1
            return allocation

    def free(self, base: int) -> Allocation:
        """Free the allocation that begins at `base` and return its record. Raises KeyError where there is none."""
        with self._lock:
            allocation = self._live.pop(base)
            index = bisect_left(self._begins, base)
            del self._begins[index]
            if allocation.kind not in _BEYOND_DEVICE:
                self._used -= allocation.size
            self._allocated -= allocation.size
            self._clear(allocation, index)
            self._generation += 1
            gone = replace(allocation, freed=True)
            self._remember_freed(gone)
            return gone

    # --- looking up
    def find(self, address: int) -> Allocation | None:
        """The live allocation that holds `address`."""
        with self._lock:
            index = bisect_right(self._begins, address) - 1
            if index < 0:
                return None
            allocation = self._live[self._begins[index]]
            return allocation if address < allocation.end else None

    def nearest(self, address: int) -> Allocation | None:
        """The live allocation closest to `address`: what an access out of bounds most likely meant."""
        with self._lock:
            index = bisect_right(self._begins, address)
            around = [self._live[begin] for begin in self._begins[max(index - 1, 0) : index + 1]]
        near = min(around, key=lambda it: max(it.base - address, address - it.end + 1, 0), default=None)
        return self.describe(near) if near is not None else None

    def freed(self, address: int) -> Allocation | None:
        """The freed allocation that held `address`, if its addresses were not given out again since."""
        with self._lock:
            index = bisect_right(self._freed_begins, address) - 1
            if index < 0 or self.find(address) is not None:
                return None
            allocation = self._freed[self._freed_begins[index]]
        return self.describe(allocation) if address < allocation.end else None

    def bounds(self) -> tuple[int, int]:
        """Address of a sorted table of u64 pairs [begin, end) of the live allocations, and the number of pairs.

        The table is never written after it was made; it lives until the next call after a change. Hold on to `table()`
        to keep it longer.
        """
        table = self.table()
        return table.ctypes.data, len(table)

    def table(self) -> npt.NDArray[np.uint64]:
        """The table of `bounds()` as an array of shape (allocations, 2), made anew only after a change."""
        with self._lock:
            if self._table is None or self._table_generation != self._generation:
                pairs = [(begin, self._live[begin].end) for begin in self._begins]
                self._table = np.array(pairs, dtype=np.uint64).reshape(len(pairs), 2)
                self._table.flags.writeable = False
                self._table_generation = self._generation
            return self._table

    # --- contents
    def view(self, address: int, size: int) -> memoryview:
        """The bytes themselves, writable. Raises ValueError unless they lie in one live allocation."""
        allocation = self.find(address)
        if size < 0 or allocation is None or address + size > allocation.end:
            raise ValueError(f"{size} bytes at {address:#x} are not within one live allocation")
        return self.arena.view(address, size)

    def read(self, address: int, size: int) -> bytes:
        """A copy of `size` bytes. Raises ValueError as `view` does."""
        return bytes(self.view(address, size))

    def write(self, address: int, data: bytes | bytearray | memoryview | npt.NDArray[np.generic]) -> None:
        """Copy `data` (its bytes, C order) to `address`. Raises ValueError as `view` does."""
        if isinstance(data, np.ndarray):
            data = np.ascontiguousarray(data).view(np.uint8).reshape(-1).data
        source = memoryview(data).cast("B")
        self.view(address, len(source))[:] = source

    def array(self, allocation: Allocation, dtype: npt.DTypeLike, count: int = -1) -> npt.NDArray[np.generic]:
        """A numpy array over an allocation's bytes (no copy)."""
        return np.frombuffer(self.view(allocation.base, allocation.size), dtype=dtype, count=count)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Writes to allocations within the `with` block are gone after it. Nothing may be allocated or freed in it.
        Errors as of `Arena.copy_on_write`."""
        with self._lock:
            end = max((_footprint_end(a.base, a.size, a.kind) for a in self._live.values()), default=self.base)
        with self.arena.copy_on_write(end - self.base):
            yield

    # --- inside
    def _place(self, size: int, alignment: int, kind: str) -> int | None:
        """Where an allocation may begin: after the last one given out, else in the first gap that is wide enough."""
        arena_end = self.arena.base + self.arena.size
        begin = _align(self._cursor, alignment)
        if _footprint_end(begin, size, kind) + GUARD <= arena_end:
            self._cursor = _footprint_end(begin, size, kind) + GUARD
            return begin
        gap_begin = self.arena.base + PAGE
        for following in [*self._begins, arena_end]:
            begin = _align(gap_begin, alignment)
            if _footprint_end(begin, size, kind) + GUARD <= following:
                self._forget_freed(begin, begin + size)
                return begin
            if following != arena_end:
                live = self._live[following]
                gap_begin = _footprint_end(live.base, live.size, live.kind) + GUARD
        return None

    def _clear(self, gone: Allocation, index: int) -> None:
        """Zero what was freed. Whole pages that hold nothing else go back to the system."""
        before = self._live[self._begins[index - 1]].end if index else self.arena.base
        after = self._begins[index] if index < len(self._begins) else self.arena.base + self.arena.size
        first = max(_align(before, PAGE), gone.base // PAGE * PAGE)
        last = min(after // PAGE * PAGE, _align(gone.end, PAGE))
        if first >= last:
            ctypes.memset(gone.base, 0, gone.size)
            return
        if gone.base < first:
            ctypes.memset(gone.base, 0, first - gone.base)
        if last < gone.end:
            ctypes.memset(last, 0, gone.end - last)
        self.arena.release(first, last - first)

    def _remember_freed(self, gone: Allocation) -> None:
        self._forget_freed(gone.base, gone.end)
        self._freed[gone.base] = gone
        insort(self._freed_begins, gone.base)
        self._freed_order.append(gone.base)
        while len(self._freed_order) > _FREED_KEPT:
            oldest = self._freed_order.popleft()
            if self._freed.pop(oldest, None) is not None:
                del self._freed_begins[bisect_left(self._freed_begins, oldest)]

    def _forget_freed(self, begin: int, end: int) -> None:
        """Drop the records of freed allocations that overlap [begin, end)."""
        first = bisect_right(self._freed_begins, begin) - 1
        if first < 0 or self._freed[self._freed_begins[first]].end <= begin:
            first += 1
        last = bisect_left(self._freed_begins, end)
        for base in self._freed_begins[first:last]:
            del self._freed[base]
        del self._freed_begins[first:last]


def _sizes(capacity: int) -> list[int]:
    """Sizes of the arena to try, the best first."""
    best = max(4 * capacity, _GIB)
    return [best, *(size for size in (capacity + _GIB, 64 * _GIB, 16 * _GIB, 4 * _GIB, _GIB) if size < best)]


def _reserve(sizes: list[int], base: int | None) -> Arena:
    for size in sizes[:-1]:
        with contextlib.suppress(EnvironmentProblem):
            return Arena(size, base=base)
    return Arena(sizes[-1], base=base)


def _align(value: int, alignment: int) -> int:
    return (value + alignment - 1) & -alignment


def _footprint_end(begin: int, size: int, kind: str) -> int:
    return _align(begin + size, PAGE) if kind in HOST_VISIBLE else begin + size
