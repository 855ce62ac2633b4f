"""Extended-precision arithmetic (PTX ISA 9.7.2): the carry goes in as the last operand and out as a second result.

For subtraction the carry is a borrow, as PTX says.
"""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering import integer
from lanewise.ptx.syntax import Instruction


def _sum(e: Elementwise, a: Value, b: Value) -> tuple[Value, Value]:
    total = e.op("add", a, b)
    return total, e.icmp("ult", total, a)


def _sum_with_carry(e: Elementwise, ins: Instruction, a: Value, b: Value, carry: Value) -> Value | tuple[Value, Value]:
    total, first = _sum(e, a, b)
    total, second = _sum(e, total, e.resize(carry, a.type))
    return (total, e.op("or", first, second)) if ins.has("cc") else total


def add_cc(e: Elementwise, ins: Instruction, a: Value, b: Value) -> tuple[Value, Value]:
    return _sum(e, a, b)


def addc(e: Elementwise, ins: Instruction, a: Value, b: Value, carry: Value) -> Value | tuple[Value, Value]:
    return _sum_with_carry(e, ins, a, b, carry)


def sub_cc(e: Elementwise, ins: Instruction, a: Value, b: Value) -> tuple[Value, Value]:
    return e.op("sub", a, b), e.icmp("ult", a, b)


def subc(e: Elementwise, ins: Instruction, a: Value, b: Value, carry: Value) -> Value | tuple[Value, Value]:
    borrow = e.resize(carry, a.type)
    first = e.op("sub", a, b)
    difference = e.op("sub", first, borrow)
    if not ins.has("cc"):
        return difference
    return difference, e.op("or", e.icmp("ult", a, b), e.icmp("ult", first, borrow))


def mad_cc(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    return _sum(e, integer.mul(e, ins, a, b), c)


def madc(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value, carry: Value) -> Value | tuple[Value, Value]:
    return _sum_with_carry(e, ins, integer.mul(e, ins, a, b), c, carry)
