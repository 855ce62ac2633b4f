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
    """Passes through the banks that one access takes. Profiler: `memory_l1_wavefronts_shared`.

    Up to 4 bytes the warp goes at once, 8 bytes in halves, 16 bytes in quarters; a phase costs the most distinct words
    that fall into one bank, an empty phase nothing. For `AccessKind.ATOMIC` see `atomic_lanes`.
    """
    if kind is AccessKind.ATOMIC:
        return atomic_lanes(offsets, mask)
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


def atomic_lanes(offsets: Sequence[int], mask: int) -> int:
    """Wavefronts of an integer atomic: lanes of one bank go one after another, also when they share a word."""
    return max(Counter(bank(int(offsets[lane])) for lane in active_lanes(mask)).values(), default=0)


@dataclass(frozen=True, slots=True)
class CompareAndSwap:
    """What the machine's loop of a 4-byte floating-point atomic on shared memory does: a load and a swap each round."""

    rounds: int  # executions of the load, and of the swap
    threads: int  # thread-level executions of each
    load_wavefronts: int
    swap_wavefronts: int  # the least possible for it is the same


def compare_and_swap(offsets: Sequence[int], mask: int) -> CompareAndSwap:
    """Count the rounds of LDS and ATOMS.CAST.SPIN that one warp needs.

    In each round the lowest waiting lane of every bank succeeds; a swap takes two wavefronts whatever the addresses.
    """
    waiting = list(active_lanes(mask))
    rounds = threads = load = 0
    while waiting:
        rounds += 1
        threads += len(waiting)
        load += _worst_bank((int(offsets[lane]) for lane in waiting), WORD_BYTES)
        served: set[int] = set()
        left = []
        for lane in waiting:
            if bank(int(offsets[lane])) in served:
                left.append(lane)
            served.add(bank(int(offsets[lane])))
        waiting = left
    return CompareAndSwap(rounds, threads, load, 2 * rounds)


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
    """Whether two neighbouring phases of a load go as one: every active lane agrees with lane^1, or all with lane^2."""
    return any(
        all(mask >> (lane ^ step) & 1 and offsets[lane] == offsets[lane ^ step] for lane in active_lanes(mask))
        for step in (1, 2)
    )
