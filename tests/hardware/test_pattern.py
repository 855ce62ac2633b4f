"""One word for the lanes of a request, from literal addresses."""

from __future__ import annotations

import pytest

from lanewise.hardware.pattern import classify
from lanewise.records import Pattern

FULL = 0xFFFFFFFF
LANES = range(32)
BROADCAST, CONTIGUOUS, STRIDED, SCATTERED = Pattern


@pytest.mark.parametrize(
    ("addresses", "mask", "width", "pattern", "stride"),
    [
        ([100] * 32, FULL, 4, BROADCAST, None),
        ([4 * lane for lane in LANES], 1 << 7, 4, BROADCAST, None),  # a lone lane
        ([4 * lane for lane in LANES], FULL, 4, CONTIGUOUS, 4),
        ([400 - 4 * lane for lane in LANES], FULL, 4, CONTIGUOUS, -4),
        ([4 * lane for lane in LANES], 0x55555555, 4, CONTIGUOUS, 4),  # lanes that are off leave holes, no stride
        ([4 * (lane ^ 5) for lane in LANES], FULL, 4, CONTIGUOUS, 4),  # in any order
        ([4 * (lane // 4) for lane in LANES], FULL, 4, CONTIGUOUS, 4),  # with repeats
        ([4 * (lane % 16) + 4096 * (lane // 16) for lane in LANES], FULL, 4, CONTIGUOUS, 4),  # two rows of 16
        ([8 * lane for lane in LANES], FULL, 4, STRIDED, 8),
        ([12 * lane for lane in LANES], FULL, 4, STRIDED, 12),  # a field of a structure
        ([4096 - 32 * lane for lane in LANES], FULL, 4, STRIDED, -32),
        ([4096 * (lane // 8) for lane in LANES], FULL, 4, STRIDED, 4096),  # rows, each shared by 8 lanes
        ([4 * (lane % 4) + 64 * (lane // 4) for lane in LANES], FULL, 4, SCATTERED, None),  # half a sector at a time
        ([4 * lane * lane for lane in LANES], FULL, 4, SCATTERED, None),
        ([4 * lane for lane in LANES], 0, 4, None, None),
    ],
)
def test_classify(addresses: list[int], mask: int, width: int, pattern: Pattern | None, stride: int | None) -> None:
    assert classify(addresses, mask, width) == (pattern, stride)


def test_what_inactive_lanes_hold_does_not_matter() -> None:
    addresses = [4 * lane if lane < 20 else 0xDEAD0000 + 977 * lane for lane in LANES]
    assert classify(addresses, (1 << 20) - 1, 4) == (CONTIGUOUS, 4)
