"""Shared-memory accesses of one basic block that start from the same register are checked once, all together.

`tile[k][x]` unrolled over k is 32 loads from one base: the first one asks whether the whole range lies in the block's
shared memory, is aligned, and has its lanes where they seem to be; all 32 then take the fast way or the slow way.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from lanewise.emulator.flow import BasicBlock
from lanewise.emulator.kinds import Kind, Lanes, Tag
from lanewise.ptx.syntax import TYPE_BITS, Address, Instruction, Operand, Register, VectorOperand

_ZERO = (0,) * 32


@dataclass(slots=True)
class SharedGroup:
    """Accesses at base + constant. `low` and `high` are the first and the last byte (plus one) relative to the base.

    `relative` are the lanes' distances from the base register's scalar part; `run`: lane after lane the next `bytes_`,
    which also works for a warp that is not full. Blocks with `early` groups are translated twice: once for when all
    their checks hold, once for when one does not. `flag` and `pointer` are texts, set where the group is checked.
    """

    base: str
    relative: Lanes
    bytes_: int
    uniform: bool
    run: bool
    need_full: bool
    low: int = 0
    high: int = 0
    align: int = 1
    early: bool = False  # the base is known where the block starts
    members: int = 0
    flag: str = ""
    pointer: str = ""


def find(
    block: BasicBlock, kind_of: Callable[[str], Kind | None], written: Callable[[Instruction], Set[str]]
) -> dict[int, SharedGroup]:
    """The group of each instruction of a block (by `id`) that can be treated so."""
    versions: dict[str, int] = {}
    epoch = 0
    groups: dict[tuple[object, ...], SharedGroup] = {}
    result: dict[int, SharedGroup] = {}
    for instruction in block.instructions:
        place = _shared_address(instruction)
        if place is not None:
            base, offset, bytes_, count = place
            made = _group(base, kind_of(base), bytes_, count, instruction.opcode == "ld")
            if made is not None and offset % bytes_ == 0:
                width = 0 if made.uniform else bytes_
                key = (base, versions.get(base, 0), epoch, made.uniform, made.run, made.need_full, width)
                group = groups.setdefault(key, made)
                fresh = group is made
                group.low = offset if fresh else min(group.low, offset)
                group.high = offset + bytes_ if fresh else max(group.high, offset + bytes_)
                group.align = max(group.align, bytes_)
                group.early = versions.get(base, 0) == 0 and epoch == 0
                group.members += 1
                result[id(instruction)] = group
        for name in written(instruction):
            versions[name] = versions.get(name, 0) + 1
        if instruction.opcode == "call":
            epoch += 1  # lanes may be gone
    return result


def _shared_address(instruction: Instruction) -> tuple[str, int, int, int] | None:
    """(base register, offset, bytes a lane, components) of an unguarded plain load or store of shared memory."""
    if instruction.opcode not in ("ld", "st") or instruction.guard is not None:
        return None
    if not instruction.has("shared", "shared::cta"):
        return None
    is_load = instruction.opcode == "ld"
    address = instruction.operands[1 if is_load else 0]
    data: Operand = instruction.operands[0 if is_load else 1]
    if not isinstance(address, Address) or not isinstance(address.base, Register):
        return None
    count = len(data.elements) if isinstance(data, VectorOperand) else 1
    return address.base.name, address.offset, TYPE_BITS[instruction.type] // 8 * count, count


def _group(base: str, kind: Kind | None, bytes_: int, count: int, is_load: bool) -> SharedGroup | None:
    if kind is None:
        return None
    if kind.tag == Tag.UNIFORM:
        return SharedGroup(base, _ZERO, bytes_, True, False, False) if is_load else None
    if kind.tag != Tag.AFFINE or kind.pattern:
        return None
    relative = kind.offsets or _ZERO
    if relative == tuple(bytes_ * lane for lane in range(32)):
        return SharedGroup(base, relative, bytes_, False, True, count > 1 or bytes_ > 4)
    if bytes_ < 4 or any(r % bytes_ for r in relative) or max(map(abs, relative)) >= 1 << 30:
        return None
    return SharedGroup(base, relative, bytes_, False, False, True)
