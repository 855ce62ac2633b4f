"""Integer, logic, shift and carry instructions against exact Python integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import run
from instructions import Case, all_cases, kind_of, width_of

Reference = Callable[..., int]


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def shift_left(a: int, b: int, width: int) -> int:
    return a << b if b < width else 0


# By name without type; operands are Python ints of the type's signedness, `w` is the first operand's width.
REFERENCES: dict[str, Callable[[int], Reference]] = {
    "add": lambda w: lambda a, b: a + b,
    "sub": lambda w: lambda a, b: a - b,
    "mul.lo": lambda w: lambda a, b: a * b,
    "mul.hi": lambda w: lambda a, b: (a * b) >> w,
    "mul.wide": lambda w: lambda a, b: a * b,
    "mad.lo": lambda w: lambda a, b, c: a * b + c,
    "mad.hi": lambda w: lambda a, b, c: (a * b >> w) + c,
    "mad.wide": lambda w: lambda a, b, c: a * b + c,
    "sad": lambda w: lambda a, b, c: abs(a - b) + c,
    "div": lambda w: lambda a, b: truncated(a, b) if b else -1,
    "rem": lambda w: lambda a, b: a - b * truncated(a, b) if b else -1,
    "min": lambda w: min,
    "max": lambda w: max,
    "neg": lambda w: lambda a: -a,
    "abs": lambda w: abs,
    "popc": lambda w: lambda a: bin(a).count("1"),
    "clz": lambda w: lambda a: w - a.bit_length(),
    "brev": lambda w: lambda a: int(f"{a:0{w}b}"[::-1], 2),
    "and": lambda w: lambda a, b: a & b,
    "or": lambda w: lambda a, b: a | b,
    "xor": lambda w: lambda a, b: a ^ b,
    "not": lambda w: lambda a: ~a,
    "cnot": lambda w: lambda a: int(a == 0),
    "shl": lambda w: lambda a, b: shift_left(a, b, w),
    "shr": lambda w: lambda a, b: a >> min(b, w),
}
CASES = [
    case
    for case in all_cases()
    if case.key.split(".")[0] in ("integer", "logic")
    and case.name.rpartition(".")[0] in REFERENCES
    and not case.inputs[0].endswith("x2")
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_integer(case: Case) -> None:
    reference = REFERENCES[case.name.rpartition(".")[0]](width_of(case.inputs[0]))
    inputs, (results,) = run(case)
    for row, result in zip(zip(*inputs, strict=True), results, strict=True):
        operands = [
            signed(value, width_of(spec)) if kind_of(spec)[0] == "s" else value
            for value, spec in zip(row, case.inputs, strict=True)
        ]
        expected = reference(*operands) & ((1 << width_of(case.results[0])) - 1)
        assert int(result) == expected, f"{case.id} {[hex(value) for value in row]}"
