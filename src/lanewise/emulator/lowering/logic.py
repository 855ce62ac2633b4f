"""Logic and shift instructions (PTX ISA 9.7.8) and prmt (9.7.9.7)."""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value, bits_of
from lanewise.emulator.lowering.common import double_width, is_signed, minimum
from lanewise.ptx.syntax import Instruction, Integer


def and_(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return e.op("and", a, b)


def or_(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return e.op("or", a, b)


def xor(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return e.op("xor", a, b)


def not_(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return e.not_(a)


def cnot(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return e.resize(e.icmp("eq", a, e.const(a.type, 0)), a.type)


def lop3(
    e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value, table: Value, *rest: Value
) -> Value | tuple[Value, ...]:
    """`lop3.b32 d, a, b, c, immLut`, and `lop3.BoolOp.b32 d|p, a, b, c, immLut, q` with p = (d != 0) BoolOp q.

    The table's bit 4a+2b+c is the result; it is an immediate, so the minterms are chosen here.
    """
    immediate = ins.operands[4]
    assert isinstance(immediate, Integer), "the table of lop3 is an immediate"
    result = _lookup(e, immediate.value & 0xFF, (a, b, c))
    if not rest:
        return result
    nonzero = e.icmp("ne", result, e.const(result.type, 0))
    return result, e.op("and" if ins.has("and") else "or", nonzero, rest[0])


def _lookup(e: Elementwise, table: int, operands: tuple[Value, ...]) -> Value:
    """The boolean function with this truth table by Shannon expansion on the first operand."""
    width = 1 << len(operands)
    everything = (1 << width) - 1
    element = operands[0].type if operands else ""
    if not operands or table in (0, everything):
        return e.const(element or "i32", -1 if table else 0)
    first, *others = operands
    half = width // 2
    low, high = table & ((1 << half) - 1), table >> half
    if low == high:
        return _lookup(e, low, tuple(others))
    full = (1 << half) - 1
    if (low, high) == (0, full):
        return first
    if (low, high) == (full, 0):
        return e.not_(first)
    if high == low ^ full:
        return e.op("xor", first, _lookup(e, low, tuple(others)))
    if low == 0:
        return e.op("and", first, _lookup(e, high, tuple(others)))
    if high == 0:
        return e.op("and", e.not_(first), _lookup(e, low, tuple(others)))
    if high == full:
        return e.op("or", first, _lookup(e, low, tuple(others)))
    if low == full:
        return e.op("or", e.not_(first), _lookup(e, high, tuple(others)))
    one = e.op("and", first, _lookup(e, high, tuple(others)))
    return e.op("or", one, e.op("and", e.not_(first), _lookup(e, low, tuple(others))))


def _amount(e: Elementwise, amount: Value, element: str, limit: int) -> Value:
    """A 32-bit shift amount, clamped to `limit`, as the type of the shifted value."""
    amount = minimum(e, amount, e.const(amount.type, limit), signed=False)
    return e.resize(amount, element)


def shl(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Amounts of the width or more give 0."""
    return _logical_shift(e, "shl", a, b)


def shr(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Amounts of the width or more give 0, or the sign for signed types."""
    if is_signed(ins.type):
        return e.op("ashr", a, _amount(e, b, a.type, bits_of(a.type) - 1))
    return _logical_shift(e, "lshr", a, b)


def _logical_shift(e: Elementwise, opcode: str, a: Value, b: Value) -> Value:
    """Amounts beyond the width make poison of the shift, which the selection throws away: LLVM knows the pattern as
    one vector instruction."""
    width = bits_of(a.type)
    if bits_of(a.type) < bits_of(b.type):  # a cut amount would look small
        shifted = e.op(opcode, e.resize(a, b.type), _amount(e, b, b.type, bits_of(b.type) - 1))
        return e.resize(shifted, a.type)
    amount = e.resize(b, a.type)
    inside = e.icmp("ult", amount, e.const(a.type, width))
    return e.select(inside, e.op(opcode, a, amount), e.const(a.type, 0))


def shf(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """Funnel shift of [b:a]: `.l` gives the upper half after a left shift, `.r` the lower after a right shift."""
    if ins.has("wrap"):
        return e.intrinsic("fshl", b, a, c) if ins.has("l") else e.intrinsic("fshr", b, a, c)
    wide = double_width(a.type)
    both = e.op("or", e.op("shl", e.resize(b, wide), e.const(wide, bits_of(a.type))), e.resize(a, wide))
    amount = _amount(e, c, wide, bits_of(a.type))
    if ins.has("l"):
        return e.resize(e.op("lshr", e.op("shl", both, amount), e.const(wide, bits_of(a.type))), a.type)
    return e.resize(e.op("lshr", both, amount), a.type)


# prmt's special modes (PTX ISA 9.7.9.7): for each value of the low two selector bits, the source byte of each result
# byte, lowest first. f4e and b4e read the pair [b:a].
_PRMT_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def prmt(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """Bytes picked from the pair [b:a]. By default c holds a nibble per byte; its top bit copies the byte's sign."""
    both = e.op("or", e.op("shl", e.resize(b, "i64"), e.const("i64", 32)), e.resize(a, "i64"))
    mode = next((modifier for modifier in ins.modifiers if modifier in _PRMT_MODES), None)
    result = e.const("i32", 0)
    for position in range(4):
        if mode is None:
            selector = e.op("and", e.op("lshr", c, e.const("i32", 4 * position)), e.const("i32", 7))
        else:
            # The four choices packed into a constant, a nibble each, indexed by the low two bits.
            choices = sum(row[position] << (4 * index) for index, row in enumerate(_PRMT_MODES[mode]))
            index = e.op("shl", e.op("and", c, e.const("i32", 3)), e.const("i32", 2))
            selector = e.op("and", e.op("lshr", e.const("i32", choices), index), e.const("i32", 7))
        amount = e.resize(e.op("shl", selector, e.const("i32", 3)), "i64")
        byte = e.resize(e.op("lshr", both, amount), "i32")
        if mode is None:
            replicate = e.icmp("ne", e.op("and", c, e.const("i32", 8 << (4 * position))), e.const("i32", 0))
            sign = e.op("ashr", e.op("shl", byte, e.const("i32", 24)), e.const("i32", 31))
            byte = e.select(replicate, sign, byte)
        byte = e.op("and", byte, e.const("i32", 0xFF))
        result = e.op("or", result, e.op("shl", byte, e.const("i32", 8 * position)))
    return result
