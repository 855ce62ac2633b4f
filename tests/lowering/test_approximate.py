"""Approximate instructions against the functions themselves in double precision, within the error that PTX allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import compiled, run
from instructions import Case, all_cases, kind_of

Array = np.ndarray[Any, Any]
CASES = [case for case in all_cases() if case.against == "bound"]


def to_double(bits: Array, kind: str) -> Array:
    """Values of a column of bits; parts of packed types side by side."""
    if kind.endswith("x2"):
        return to_double(bits.astype("<u4").view("<u2"), kind.removesuffix("x2"))
    if kind == "bf16":
        return to_double(bits.astype(np.uint32) << 16, "f32")
    layout = {"f16": ("<u2", "<f2"), "f32": ("<u4", "<f4"), "f64": ("<u8", "<f8")}[kind]
    with np.errstate(invalid="ignore"):  # signalling NaN
        values: Array = bits.astype(layout[0]).view(layout[1]).astype(np.float64)
    return values


def flushed(values: Array, kind: str) -> Array:
    least = {"f32": 2.0**-126, "f64": 2.0**-1022, "f16": 2.0**-14, "bf16": 2.0**-126}[kind.removesuffix("x2")]
    return np.where(np.abs(values) < least, np.copysign(0.0, values), values)


def quotient(a: Array, b: Array) -> Array:
    return a / b


# The function, and the relative and absolute error allowed (PTX ISA 9.7.3 and 9.7.4; an ulp of f32 is at most 2**-23).
BOUNDS: dict[str, tuple[Callable[..., Array], float, float]] = {
    "div.approx.f32": (quotient, 2.0**-22, 0.0),
    "div.full.f32": (quotient, 2.0**-22, 0.0),
    "rcp.approx.f32": (lambda a: 1 / a, 2.0**-23, 0.0),
    "sqrt.approx.f32": (np.sqrt, 2.0**-23, 0.0),
    "rsqrt.approx.f32": (lambda a: 1 / np.sqrt(a), 2.0**-22.9, 0.0),
    "rcp.approx.f64": (lambda a: 1 / a, 2.0**-20, 0.0),
    "rsqrt.approx.f64": (lambda a: 1 / np.sqrt(a), 2.0**-20, 0.0),
    "sin.approx.f32": (np.sin, 0.0, 2.0**-20.5),
    "cos.approx.f32": (np.cos, 0.0, 2.0**-20.5),
    "lg2.approx.f32": (np.log2, 2.0**-22, 2.0**-22),
    "ex2.approx.f32": (np.exp2, 2.0**-22, 0.0),
    "tanh.approx.f32": (np.tanh, 2.0**-11, 0.0),
    "ex2.approx.f16": (np.exp2, 2.0**-9.9, 0.0),
    "tanh.approx.f16": (np.tanh, 0.0, 2.0**-10.987),
    "ex2.approx.bf16": (np.exp2, 2.0**-7, 0.0),
    "tanh.approx.bf16": (np.tanh, 0.0, 2.0**-8),
}
# Half a step of the result's subnormal numbers: rounding there is absolute.
LEAST = {"f32": 2.0**-149, "f64": 0.0, "f16": 2.0**-24, "bf16": 2.0**-133}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_error(case: Case) -> None:
    inputs, (bits,) = run(case)
    kind = kind_of(case.results[0])
    part = kind.removesuffix("x2")
    function, relative, absolute = BOUNDS[case.name.replace(".ftz", "").removesuffix("x2")]
    operands = [to_double(np.array(column, dtype=np.uint64), kind) for column in inputs]
    got = to_double(bits, kind)
    if case.name.endswith("ftz.f64"):  # only the upper 32 bits of a double count
        operands = [to_double(np.array(column, dtype=np.uint64) >> 32 << 32, kind) for column in inputs]
    ftz = "ftz" in case.name
    if ftz:
        operands = [flushed(operand, kind) for operand in operands]
    with np.errstate(all="ignore"):
        exact = function(*operands)
        largest = {"f32": 3.4028235677973366e38, "f64": np.inf, "f16": 65520.0, "bf16": 3.3961775292304e38}[part]
        exact = np.where(np.abs(exact) >= largest, np.copysign(np.inf, exact), exact)
        if ftz:
            exact = flushed(exact, kind)
        allowed = relative * np.abs(exact) + absolute + LEAST[part]
        close = (got == exact) | (np.isnan(got) & np.isnan(exact)) | (np.abs(got - exact) <= allowed)
        if case.name.startswith(("sin", "cos")):  # PTX says nothing of large arguments
            close |= np.abs(operands[0]) > 2.0**20
        if case.name.startswith("div.approx"):
            close |= special_division(operands[0], operands[1], got)
        if ftz:  # either side of the least normal number
            close |= (flushed(got, kind) == 0) & (np.abs(exact) < 1.001 * 2.0 ** (-126 if part != "f16" else -14))
    wrong = np.nonzero(~close)[0]
    assert not len(wrong), (
        f"{case.id}: {[operand[wrong[0]] for operand in operands]} gives {got[wrong[0]]}, exactly {exact[wrong[0]]}"
    )


def special_division(a: Array, b: Array, got: Array) -> Array:
    """div.approx is a * (1/b): divisors above 2**126 give 0, or NaN for infinite dividends."""
    huge = (np.abs(b) > 2.0**126) & np.isfinite(b)
    special: Array = huge & np.where(np.isfinite(a), got == 0, np.isnan(got))
    return special


# Results for the values of X, in order.
X = (0.0, -0.0, np.inf, -np.inf, np.nan)
SPECIAL = {
    "sin.approx.f32": (0.0, -0.0, np.nan, np.nan, np.nan),
    "cos.approx.f32": (1.0, 1.0, np.nan, np.nan, np.nan),
    "lg2.approx.f32": (-np.inf, -np.inf, np.inf, np.nan, np.nan),
    "ex2.approx.f32": (1.0, 1.0, np.inf, 0.0, np.nan),
    "tanh.approx.f32": (0.0, -0.0, 1.0, -1.0, np.nan),
    "rcp.approx.f32": (np.inf, -np.inf, 0.0, -0.0, np.nan),
    "rsqrt.approx.f32": (np.inf, -np.inf, 0.0, np.nan, np.nan),
    "sqrt.approx.f32": (0.0, -0.0, np.inf, np.nan, np.nan),
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name.replace(".ftz", "") in SPECIAL], ids=lambda case: case.id
)
def test_special_values(case: Case) -> None:
    """The tables of PTX ISA 9.7.3: zeros with their signs, infinities, NaN."""
    expected = np.array(SPECIAL[case.name.replace(".ftz", "")], dtype=np.float32).view(np.uint32)
    (given,) = compiled(case.key.split(".")[0]).run(case, [np.array(X, dtype=np.float32).view(np.uint32)])
    same = (given == expected) | (np.isnan(given.view(np.float32)) & np.isnan(expected.view(np.float32)))
    assert same.all(), f"{case.id} of {X} gives {given.view(np.float32)}"
