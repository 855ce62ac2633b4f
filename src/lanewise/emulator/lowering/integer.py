"""Integer arithmetic (PTX ISA 9.7.1), 16 to 64 bits, with .sat, .hi/.lo/.wide and the packed 16-bit forms."""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value, bits_of
from lanewise.emulator.lowering.common import (
    PART_OF,
    by_parts,
    double_width,
    extend,
    is_signed,
    maximum,
    minimum,
)
from lanewise.emulator.lowering.division import quotient, remainder
from lanewise.ptx.syntax import Instruction


def add(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    if ins.type in PART_OF:
        return by_parts(e, "i16", lambda inner, x, y: _add(inner, ins, x, y), a, b)
    return _add(e, ins, a, b)


def _add(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    if ins.has("sat"):
        return e.intrinsic("sadd.sat" if is_signed(ins.type) else "uadd.sat", a, b)
    return e.op("add", a, b)


def sub(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    if ins.type in PART_OF:
        return by_parts(e, "i16", lambda inner, x, y: _sub(inner, ins, x, y), a, b)
    return _sub(e, ins, a, b)


def _sub(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    if ins.has("sat"):
        return e.intrinsic("ssub.sat" if is_signed(ins.type) else "usub.sat", a, b)
    return e.op("sub", a, b)


def mul(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    if not ins.has("hi", "wide"):
        return e.op("mul", a, b)
    if ins.has("hi") and bits_of(a.type) == 64 and e.lanes > 1:
        return _upper_half_by_pieces(e, a, b, signed=is_signed(ins.type))
    product = _wide_product(e, a, b, ins.type)
    return product if ins.has("wide") else _upper_half(e, product, a.type)


def _wide_product(e: Elementwise, a: Value, b: Value, ptx_type: str) -> Value:
    wide = double_width(a.type)
    return e.op("mul", extend(e, a, wide, ptx_type), extend(e, b, wide, ptx_type))


def _upper_half(e: Elementwise, wide: Value, element: str) -> Value:
    return e.resize(e.op("lshr", wide, e.const(wide.type, bits_of(element))), element)


def _upper_half_by_pieces(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    """The upper half of a 64-bit product from 32-bit ones, which vectors have."""
    mask, thirty_two = e.const("i64", 0xFFFF_FFFF), e.const("i64", 32)
    a_low, b_low = e.op("and", a, mask), e.op("and", b, mask)
    a_high, b_high = e.op("lshr", a, thirty_two), e.op("lshr", b, thirty_two)
    low_high, high_low = e.op("mul", a_low, b_high), e.op("mul", a_high, b_low)
    middle = e.op("add", e.op("lshr", e.op("mul", a_low, b_low), thirty_two), e.op("and", low_high, mask))
    middle = e.op("add", middle, e.op("and", high_low, mask))
    upper = e.op("add", e.op("mul", a_high, b_high), e.op("lshr", low_high, thirty_two))
    upper = e.op("add", e.op("add", upper, e.op("lshr", high_low, thirty_two)), e.op("lshr", middle, thirty_two))
    if not signed:
        return upper
    zero = e.const("i64", 0)
    upper = e.op("sub", upper, e.select(e.icmp("slt", a, zero), b, zero))
    return e.op("sub", upper, e.select(e.icmp("slt", b, zero), a, zero))


def mad(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """`.wide` adds to the double-width product, `.hi` to its upper half; `.hi.sat.s32` clamps the sum."""
    product = mul(e, ins, a, b)
    if ins.has("sat"):
        return e.intrinsic("sadd.sat", product, c)
    return e.op("add", product, c)


def mul24(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """The 48-bit product of the low 24 bits of each operand: its low 32 bits, or with `.hi` its top 32."""
    signed = is_signed(ins.type)
    low, high = (_low24(e, operand, signed=signed) for operand in (a, b))
    if not ins.has("hi"):
        return e.op("mul", low, high)
    product = e.op("mul", e.resize(low, "i64", signed=signed), e.resize(high, "i64", signed=signed))
    return e.resize(e.op("lshr", product, e.const("i64", 16)), "i32")


def _low24(e: Elementwise, a: Value, *, signed: bool) -> Value:
    eight = e.const("i32", 8)
    return e.op("ashr" if signed else "lshr", e.op("shl", a, eight), eight)


def mad24(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    product = mul24(e, ins, a, b)
    if ins.has("sat"):
        return e.intrinsic("sadd.sat", product, c)
    return e.op("add", product, c)


def sad(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    return e.op("add", c, absolute_difference(e, a, b, signed=is_signed(ins.type)))


def absolute_difference(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    return e.op("sub", maximum(e, a, b, signed=signed), minimum(e, a, b, signed=signed))


def div(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Truncated quotient. By zero: all ones, as the card gives (PTX leaves it unspecified)."""
    return quotient(e, a, b, signed=is_signed(ins.type))


def rem(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """Remainder with the sign of the dividend. By zero: all ones, as the card gives."""
    return remainder(e, a, b, signed=is_signed(ins.type))


def abs(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """The most negative number stays as it is."""
    return e.intrinsic("abs", a, extra=("i1 false",))


def neg(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return e.op("sub", e.const(a.type, 0), a)


def min(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _extreme(e, ins, a, b, largest=False)


def max(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    return _extreme(e, ins, a, b, largest=True)


def _extreme(e: Elementwise, ins: Instruction, a: Value, b: Value, *, largest: bool) -> Value:
    """`.relu` (s32, s16x2) gives 0 for negative results."""
    signed = is_signed(ins.type)

    def one(inner: Elementwise, x: Value, y: Value) -> Value:
        result = maximum(inner, x, y, signed=signed) if largest else minimum(inner, x, y, signed=signed)
        return maximum(inner, result, inner.const(x.type, 0), signed=True) if ins.has("relu") else result

    return by_parts(e, "i16", one, a, b) if ins.type in PART_OF else one(e, a, b)


def popc(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """The result is 32 bits wide for both widths."""
    return e.resize(e.intrinsic("ctpop", a), "i32")


def clz(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return e.resize(e.intrinsic("ctlz", a, extra=("i1 false",)), "i32")


def bfind(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """Position of the highest bit that differs from the sign; 0xffffffff where there is none. `.shiftamt` gives the
    left shift that brings it to the top."""
    if is_signed(ins.type):
        a = e.op("xor", a, e.op("ashr", a, e.const(a.type, bits_of(a.type) - 1)))
    zeros = e.resize(e.intrinsic("ctlz", a, extra=("i1 false",)), "i32")
    if not ins.has("shiftamt"):
        return e.op("sub", e.const("i32", bits_of(a.type) - 1), zeros)
    return e.select(e.icmp("eq", a, e.const(a.type, 0)), e.const("i32", -1), zeros)


def fns(e: Elementwise, ins: Instruction, mask: Value, base: Value, offset: Value) -> Value:
    """Position of the n-th set bit from `base` (n = |offset|; upwards where positive, downwards where negative; 0: the
    bit at base itself); 0xffffffff where there is none. Bases of 32 or more are undefined in PTX; here they give none.

    The bit is found by bisection on counts: downwards works on the reversed mask.
    """
    zero, thirty_one = e.const("i32", 0), e.const("i32", 31)
    inside = e.icmp("ult", base, e.const("i32", 32))
    start = e.op("and", base, thirty_one)
    down = e.icmp("slt", offset, zero)
    word = e.select(down, e.intrinsic("bitreverse", mask), mask)
    start = e.select(down, e.op("sub", thirty_one, start), start)
    at_base = e.icmp("eq", offset, zero)
    word = e.op("and", word, e.op("shl", e.const("i32", -1), start))
    wanted = e.intrinsic("abs", offset, extra=("i1 false",))
    wanted = e.select(at_base, e.const("i32", 1), wanted)
    found = e.icmp("ule", wanted, e.intrinsic("ctpop", word))
    position, rest = zero, wanted
    for step in (16, 8, 4, 2, 1):
        low = e.op("and", e.op("lshr", word, position), e.const("i32", (1 << step) - 1))
        count = e.intrinsic("ctpop", low)
        beyond = e.icmp("ugt", rest, count)
        rest = e.select(beyond, e.op("sub", rest, count), rest)
        position = e.op("add", position, e.select(beyond, e.const("i32", step), zero))
        position = e.op("and", position, thirty_one)
    found = e.op("and", found, inside)
    # With offset 0 only the bit at base counts.
    found = e.op("and", found, e.op("or", e.not_(at_base), e.icmp("eq", position, start)))
    position = e.select(down, e.op("sub", thirty_one, position), position)
    return e.select(found, position, e.const("i32", -1))


def brev(e: Elementwise, ins: Instruction, a: Value) -> Value:
    return e.intrinsic("bitreverse", a)


def bfe(e: Elementwise, ins: Instruction, a: Value, position: Value, length: Value) -> Value:
    """A field, zero or sign extended by its top bit (the sign of `a` where the field reaches beyond it)."""
    width = bits_of(a.type)
    position, length = _field_place(e, width, position, length)
    limit = e.const("i32", width - 1)
    if not is_signed(ins.type):
        inside = e.icmp("ult", position, e.const("i32", width))
        shifted = e.op("lshr", a, e.resize(minimum(e, position, limit, signed=False), a.type))
        shifted = e.select(inside, shifted, e.const(a.type, 0))
        return e.op("and", shifted, _low_mask(e, length, a.type))
    shifted = e.op("ashr", a, e.resize(minimum(e, position, limit, signed=False), a.type))
    # Shift the field's top bit to the register's and back. A field longer than the register is the register.
    spare = e.op("sub", e.const("i32", width), minimum(e, length, e.const("i32", width), signed=False))
    spare = e.resize(minimum(e, spare, limit, signed=False), a.type)
    field = e.op("ashr", e.op("shl", shifted, spare), spare)
    return e.select(e.icmp("eq", length, e.const("i32", 0)), e.const(a.type, 0), field)


def _field_place(e: Elementwise, width: int, *places: Value) -> list[Value]:
    """Position and length of a field. Above 255 they are undefined in PTX; the card takes the low byte in 32-bit
    instructions and all of it in 64-bit ones."""
    return [e.op("and", place, e.const("i32", 0xFF)) if width == 32 else place for place in places]


def _low_mask(e: Elementwise, length: Value, element: str) -> Value:
    """`length` low bits set; all of them where length reaches the width."""
    width = bits_of(element)
    partial = e.resize(minimum(e, length, e.const("i32", width - 1), signed=False), element)
    ones = e.not_(e.op("shl", e.const(element, -1), partial))
    return e.select(e.icmp("ult", length, e.const("i32", width)), ones, e.const(element, -1))


def bfi(e: Elementwise, ins: Instruction, a: Value, b: Value, position: Value, length: Value) -> Value:
    """The low `length` bits of a replace those of b at `position`; bits beyond the top are dropped."""
    width = bits_of(a.type)
    position, length = _field_place(e, width, position, length)
    inside = e.icmp("ult", position, e.const("i32", width))
    amount = e.resize(minimum(e, position, e.const("i32", width - 1), signed=False), a.type)
    mask = e.op("shl", _low_mask(e, length, a.type), amount)
    merged = e.op("or", e.op("and", b, e.not_(mask)), e.op("and", e.op("shl", a, amount), mask))
    return e.select(inside, merged, b)


def bmsk(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """A mask of `b` bits at position `a`. `.clamp` holds both to 32, `.wrap` takes them modulo 32."""
    if ins.has("wrap"):
        a, b = (e.op("and", operand, e.const("i32", 31)) for operand in (a, b))
    inside = e.icmp("ult", a, e.const("i32", 32))
    amount = minimum(e, a, e.const("i32", 31), signed=False)
    return e.select(inside, e.op("shl", _low_mask(e, b, "i32"), amount), e.const("i32", 0))


def szext(e: Elementwise, ins: Instruction, a: Value, b: Value) -> Value:
    """The low `b` bits of a, sign or zero extended. `.clamp` holds b to 32, `.wrap` takes it modulo 32."""
    if ins.has("wrap"):
        b = e.op("and", b, e.const("i32", 31))
    if not is_signed(ins.type):
        return e.op("and", a, _low_mask(e, b, "i32"))
    spare = e.op("sub", e.const("i32", 32), minimum(e, b, e.const("i32", 32), signed=False))
    spare = minimum(e, spare, e.const("i32", 31), signed=False)
    field = e.op("ashr", e.op("shl", a, spare), spare)
    return e.select(e.icmp("eq", b, e.const("i32", 0)), e.const("i32", 0), field)


def dp4a(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """Four products of bytes added to c; the types are those of a and b, in order."""
    signed_a, signed_b = (is_signed(kind) for kind in ins.types)
    for position in range(0, 32, 8):
        x = bit_field(e, a, position, 8, signed=signed_a)
        c = e.op("add", c, e.op("mul", x, bit_field(e, b, position, 8, signed=signed_b)))
    return c


def dp2a(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """Two 16-bit numbers of a times two bytes of b: the lower two, or with `.hi` the upper two."""
    signed_a, signed_b = (is_signed(kind) for kind in ins.types)
    first = 16 if ins.has("hi") else 0
    for index in range(2):
        x = bit_field(e, a, 16 * index, 16, signed=signed_a)
        c = e.op("add", c, e.op("mul", x, bit_field(e, b, first + 8 * index, 8, signed=signed_b)))
    return c


def bit_field(e: Elementwise, a: Value, position: int, length: int, *, signed: bool) -> Value:
    """A field at a fixed place, extended to the width of `a`."""
    width = bits_of(a.type)
    top = e.op("shl", a, e.const(a.type, width - position - length))
    return e.op("ashr" if signed else "lshr", top, e.const(a.type, width - length))
