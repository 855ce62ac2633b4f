"""Wavefronts of one warp's access to shared memory: 32 banks of 4-byte words.

Arguments as in `coalescing`: 32 byte offsets, a mask of the lanes that take part, the bytes a lane accesses (naturally
aligned). The rules were checked against the counters of an H200 (`tests/truth/`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lanewise.hardware.coalescing import WARP, WORD_BYTES, active_lanes
from lanewise.records import AccessKind

BANKS = 32
_ALL, _FIRST_HALF, _SECOND_HALF = 0xFFFFFFFF, 0x0000FFFF, 0xFFFF0000  # masks of lanes
WAVEFRONT_BYTES = BANKS * WORD_BYTES


def bank(offset: int) -> int:
    """The bank of the word at a byte offset."""
    return offset // WORD_BYTES % BANKS


def wavefronts(offsets: Sequence[int], mask: int, width: int, kind: AccessKind) -> int:
    """Passes through the banks that one access takes, as the hardware counts them.

    Up to 4 bytes the warp goes at once, 8 bytes in halves, 16 bytes in quarters; a phase costs the most distinct words
    that fall into one bank, an empty phase nothing. Two neighbouring phases of a load cost one wavefront where lanes
    share addresses in pairs and no bank conflicts; one address of 16 bytes costs one for 16 lanes. For
    `AccessKind.ATOMIC` see `atomic_lanes`.

    Profiler: `memory_l1_wavefronts_shared`, which the source view computes by software. The hardware's own counter
    `l1tex__data_pipe_lsu_wavefronts_mem_shared` is `hardware_wavefronts`.
    """
    if kind is AccessKind.ATOMIC:
        return atomic_lanes(offsets, mask, width)
    lanes_per_phase = min(WARP, WAVEFRONT_BYTES // width)
    if kind is not AccessKind.LOAD or lanes_per_phase == WARP:
        return _in_phases(offsets, mask, width, lanes_per_phase)
    units = {int(offsets[lane]) // width for lane in active_lanes(mask)}
    if width == 16 and len(units) == 1:
        return -(-mask.bit_count() // 16)
    total = 0
    for part in (_ALL,) if width == 8 else (_FIRST_HALF, _SECOND_HALF):
        on = mask & part
        together = _in_phases(offsets, on, width, 2 * lanes_per_phase) if _shares(offsets, mask, part) else 2
        total += together if together <= 1 else _in_phases(offsets, on, width, lanes_per_phase)
    return total


def hardware_wavefronts(offsets: Sequence[int], mask: int, width: int, kind: AccessKind) -> int:
    """Passes as the hardware counts them: all phases go in pairs, or none, with conflicts and whoever is off.

    Profiler: `l1tex__data_pipe_lsu_wavefronts_mem_shared`.
    """
    lanes_per_phase = min(WARP, WAVEFRONT_BYTES // width)
    pairs = kind is AccessKind.LOAD and lanes_per_phase < WARP and _agree(offsets, mask, _ALL)
    return _in_phases(offsets, mask, width, lanes_per_phase * (2 if pairs else 1))


def _in_phases(offsets: Sequence[int], mask: int, width: int, lanes_per_phase: int) -> int:
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

    rounds: int  # executions of the load
    threads: int  # thread-level ones
    load_wavefronts: int
    swap_wavefronts: int
    swap_wavefronts_ideal: int
    swap_rounds: int  # executions of the swap: as many as of the load, where every lane changes the value
    swap_threads: int


@dataclass(frozen=True, slots=True)
class Contest:
    """A minimum or maximum: what memory holds by offset, each lane's operand, and whether an operand beats a value."""

    held: Mapping[int, int]
    operands: Sequence[int]
    beats: Callable[[int, int], bool]


def compare_and_swap(offsets: Sequence[int], mask: int, width: int, contest: Contest | None = None) -> CompareAndSwap:
    """Count the rounds that one warp needs: of floating-point atomics, and of 64-bit integer ones but exchange. A lane
    that would change nothing (`contest`) leaves without a swap.

    In each round the lowest waiting lane of every bank may swap (of 8 bytes: in each half of the warp), and does so
    unless the first half has just changed the value; a swap takes two wavefronts a half, whatever the addresses.
    """
    unit = max(width, WORD_BYTES)
    lanes_per_phase = WAVEFRONT_BYTES // unit
    waiting = mask
    rounds = threads = load = swap = ideal = swap_rounds = swap_threads = 0
    held = {} if contest is None else dict(contest.held)
    while waiting:
        rounds += 1
        threads += waiting.bit_count()
        load += wavefronts(offsets, waiting, width, AccessKind.LOAD)
        if contest is not None:
            for lane in list(active_lanes(waiting)):
                if not contest.beats(contest.operands[lane], held[int(offsets[lane])]):
                    waiting &= ~(1 << lane)
        lanes = list(active_lanes(waiting))
        if not lanes:
            break
        swap_rounds += 1
        swap_threads += len(lanes)
        swaps = 2 * len({lane // lanes_per_phase for lane in lanes})
        swap += swaps
        ideal += min(swaps, 2 * -(-len(lanes) * unit // WAVEFRONT_BYTES))
        tried: set[tuple[int, int]] = set()
        changed: dict[int, int] = {}  # place -> phase that changed it in this round
        for lane in lanes:
            place, phase = int(offsets[lane]) // unit, lane // lanes_per_phase
            if (phase, place % lanes_per_phase) not in tried:
                tried.add((phase, place % lanes_per_phase))
                if changed.setdefault(place, phase) == phase:
                    waiting &= ~(1 << lane)
                    if contest is not None:
                        held[int(offsets[lane])] = contest.operands[lane]
    return CompareAndSwap(rounds, threads, load, swap, ideal, swap_rounds, swap_threads)


def words_by_bank(offsets: Iterable[int], width: int) -> dict[int, set[int]]:
    """Which distinct words each bank is asked for, by lanes that go in one phase."""
    banks: dict[int, set[int]] = {}
    for offset in offsets:
        for word in range(offset // WORD_BYTES, (offset + width - 1) // WORD_BYTES + 1):
            banks.setdefault(word % BANKS, set()).add(word)
    return banks


def _worst_bank(offsets: Iterable[int], width: int) -> int:
    """The most distinct words of a bank; wide accesses are aligned, so they meet in all their banks or in none."""
    unit = max(width, WORD_BYTES)
    slots = WAVEFRONT_BYTES // unit
    return max(Counter(place % slots for place in {offset // unit for offset in offsets}).values())


def _shares(offsets: Sequence[int], mask: int, part: int) -> bool:
    """Whether the source view takes the two phases of a part of the warp together: where lanes agree in pairs. In the
    first half of an access of 16 bytes every lane needs its partner, unless lane 31 is off: then it needs none."""
    if part != _FIRST_HALF:
        return _agree(offsets, mask, part)
    return not mask >> (WARP - 1) & 1 or _agree(offsets, mask, part, alone=False)


def _agree(offsets: Sequence[int], mask: int, part: int, *, alone: bool = True) -> bool:
    """Whether all active lanes of a part have the address of lane^1, or all that of lane^2. `alone`: what a lane whose
    partner is off counts as."""
    lanes = list(active_lanes(mask & part))
    return any(
        all(offsets[lane] == offsets[lane ^ step] if mask >> (lane ^ step) & 1 else alone for lane in lanes)
        for step in (1, 2)
    )
