"""The reference of tensor copies against what an H200 did: layouts, swizzles, fills, im2col, interleaves, rounding."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensor_reference as reference

from lanewise.emulator.tensor_maps import ElementType, TensorMap

TRUTH = json.loads(Path(__file__).parents[1].joinpath("truth/h200_tensor_copies.json").read_text(encoding="utf-8"))
MEMORY, ROOM = 1 << 20, 1 << 16


def pattern(size: int, kind: int, seed: int) -> reference.Bytes:
    """The bytes that the card's buffers held: noise; of kind 3 every other word of 32 bits is a subnormal float."""

    def hashed(x: Any) -> Any:
        x = x ^ x >> np.uint32(16)
        x = x * np.uint32(0x7FEB352D)
        x = x ^ x >> np.uint32(15)
        x = x * np.uint32(0x846CA68B)
        return x ^ x >> np.uint32(16)

    places = np.arange(size, dtype=np.uint32) + np.uint32(seed)
    if kind == 3:
        words = hashed(places[::4])
        return np.where(words & 1, words & np.uint32(0x807FFFFF), words).astype(np.uint32).view(np.uint8)
    assert kind == 0
    return (hashed(places) >> np.uint32(8)).astype(np.uint8)


def copy(row: list[Any]) -> tuple[TensorMap, dict[str, Any]]:
    fields: dict[str, Any] = dict(zip(TRUTH["fields"], row, strict=True))
    names = ("type", "dims", "strides", "steps", "box", "lower", "upper", "channels", "pixels", "interleave", "swizzle")
    given = {name: tuple(fields[name]) if isinstance(fields[name], list) else fields[name] for name in names}
    return TensorMap(**given, address=0, fill=fields["fill"], is_im2col=bool(fields["im2col"])), fields


def is_refused(tensor: TensorMap, fields: dict[str, Any]) -> bool:
    """Whether the card ends such a copy with an illegal instruction."""
    start = fields["start"]
    if not tensor.interleave and start[0] * ElementType(tensor.type).size % 16:
        return True
    pixels = zip(start[1:], tensor.lower, tensor.upper, tensor.dims[1:], strict=False)
    if any(not lower <= at < size + upper for at, lower, upper, size in pixels):
        return True
    beyond = any(lower < 0 for lower in tensor.lower) or any(upper > 0 for upper in tensor.upper)
    return bool(fields["store"]) and (min(start) < 0 or beyond)


@pytest.fixture(scope="module")
def buffers() -> dict[tuple[int, int, int], reference.Bytes]:
    sizes = ((MEMORY, 1), (ROOM, 12345))
    return {(size, kind, seed): pattern(size, kind, seed) for size, seed in sizes for kind in (0, 3)}


def test_as_the_card(buffers: dict[tuple[int, int, int], reference.Bytes]) -> None:
    assert len(TRUTH["copies"]) > 200
    different = []
    for row in TRUTH["copies"]:
        tensor, fields = copy(row)
        memory = buffers[MEMORY, fields["pattern"], 1]
        where = tuple(fields["start"]), tuple(fields["offsets"]), fields["place"]
        if is_refused(tensor, fields):
            found = "fault"
        elif fields["store"]:
            after = memory.copy()
            reference.store(
                tensor, after, buffers[ROOM, fields["pattern"], 12345], where[0], (0,) * len(tensor.lower), where[2]
            )
            changed = np.nonzero(after != memory)[0]
            first, last = (changed[0], changed[-1] + 1) if len(changed) else (0, 0)
            found = f"{first}:{hashlib.sha256(after[first:last].tobytes()).hexdigest()[:16]}"
        else:
            room = np.full(ROOM, 0xCD, np.uint8)
            reference.load(tensor, memory, room, *where)
            written = np.nonzero(room != 0xCD)[0]
            found = hashlib.sha256(room[: written[-1] + 1 if len(written) else 0].tobytes()).hexdigest()[:16]
        if found != fields["result"]:
            different.append((row, found))
    assert not different
