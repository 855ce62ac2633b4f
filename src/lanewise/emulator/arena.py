"""A range of addresses backed by sparse memory: on Linux a memfd at a fixed address that another process maps too."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from lanewise.errors import EnvironmentProblem

PAGE = mmap.PAGESIZE
# Far from where Linux puts programs, libraries, heaps and stacks, and below 2^47.
DEFAULT_BASE = 0x3000_0000_0000
_END = 0x5000_0000_0000  # below where Linux puts position-independent programs
_LOWEST = 0x1100_0000_0000  # above what a program built with AddressSanitizer keeps for itself
_LEAST_STEP = 1 << 34  # from one place to the next where arenas are small

_MAP_NORESERVE = 0x4000
_MAP_FIXED = 0x10
_MAP_FIXED_NOREPLACE = 0x100000  # Linux 4.17
_MADV_DONTDUMP = 16
_FALLOC_KEEP_SIZE_PUNCH_HOLE = 0x01 | 0x02


class Arena:
    """`size` bytes at `base`, all zero, unmapped when the last view of it is gone. `fd` is None for a private arena."""

    def __init__(self, size: int, *, base: int | None = None) -> None:
        self.size = (size + PAGE - 1) // PAGE * PAGE
        self.fd: int | None = None
        self._private: mmap.mmap | None = None
        if not self._map_shared(base):
            self._map_private()

    def view(self, address: int, size: int) -> memoryview:
        """Writable bytes; the view keeps the arena mapped."""
        array = (ctypes.c_ubyte * size).from_address(address)
        array.owner = self  # type: ignore[attr-defined]
        return memoryview(array).cast("B")

    def release(self, address: int, size: int) -> None:
        """Zero whole pages and give them back to the system."""
        if self.fd is not None:
            offset = address - self.base
            done = _libc().fallocate(
                self.fd, _FALLOC_KEEP_SIZE_PUNCH_HOLE, ctypes.c_int64(offset), ctypes.c_int64(size)
            )
            if done == 0:
                return
        ctypes.memset(address, 0, size)

    @contextmanager
    def copy_on_write(self, size: int) -> Iterator[None]:
        """What is written to the first `size` bytes within the `with` block is gone after it, and no other process sees
        it. What others write meanwhile stays; it is seen where nothing was written here. One at a time.

        Raises EnvironmentProblem where the system does not give it (a private arena, a strict limit on memory).
        """
        if self.fd is None:
            raise EnvironmentProblem("device memory of this process alone cannot be tried on")
        size = min(self.size, (size + PAGE - 1) // PAGE * PAGE)
        if not _map_over(self.base, size, self.fd, mmap.MAP_PRIVATE):
            if not _map_over(self.base, size, self.fd, mmap.MAP_SHARED):
                raise MemoryError("device memory could not be mapped again")
            raise EnvironmentProblem(f"no room for a copy of {size:,} bytes of device memory")
        try:
            yield
        finally:
            if not _map_over(self.base, size, self.fd, mmap.MAP_SHARED):
                raise MemoryError("device memory could not be mapped again")

    def _map_shared(self, base: int | None) -> bool:
        if not sys.platform.startswith("linux") or not hasattr(os, "memfd_create"):
            return False
        try:
            fd = os.memfd_create("lanewise-device-memory")
        except OSError:
            return False
        try:
            os.ftruncate(fd, self.size)
        except OSError:
            os.close(fd)
            return False
        where = self._find_place(base, fd)
        if where is None and gc.collect():  # arenas that nothing reaches any more may still be mapped
            where = self._find_place(base, fd)
        if where is None:
            os.close(fd)
            return False
        self.base = where
        self.fd = fd
        weakref.finalize(self, _unmap, where, self.size, fd)
        return True

    def _find_place(self, base: int | None, fd: int) -> int | None:
        """Map at `base`, or at the first free place: other arenas of this process may be before it."""
        step = max(_LEAST_STEP, 1 << self.size.bit_length())
        candidates = [*range(DEFAULT_BASE, _END, step), *range(_LOWEST, DEFAULT_BASE, step)] if base is None else [base]
        return next((place for place in candidates if _map_fixed(place, self.size, fd) is not None), None)

    def _map_private(self) -> None:
        try:
            self._private = mmap.mmap(-1, self.size)
        except (OSError, ValueError, OverflowError) as error:
            raise EnvironmentProblem(
                f"no room for {self.size:,} bytes of addresses for device memory: {error}",
                next_step="raise the limit on address space (ulimit -v), or ask for less device memory",
            ) from error
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._private))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _map_fixed(base: int, size: int, fd: int) -> int | None:
    """Map at exactly `base` if nothing is there. Kernels before 4.17 take the flag for a hint, so check."""
    libc = _libc()
    libc.mmap.restype = ctypes.c_void_p
    flags = mmap.MAP_SHARED | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    where = libc.mmap(
        ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, ctypes.c_int64(0)
    )
    if where == base:
        libc.madvise(ctypes.c_void_p(where), ctypes.c_size_t(size), _MADV_DONTDUMP)
        return base
    if where not in (None, ctypes.c_void_p(-1).value):
        libc.munmap(ctypes.c_void_p(where), ctypes.c_size_t(size))
    return None


def _map_over(base: int, size: int, fd: int, how: int) -> bool:
    """Map in place of what is there, all at once: other threads see the old bytes or the new ones."""
    libc = _libc()
    libc.mmap.restype = ctypes.c_void_p
    flags = how | _MAP_NORESERVE | _MAP_FIXED
    where = libc.mmap(
        ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, ctypes.c_int64(0)
    )
    if where != base:
        return False
    libc.madvise(ctypes.c_void_p(base), ctypes.c_size_t(size), _MADV_DONTDUMP)
    return True


def _unmap(base: int, size: int, fd: int) -> None:
    _libc().munmap(ctypes.c_void_p(base), ctypes.c_size_t(size))
    os.close(fd)
