"""The way that the bytes of a memory instruction take, by its opcode."""

from __future__ import annotations

from lanewise.records import AccessKind
from lanewise.sass.listing import SassInstruction

_ENGINE = ("UBLK", "UTMA")  # bulk copies, and copies of boxes of tensors
_COHERENT = frozenset(("GPU", "SYS"))


def by_engine(instruction: SassInstruction) -> bool:
    """Whether the copy engine moves the bytes between shared and global memory, for the warp that asked."""
    return instruction.name.startswith(_ENGINE)


def past_the_l1(instruction: SassInstruction) -> bool:
    """Whether a load finds nothing in the L1 and leaves nothing there: copies of the engine, `cp.async.cg`, and loads
    that must see what other SMs wrote (volatile, `ld.global.cg`, scopes of the device and the system)."""
    memory = instruction.memory
    if memory is None or memory[1] != AccessKind.LOAD:
        return False
    modifiers = set(instruction.opcode.split("."))
    strong = "STRONG" in modifiers and bool(modifiers & _COHERENT)
    return by_engine(instruction) or "BYPASS" in modifiers or strong
