"""Video instructions (PTX ISA 9.7.17, 9.7.18): arithmetic on bytes and half-words picked from registers.

Operands arrive as whole 32-bit registers; which bytes count (`r.b1`, `r.h10`) and a minus sign stand in the operands
of the instruction. Everything is computed wide enough to be exact, then clamped (`.sat`), combined with c, or merged
into c.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering.common import clamp, is_signed
from lanewise.emulator.lowering.integer import bit_field
from lanewise.ptx.syntax import Instruction, Negated, Operand, SubWord

Operation = Callable[[Elementwise, Value, Value], Value]
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WIDE = "i64"


def _selector(operand: Operand) -> str:
    """Such as "b1" or "h10"; "" for a whole register."""
    if isinstance(operand, Negated):
        operand = operand.operand
    return operand.selector if isinstance(operand, SubWord) else ""


def _is_negated(operand: Operand) -> bool:
    return isinstance(operand, Negated)


def _field_of(selector: str) -> tuple[int, int]:
    """(position, length) in bits of a scalar selector."""
    if not selector:
        return 0, 32
    length = 8 if selector[0] == "b" else 16
    return int(selector[1:]) * length, length


def _pick(e: Elementwise, a: Value, ptx_type: str, selector: str) -> Value:
    """The selected part, extended to 64 bits by the sign of its type."""
    position, length = _field_of(selector)
    signed = is_signed(ptx_type)
    return e.resize(bit_field(e, a, position, length, signed=signed), _WIDE, signed=signed)


def _range(length: int, *, signed: bool) -> tuple[int, int]:
    return (-(1 << (length - 1)), (1 << (length - 1)) - 1) if signed else (0, (1 << length) - 1)


# --- scalar: one part of each operand


def _scalar(e: Elementwise, ins: Instruction, operation: Operation, a: Value, b: Value, c: tuple[Value, ...]) -> Value:
    to, type_a, type_b = ins.types if len(ins.types) == 3 else ("u32", *ins.types)
    x = _pick(e, a, type_a, _selector(ins.operands[1]))
    y = _pick(e, b, type_b, _selector(ins.operands[2]))
    return _finish(e, ins, to, operation(e, x, y), c)


def _finish(e: Elementwise, ins: Instruction, to: str, result: Value, c: tuple[Value, ...]) -> Value:
    """Saturation to the destination's part, then the secondary operation or the merge with c."""
    signed = is_signed(to)
    selector = _selector(ins.operands[0])
    position, length = _field_of(selector)
    if ins.has("sat"):
        result = clamp(e, result, *_range(length, signed=signed))
    if not c:
        return e.resize(result, "i32")
    if selector:
        mask = ((1 << length) - 1) << position
        moved = e.op("and", e.op("shl", e.resize(result, "i32"), e.const("i32", position)), e.const("i32", mask))
        return e.op("or", e.op("and", c[0], e.const("i32", ~mask)), moved)
    other = e.resize(c[0], _WIDE, signed=signed)
    if ins.has("add"):
        result = e.op("add", result, other)
    else:
        result = e.resize(e.resize(result, "i32"), _WIDE, signed=signed)
        result = e.intrinsic("smin" if ins.has("min") else "smax", result, other)
    return e.resize(result, "i32")


def _add(e: Elementwise, x: Value, y: Value) -> Value:
    return e.op("add", x, y)


def _subtract(e: Elementwise, x: Value, y: Value) -> Value:
    return e.op("sub", x, y)


def _difference(e: Elementwise, x: Value, y: Value) -> Value:
    return e.intrinsic("abs", e.op("sub", x, y), extra=("i1 false",))


def _smaller(e: Elementwise, x: Value, y: Value) -> Value:
    return e.intrinsic("smin", x, y)


def _larger(e: Elementwise, x: Value, y: Value) -> Value:
    return e.intrinsic("smax", x, y)


def _average(e: Elementwise, x: Value, y: Value) -> Value:
    """Rounded away from zero where positive, down where negative."""
    total = e.op("add", x, y)
    up = e.resize(e.icmp("sge", total, e.const(_WIDE, 0)), _WIDE)
    return e.op("ashr", e.op("add", total, up), e.const(_WIDE, 1))


def _comparison(ins: Instruction) -> Operation:
    condition = next(modifier for modifier in ins.modifiers if modifier in _COMPARISONS)
    condition = condition if condition in ("eq", "ne") else "s" + condition
    return lambda e, x, y: e.resize(e.icmp(condition, x, y), _WIDE)


def vadd(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, _add, a, b, c)


def vsub(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, _subtract, a, b, c)


def vabsdiff(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, _difference, a, b, c)


def vmin(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, _smaller, a, b, c)


def vmax(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, _larger, a, b, c)


def vset(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    """`vset.a.b.cmp`: 1 where the comparison holds."""
    return _scalar(e, ins, _comparison(ins), a, b, c)


def vshl(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, lambda inner, x, y: inner.op("shl", x, _shift_amount(inner, ins, y)), a, b, c)


def vshr(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    return _scalar(e, ins, lambda inner, x, y: inner.op("ashr", x, _shift_amount(inner, ins, y)), a, b, c)


def _shift_amount(e: Elementwise, ins: Instruction, amount: Value) -> Value:
    if ins.has("wrap"):
        return e.op("and", amount, e.const(_WIDE, 31))
    return e.intrinsic("umin", amount, e.const(_WIDE, 32))


def vmad(e: Elementwise, ins: Instruction, a: Value, b: Value, c: Value) -> Value:
    """a * b + c, at 128 bits, scaled down by 7 or 15 bits; `.po` adds one. Operands come without their minus sign."""
    _, type_a, type_b = ins.types
    negated = [_is_negated(operand) for operand in ins.operands[1:4]]
    minus_product = negated[0] != negated[1]
    signed = is_signed(type_a) or is_signed(type_b) or minus_product or negated[2]
    x = e.resize(_pick(e, a, type_a, _selector(ins.operands[1])), "i128", signed=True)
    y = e.resize(_pick(e, b, type_b, _selector(ins.operands[2])), "i128", signed=True)
    product, one_more = e.op("mul", x, y), 0
    if ins.has("po"):
        one_more = 1
    elif minus_product:
        product, one_more = e.not_(product), 1
    elif negated[2]:
        c, one_more = e.not_(c), 1
    total = e.op("add", e.op("add", product, e.resize(c, "i128", signed=signed)), e.const("i128", one_more))
    scale = 7 if ins.has("shr7") else 15 if ins.has("shr15") else 0
    total = e.op("ashr", total, e.const("i128", scale))
    if ins.has("sat"):
        total = clamp(e, total, *_range(32, signed=signed))
    return e.resize(total, "i32")


# --- SIMD: two half-words or four bytes


def _digits(selector: str, default: str) -> list[int]:
    """Part numbers, lowest result part first: "h32" gives [2, 3]."""
    return [int(digit) for digit in reversed((selector or default)[1:])]


def _simd(e: Elementwise, ins: Instruction, operation: Operation, parts: int, operands: tuple[Value, ...]) -> Value:
    """Parts of a come from the registers a and b as selected, as do those of b; parts outside the mask are c's."""
    a, b, c = operands
    to, type_a, type_b = ins.types if len(ins.types) == 3 else ("u32", *ins.types)
    width = 32 // parts
    letter = "h" if parts == 2 else "b"
    numbers = "".join(str(number) for number in reversed(range(2 * parts)))
    chosen_a = _digits(_selector(ins.operands[1]), letter + numbers[parts:])
    chosen_b = _digits(_selector(ins.operands[2]), letter + numbers[:parts])
    mask = _digits(_selector(ins.operands[0]), letter + numbers[parts:])

    def part(number: int, ptx_type: str) -> Value:
        source = a if number < parts else b
        return _pick(e, source, ptx_type, f"{letter}{number % parts}")

    accumulate = ins.has("add")
    result = c if accumulate else e.const("i32", 0)
    for index in range(parts):
        field = ((1 << width) - 1) << (index * width)
        if index not in mask:
            if not accumulate:
                result = e.op("or", result, e.op("and", c, e.const("i32", field)))
            continue
        value = operation(e, part(chosen_a[index], type_a), part(chosen_b[index], type_b))
        if ins.has("sat"):
            value = clamp(e, value, *_range(width, signed=is_signed(to)))
        value = e.resize(value, "i32")
        if accumulate:
            result = e.op("add", result, value)
        else:
            moved = e.op("shl", value, e.const("i32", index * width))
            result = e.op("or", result, e.op("and", moved, e.const("i32", field)))
    return result


def vadd2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _add, 2, operands)


def vsub2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _subtract, 2, operands)


def vavrg2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _average, 2, operands)


def vabsdiff2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _difference, 2, operands)


def vmin2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _smaller, 2, operands)


def vmax2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _larger, 2, operands)


def vset2(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _comparison(ins), 2, operands)


def vadd4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _add, 4, operands)


def vsub4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _subtract, 4, operands)


def vavrg4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _average, 4, operands)


def vabsdiff4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _difference, 4, operands)


def vmin4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _smaller, 4, operands)


def vmax4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _larger, 4, operands)


def vset4(e: Elementwise, ins: Instruction, *operands: Value) -> Value:
    return _simd(e, ins, _comparison(ins), 4, operands)
