"""Integer, logic and shift instructions against exact Python integers, on edge values and random ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from harness import Case, Compiled

Reference = Callable[..., int]


def edges(width: int) -> list[int]:
    top = 1 << (width - 1)
    return [0, 1, 2, 3, 7, 10, 31, 32, 33, 63, 64, 65, 255, 256, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def samples(widths: list[int], seed: str) -> list[list[int]]:
    """Columns of operands: edges with edges (the first two operands), then random numbers of random length."""
    generator = random.Random(seed)
    rows = []
    pairs = list(itertools.product(edges(widths[0]), edges(widths[1] if len(widths) > 1 else widths[0])))
    for pair in pairs:
        rows.append([*pair, *(generator.choice(edges(width)) for width in widths[2:])][: len(widths)])
    for _ in range(300):
        rows.append([generator.getrandbits(width) >> generator.randrange(width) for width in widths])
    return [list(column) for column in zip(*rows, strict=True)]


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


CASES: list[tuple[Case, Reference]] = []


def case(key: str, name: str, operands: list[int], result: int, reference: Reference) -> None:
    CASES.append((Case(key, name, tuple(f"i{width}" for width in operands), (f"i{result}",)), reference))


def family(w: int, letter: str) -> None:
    """Everything that one integer type has."""
    t = f"{letter}{w}"

    def n(value: int) -> int:
        return signed(value, w) if letter == "s" else value

    def two(key: str, name: str, function: Reference) -> None:
        case(key, name, [w, w], w, lambda a, b: function(n(a), n(b)))

    two("integer.add", f"add.{t}", lambda a, b: a + b)
    two("integer.sub", f"sub.{t}", lambda a, b: a - b)
    two("integer.mul", f"mul.lo.{t}", lambda a, b: a * b)
    two("integer.mul", f"mul.hi.{t}", lambda a, b: (a * b) >> w)
    two("integer.div", f"div.{t}", lambda a, b: truncated(a, b) if b else -1)
    two("integer.rem", f"rem.{t}", lambda a, b: a - b * truncated(a, b) if b else a)
    two("integer.min", f"min.{t}", min)
    two("integer.max", f"max.{t}", max)
    case("integer.sad", f"sad.{t}", [w, w, w], w, lambda a, b, c: abs(n(a) - n(b)) + c)
    case("integer.mad", f"mad.lo.{t}", [w, w, w], w, lambda a, b, c: n(a) * n(b) + c)
    case("integer.mad", f"mad.hi.{t}", [w, w, w], w, lambda a, b, c: (n(a) * n(b) >> w) + c)
    case("logic.shr", f"shr.{t}", [w, 32], w, lambda a, b: n(a) >> min(b, w))
    if w < 64:
        case("integer.mul", f"mul.wide.{t}", [w, w], 2 * w, lambda a, b: n(a) * n(b))
        case("integer.mad", f"mad.wide.{t}", [w, w, 2 * w], 2 * w, lambda a, b, c: n(a) * n(b) + c)


def bits(w: int) -> None:
    """What only the width matters for."""
    case("integer.neg", f"neg.s{w}", [w], w, lambda a: -a)
    case("integer.abs", f"abs.s{w}", [w], w, lambda a: abs(signed(a, w)))
    case("logic.shl", f"shl.b{w}", [w, 32], w, lambda a, b: a << b if b < w else 0)
    case("logic.and_", f"and.b{w}", [w, w], w, lambda a, b: a & b)
    case("logic.or_", f"or.b{w}", [w, w], w, lambda a, b: a | b)
    case("logic.xor", f"xor.b{w}", [w, w], w, lambda a, b: a ^ b)
    case("logic.not_", f"not.b{w}", [w], w, lambda a: ~a)
    case("logic.cnot", f"cnot.b{w}", [w], w, lambda a: int(a == 0))


for width in (16, 32, 64):
    family(width, "u")
    family(width, "s")
    bits(width)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return Compiled([item for item, _ in CASES])


@pytest.mark.parametrize(("item", "reference"), CASES, ids=[item.name for item, _ in CASES])
def test_integer(compiled: Compiled, item: Case, reference: Reference) -> None:
    columns = samples([int(str(kind)[1:]) for kind in item.operands], item.name)
    mask = (1 << int(item.results[0][1:])) - 1
    (results,) = compiled.run(item.name, *columns)
    for row, result in zip(zip(*columns, strict=True), results, strict=True):
        assert int(result) == reference(*row) & mask, f"{item.name} {[hex(value) for value in row]}"
