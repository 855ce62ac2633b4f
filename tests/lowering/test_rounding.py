"""Arithmetic and conversions against exact fractions, in every rounding mode."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from exact import FORMATS, square_root
from harness import compiled, run
from hypothesis import given, settings
from hypothesis import strategies as st
from instructions import Case, all_cases, kind_of

OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "sqrt": square_root,
}
MODES = ("rn", "rna", "rz", "rm", "rp")
BY_ID = {case.id: case for case in all_cases()}


def mode_of(case: Case) -> str:
    return next((part for part in case.name.split(".") if part in MODES), "rn")


def exact_result(case: Case, operands: list[Fraction]) -> Fraction | None:
    """None where the result is zero or not a number: those are special values, which the card's results cover."""
    try:
        return OPERATIONS[case.name.split(".")[0]](*operands) or None
    except (ZeroDivisionError, ValueError):
        return None


ARITHMETIC = [
    case
    for case in BY_ID.values()
    if case.key.split(".")[0] in ("floating", "half")
    and case.name.split(".")[0] in OPERATIONS
    and kind_of(case.results[0]) in FORMATS
    and not {"ftz", "sat", "relu", "approx", "full"} & set(case.name.split("."))
]


@pytest.mark.parametrize("case", ARITHMETIC, ids=lambda case: case.id)
def test_arithmetic(case: Case) -> None:
    inputs, (results,) = run(case)
    form, mode = FORMATS[kind_of(case.results[0])], mode_of(case)
    forms = [FORMATS[kind_of(spec)] for spec in case.inputs]
    checked = 0
    for row, result in zip(zip(*inputs, strict=True), results, strict=True):
        if not all(form.is_finite(bits) for form, bits in zip(forms, row, strict=True)):
            continue
        exact = exact_result(case, [form.value(bits) for form, bits in zip(forms, row, strict=True)])
        if exact is not None:
            checked += 1
            assert int(result) == form.round(exact, mode), f"{case.id} of {[hex(bits) for bits in row]}"
    assert checked > 200


NARROWING = ("cvt.rn.f16.f32/1", "cvt.rz.f16.f32/1", "cvt.rm.f16.f32/1", "cvt.rp.f16.f32/1", "cvt.rn.bf16.f32/1",
             "cvt.rz.bf16.f32/1", "cvt.rm.bf16.f32/1", "cvt.rp.bf16.f32/1", "cvt.rn.tf32.f32/1", "cvt.rz.tf32.f32/1",
             "cvt.rna.tf32.f32/1", "cvt.rn.satfinite.tf32.f32/1", "cvt.rna.satfinite.tf32.f32/1",
             "cvt.rn.satfinite.f16.f32/1", "cvt.rz.satfinite.bf16.f32/1", "cvt.rn.f32.f64/1", "cvt.rz.f32.f64/1",
             "cvt.rm.f32.f64/1", "cvt.rp.f32.f64/1", "cvt.rn.f16.f64/1", "cvt.rm.bf16.f64/1")  # fmt: skip


@pytest.mark.parametrize("name", NARROWING)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_narrowing(name: str, data: st.DataObject) -> None:
    """Conversions to a narrower type, from values near its own: numbers of the type, moved by a few source bits."""
    case = BY_ID[name]
    to, source = FORMATS[kind_of(case.results[0])], FORMATS[kind_of(case.inputs[0])]
    near = st.builds(
        lambda code, step: (source.round(to.value(code << to.low_bits) or Fraction(1), "rn") + step) % 2**source.width,
        st.integers(0, 2**to.width - 1).filter(lambda code: to.is_finite(code << to.low_bits)),
        st.integers(-3, 3) | st.just(1 << (source.mantissa - to.mantissa - 1)),
    )
    any_bits = st.integers(0, 2**source.width - 1)
    column = data.draw(st.lists(near | any_bits, min_size=1, max_size=32))
    column = [bits for bits in column if source.is_finite(bits) and source.value(bits)] or [
        source.bias << source.mantissa
    ]
    (results,) = compiled("convert").run(case, [column])
    for bits, result in zip(column, results, strict=True):
        expected = to.round(source.value(bits), mode_of(case), finite="satfinite" in name)
        assert int(result) == expected, f"{name} of {bits:#x}"


@pytest.mark.parametrize("eight", ["e4m3", "e5m2"])
def test_eight_bit_floats(eight: str) -> None:
    """Every code to f16 and back, and f32 pairs to codes."""
    form, half, single = FORMATS[eight], FORMATS["f16"], FORMATS["f32"]
    codes = [code for code in range(256) if form.is_finite(code) and form.value(code)]
    (wide,) = compiled("convert").run(BY_ID[f"cvt.rn.f16x2.{eight}x2/1"], [codes])
    for code, result in zip(codes, wide, strict=True):
        assert half.value(int(result) & 0xFFFF) == form.value(code)
    (back,) = compiled("convert").run(BY_ID[f"cvt.rn.satfinite.{eight}x2.f16x2/1"], [[int(value) for value in wide]])
    assert [int(value) & 0xFF for value in back] == codes
    case = BY_ID[f"cvt.rn.satfinite.{eight}x2.f32/2"]
    inputs, (results,) = run(case)
    for high, low, result in zip(*inputs, results, strict=True):
        for bits, got in ((high, int(result) >> 8), (low, int(result) & 0xFF)):
            if single.is_finite(bits) and single.value(bits):
                assert got == form.round(single.value(bits), "rn", finite=True), hex(bits)


INTEGER_TO_FLOAT = [
    case
    for case in BY_ID.values()
    if case.key == "convert.cvt" and kind_of(case.results[0]) in FORMATS and kind_of(case.inputs[0])[0] in "us"
    and "sat" not in case.name
]  # fmt: skip


@pytest.mark.parametrize("case", INTEGER_TO_FLOAT, ids=lambda case: case.id)
def test_integer_to_float(case: Case) -> None:
    ((column,), (results,)) = run(case)
    form, kind = FORMATS[kind_of(case.results[0])], kind_of(case.inputs[0])
    width = int(kind[1:])
    for bits, result in zip(column, results, strict=True):
        number = bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits
        expected = form.round(Fraction(number), mode_of(case)) if number else 0
        assert int(result) == expected, f"{case.id} of {number}"
