"""Tensor maps: which an H200's driver accepts, and their bytes there and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanewise.emulator.tensor_maps import BYTES, TensorMap, decode, encode, problem

TRUTH = json.loads(Path(__file__).parents[1].joinpath("truth/h200_tensor_maps.json").read_text(encoding="utf-8"))


def made(row: list[Any]) -> tuple[TensorMap, bool]:
    fields: dict[str, Any] = dict(zip(TRUTH["fields"], row, strict=True))
    accepted, im2col = bool(fields.pop("accepted")), bool(fields.pop("im2col"))
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return TensorMap(**lists, is_im2col=im2col), accepted


def test_accepted_as_by_the_card() -> None:
    assert len(TRUTH["maps"]) > 400
    different = []
    for row in TRUTH["maps"]:
        tensor, accepted = made(row)
        found = problem(tensor)
        if (found is None) != accepted:
            different.append((row, found))
    assert not different


def test_bytes_there_and_back() -> None:
    for row in TRUTH["maps"]:
        tensor, accepted = made(row)
        if not accepted or tensor.interleave:
            continue
        tensor = replace(tensor, steps=(1, *tensor.steps[1:]))  # dimension 0 has none where nothing is interleaved
        data = encode(tensor)
        assert len(data) == BYTES
        assert decode(data) == tensor
        assert decode(encode(replace(tensor, address=1 << 40))) == replace(tensor, address=1 << 40)


@pytest.mark.parametrize("at", range(0, BYTES, 7))
def test_bytes_that_were_written_over_are_no_map(at: int) -> None:
    data = bytearray(encode(made(next(row for row in TRUTH["maps"] if row[-1]))[0]))
    data[at] ^= 0x10
    assert decode(bytes(data)) is None
    assert decode(bytes(BYTES)) is None
