"""Sectors and cache lines of one warp's access to global or local memory.

A warp instruction is given literally: 32 byte addresses (one a lane, whatever an inactive lane holds), a mask whose bit
`l` says that lane `l` is active and its predicate holds, and the bytes that a lane accesses. The rules were checked
against the counters of an H200 (`tests/truth/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

WARP = 32
SECTOR_BYTES = 32
LINE_BYTES = 128
SECTORS_OF_LINE = LINE_BYTES // SECTOR_BYTES
WORD_BYTES = 4
_LANES_PER_LOCAL_SECTOR = SECTOR_BYTES // WORD_BYTES


def active_lanes(mask: int) -> Iterator[int]:
    """The lanes whose bit is set in a 32-bit mask, in order."""
    return (lane for lane in range(WARP) if mask >> lane & 1)


def sectors(addresses: Sequence[int], mask: int, width: int) -> int:
    """Distinct 32-byte sectors touched. Profiler: `memory_l2_theoretical_sectors_global`. Atomics count the same."""
    return _distinct_pieces(addresses, mask, width, SECTOR_BYTES)


def sectors_ideal(addresses: Sequence[int], mask: int, width: int) -> int:
    """The fewest sectors that hold as many bytes, or `sectors` where lanes share addresses.

    Profiler: `memory_l2_theoretical_sectors_global_ideal`.
    """
    return min(sectors(addresses, mask, width), -(-mask.bit_count() * width // SECTOR_BYTES))


def cache_lines(addresses: Sequence[int], mask: int, width: int) -> int:
    """Distinct 128-byte lines touched. Profiler: `memory_l1_tag_requests_global`."""
    return _distinct_pieces(addresses, mask, width, LINE_BYTES)


def local_sectors(offsets: Sequence[int], mask: int, width: int) -> int:
    """Sectors of an access to local memory; `offsets` are bytes within each thread's own local memory.

    Local memory is interleaved: word `k` of lane `l` lies at `k * 128 + 4 * l` of the warp's piece. Profiler:
    `memory_l2_theoretical_sectors_local`.
    """
    touched: set[tuple[int, int]] = set()
    for lane in active_lanes(mask):
        first, last = int(offsets[lane]) // WORD_BYTES, (int(offsets[lane]) + width - 1) // WORD_BYTES
        touched.update((word, lane // _LANES_PER_LOCAL_SECTOR) for word in range(first, last + 1))
    return len(touched)


def _distinct_pieces(addresses: Sequence[int], mask: int, width: int, piece: int) -> int:
    touched: set[int] = set()
    for lane in active_lanes(mask):
        first = int(addresses[lane])
        touched.update(range(first // piece, (first + width - 1) // piece + 1))
    return len(touched)
