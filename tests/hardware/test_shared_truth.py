"""Wide loads and atomics on shared memory against an H200 (`tests/truth/h200_shared_memory.json`).

Random lanes, many of them off, that tell apart when phases of a load go as one, and how each atomic is served.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.hardware import banks
from lanewise.records import AccessKind

TRUTH = json.loads((Path(__file__).parents[1] / "truth" / "h200_shared_memory.json").read_text())
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"
LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


def lanes_of(tokens: list[str], width: int, digits: bool) -> tuple[list[int], int]:
    """Byte offsets (any for a lane that is off: here one that would conflict) and the mask."""
    offsets = [4096 if token == "." else width * (DIGITS.index(token) if digits else int(token)) for token in tokens]
    return offsets, sum(1 << lane for lane, token in enumerate(tokens) if token != ".")


@pytest.mark.parametrize("width", [8, 16])
def test_wide_loads_as_the_hardware_counts_them(width: int) -> None:
    rows = [row for row in TRUTH["loads"] if row[0] == width]
    assert len(rows) > 100
    for _, text, hardware, _ in rows:
        offsets, mask = lanes_of(list(text), width, digits=True)
        assert banks.hardware_wavefronts(offsets, mask, width, LOAD) == hardware, text


@pytest.mark.parametrize("width", [8, 16])
def test_wide_loads_as_the_source_view_counts_them(width: int) -> None:
    """It computes what the hardware counts, and is off where pairs conflict or lanes are off."""
    differ = 0
    for _, text, hardware, source_view in (row for row in TRUTH["loads"] if row[0] == width):
        offsets, mask = lanes_of(list(text), width, digits=True)
        assert banks.wavefronts(offsets, mask, width, LOAD) == source_view, text
        differ += hardware != source_view
    assert differ > 10


@pytest.mark.parametrize("row", TRUTH["atomics"], ids=lambda row: f"{row[0]}: {row[2]}")
def test_atomics(row: list) -> None:  # type: ignore[type-arg]
    instruction, width, text, counted = row
    offsets, mask = lanes_of(text.split(), width, digits=False)
    served = banks.wavefronts(offsets, mask, width, ATOMIC)
    match instruction:
        case "atom.add.u32" | "atom.exch.b32" | "atom.exch.b64":
            assert served == counted
        case "atom.cas.b32" | "atom.cas.b64":
            assert 2 * served == counted
        case "red.add.u32 1":
            assert banks.wavefronts(offsets, mask, width, LOAD) == counted
        case "atom.add.f32" | "atom.add.f64" | "atom.add.u64":
            loop = banks.compare_and_swap(offsets, mask, width)
            assert loop.load_wavefronts + loop.swap_wavefronts == counted
        case _:
            pytest.fail(instruction)
