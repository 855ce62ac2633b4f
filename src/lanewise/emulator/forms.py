"""Results that keep a form: the code for what `kinds.transfer` calls uniform, affine or extended."""

from __future__ import annotations

from dataclasses import replace

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Elementwise, Emitter, Value, bits_of
from lanewise.emulator.kinds import Tag, transfer, wrap
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Instruction,
)


def form(out: Emitter, lowering: str, ins: Instruction, sources: list[Quantity]) -> Quantity | None:
    """The result as an affine or extended form, where `kinds.transfer` says it has one."""
    kind = transfer(lowering, ins, [source.kind for source in sources])
    if kind is None or kind.tag == Tag.VARYING or all(s.tag == Tag.UNIFORM for s in sources):
        return None
    a = sources[0]
    match lowering:
        case "integer.add":
            result = q.add(out, a, sources[1])
        case "integer.sub":
            result = q.add(out, a, sources[1], "sub")
        case "integer.mul" | "integer.mad":
            result = _product(out, ins, sources)
        case "logic.shl":
            factor = str(wrap(1 << int(sources[1].text), bits_of(a.type)))
            result = q.multiply(out, a, q.uniform(factor, a.type))
        case "logic.and_":
            result = replace(a, text=out.let(f"and i32 {a.text}, {sources[1].text}"))
        case "logic.or_":
            result = a
        case "logic.shr":
            if kind.most == 0:
                result = q.uniform("0", "i32")
            else:
                opcode = "ashr" if ins.type.startswith("s") else "lshr"
                result = replace(a, text=out.let(f"{opcode} i32 {a.text}, {sources[1].text}"))
        case "convert.cvt":
            to, source = ins.types
            if TYPE_BITS[to] > TYPE_BITS[source]:
                result = q.widen(a, source.startswith("s"))
            else:
                result = q.narrow(out, a) if a.tag == Tag.EXTENDED and TYPE_BITS[to] == 32 else a
        case _:
            raise AssertionError(lowering)
    if kind.tag == Tag.UNIFORM and result.type == "i64":
        return Quantity(kind, "i64", result.outer)
    return replace(result, kind=kind)


def _product(out: Emitter, ins: Instruction, sources: list[Quantity]) -> Quantity:
    a, b = sources[0], sources[1]
    if b.tag != Tag.UNIFORM:
        a, b = b, a
    signed = ins.type == "s32"
    if a.tag == Tag.UNIFORM:
        width = "i64" if ins.has("wide") else a.type
        x, y = (Elementwise(out, 1).resize(Value(s.text, s.type), width, signed=signed) for s in (a, b))
        product = q.uniform(Elementwise(out, 1).op("mul", x, y).text, width)
    elif ins.has("wide"):
        if q.is_literal(b.text):
            text = str(int(b.text) if signed else int(b.text) & 0xFFFFFFFF)
        else:
            text = out.let(f"{'sext' if signed else 'zext'} i32 {b.text} to i64")
        product = q.multiply(out, q.widen(a, signed), q.uniform(text, "i64"))
    else:
        product = q.multiply(out, a, b)
    if ins.opcode != "mad":
        return product
    return q.add(out, product, sources[2])
