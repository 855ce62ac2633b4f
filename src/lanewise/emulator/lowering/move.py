"""Packing and unpacking of registers (PTX ISA 9.7.9.2 mov): `mov.b64 d, {lo, hi}` and `mov.b64 {lo, hi}, a`."""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value, bits_of
from lanewise.ptx.syntax import TYPE_BITS, Instruction


def mov(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return a


def vector(e: Elementwise, ins: Instruction, *parts: Value) -> tuple[Value, ...]:
    """Each element by itself."""
    return parts


def pack(e: Elementwise, ins: Instruction, *parts: Value) -> Value:
    """The parts, lowest first, as one register of the instruction's type."""
    result = f"i{TYPE_BITS[ins.type]}"
    total = e.resize(parts[0], result)
    for index, part in enumerate(parts[1:], 1):
        shifted = e.op("shl", e.resize(part, result), e.const(result, index * bits_of(part.type)))
        total = e.op("or", total, shifted)
    return total


def unpack(e: Elementwise, ins: Instruction, a: Value, count: int) -> tuple[Value, ...]:
    """A register as `count` parts of equal width, lowest first."""
    width = bits_of(a.type) // count
    parts = [a if index == 0 else e.op("lshr", a, e.const(a.type, index * width)) for index in range(count)]
    return tuple(e.resize(part, f"i{width}") for part in parts)
