"""f32 and f64 arithmetic (PTX ISA 9.7.3): correctly rounded in all four modes; approximate forms within PTX's bounds.

`rcp`, `sqrt`, `div` and `rsqrt` with `.approx` or `.full` use the CPU's correctly rounded division and square root.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering.common import by_parts
from lanewise.emulator.lowering.directed import rounded
from lanewise.emulator.lowering.floats import (
    LLVM_FLOAT,
    canonical,
    flush,
    flush_bits,
    rounding_of,
    saturate_unit,
)
from lanewise.ptx.syntax import Instruction


def _float_type(ins: Instruction) -> str:
    """The LLVM type that an instruction computes in; f32x2 computes in its parts."""
    return LLVM_FLOAT[ins.type.removesuffix("x2")]


def compute(
    e: Elementwise, ins: Instruction, function: Callable[..., Value], *operands: Value, flush_result: bool = True
) -> Value:
    """Bits to floats, `.ftz` on the way in and out, `.sat` at the end, floats to bits."""
    if ins.type == "f32x2":
        return by_parts(e, "i32", lambda inner, *parts: _scalar(inner, ins, function, parts, flush_result), *operands)
    return _scalar(e, ins, function, operands, flush_result)


def _scalar(
    e: Elementwise, ins: Instruction, function: Callable[..., Value], operands: tuple[Value, ...], flush_result: bool
) -> Value:
    element = _float_type(ins)
    ftz = ins.has("ftz") and element == "float"
    floats = [e.as_float(flush_bits(e, operand, element) if ftz else operand, element) for operand in operands]
    result = function(e, *floats)
    if ins.has("sat"):
        result = saturate_unit(e, result)
    bits = e.as_int(result)
    return flush_bits(e, bits, element) if ftz and flush_result else bits


def _arithmetic(e: Elementwise, ins: Instruction, operation: str, *operands: Value) -> Value:
    def function(inner: Elementwise, *floats: Value) -> Value:
        result = rounded(inner, operation, rounding_of(ins), *floats)
        return _canonical_single(inner, result) if operation in ("fdiv", "sqrt") else result

    return compute(e, ins, function, *operands)


def add(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _arithmetic(e, ins, "fadd", a, b)


def sub(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _arithmetic(e, ins, "fsub", a, b)


def mul(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _arithmetic(e, ins, "fmul", a, b)


def fma(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    return _arithmetic(e, ins, "fma", a, b, c)


def div(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """`.approx`: PTX computes a * (1/b), so divisors of 2**126 and more give 0 (NaN for an infinite dividend)."""
    if not ins.has("approx"):
        return _arithmetic(e, ins, "fdiv", a, b)

    def function(inner: Elementwise, x: Value, y: Value) -> Value:
        magnitude = inner.intrinsic("fabs", y)
        huge = inner.op(
            "and",
            inner.fcmp("ogt", magnitude, inner.const("float", 2.0**126)),
            inner.fcmp("olt", magnitude, inner.const("float", float("inf"))),
        )
        zero = inner.intrinsic("copysign", inner.const("float", 0.0), y)
        return canonical(inner, inner.select(huge, inner.op("fmul", x, zero), inner.op("fdiv", x, y)))

    return compute(e, ins, function, a, b)


def rcp(e: Elementwise, ins: Instruction, a: Value) -> Value:
    def function(inner: Elementwise, x: Value) -> Value:
        if ins.has("approx") and ins.type == "f64":
            return _gross(inner, lambda y: inner.op("fdiv", inner.const("double", 1.0), y), x)
        return _canonical_single(inner, rounded(inner, "fdiv", rounding_of(ins), inner.const(x.type, 1.0), x))

    return compute(e, ins, function, a)


def sqrt(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return _arithmetic(e, ins, "sqrt", a)


def rsqrt(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """Always approximate; `.ftz.f64` works on the upper 32 bits of a double."""

    def inverse_root(inner: Elementwise, x: Value) -> Value:
        return inner.op("fdiv", inner.const(x.type, 1.0), inner.intrinsic("sqrt", x))

    def function(inner: Elementwise, x: Value) -> Value:
        if ins.has("ftz") and ins.type == "f64":
            return _gross(inner, lambda y: inverse_root(inner, y), x)
        return _canonical_single(inner, inverse_root(inner, x))

    return compute(e, ins, function, a)


def _gross(e: Elementwise, function: Callable[[Value], Value], a: Value) -> Value:
    """`.approx.ftz.f64`: only the upper 32 bits of the operand and of the result count, subnormals are zero."""
    upper = e.const("i64", -1 << 32)
    result = flush(e, function(flush(e, e.as_float(e.op("and", e.as_int(a), upper), "double"))))
    return canonical(e, e.as_float(e.op("and", e.as_int(result), upper), "double"))


def abs(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return compute(e, ins, lambda inner, x: _sign_change(inner, x, inner.intrinsic("fabs", x)), a)


def neg(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return compute(e, ins, lambda inner, x: _sign_change(inner, x, inner.unary("fneg", x)), a)


def _sign_change(e: Elementwise, a: Value, result: Value) -> Value:
    """A NaN keeps its sign: the canonical one in f32, the operand made quiet in f64."""
    if a.type == "float":
        return canonical(e, result)
    quiet = e.op("or", e.as_int(a), e.const("i64", 1 << 51))
    return e.as_float(e.select(e.is_nan(a), quiet, e.as_int(result)), a.type)


def _canonical_single(e: Elementwise, a: Value) -> Value:
    """The canonical NaN of f32; f64 keeps its payload."""
    return canonical(e, a) if a.type == "float" else a


def min(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _extreme(e, ins, False, *operands)


def max(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _extreme(e, ins, True, *operands)


def _extreme(e: Elementwise, ins: Instruction, largest: bool, *operands: Value) -> Value:
    return compute(e, ins, lambda inner, *floats: extreme(inner, ins, largest, *floats), *operands)


def extreme(e: Elementwise, ins: Instruction, largest: bool, *floats: Value) -> Value:
    """The least or greatest of two or three floats: -0 is less than +0; a NaN loses, or with `.NaN` wins.

    `.xorsign.abs` compares magnitudes and gives the result the exclusive or of the signs.
    """
    if ins.has("xorsign"):
        magnitudes = [e.intrinsic("fabs", operand) for operand in floats]
        sign = e.as_int(floats[0])
        for operand in floats[1:]:
            sign = e.op("xor", sign, e.as_int(operand))
        result = _fold(e, ins, largest, *magnitudes)
        return canonical(e, e.intrinsic("copysign", result, e.as_float(sign, floats[0].type)))
    if ins.has("abs"):
        floats = tuple(e.intrinsic("fabs", operand) for operand in floats)
    return _fold(e, ins, largest, *floats)


def _fold(e: Elementwise, ins: Instruction, largest: bool, *floats: Value) -> Value:
    result = floats[0]
    for operand in floats[1:]:
        result = _number_extreme(e, largest, result, operand)
    if ins.has("NaN"):
        for operand in floats:
            result = e.select(e.is_nan(operand), operand, result)
    return canonical(e, result)


def _number_extreme(e: Elementwise, largest: bool, a: Value, b: Value) -> Value:
    """minimumNumber or maximumNumber of IEEE 754-2019. Equal operands differ at most in the sign of zero."""
    chosen = e.select(e.fcmp("ogt" if largest else "olt", a, b), a, b)
    chosen = e.select(e.is_nan(b), a, chosen)
    equal = e.op("and" if largest else "or", e.as_int(a), e.as_int(b))
    return e.select(e.fcmp("oeq", a, b), e.as_float(equal, a.type), chosen)


def copysign(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """The magnitude of b with the sign of a."""
    return compute(e, ins, lambda inner, x, y: inner.intrinsic("copysign", y, x), a, b)


# testp's property as the bit mask of llvm.is.fpclass.
_CLASSES = {
    "infinite": 0x204,
    "finite": 0x1F8,
    "number": 0x3FC,
    "notanumber": 0x003,
    "normal": 0x168,  # zeros too, as the card says
    "subnormal": 0x090,
}


def testp(e: Elementwise, ins: Instruction, a: Value) -> Value:
    mask = next(_CLASSES[modifier] for modifier in ins.modifiers if modifier in _CLASSES)
    return e.intrinsic("is.fpclass", e.as_float(a, _float_type(ins)), extra=(f"i32 {mask}",), result="i1")
