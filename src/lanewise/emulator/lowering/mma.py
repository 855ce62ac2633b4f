"""mma.sync (PTX ISA 9.7.14.5): products of fragments that the registers of a warp hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering.address import components
from lanewise.emulator.matrix import eight_bits, multiply, quad_pairs
from lanewise.emulator.matrix.product import EIGHT_BITS, Product
from lanewise.ptx.syntax import Instruction, Operand

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def shape_of(ins: Instruction) -> tuple[int, int, int]:
    """m, n and k."""
    found = next(match for word in ins.modifiers if (match := _SHAPE.fullmatch(word)))
    return int(found[1]), int(found[2]), int(found[3])


def product_of(ins: Instruction) -> Product:
    """What an mma of any shape but Volta's computes."""
    m, _, k = shape_of(ins)
    d, a, b, c = ins.types
    operation = next((word for word in ins.modifiers if word in ("xor", "and")), "")
    return Product(m, k, a, b, c, d, ins.has("satfinite"), operation)


def _function(ins: Instruction) -> tuple[str, str]:
    """Name and text of the function of an mma: a, b, c and then d in memory."""
    if ins.has("m8n8k4") and ins.type != "f64":
        d, _, _, c = ins.types
        first, second = (word for word in ins.modifiers if word in ("row", "col"))
        return quad_pairs.name((first, second), c, d), quad_pairs.write((first, second), c, d)
    product = product_of(ins)
    return multiply.name(product), (eight_bits if product.a in EIGHT_BITS else multiply).write(product)


def store_registers(t: FunctionTranslator, room: str, operands: tuple[Operand, ...], element: str) -> None:
    """Put registers of all lanes one after the other into memory."""
    for number, operand in enumerate(operands):
        vector = t.vector(t.operand(operand, f"b{element[1:]}"))
        pointer = t.out.let(f"getelementptr <32 x {element}>, ptr {room}, i64 {number}")
        t.out.line(f"store <32 x {element}> {vector}, ptr {pointer}, align 64")


def load_registers(t: FunctionTranslator, room: str, first: int, targets: tuple[Operand, ...], ins: Instruction,
                   element: str) -> None:  # fmt: skip
    """Take results from memory."""
    for number, target in enumerate(targets):
        pointer = t.out.let(f"getelementptr <32 x {element}>, ptr {room}, i64 {first + number}")
        vector = t.out.let(f"load <32 x {element}>, ptr {pointer}, align 64")
        t.write(target, q.varying(vector, element), ins)


def mma(t: FunctionTranslator, ins: Instruction) -> None:
    """mma.sync, dense."""
    name, text = _function(ins)
    t.out.define(name, text)
    element = "i64" if ins.type == "f64" else "i32"
    d, a, b, c = (components(operand) for operand in ins.operands)
    room = t.room(len(a + b + c + d) * int(element[1:]) * 4)
    store_registers(t, room, a + b + c, element)
    t.out.line(f"call void @{name}(ptr {room})")
    load_registers(t, room, len(a + b + c), d, ins, element)
