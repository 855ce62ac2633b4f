"""f16, bf16 and their packed forms (PTX ISA 9.7.4, 9.7.5), computed wider and rounded once.

Sums and products of two f16 (11 bits) or bf16 (8 bits) round correctly through f32: 24 bits are at least twice as many
and two more. An fma does not; its sum is rounded to odd first.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering import approximate, floating
from lanewise.emulator.lowering.common import by_parts
from lanewise.emulator.lowering.convert import widen
from lanewise.emulator.lowering.directed import rounded
from lanewise.emulator.lowering.floats import flush_bits, rounding_of, saturate_unit
from lanewise.emulator.lowering.rounding import FORMATS, double_to_single, narrow, odd_nudge
from lanewise.ptx.syntax import Instruction

_LLVM = {"f16": "half", "bf16": "bfloat"}


def _compute(e: Elementwise, ins: Instruction, function: Callable[..., Value], *operands: Value) -> Value:
    """Each part to f32, `function`, `.relu` or `.sat`, and rounded back; `.ftz` at both ends."""
    kind = ins.type.removesuffix("x2")

    def one(inner: Elementwise, *parts: Value) -> Value:
        if ins.has("ftz"):
            parts = tuple(flush_bits(inner, part, _LLVM[kind]) for part in parts)
        result = function(inner, *(widen(inner, part, kind) for part in parts))
        if ins.has("sat"):
            result = saturate_unit(inner, result)
        if ins.has("ftz"):
            result = _flush_tiny(inner, result, kind)
        bits = round_to(inner, result, kind)
        if ins.has("relu"):
            # Negative results, -0 too, are +0. NaN is positive here and stays.
            bits = inner.intrinsic("smax", bits, inner.const("i16", 0))
        return bits

    return by_parts(e, "i16", one, *operands) if ins.type.endswith("x2") else one(e, *operands)


def _flush_tiny(e: Elementwise, a: Value, kind: str) -> Value:
    """Results to zero that rounded to the type's precision, exponents without limit, are below the least normal."""
    form = FORMATS[kind]
    least = e.const("float", 2.0**form.smallest_exponent * (1 - 2.0 ** -(form.mantissa + 2)))
    zero = e.intrinsic("copysign", e.const("float", 0.0), a)
    return e.select(e.fcmp("olt", e.intrinsic("fabs", a), least), zero, a)


def round_to(e: Elementwise, a: Value, kind: str) -> Value:
    """An f32 as f16 or bf16 bits, to nearest even; NaN becomes 0x7fff."""
    if kind == "f16":
        half = e.as_int(e.cast("fptrunc", a, "half"))
        return e.select(e.is_nan(a), e.const("i16", FORMATS[kind].nan), half)
    return e.resize(narrow(e, a, FORMATS[kind], "rn"), "i16")


def _is_mixed(ins: Instruction) -> bool:
    """`add.f32.f16` and the like: f32 arithmetic whose leading operands are f16 or bf16."""
    return ins.types[0] == "f32"


def _mixed(e: Elementwise, ins: Instruction, operation: str, *operands: Value) -> Value:
    """All operands but the last are widened."""
    floats = [widen(e, operand, ins.type) for operand in operands[:-1]]
    result = rounded(e, operation, rounding_of(ins), *floats, e.as_float(operands[-1], "float"))
    return e.as_int(saturate_unit(e, result) if ins.has("sat") else result)


def add(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Also the mixed form `add{.rnd}{.sat}.f32.f16 d, a, c`."""
    if _is_mixed(ins):
        return _mixed(e, ins, "fadd", a, b)
    return _compute(e, ins, lambda inner, x, y: inner.op("fadd", x, y), a, b)


def sub(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Also the mixed form `sub{.rnd}{.sat}.f32.f16 d, a, c`."""
    if _is_mixed(ins):
        return _mixed(e, ins, "fsub", a, b)
    return _compute(e, ins, lambda inner, x, y: inner.op("fsub", x, y), a, b)


def mul(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _compute(e, ins, lambda inner, x, y: inner.op("fmul", x, y), a, b)


def fma(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """Also the mixed form `fma.rnd{.sat}.f32.f16 d, a, b, c`."""
    if _is_mixed(ins):
        return _mixed(e, ins, "fma", a, b, c)
    function = _wide_fma_to_odd if ins.type.startswith("bf16") else _fma_to_odd
    return _compute(e, ins, function, a, b, c)


def _fma_to_odd(e: Elementwise, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of f16 values, in f32 rounded to odd: products have at most 22 bits and no small exponents."""
    return _add_to_odd(e, e.op("fmul", a, b), c)


def _wide_fma_to_odd(e: Elementwise, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of bf16 values, whose products need the exponents of f64."""
    a, b, c = (e.cast("fpext", operand, "double") for operand in (a, b, c))
    return double_to_single(e, _add_to_odd(e, e.op("fmul", a, b), c), "odd")


def _add_to_odd(e: Elementwise, product: Value, c: Value) -> Value:
    """The sum rounded to odd, by its exact error (Knuth's TwoSum); with infinities that is NaN and compares as none."""
    total = e.op("fadd", product, c)
    other = e.op("fsub", total, product)
    lost = e.op("fsub", product, e.op("fsub", total, other))
    error = e.op("fadd", lost, e.op("fsub", c, other))
    zero = e.const(total.type, 0.0)
    return odd_nudge(e, total, e.fcmp("ogt", error, zero), e.fcmp("olt", error, zero))


def neg(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return _compute(e, ins, lambda inner, x: inner.unary("fneg", x), a)


def abs(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return _compute(e, ins, lambda inner, x: inner.intrinsic("fabs", x), a)


def min(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _compute(e, ins, lambda inner, *values: floating.extreme(inner, ins, False, *values), *operands)


def max(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _compute(e, ins, lambda inner, *values: floating.extreme(inner, ins, True, *values), *operands)


def ex2(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return _compute(e, ins, approximate.exp2, a)


def tanh(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return _compute(e, ins, approximate.hyperbolic_tangent, a)
