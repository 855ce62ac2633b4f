"""Wavefronts of one warp's access to shared memory: 32 banks of 4-byte words.

Arguments as in `coalescing`: 32 byte offsets, a mask of the lanes that take part, the bytes a lane accesses (naturally
aligned). The rules were checked against the counters of an H200 (`tests/truth/`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lanewise.hardware.coalescing import WARP, WORD_BYTES, active_lanes
from lanewise.records import AccessKind

BANKS = 32
WAVEFRONT_BYTES = BANKS * WORD_BYTES


def bank(offset: int) -> int:
    """The bank of the word at a byte offset."""
    return offset // WORD_BYTES % BANKS


def wavefronts(offsets: Sequence[int], mask: int, width: int, kind: AccessKind) -> int:
    """Passes through the banks that one access takes, as the hardware counts them.

    Up to 4 bytes the warp goes at once, 8 bytes in halves, 16 bytes in quarters; a phase costs the most distinct words
    that fall into one bank, an empty phase nothing. Neighbouring phases of a load go as one where lanes share
    addresses in pairs. For `AccessKind.ATOMIC` see `atomic_lanes`.

    Profiler: `l1tex__data_pipe_lsu_wavefronts_mem_shared`; `memory_l1_wavefronts_shared` of the source view, which is
    computed by software, says otherwise where pairs of lanes agree but phases conflict, and for 16 bytes where some
    lanes are off.
    """
    if kind is AccessKind.ATOMIC:
        return atomic_lanes(offsets, mask, width)
    lanes_per_phase = min(WARP, WAVEFRONT_BYTES // width)
    if kind is AccessKind.LOAD and lanes_per_phase < WARP and _phases_merge(offsets, mask):
        lanes_per_phase *= 2
    phases: dict[int, list[int]] = {}
    for lane in active_lanes(mask):
        phases.setdefault(lane // lanes_per_phase, []).append(int(offsets[lane]))
    return sum(_worst_bank(starts, width) for starts in phases.values())


def wavefronts_ideal(offsets: Sequence[int], mask: int, width: int, kind: AccessKind) -> int:
    """The fewest wavefronts that move as many bytes. Profiler: `memory_l1_wavefronts_shared_ideal`."""
    return min(wavefronts(offsets, mask, width, kind), -(-mask.bit_count() * width // WAVEFRONT_BYTES))


def atomic_lanes(offsets: Sequence[int], mask: int, width: int) -> int:
    """Wavefronts of an atomic that is one machine instruction (integer add, min, max, and, or, xor, inc, exchange).

    Lanes of one bank go one after another, also when they share a word; 8 bytes go by halves of the warp. A
    compare-and-swap (`atom.cas`) takes twice as many; adding a uniform one without the result (ATOMS.POPC.INC) goes by
    the rule of loads; adding floats, or 64-bit integers, is a loop (`compare_and_swap`).
    """
    unit = max(width, WORD_BYTES)
    slots = WAVEFRONT_BYTES // unit
    lanes = Counter((lane // slots, int(offsets[lane]) // unit % slots) for lane in active_lanes(mask))
    return sum(max(lanes[phase, slot] for slot in range(slots)) for phase in range(WARP // slots))


@dataclass(frozen=True, slots=True)
class CompareAndSwap:
    """What the machine's loop of an atomic on shared memory does: a load and a swap (ATOMS.CAST.SPIN) each round."""

    rounds: int  # executions of the load, and of the swap
    threads: int  # thread-level executions of each
    load_wavefronts: int
    swap_wavefronts: int  # the least possible for it is the same


def compare_and_swap(offsets: Sequence[int], mask: int, width: int) -> CompareAndSwap:
    """Count the rounds that one warp needs: of floating-point atomics, and of 64-bit integer ones but exchange.

    In each round the lowest waiting lane of every bank may swap (of 8 bytes: in each half of the warp), and does so
    unless the first half has just changed the value; a swap takes two wavefronts a half, whatever the addresses.
    """
    unit = max(width, WORD_BYTES)
    lanes_per_phase = WAVEFRONT_BYTES // unit
    waiting = mask
    rounds = threads = load = swap = 0
    while waiting:
        lanes = list(active_lanes(waiting))
        rounds += 1
        threads += len(lanes)
        load += wavefronts(offsets, waiting, width, AccessKind.LOAD)
        swap += 2 * len({lane // lanes_per_phase for lane in lanes})
        tried: set[tuple[int, int]] = set()
        changed: dict[int, int] = {}  # place -> phase that changed it in this round
        for lane in lanes:
            place, phase = int(offsets[lane]) // unit, lane // lanes_per_phase
            if (phase, place % lanes_per_phase) not in tried:
                tried.add((phase, place % lanes_per_phase))
                if changed.setdefault(place, phase) == phase:
                    waiting &= ~(1 << lane)
    return CompareAndSwap(rounds, threads, load, swap)


def words_by_bank(offsets: Iterable[int], width: int) -> dict[int, set[int]]:
    """Which distinct words each bank is asked for, by lanes that go in one phase."""
    banks: dict[int, set[int]] = {}
    for offset in offsets:
        for word in range(offset // WORD_BYTES, (offset + width - 1) // WORD_BYTES + 1):
            banks.setdefault(word % BANKS, set()).add(word)
    return banks


def _worst_bank(offsets: Iterable[int], width: int) -> int:
    return max(len(words) for words in words_by_bank(offsets, width).values())


def _phases_merge(offsets: Sequence[int], mask: int) -> bool:
    """Whether neighbouring phases of a load go as one: all active lanes agree with lane^1, or all with lane^2.

    A partner that is off agrees.
    """
    return any(
        all(offsets[lane] == offsets[lane ^ step] for lane in active_lanes(mask) if mask >> (lane ^ step) & 1)
        for step in (1, 2)
    )
