"""Sectors, lines and local memory from literal lane addresses, and against counting byte by byte."""

from __future__ import annotations

import random

import pytest

from lanewise.hardware import coalescing

FULL = 0xFFFFFFFF
LANES = range(32)


@pytest.mark.parametrize(
    ("addresses", "mask", "width", "sectors", "ideal", "lines"),
    [
        ([4 * lane for lane in LANES], FULL, 4, 4, 4, 1),
        ([4 * lane + 12 for lane in LANES], FULL, 4, 5, 4, 2),  # one sector more where a row is not aligned
        ([128 * lane for lane in LANES], FULL, 4, 32, 4, 32),  # a column: one sector a lane
        ([4096] * 32, FULL, 4, 1, 1, 1),  # lanes that share an address: the ideal is what it takes
        ([16 * lane for lane in LANES], FULL, 16, 16, 16, 4),
        (list(LANES), FULL, 1, 1, 1, 1),
        ([4 * lane for lane in LANES], 0x000000FF, 4, 1, 1, 1),
        ([8 * lane for lane in LANES], 0x80000001, 8, 2, 1, 2),
        ([4 * lane for lane in LANES], 0, 4, 0, 0, 0),
    ],
)
def test_literal_accesses(addresses: list[int], mask: int, width: int, sectors: int, ideal: int, lines: int) -> None:
    assert coalescing.sectors(addresses, mask, width) == sectors
    assert coalescing.sectors_ideal(addresses, mask, width) == ideal
    assert coalescing.cache_lines(addresses, mask, width) == lines


def test_row_and_column_of_a_matrix_multiplication() -> None:
    """a[row * n + k] and b[k * n + column] with lanes along the columns: 1 and 4 sectors a request, not 2.5."""
    n, row, k = 1024, 7, 3
    assert coalescing.sectors([4 * (row * n + k)] * 32, FULL, 4) == 1
    assert coalescing.sectors([4 * (k * n + column) for column in LANES], FULL, 4) == 4


def test_against_counting_bytes() -> None:
    rng = random.Random(3)
    for _ in range(300):
        width = rng.choice([1, 2, 4, 8, 16])
        addresses = [width * rng.randrange(rng.choice([8, 100, 5000])) for _ in LANES]
        mask = rng.getrandbits(32)
        touched = {addresses[lane] + byte for lane in LANES if mask >> lane & 1 for byte in range(width)}
        assert coalescing.sectors(addresses, mask, width) == len({byte // 32 for byte in touched})
        assert coalescing.cache_lines(addresses, mask, width) == len({byte // 128 for byte in touched})
        # Local memory by its physical place: byte b of lane l lies at (b / 4) * 128 + 4 * l + b % 4.
        places = {
            (addresses[lane] + byte) // 4 * 128 + 4 * lane + (addresses[lane] + byte) % 4
            for lane in LANES
            if mask >> lane & 1
            for byte in range(width)
        }
        assert coalescing.local_sectors(addresses, mask, width) == len({place // 32 for place in places})


@pytest.mark.parametrize(
    ("offsets", "mask", "width", "expected"),
    [
        ([40] * 32, FULL, 4, 4),  # a spill: every lane its own word, side by side
        ([40] * 32, FULL, 16, 16),
        ([40] * 32, 0x00000100, 4, 1),
        ([4 * lane for lane in LANES], FULL, 4, 32),  # every lane another index
        ([4 * (lane % 8) for lane in LANES], FULL, 4, 32),
        ([4 * (lane // 8) for lane in LANES], FULL, 4, 4),
        ([lane % 4 for lane in LANES], FULL, 1, 4),  # bytes of one word
    ],
)
def test_local_memory(offsets: list[int], mask: int, width: int, expected: int) -> None:
    assert coalescing.local_sectors(offsets, mask, width) == expected
