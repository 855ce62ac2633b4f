"""What an asynchronous copy of one warp costs (`cp.async`, the machine's `LDGSTS`): sectors and wavefronts.

Arguments: 32 addresses in global and 32 offsets in shared memory, a mask of the lanes that copy and one of those that
read anything (the others fill with zeros), the bytes a lane copies. The rules reproduce what Nsight Compute counted on
an H200 for 247 launches (`tests/truth/async_copies.cu`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.hardware import coalescing
from lanewise.hardware.banks import BANKS, WAVEFRONT_BYTES
from lanewise.hardware.coalescing import SECTOR_BYTES, WARP, WORD_BYTES, active_lanes

BULK_PIECE_BYTES = 128  # of shared memory
CHUNK_BYTES = 16  # what a lane copies past the first-level cache
_LINE_SECTORS = 4  # a line of 128 bytes


@dataclass(frozen=True, slots=True)
class CopyCost:
    """Profiler: memory_l2_theoretical_sectors_global[_ideal], memory_l1_wavefronts_shared[_ideal]."""

    sectors: int
    sectors_ideal: int
    wavefronts: int
    wavefronts_ideal: int


def through_cache(sources: Sequence[int], targets: Sequence[int], mask: int, reads: int, width: int) -> CopyCost:
    """`cp.async.ca`: the sectors of a load. A phase (all lanes for 4 bytes, half of them for 8, a quarter for 16) goes
    from the banks of its sources to those of its targets, on both sides one lane a bank at a time, even where lanes
    share a word."""
    sectors = coalescing.sectors(sources, reads, width)
    per_phase = min(WARP, WAVEFRONT_BYTES // width)
    total = 0
    for first in range(0, WARP, per_phase):
        phase = ((1 << per_phase) - 1) << first
        total += max(
            _busiest_bank(sources, reads & phase, width),
            _busiest_bank(targets, mask & phase, width),
        )
    return CopyCost(sectors, *_ideals(sectors, total, mask, reads, width))


def _busiest_bank(addresses: Sequence[int], mask: int, width: int) -> int:
    """The most lanes that use one bank."""
    used = Counter(
        (addresses[lane] + byte) // WORD_BYTES % BANKS
        for lane in active_lanes(mask)
        for byte in range(0, width, WORD_BYTES)
    )
    return max(used.values(), default=0)


def past_cache(sources: Sequence[int], targets: Sequence[int], mask: int, reads: int) -> CopyCost:
    """`cp.async.cg`, 16 bytes a lane: sectors go from the second-level cache straight to shared memory.

    Of lanes that write one place the last one counts. Lanes are moved together where they share both the sector that
    they read and the 32 bytes that they write, in the same order of its halves. What is moved so passes together where
    it goes from one line of 128 bytes to one other, keeps or swaps both the sectors' parity and the halves alike, and
    fills the same halves; but each sector only once on either side.
    """
    last = {targets[lane]: lane for lane in active_lanes(mask)}
    alive = [lane for lane in active_lanes(mask) if last[targets[lane]] == lane]
    moved: dict[tuple[int, int, int], set[int]] = defaultdict(set)
    for lane in alive:
        if reads >> lane & 1:
            source, target = sources[lane] // CHUNK_BYTES, targets[lane] // CHUNK_BYTES
            moved[source // 2, target // 2, (source ^ target) & 1].add(source & 1)
    together: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for (source, target, swapped), halves in moved.items():
        lines = source // _LINE_SECTORS, target // _LINE_SECTORS
        together[lines, swapped, (source ^ target) & 1, frozenset(halves)].append((source, target))
    wavefronts = sum(
        max(max(Counter(side).values()) for side in zip(*moves, strict=True)) for moves in together.values()
    )
    kept = sum(1 << lane for lane in alive)
    return CopyCost(len(moved), *_ideals(len(moved), wavefronts, kept, kept & reads, CHUNK_BYTES))


def _ideals(sectors: int, wavefronts: int, mask: int, reads: int, width: int) -> tuple[int, int, int]:
    """(ideal sectors, wavefronts, ideal wavefronts): as few as the bytes fill."""
    return (
        min(sectors, -(-reads.bit_count() * width // SECTOR_BYTES)),
        wavefronts,
        min(wavefronts, -(-mask.bit_count() * width // WAVEFRONT_BYTES)),
    )


def bulk_sectors(address: int, offset: int, size: int) -> int:
    """Sectors that a bulk copy of `size` bytes asks of global memory: it goes in pieces, cut where the address in
    shared memory is a multiple of 128, and each asks for its own. Profiler: lts__t_sectors_srcunit_tex, less what else
    runs (equal for stores and reductions; loads that lie askew may find a sector of the piece before still there)."""
    total = done = 0
    while done < size:
        piece = min(BULK_PIECE_BYTES - (offset + done) % BULK_PIECE_BYTES, size - done)
        first = address + done
        total += (first + piece - 1) // SECTOR_BYTES - first // SECTOR_BYTES + 1
        done += piece
    return total
