"""What the opcode of a machine instruction says: memory class, access kind, width, effect on control flow.

Source: the instruction set reference of the CUDA Binary Utilities (NVIDIA), section "Instruction Set Reference".
"""

from __future__ import annotations

import re
from enum import StrEnum

from lanewise.records import AccessKind, Space


class Flow(StrEnum):
    """How an instruction ends a basic block."""

    BRANCH = "branch"
    INDIRECT = "indirect branch"
    EXIT = "exit"
    CALL = "call"
    RETURN = "return"
    RECONVERGE = "reconverge"  # issued once for each group of lanes that arrives


# name -> (space, kind). GENERIC: the address decides at run time.
_MEMORY: dict[str, tuple[Space, AccessKind]] = {
    "LDG": (Space.GLOBAL, AccessKind.LOAD),
    "LDGMC": (Space.GLOBAL, AccessKind.LOAD),
    "STG": (Space.GLOBAL, AccessKind.STORE),
    "ATOMG": (Space.GLOBAL, AccessKind.ATOMIC),
    "RED": (Space.GLOBAL, AccessKind.ATOMIC),
    "REDG": (Space.GLOBAL, AccessKind.ATOMIC),
    "LD": (Space.GENERIC, AccessKind.LOAD),
    "ST": (Space.GENERIC, AccessKind.STORE),
    "ATOM": (Space.GENERIC, AccessKind.ATOMIC),
    "LDS": (Space.SHARED, AccessKind.LOAD),
    "LDSM": (Space.SHARED, AccessKind.LOAD),
    "STS": (Space.SHARED, AccessKind.STORE),
    "STSM": (Space.SHARED, AccessKind.STORE),
    "ATOMS": (Space.SHARED, AccessKind.ATOMIC),
    "LDL": (Space.LOCAL, AccessKind.LOAD),
    "STL": (Space.LOCAL, AccessKind.STORE),
    "LDGSTS": (Space.GLOBAL, AccessKind.LOAD),
    "UTMALDG": (Space.GLOBAL, AccessKind.LOAD),
    "UTMASTG": (Space.GLOBAL, AccessKind.STORE),
    "UTMAREDG": (Space.GLOBAL, AccessKind.ATOMIC),
    "UTMAPF": (Space.GLOBAL, AccessKind.LOAD),
    "TEX": (Space.TEXTURE, AccessKind.LOAD),
    "TLD": (Space.TEXTURE, AccessKind.LOAD),
    "TLD4": (Space.TEXTURE, AccessKind.LOAD),
    "TXD": (Space.TEXTURE, AccessKind.LOAD),
    "SULD": (Space.SURFACE, AccessKind.LOAD),
    "SUST": (Space.SURFACE, AccessKind.STORE),
    "SURED": (Space.SURFACE, AccessKind.ATOMIC),
    "SUATOM": (Space.SURFACE, AccessKind.ATOMIC),
    "LDC": (Space.CONST, AccessKind.LOAD),
    "LDCU": (Space.CONST, AccessKind.LOAD),
    "ULDC": (Space.CONST, AccessKind.LOAD),
}

# Bulk copies name what they write and what they read; those between blocks of a cluster read the own shared memory.
_BULK: dict[tuple[str, ...], tuple[Space, AccessKind]] = {
    ("UBLKCP", "S", "G"): (Space.GLOBAL, AccessKind.LOAD),
    ("UBLKCP", "G", "S"): (Space.GLOBAL, AccessKind.STORE),
    ("UBLKCP", "S", "S"): (Space.SHARED, AccessKind.LOAD),
    ("UBLKRED", "G", "S"): (Space.GLOBAL, AccessKind.ATOMIC),
    ("UBLKRED", "S", "S"): (Space.SHARED, AccessKind.LOAD),
}

_FLOW: dict[str, Flow] = {
    "BRA": Flow.BRANCH,
    "JMP": Flow.BRANCH,
    "BRX": Flow.INDIRECT,
    "JMX": Flow.INDIRECT,
    "BRXU": Flow.INDIRECT,
    "JMXU": Flow.INDIRECT,
    "EXIT": Flow.EXIT,
    "KILL": Flow.EXIT,
    "CALL": Flow.CALL,
    "RET": Flow.RETURN,
    "RTT": Flow.RETURN,
    "BSYNC": Flow.RECONVERGE,
}

_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256, "F64": 64, "U64": 64, "S64": 64}
_PACKED = re.compile(r"B?F(16|32)x([248])")  # F16x2, F32x4, BF16x8
_BARRIERS = frozenset(("BAR", "UCGABAR", "B2R", "WARPSYNC", "SYNCS"))
_SHUFFLES = frozenset(("SHFL", "VOTE", "MATCH", "REDUX"))


def name_of(opcode: str) -> str:
    """ "LDG" of "LDG.E.128"."""
    return opcode.partition(".")[0]


def memory(opcode: str) -> tuple[Space, AccessKind] | None:
    """State space and kind of a memory instruction; None for every other, and for loads of constants by name."""
    return _MEMORY.get(name_of(opcode)) or _BULK.get(tuple(opcode.split(".")[:3]))


def width_bits(opcode: str) -> int:
    """Bits that one lane accesses; 0 for what is not a memory instruction."""
    name, *modifiers = opcode.split(".")
    if name.startswith(("UBLK", "UTMA")):
        return 128 if memory(opcode) is not None else 0  # they move units of 16 bytes
    if name not in _MEMORY:
        return 0
    if name in ("LDSM", "STSM"):
        return 128  # each lane names a row of 16 bytes
    if _MEMORY[name][0] == Space.TEXTURE:
        return 128  # four channels, or as many of them as are used
    for modifier in modifiers:
        if modifier in _WIDTHS:
            return _WIDTHS[modifier]
        if (packed := _PACKED.fullmatch(modifier)) is not None:
            return int(packed[1]) * int(packed[2])
    return 32


def flow(opcode: str) -> Flow | None:
    """How the instruction ends a basic block; None where it does not."""
    return _FLOW.get(name_of(opcode))


STRONG = 3  # weight of an instruction that the compiler does not move across the control flow it stands in


def weight(opcode: str) -> int:
    """How surely an unpredicated instruction runs as often as its PTX line: STRONG for memory, barriers and shuffles,
    1 for the rest, which the compiler moves freely; 0 for a vote that makes a predicate uniform, which runs for all
    where its line is of a branch."""
    name = name_of(opcode)
    if name == "VOTEU":
        return 0
    found = memory(opcode)
    if (found is not None and found[0] != Space.CONST) or name in _BARRIERS or name in _SHUFFLES:
        return STRONG
    return 1
