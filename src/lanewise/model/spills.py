"""Registers that ptxas keeps in local memory: PTX knows nothing of them, so their accesses are put where the machine
code has them, behind the memory instruction before them."""

from __future__ import annotations

import re

from lanewise.emulator.trace import LOAD, STORE
from lanewise.model.caches import Spill
from lanewise.records import AccessKind, Space
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassInstruction

_PLACE = re.compile(r"\[R1(?:\+(-?0x[0-9a-f]+))?\]")


def spills(machine: MachineKernel, site_of_line: dict[tuple[str, int], int], first_row: int) -> dict[int, list[Spill]]:
    """By offset of the machine instruction, one `Spill` a word; rows count up from `first_row`, one an instruction."""
    if not site_of_line:
        return {}
    carried = {a.instruction.offset: a.line for a in machine.accesses if a.ptx is not None and a.line is not None}
    result: dict[int, list[Spill]] = {}
    last = next(iter(site_of_line.values()))
    for block in machine.blocks:
        for instruction in block.instructions:
            line = carried.get(instruction.offset)
            if line is not None:
                last = site_of_line.get(line, last)
            elif is_spill(instruction):
                row = first_row + len(result)
                kind = _kind(instruction)
                result[instruction.offset] = [Spill(last, word, kind, row) for word in _words(instruction)]
    return result


def is_spill(instruction: SassInstruction) -> bool:
    found = instruction.memory
    return found is not None and found[0] == Space.LOCAL and instruction.spill


def _kind(instruction: SassInstruction) -> int:
    found = instruction.memory
    return LOAD if found is not None and found[1] == AccessKind.LOAD else STORE


def _words(instruction: SassInstruction) -> range:
    match = _PLACE.search(instruction.operands)
    start = int(match[1], 16) // 4 if match and match[1] else 0
    return range(start, start + max(1, instruction.width_bits // 32))
