"""The parts of a call instruction (PTX ISA 9.7.12.5)."""

from __future__ import annotations

from typing import NamedTuple

from lanewise.ptx.syntax import Instruction, Operand, OperandList, Register, Symbol


class Call(NamedTuple):
    """`call (results), function, (arguments), prototype`. `function` is a register for an indirect call; `prototype`
    then names a `.callprototype` or `.calltargets` of the function (`Function.call_prototypes`)."""

    results: tuple[Operand, ...]
    function: Symbol | Register
    arguments: tuple[Operand, ...]
    prototype: str | None


def call_parts(instruction: Instruction) -> Call:
    """The parts of a parsed `call`."""
    lists: list[tuple[Operand, ...]] = [(), ()]
    names: list[Symbol | Register] = []
    for operand in instruction.operands:
        if isinstance(operand, OperandList):
            lists[min(len(names), 1)] = operand.elements
        elif isinstance(operand, Symbol | Register):
            names.append(operand)
    return Call(lists[0], names[0], lists[1], names[1].name if len(names) > 1 else None)
