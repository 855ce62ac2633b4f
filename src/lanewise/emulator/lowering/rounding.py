"""Rounding a float to a narrower format in any mode, with integer operations: exact on every CPU, in every lane."""

from __future__ import annotations

from typing import NamedTuple

from lanewise.emulator.ir import Elementwise, Value, bits_of


class Format(NamedTuple):
    """A binary floating-point format narrower than f32. Codes are without the sign."""

    bits: int  # without the sign
    mantissa: int  # explicit bits
    smallest_exponent: int  # of normal numbers
    largest: int  # code of the largest finite number
    infinity: int  # code that overflow gives; of e4m3, which has none, the largest
    nan: int


FORMATS = {
    "f16": Format(15, 10, -14, 0x7BFF, 0x7C00, 0x7FFF),
    "bf16": Format(15, 7, -126, 0x7F7F, 0x7F80, 0x7FFF),
    "tf32": Format(18, 10, -126, 0x7F7F_FFFF >> 13, 0x7F80_0000 >> 13, 0x7FFF_FFFF >> 13),
    "e4m3": Format(7, 3, -6, 0x7E, 0x7E, 0x7F),
    "e5m2": Format(7, 2, -14, 0x7B, 0x7C, 0x7F),
}


def _bit(e: Elementwise, condition: Value, element: str) -> Value:
    return e.cast("zext", condition, element)


def narrow(e: Elementwise, a: Value, form: Format, rounding: str, *, finite: bool = False) -> Value:
    """An f32 as the code of `form` in an i32, rounded by rn, rna, rz, rm or rp; `finite`: overflow gives the largest
    finite number (`.satfinite`). NaN gives the format's positive NaN."""
    bits = e.as_int(a)
    zero, one = e.const("i32", 0), e.const("i32", 1)
    magnitude = e.op("and", bits, e.const("i32", 0x7FFF_FFFF))
    negative = e.icmp("slt", bits, zero)
    cut = 23 - form.mantissa
    if form.smallest_exponent == -126:
        shift, below_one = e.const("i32", cut), magnitude
        base = zero
    else:
        exponent = e.intrinsic("umax", e.op("lshr", magnitude, e.const("i32", 23)), one)
        fraction = e.op("and", magnitude, e.const("i32", 0x7F_FFFF))
        normal = e.icmp("uge", magnitude, e.const("i32", 0x80_0000))
        below_one = e.select(normal, e.op("or", fraction, e.const("i32", 0x80_0000)), fraction)
        above = e.op("sub", exponent, e.const("i32", 127 + form.smallest_exponent))  # 0 for the smallest normal
        missing = e.intrinsic("smax", e.op("sub", zero, above), zero)
        shift = e.intrinsic("smin", e.op("add", missing, e.const("i32", cut)), e.const("i32", 25))
        base = e.op("shl", e.intrinsic("smax", above, zero), e.const("i32", form.mantissa))
    kept = e.op("lshr", below_one, shift)
    rest = e.op("sub", below_one, e.op("shl", kept, shift))
    half = e.op("shl", one, e.op("sub", shift, one))
    inexact = e.icmp("ne", rest, zero)
    if rounding == "rn":
        odd = e.op("and", kept, one)
        up = _bit(e, e.icmp("ugt", e.op("add", rest, odd), half), "i32")
    elif rounding == "rna":
        up = _bit(e, e.icmp("uge", rest, half), "i32")
    elif rounding == "rz":
        up = zero
    else:
        away = negative if rounding == "rm" else e.not_(negative)
        up = _bit(e, e.op("and", inexact, away), "i32")
    code = e.op("add", e.op("add", kept, base), up)
    code = _overflow(e, code, magnitude, negative, form, rounding, finite=finite)
    sign = e.op("and", e.op("lshr", bits, e.const("i32", 31)), one)
    signed = e.op("or", code, e.op("shl", sign, e.const("i32", form.bits)))
    return e.select(e.is_nan(a), e.const("i32", form.nan), signed)


def _overflow(
    e: Elementwise, code: Value, magnitude: Value, negative: Value, form: Format, rounding: str, *, finite: bool
) -> Value:
    largest, infinity = e.const("i32", form.largest), e.const("i32", form.infinity)
    if finite:
        beyond = largest
    elif rounding in ("rn", "rna"):
        beyond = infinity
    else:
        was_infinite = e.icmp("uge", magnitude, e.const("i32", 0x7F80_0000))
        if rounding == "rz":
            away = was_infinite
        else:
            away = e.op("or", was_infinite, negative if rounding == "rm" else e.not_(negative))
        beyond = e.select(away, infinity, largest)
    return e.select(e.icmp("ugt", code, largest), beyond, code)


def nudge(e: Elementwise, nearest: Value, below: Value, above: Value, rounding: str) -> Value:
    """A result rounded to nearest, moved to the neighbour that a directed mode asks for.

    `below`, `above`: whether `nearest` is less or greater than the exact result.
    """
    bits = e.as_int(nearest)
    one = e.const(bits.type, 1)
    negative = e.icmp("slt", bits, e.const(bits.type, 0))
    if rounding == "rz":
        away = e.select(negative, below, above)
        return e.as_float(e.op("sub", bits, _bit(e, away, bits.type)), nearest.type)
    outward = negative if rounding == "rm" else e.not_(negative)
    wrong = above if rounding == "rm" else below
    step = e.select(outward, one, e.const(bits.type, -1))
    return e.as_float(e.select(wrong, e.op("add", bits, step), bits), nearest.type)


def odd_nudge(e: Elementwise, nearest: Value, below: Value, above: Value) -> Value:
    """A result rounded to nearest, rounded to odd instead: it can be rounded again, to fewer bits, without harm."""
    inexact = e.op("or", below, above)
    truncated = e.as_int(nudge(e, nearest, below, above, "rz"))
    return e.as_float(e.op("or", truncated, _bit(e, inexact, truncated.type)), nearest.type)


def double_to_single(e: Elementwise, a: Value, rounding: str) -> Value:
    """f64 to f32 in mode rn, rz, rm, rp, or `odd`."""
    nearest = e.cast("fptrunc", a, "float")
    if rounding == "rn":
        return nearest
    back = e.cast("fpext", nearest, "double")
    below, above = e.fcmp("olt", back, a), e.fcmp("ogt", back, a)
    if rounding == "odd":
        return odd_nudge(e, nearest, below, above)
    return nudge(e, nearest, below, above, rounding)


def integer_to_double(e: Elementwise, a: Value, rounding: str, *, signed: bool) -> Value:
    """Any integer to f64 in mode rn, rz, rm, rp, or `odd`."""
    opcode = "sitofp" if signed else "uitofp"
    if rounding == "rn" or bits_of(a.type) < 64:
        return e.cast(opcode, a, "double")
    thirty_two = e.const("i64", 32)
    high = e.cast(opcode, e.op("ashr" if signed else "lshr", a, thirty_two), "double")
    high = e.op("fmul", high, e.const("double", 2.0**32))
    low = e.cast("uitofp", e.op("and", a, e.const("i64", 0xFFFF_FFFF)), "double")
    total = e.op("fadd", high, low)
    # Exact: the magnitude of high is 0 or at least 2**32, more than low.
    error = e.op("fsub", low, e.op("fsub", total, high))
    zero = e.const("double", 0.0)
    below, above = e.fcmp("ogt", error, zero), e.fcmp("olt", error, zero)
    if rounding == "odd":
        return odd_nudge(e, total, below, above)
    return nudge(e, total, below, above, rounding)
