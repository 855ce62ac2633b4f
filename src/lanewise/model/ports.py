"""Cycles that an instruction occupies the register file, which gives two operands a cycle.

An operand marked `.reuse` is kept for the same place of the next instruction, which then reads nothing for it. Found by
chains of fused multiply-adds on an H200: with three registers to read they issue every second cycle, with kept ones
every cycle. (That registers lie in two banks and that operands are kept: Jia et al., "Dissecting the NVIDIA Volta GPU
Architecture", 2018.)
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.sass.listing import SassInstruction

_REGISTER = "R"
PORTS = 2


def port_cycles(instructions: Sequence[SassInstruction]) -> list[int]:
    """For each instruction of a block in order, at least 1."""
    kept: dict[int, str] = {}
    result = []
    for instruction in instructions:
        operands = [part.strip() for part in instruction.operands.split(",")][1:]
        reads: set[str] = set()
        keeping: dict[int, str] = {}
        for place, operand in enumerate(operands):
            name = operand.lstrip("-~|!").removesuffix(".reuse").rstrip("|")
            if not (name.startswith(_REGISTER) and name[1:].isdigit()):
                continue
            if kept.get(place) != name:
                reads.add(name)
            if operand.endswith(".reuse"):
                keeping[place] = name
        kept = keeping
        result.append(max(1, -(-len(reads) // PORTS)))
    return result
