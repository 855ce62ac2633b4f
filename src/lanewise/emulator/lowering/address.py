"""The operands of memory instructions, and conversions of addresses (PTX ISA 9.7.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Value
from lanewise.emulator.kinds import UNIFORM, VARYING, Tag, wrap
from lanewise.emulator.layout import CLUSTER_WINDOW_BYTES, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Address, Instruction, Operand, Symbol, VectorOperand
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED,
    "local": Space.LOCAL,
    "const": Space.CONST,
    "param": Space.PARAM,
}


def memory_offset(address: Operand) -> int:
    """The constant of `[base+constant]`."""
    return address.offset if isinstance(address, Address) else 0


def space_of(ins: Instruction) -> Space:
    """The state space an instruction names; none is generic."""
    for modifier in ins.modifiers:
        if (space := _SPACES.get(modifier.split("::")[0])) is not None:
            return space
    return Space.GENERIC


def reaches_cluster(ins: Instruction) -> bool:
    """Whether an access by 32-bit address may go to another block of the cluster."""
    return ins.has("shared::cluster")


def vector_length(ins: Instruction) -> int:
    return next((int(m[1:]) for m in ins.modifiers if m in ("v2", "v4", "v8")), 1)


def components(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, VectorOperand) else (operand,)


def array_name(t: FunctionTranslator, address: Operand) -> str | None:
    """The name of the variable an address starts from, where it is written there."""
    if isinstance(address, Address) and isinstance(address.base, Symbol):
        return address.base.name
    return None


def address_of(t: FunctionTranslator, operand: Operand, wide: bool) -> Quantity:
    """An address operand with its offset, 64 bits wide, or 32 for offsets in shared and local memory."""
    assert isinstance(operand, Address), operand
    ptx_type = "u64" if wide else "u32"
    element = "i64" if wide else "i32"
    if operand.base is None:
        return q.uniform(str(wrap(operand.offset, 64 if wide else 32)), element)
    if isinstance(operand.base, Symbol):
        return t.operand(Symbol(operand.base.name, operand.base.offset + operand.offset), ptx_type)
    base = t.operand(operand.base, ptx_type)
    if operand.offset == 0:
        return base
    offset = q.uniform(str(wrap(operand.offset, 64 if wide else 32)), element)
    if base.tag == Tag.UNIFORM:
        return q.uniform(t.out.let(f"add {element} {base.text}, {offset.text}"), element)
    if base.tag == Tag.VARYING:
        splat = q.splat(t.out, element, offset.text)
        return q.varying(t.out.let(f"add <32 x {element}> {base.text}, {splat}"), element)
    moved = q.add(t.out, base, offset)
    assert moved is not None
    return moved


def cvta(t: FunctionTranslator, ins: Instruction) -> None:
    """cvta and cvta.to: between generic addresses and those of a space. Global, constant and kernel parameter addresses
    are the same in both."""
    space = space_of(ins)
    wide = ins.type == "u64"
    source = ins.operands[1]
    window = {Space.SHARED: SHARED_WINDOW, Space.LOCAL: LOCAL_WINDOW}.get(space, 0)
    value = t.operand(source, ins.type)
    if window and wide:
        sign = "sub" if ins.has("to") else "add"
        if value.tag == Tag.UNIFORM:
            value = q.uniform(t.out.let(f"{sign} i64 {value.text}, {window}"), "i64")
        elif value.tag == Tag.VARYING:
            value = q.varying(t.out.let(f"{sign} <32 x i64> {value.text}, splat (i64 {window})"), "i64")
        else:
            moved = q.add(t.out, value, q.uniform(str(window), "i64"), sign)
            assert moved is not None
            value = moved
    t.write(ins.operands[0], value, ins)


def isspacep(t: FunctionTranslator, ins: Instruction) -> None:
    """isspacep: does a generic address lie in a space?"""
    space = space_of(ins)
    address = t.operand(ins.operands[1], "u64")
    e = t.e1 if address.tag == Tag.UNIFORM else t.e32
    value = Value(address.text if address.tag == Tag.UNIFORM else t.vector(address), "i64")

    def within(base: int, size: int = WINDOW_BYTES) -> Value:
        return e.icmp("ult", e.op("sub", value, e.const("i64", base)), e.const("i64", size))

    if space == Space.SHARED:
        result = within(SHARED_WINDOW, CLUSTER_WINDOW_BYTES if ins.has("shared::cluster") else WINDOW_BYTES)
    elif space == Space.LOCAL:
        result = within(LOCAL_WINDOW)
    elif space == Space.GLOBAL:
        result = e.not_(e.op("or", within(SHARED_WINDOW, CLUSTER_WINDOW_BYTES), within(LOCAL_WINDOW)))
    else:
        result = e.const("i1", False)
    kind = UNIFORM if address.tag == Tag.UNIFORM else VARYING
    t.write(ins.operands[0], Quantity(kind, "i1", result.text), ins)
