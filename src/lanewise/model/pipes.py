"""Which unit executes a machine instruction, and how long its result takes.

Source: CUDA C++ Best Practices Guide, "Throughput of Native Arithmetic Instructions", for the classes; CUDA Binary
Utilities, "Instruction Set Reference", for the opcodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from lanewise.sass.listing import SassInstruction


class Pipe(StrEnum):
    """Units of an SM that execute instructions, by the profiler's words where it has one."""

    FMA = "FMA"
    IMAD = "IMAD"
    ALU = "ALU"
    FP64 = "FP64"
    HALF = "FP16"
    XU = "XU"
    CONVERT = "conversion"
    TENSOR = "tensor"
    TEXTURE = "TEX"
    LSU = "LSU"  # every memory instruction and shuffle, as it is issued
    CONSTANT = "constant cache"
    UNIFORM = "uniform"
    CONTROL = "branch"
    BARRIER = "barrier"


_BY_NAME: dict[str, Pipe] = {}
for _pipe, _opcodes in {
    Pipe.FMA: "FFMA FMUL FADD FFMA32I FADD32I FMUL32I FSWZADD",
    Pipe.IMAD: "IMAD IMUL IDP IDP4A XMAD",
    Pipe.FP64: "DFMA DMUL DADD DSETP DMNMX",
    Pipe.HALF: "HFMA2 HADD2 HMUL2 HSET2 HSETP2 HMNMX2 HFMA2_32I HADD2_32I HMUL2_32I",
    Pipe.XU: "MUFU POPC FLO BREV REDUX",
    Pipe.CONVERT: "I2F F2I F2F FRND I2I F2IP",  # packing (F2FP) and 32-bit integers to f32 (I2FP) are of the ALU
    Pipe.TENSOR: "HMMA IMMA DMMA BMMA QMMA HGMMA IGMMA QGMMA BGMMA UTCMMA OMMA",
    Pipe.TEXTURE: "TEX TLD TLD4 TXD TXQ TMML SULD SUST SURED SUATOM SUQ",
    Pipe.LSU: "LDG STG LDS STS LDL STL LD ST ATOM ATOMG ATOMS RED REDG SHFL LDSM STSM LDGSTS MATCH LDGMC S2R",
    Pipe.CONSTANT: "LDC",
    Pipe.CONTROL: "BRA BSSY BSYNC BREAK EXIT CALL RET JMP BRX JMX WARPSYNC WARPGROUP YIELD NANOSLEEP BMOV RPCMOV BPT",
    Pipe.BARRIER: "BAR B2R MEMBAR ERRBAR DEPBAR SYNCS UCGABAR_ARV UCGABAR_WAIT",
}.items():
    _BY_NAME.update(dict.fromkeys(_opcodes.split(), _pipe))
_UNIFORM_MEMORY = frozenset(("ULDC", "LDCU"))
_WIDE = frozenset(("64", "WIDE", "F64"))
_NOTHING = (
    "STG STS STL ST SUST SURED RED REDG BRA BSSY BSYNC EXIT BAR MEMBAR CALL RET STSM NOP YIELD WARPSYNC BREAK "
    "NANOSLEEP LDGSTS LDGDEPBAR DEPBAR CCTL"
)
_NO_RESULT = frozenset(_NOTHING.split())


def pipe(instruction: SassInstruction) -> Pipe:
    """The unit that executes an instruction."""
    name = instruction.name
    found = _BY_NAME.get(name)
    if found is not None:
        # Moves, and additions that the compiler writes as a multiplication by one, go where multiplications go.
        return found
    if name.startswith("U") or name in _UNIFORM_MEMORY or name in ("S2UR", "R2UR", "VOTEU"):
        return Pipe.UNIFORM
    return Pipe.ALU


def passes(instruction: SassInstruction) -> int:
    """How often an instruction goes through its unit: the upper half of a product of 32 bits twice."""
    return 2 if instruction.name == "IMAD" and ".HI" in instruction.opcode else 1


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers that an instruction writes and reads, predicates and uniform ones among them."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]


@lru_cache(maxsize=1 << 16)  # a kernel is walked again for each change that is weighed
def registers(instruction: SassInstruction) -> Registers:
    """From the text of the listing: leading operands are results, except of instructions without one."""
    parts = [part.strip() for part in instruction.operands.split(",")] if instruction.operands else []
    writes: list[str] = []
    first = 0
    if instruction.name not in _NO_RESULT:
        # Predicate results stand in pairs in front, or behind a first register (a carry).
        while first < len(parts) and _kind(parts[first]) == "P" and first < 2:
            writes += _names(parts[first], 1)
            first += 1
        if first < len(parts) and not (writes and _sets_predicates(instruction)):
            writes += _names(parts[first], _width(instruction))
            first += 1
            if first < len(parts) and _kind(parts[first]) == "P" and len(parts) > 3 and writes[-1:] != ["P"]:
                writes += _names(parts[first], 1)
                first += 1
    reads = [name for part in parts[first:] for name in _names(part, 1)]
    if instruction.name in ("STG", "STS", "STL", "ST", "RED", "REDG"):
        reads = [name for part in parts for name in _names(part, 1)]
    if instruction.predicate:
        reads += _names(instruction.predicate.lstrip("@!"), 1)
    return Registers(tuple(writes), tuple(reads))


def _sets_predicates(instruction: SassInstruction) -> bool:
    return "SETP" in instruction.name or instruction.name in ("PLOP3", "FCHK", "R2P", "VOTE")


def _width(instruction: SassInstruction) -> int:
    """Registers of 32 bits in the result."""
    modifiers = instruction.opcode.split(".")
    if instruction.name == "LDSM":  # one register a matrix
        return int(modifiers[-1]) if modifiers[-1].isdigit() else 1
    if "128" in modifiers:
        return 4
    if _WIDE & set(modifiers) or instruction.name in ("DFMA", "DADD", "DMUL", "CS2R"):
        return 2
    return 1


def _kind(part: str) -> str:
    """ "R", "UR", "P" (with uniform and constant ones), or "" of what is no register."""
    text = part.lstrip("!-~|@").removesuffix(".reuse")
    if text.startswith("UR"):
        return "UR"
    if (text.startswith(("UP", "P")) and text[-1:].isdigit()) or text in ("PT", "UPT"):
        return "P"
    return "R" if text.startswith("R") else ""


def _names(part: str, count: int) -> list[str]:
    """Registers named in one operand: `desc[UR4][R2.64+0x10]` -> UR4, R2; results of several are counted up."""
    found: list[str] = []
    text = ""
    for letter in part + " ":
        if letter.isalnum():
            text += letter
            continue
        for prefix in ("UR", "UP", "R", "P"):
            if text.startswith(prefix) and text[len(prefix) :].isdigit():
                number = int(text[len(prefix) :])
                found += [f"{prefix}{number + k}" for k in range(count if prefix in ("R", "UR") else 1)]
                break
        text = ""
    return found
