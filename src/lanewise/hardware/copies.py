"""What an asynchronous copy of one warp costs (`cp.async`, the machine's `LDGSTS`): sectors and wavefronts.

Arguments: 32 addresses in global and 32 offsets in shared memory, a mask of the lanes that copy and one of those that
read anything (the others fill with zeros), the bytes a lane copies. The rules reproduce what Nsight Compute counted on
an H200 for 303 launches (`tests/truth/async_copies.cu`, `async_fills.cu`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

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


def past_cache(sources: Sequence[int], targets: Sequence[int], mask: int, reads: int, *, fills: bool) -> CopyCost:
    """`cp.async.cg`, 16 bytes a lane: sectors go from the second-level cache straight to shared memory.

    Of lanes that write one place the last one counts. Lanes are moved together where they share both the sector that
    they read and the 32 bytes that they write, in the same order of its halves. What is moved so passes together where
    it goes from one line of 128 bytes to one other, keeps or swaps both the sectors' parity and the halves alike, and
    fills the same halves; but each sector only once on either side. Wavefronts are those of all lanes, whether or not
    they read. `fills`: an operand says how much is read; the zeros are a store of their own.
    """
    moved = _moved(sources, targets, _last_writers(targets, mask & reads))
    written = _last_writers(targets, mask)
    together: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for (source, target, swapped), halves in _moved(sources, targets, written).items():
        lines = source // _LINE_SECTORS, target // _LINE_SECTORS
        together[lines, swapped, (source ^ target) & 1, frozenset(halves)].append((source, target))
    wavefronts = sum(
        max(max(Counter(side).values()) for side in zip(*moves, strict=True)) for moves in together.values()
    )
    cost = CopyCost(
        len(moved), *_ideals(len(moved), wavefronts, written, _last_writers(targets, mask & reads), CHUNK_BYTES)
    )
    if not fills:
        return cost
    zeros = through_cache(sources, targets, mask, 0, CHUNK_BYTES)
    return replace(
        cost,
        wavefronts=cost.wavefronts + zeros.wavefronts,
        wavefronts_ideal=cost.wavefronts_ideal + zeros.wavefronts_ideal,
    )


def _last_writers(targets: Sequence[int], mask: int) -> int:
    """The lanes of a mask whose place no later one of them writes."""
    last = {targets[lane]: lane for lane in active_lanes(mask)}
    return sum(1 << lane for lane in last.values())


def _moved(sources: Sequence[int], targets: Sequence[int], mask: int) -> dict[tuple[int, int, int], set[int]]:
    """What is moved at once, as (sector read, 32 bytes written, halves swapped), and the halves that it fills."""
    moved: dict[tuple[int, int, int], set[int]] = defaultdict(set)
    for lane in active_lanes(mask):
        source, target = sources[lane] // CHUNK_BYTES, targets[lane] // CHUNK_BYTES
        moved[source // 2, target // 2, (source ^ target) & 1].add(source & 1)
    return moved


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
