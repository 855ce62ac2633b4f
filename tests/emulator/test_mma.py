"""mma.sync of every shape and type against numpy: integers and layouts exactly, sums as `tensor_cores` has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from fragment_kernels import HEADER, kernel, run, vector
from tensor_cores import (
    BITS,
    Array,
    Raw,
    elements,
    exact_or_nan,
    fused,
    matrix,
    places_of_a,
    places_of_b,
    places_of_c,
    random_registers,
    through_halves,
)

import lanewise


@dataclass(frozen=True)
class Form:
    m: int
    k: int
    a: str
    b: str
    c: str
    words: str = ""  # satfinite before the types
    tail: str = ""  # xor.popc after them

    @property
    def name(self) -> str:
        return f"m{self.m}n8k{self.k}_{self.a}_{self.b}_{self.c}{self.words}{self.tail}".replace(".", "_")

    @property
    def modifiers(self) -> str:
        return f"m{self.m}n8k{self.k}.row.col{self.words}.{self.c}.{self.a}.{self.b}.{self.c}{self.tail}"

    @property
    def fragments(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        if self.a == "f64":
            return (self.m * self.k // 32, 64), (self.k // 4, 64), (self.m // 4, 64)
        bits = BITS[self.a]
        counts = (self.m * self.k * bits // 1024, 8 * self.k * bits // 1024, self.m * 8 * BITS[self.c] // 1024)
        return tuple((count, 32) for count in counts)  # type: ignore[return-value]


FLOATS = [
    *(Form(16, k, "f16", "f16", c) for k in (8, 16) for c in ("f16", "f32")),
    *(Form(16, k, "bf16", "bf16", "f32") for k in (8, 16)),
    *(Form(16, k, "tf32", "tf32", "f32") for k in (4, 8)),
    *(Form(16, k, a, b, c) for a, b in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2"))
      for k in (16, 32) for c in ("f16", "f32")),
]  # fmt: skip
DOUBLES = [Form(m, k, "f64", "f64", "f64") for m, k in ((8, 4), (16, 4), (16, 8), (16, 16))]
INTEGERS = [
    Form(m, k, f"{x}{bits}", f"{y}{bits}", "s32", words)
    for bits, shapes in ((8, ((8, 16), (16, 16), (16, 32))), (4, ((8, 32), (16, 32), (16, 64))))
    for m, k in shapes
    for x, y, words in (
        ("s", "s", ".satfinite"),
        ("u", "u", ""),
        ("s", "u", "") if m == 8 else ("u", "s", ".satfinite"),
    )
]
BIT_FORMS = [
    Form(m, k, "b1", "b1", "s32", "", f".{operation}.popc")
    for m, k in ((8, 128), (16, 128), (16, 256))
    for operation in ("xor", "and")
]


@cache
def module() -> lanewise.api.Module:
    text = HEADER
    for form in (*FLOATS, *DOUBLES, *INTEGERS, *BIT_FORMS):
        a, b, c = form.fragments
        operands = ", ".join((vector("o0", c), vector("i0", a), vector("i1", b), vector("i2", c)))
        text += kernel(form.name, [f"mma.sync.aligned.{form.modifiers} {operands};"], [a, b, c], [c])
    return lanewise.compile(text)


def inputs(form: Form, blocks: int) -> tuple[Raw, Raw, Raw]:
    choose = np.random.default_rng(len(form.name))
    kinds = (form.a, form.b, form.c)
    return tuple(  # type: ignore[return-value]
        random_registers(choose, kind, blocks, fragment, accumulator=number == 2)
        for number, (kind, fragment) in enumerate(zip(kinds, form.fragments, strict=True))
    )


def product(form: Form, blocks: int) -> tuple[Array, Array, Array, Array]:
    """The matrices a, b, c and the d that the emulator makes of them."""
    a, b, c = inputs(form, blocks)
    d = run(module(), form.name, [a, b, c], form.fragments[2])
    places = places_of_c(form.c, form.m)
    return (
        matrix(form.a, a, places_of_a(form.a, form.m, form.k)),
        matrix(form.b, b, places_of_b(form.b, form.k)),
        matrix(form.c, c, places),
        matrix(form.c, d, places),
    )


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_products_of_floats(form: Form) -> None:
    a, b, c, d = product(form, 20)
    eight = form.a in ("e4m3", "e5m2")
    expected = through_halves(a, b, c, form.c) if eight else fused(a, b, c, (form.a, form.b, form.c))
    assert exact_or_nan(d, expected)


@pytest.mark.parametrize("form", DOUBLES, ids=lambda form: form.name)
def test_products_of_doubles_are_chains_of_fma(form: Form) -> None:
    a, b, c, d = product(form, 3)
    expected = c.astype(np.longdouble)
    for k in range(form.k):  # a product of 53-bit numbers is not exact in 64 bits: bounded, not equal
        expected = expected + a[:, :, k, None].astype(np.longdouble) * b[:, None, k, :]
    size = np.abs(c) + np.abs(a) @ np.abs(b)
    assert (np.abs(d - expected) <= form.k * 2.0**-53 * size).all()


@pytest.mark.parametrize("form", INTEGERS, ids=lambda form: form.name)
def test_products_of_integers(form: Form) -> None:
    a, b, c, d = product(form, 4)
    exact = a @ b + c
    expected = exact.clip(-(2**31), 2**31 - 1) if form.words else (exact + 2**31) % 2**32 - 2**31
    assert (d == expected).all()


@pytest.mark.parametrize("form", BIT_FORMS, ids=lambda form: form.name)
def test_products_of_bits(form: Form) -> None:
    a, b, c, d = product(form, 4)
    both = a @ b
    count = both if "and" in form.tail else a.sum(-1)[:, :, None] + b.sum(1)[:, None, :] - 2 * both
    assert (d == (count + c + 2**31) % 2**32 - 2**31).all()


def test_elements_are_where_the_isa_says() -> None:
    """Of m16n8k16, in the ISA's own words: a2 and a3 lie in row groupID + 8, a4 and a5 eight columns further."""
    rows, columns = places_of_a("f16", 16, 16)
    for lane in range(32):
        for i in range(8):
            row = lane // 4 if i in (0, 1, 4, 5) else lane // 4 + 8
            column = lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)
            assert (rows[i // 2, lane, i % 2], columns[i // 2, lane, i % 2]) == (row, column)
    assert elements("s4", np.array([[0x87654321]], np.uint32)).tolist() == [[[1, 2, 3, 4, 5, 6, 7, 8]]]


def test_lanes_that_come_one_after_the_other_multiply_together() -> None:
    """Each lane loops as often as its number says before the product of int8 matrices of ones."""
    body = [
        ".reg .b32 %left, %ones; .reg .pred %last; mov.u32 %left, %thread; mov.u32 %ones, 0;",
        "AGAIN: setp.eq.u32 %last, %left, 0; @%last bra DONE; sub.u32 %left, %left, 1; bra AGAIN;",
        "DONE: or.b32 %ones, %ones, 0x01010101;",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%o0_0, %o0_1}, {%ones}, {%ones}, {%left, %i0_0};",
    ]
    text = HEADER + kernel("late", body, [(1, 32)], [(2, 32)])
    found = run(lanewise.compile(text), "late", [np.full((1, 1, 32), 5, np.uint32)], (2, 32))
    assert (found[0, 0] == 16).all()
    assert (found[0, 1] == 21).all()
