"""Comparison and selection (PTX ISA 9.7.6, 9.7.7): setp, set, selp, slct, for every type and operator."""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering.common import is_float, is_signed
from lanewise.emulator.lowering.floats import LLVM_FLOAT, flush_bits
from lanewise.ptx.syntax import Instruction

_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLOAT_CONDITIONS = {
    **{name: "o" + name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name + "u": "u" + name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "num": "ord",
    "nan": "uno",
}
_OPERATORS = frozenset(_FLOAT_CONDITIONS) | frozenset(_UNSIGNED_NAMES)
_COMBINE = ("and", "or", "xor")
_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}


def setp(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> tuple[Value, Value]:
    """`p|q`: the comparison and its negation, each combined with predicate c by `.and`, `.or` or `.xor` where given.

    For f16x2 and bf16x2, p compares the lower halves and q the upper ones.
    """
    if ins.type in _PACKED:
        low, high = _compare_halves(e, ins, a, b)
        return _combine(e, ins, low, *c), _combine(e, ins, high, *c)
    result = _compare(e, ins, ins.type, a, b)
    return _combine(e, ins, result, *c), _combine(e, ins, e.not_(result), *c)


def set_(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    """The comparison as a number: all ones for integer results, 1.0 for floating-point ones, else 0."""
    result_type, source_type = ins.types if len(ins.types) == 2 else (ins.type, ins.type)
    if source_type in _PACKED:
        low, high = (_combine(e, ins, half, *c) for half in _compare_halves(e, ins, a, b))
        true = _true(_PACKED.get(result_type, "u16"))
        low = e.select(low, e.const("i32", true), e.const("i32", 0))
        high = e.select(high, e.const("i32", true << 16), e.const("i32", 0))
        return e.op("or", low, high)
    result = _combine(e, ins, _compare(e, ins, source_type, a, b), *c)
    element = {"f16": "i16", "bf16": "i16"}.get(result_type, f"i{result_type[1:]}")
    return e.select(result, e.const(element, _true(result_type)), e.const(element, 0))


def _true(ptx_type: str) -> int:
    ones = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F80_0000}
    return ones[ptx_type] if ptx_type in ones else (1 << int(ptx_type[1:])) - 1


def _combine(e: Elementwise, ins: Instruction, result: Value, *c: Value) -> Value:
    if not c:
        return result
    return e.op(next(modifier for modifier in ins.modifiers if modifier in _COMBINE), result, c[0])


def _compare(e: Elementwise, ins: Instruction, ptx_type: str, a: Value, b: Value) -> Value:
    operator = next(modifier for modifier in ins.modifiers if modifier in _OPERATORS)
    if is_float(ptx_type):
        left, right = (_as_comparable(e, ins, ptx_type, operand) for operand in (a, b))
        return e.fcmp(_FLOAT_CONDITIONS[operator], left, right)
    operator = _UNSIGNED_NAMES.get(operator, operator)
    if operator in ("eq", "ne"):
        return e.icmp(operator, a, b)
    return e.icmp(("s" if is_signed(ptx_type) else "u") + operator, a, b)


def _as_comparable(e: Elementwise, ins: Instruction, ptx_type: str, bits: Value) -> Value:
    """A float of the source type; bf16 widens to f32 by its bits, f16 by value."""
    if ptx_type == "bf16":
        bits = flush_bits(e, bits, "bfloat") if ins.has("ftz") else bits
        return e.as_float(e.op("shl", e.resize(bits, "i32"), e.const("i32", 16)), "float")
    element = LLVM_FLOAT[ptx_type]
    if ins.has("ftz") and element != "double":
        bits = flush_bits(e, bits, element)
    value = e.as_float(bits, element)
    return e.cast("fpext", value, "float") if element == "half" else value


def _compare_halves(e: Elementwise, ins: Instruction, a: Value, b: Value) -> tuple[Value, Value]:
    sixteen = e.const("i32", 16)
    part = _PACKED[ins.type]
    low = [e.resize(operand, "i16") for operand in (a, b)]
    high = [e.resize(e.op("lshr", operand, sixteen), "i16") for operand in (a, b)]
    return _compare(e, ins, part, *low), _compare(e, ins, part, *high)


def selp(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    return e.select(c, a, b)


def slct(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """a where c >= 0, else b; a NaN c gives b, and with `.ftz` a negative subnormal counts as zero."""
    if ins.type == "s32":
        return e.select(e.icmp("sge", c, e.const("i32", 0)), a, b)
    c = flush_bits(e, c, "float") if ins.has("ftz") else c
    return e.select(e.fcmp("oge", e.as_float(c, "float"), e.const("float", 0.0)), a, b)
