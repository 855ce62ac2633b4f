"""Forms that the card at hand lacks, or that its assembler emulates otherwise than PTX says: checked by composition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import compiled, run
from instructions import Case, all_cases, kind_of, selector_of, width_of

Array = np.ndarray[Any, Any]
CASES = list(all_cases())
BY_ID = {case.id: case for case in CASES}
PACKED = [case for case in CASES if case.results[0] == "f32x2"]
THREE = [case for case in CASES if case.key in ("floating.min", "floating.max") and len(case.operands) == 3]
VIDEO = [case for case in CASES if case.against == "isa"]


@pytest.mark.parametrize("case", PACKED, ids=lambda case: case.id)
def test_packed_single(case: Case) -> None:
    """Each half of an f32x2 is what the f32 instruction gives."""
    inputs, (results,) = run(case)
    single = BY_ID[case.id.replace(".f32x2", ".f32")]
    for shift in (0, 32):
        halves = [[value >> shift & 0xFFFF_FFFF for value in column] for column in inputs]
        (expected,) = compiled("floating").run(single, halves)
        part = ((results >> np.uint64(shift)) & np.uint64(0xFFFF_FFFF)).astype(np.uint32)
        both_nan = np.isnan(part.view(np.float32)) & np.isnan(expected.view(np.float32))
        assert ((part == expected) | both_nan).all()


@pytest.mark.parametrize("case", THREE, ids=lambda case: case.id)
def test_three_operands(case: Case) -> None:
    """The least or greatest of three is that of two, twice."""
    inputs, (results,) = run(case)
    two = BY_ID[case.id.replace("/3", "/2")]
    (first,) = compiled("floating").run(two, inputs[:2])
    (expected,) = compiled("floating").run(two, [first, inputs[2]])
    assert (results == expected).all()


def picked(value: int, spec: str) -> int:
    """The selected part of a register as a number of the operand's type (the pseudocode's partSelectSignExtend)."""
    selector = selector_of(spec)
    length = {"": 32, "b": 8, "h": 16}[selector[:1]]
    part = value >> (int(selector[1:] or 0) * length) & ((1 << length) - 1)
    return part - (1 << length) if kind_of(spec)[0] == "s" and part >> (length - 1) else part


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


def clamped(value: int, length: int, *, signed: bool) -> int:
    low, high = (-(1 << (length - 1)), (1 << (length - 1)) - 1) if signed else (0, (1 << length) - 1)
    return min(max(value, low), high)


def scaled_product(case: Case, row: tuple[int, ...]) -> int:
    """vmad: 128-bit product and sum, scaled down."""
    a, b = (picked(value, spec) for value, spec in zip(row[:2], case.inputs[:2], strict=True))
    minus_a, minus_b, minus_c = (spec.startswith("-") for spec in case.inputs)
    signed = any(kind_of(spec)[0] == "s" for spec in case.inputs[:2]) or minus_a != minus_b or minus_c
    c = row[2] - (1 << 32) if signed and row[2] >> 31 else row[2]
    c = -c if minus_c else c
    product = -a * b if minus_a != minus_b else a * b
    total = product + c + ("po" in case.name.split("."))
    total >>= 7 if "shr7" in case.name else 15 if "shr15" in case.name else 0
    return clamped(total, 32, signed=signed) if "sat" in case.name.split(".") else total


def scalar_video(case: Case, row: tuple[int, ...]) -> int:
    opcode, to = case.name.split(".")[:2]
    a, b = (picked(value, spec) for value, spec in zip(row[:2], case.inputs[:2], strict=True))
    signed = to[0] == "s"
    selector = selector_of(case.results[0])
    length = {"": 32, "b": 8, "h": 16}[selector[:1]]
    result = a << min(b, 32) if opcode == "vshl" else OPERATIONS[opcode](a, b)
    if opcode == "vshl" and "wrap" in case.name:
        result = a << b % 32
    if ".sat" in case.name:
        result = clamped(result, length, signed=signed)
    if case.name.endswith(".add"):
        return result + row[2]
    if selector:
        position = int(selector[1:]) * length
        mask = (1 << length) - 1
        return row[2] & ~(mask << position) | (result & mask) << position
    return result


@pytest.mark.parametrize("case", VIDEO, ids=lambda case: case.id)
def test_video(case: Case) -> None:
    inputs, (results,) = run(case)
    reference = scaled_product if case.name.startswith("vmad") else scalar_video
    for row, result in zip(zip(*inputs, strict=True), results, strict=True):
        expected = reference(case, row) & ((1 << width_of(case.results[0])) - 1)
        assert int(result) == expected, f"{case.id} of {[hex(value) for value in row]}"
