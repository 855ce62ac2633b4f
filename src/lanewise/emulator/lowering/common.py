"""What several groups of lowerings share: types, packed operands, wide results."""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Elementwise, Value, bits_of
from lanewise.ptx.syntax import TYPE_BITS

Part = Callable[..., Value]

# Packed types (PTX ISA 5.2.3 and the SIMD video types): the type of one part.
PART_OF = {
    "f16x2": "f16",
    "bf16x2": "bf16",
    "f32x2": "f32",
    "u16x2": "u16",
    "s16x2": "s16",
}


def is_signed(ptx_type: str) -> bool:
    return ptx_type.startswith("s")


def is_float(ptx_type: str) -> bool:
    return "f" in ptx_type or "e" in ptx_type


def element_of(ptx_type: str) -> str:
    """The LLVM integer type that carries a PTX type: f32 in i32, pred in i1."""
    return f"i{TYPE_BITS[ptx_type]}"


def double_width(element: str) -> str:
    return f"i{2 * bits_of(element)}"


def by_parts(e: Elementwise, element: str, function: Part, *operands: Value) -> Value:
    """Apply `function(inner, *parts)` to each part of packed operands.

    A packed register is a vector of its parts in memory order (lowest bits first), so the parts of all lanes are
    `lanes * parts` lanes of a narrower type. Every operand has the same number of parts, of any width; the result of
    `function` may be of another width than its operands.
    """
    parts = bits_of(operands[0].type) // bits_of(element)
    inner = Elementwise(e.out, e.lanes * parts)
    split = [reinterpret(e, operand, inner, f"i{bits_of(operand.type) // parts}") for operand in operands]
    result = function(inner, *split)
    return reinterpret(inner, result, e, f"i{bits_of(result.type) * parts}")


def reinterpret(source: Elementwise, value: Value, target: Elementwise, element: str) -> Value:
    """The same bits as lanes of another width."""
    text = source.out.let(f"bitcast {source.shape(value.type)} {value.text} to {target.shape(element)}")
    return Value(text, element)


def extend(e: Elementwise, value: Value, element: str, ptx_type: str) -> Value:
    """Widen as the signedness of the PTX type says."""
    return e.resize(value, element, signed=is_signed(ptx_type))


def minimum(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    return e.intrinsic("smin" if signed else "umin", a, b)


def maximum(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    return e.intrinsic("smax" if signed else "umax", a, b)


def clamp(e: Elementwise, value: Value, low: int, high: int) -> Value:
    """A signed value held within [low, high]."""
    value = maximum(e, value, e.const(value.type, low), signed=True)
    return minimum(e, value, e.const(value.type, high), signed=True)


def saturate(e: Elementwise, value: Value, element: str, *, to_signed: bool, from_signed: bool) -> Value:
    """An integer clamped to the range of another width or signedness, and resized to it."""
    width, own = bits_of(element), bits_of(value.type)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if to_signed else (0, (1 << width) - 1)
    own_low, own_high = (-(1 << (own - 1)), (1 << (own - 1)) - 1) if from_signed else (0, (1 << own) - 1)
    if low > own_low:
        value = maximum(e, value, e.const(value.type, low), signed=from_signed)
    if high < own_high:
        value = minimum(e, value, e.const(value.type, high), signed=from_signed)
    return e.resize(value, element, signed=from_signed)
