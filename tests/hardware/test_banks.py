"""Wavefronts from literal offsets; `test_counting_truth.py` has those that a card counted."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from lanewise.hardware import banks
from lanewise.records import AccessKind

FULL = 0xFFFFFFFF
LANES = range(32)
LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


@pytest.mark.parametrize(
    ("offsets", "width", "kind", "wavefronts", "ideal"),
    [
        ([4 * lane for lane in LANES], 4, LOAD, 1, 1),
        ([16 * lane for lane in LANES], 4, LOAD, 4, 1),  # shm[4 * i]: 4 ways, 3 too many
        ([128 * lane for lane in LANES], 4, STORE, 32, 1),  # a column of a 32 x 32 tile
        ([132 * lane for lane in LANES], 4, STORE, 1, 1),  # the same with a column of padding
        ([64] * 32, 4, LOAD, 1, 1),
        ([16 * lane for lane in LANES], 16, LOAD, 4, 4),  # contiguous float4: four phases, no conflict
        ([8 * lane for lane in LANES], 8, STORE, 2, 2),
        ([64] * 32, 8, LOAD, 1, 1),  # neighbouring phases of a broadcast go as one
        ([64] * 32, 16, LOAD, 2, 2),
        ([64] * 32, 8, STORE, 2, 2),
        ([64] * 32, 4, ATOMIC, 32, 1),  # lanes of one word go one after another
        ([4 * (lane // 2) for lane in LANES], 4, ATOMIC, 2, 1),
    ],
)
def test_literal_accesses(offsets: list[int], width: int, kind: AccessKind, wavefronts: int, ideal: int) -> None:
    assert banks.wavefronts(offsets, FULL, width, kind) == wavefronts
    assert banks.wavefronts_ideal(offsets, FULL, width, kind) == ideal


def test_no_lane_costs_nothing() -> None:
    for kind in AccessKind:
        assert banks.wavefronts([0] * 32, 0, 4, kind) == 0
        assert banks.wavefronts_ideal([0] * 32, 0, 4, kind) == 0


def test_stores_against_counting_words_by_phase() -> None:
    rng = random.Random(5)
    for _ in range(300):
        width = rng.choice([1, 2, 4, 8, 16])
        offsets = [width * rng.randrange(rng.choice([8, 64, 1000])) for _ in LANES]
        mask = rng.getrandbits(32)
        lanes_at_once = {8: 16, 16: 8}.get(width, 32)
        total = 0
        for start in range(0, 32, lanes_at_once):
            lanes = [lane for lane in range(start, start + lanes_at_once) if mask >> lane & 1]
            words = {(offsets[lane] + byte) // 4 for lane in lanes for byte in range(width)}
            total += max(Counter(word % 32 for word in words).values(), default=0)
        assert banks.wavefronts(offsets, mask, width, STORE) == total


def test_which_words_meet_in_a_bank() -> None:
    assert banks.words_by_bank([0, 128, 260, 4], 4) == {0: {0, 32}, 1: {65, 1}}
    assert banks.words_by_bank([8], 8) == {2: {2}, 3: {3}}


def test_compare_and_swap_takes_a_round_for_each_lane_of_the_fullest_bank() -> None:
    loop = banks.compare_and_swap([128 * (lane % 4) + 4 * (lane // 16) for lane in LANES], FULL, 4)
    assert (loop.rounds, loop.threads, loop.swap_wavefronts) == (16, 2 * sum(range(1, 17)), 32)
    assert banks.compare_and_swap([0] * 32, 0, 4) == banks.CompareAndSwap(0, 0, 0, 0, 0, 0, 0)
