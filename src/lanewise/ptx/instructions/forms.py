"""The forms of instructions: what modifiers and operands one takes, and whether a written one is of that form.

A form is written as in the PTX ISA's syntax lines, in short: `"RND? ftz? sat? f32 : T T T"`. Before the colon are the
modifiers: alternatives are joined by `|`, a word in capitals is one of the sets below, `?` marks what may be missing.
Their order does not matter, except that types stay in order (so does ptxas read them). After the colon are the
operands, results first:

    T, T0, T1, T2   the last, first, second, third type among the modifiers;  W  the last type, twice as wide
    u32, pred, ...  that type;  X|pred  a pair, of which the second may be missing;  X+pred  a whole pair
    u32/pred        one of these types
    V               T, or a vector of T where `.v2`, `.v4` or `.v8` is among the modifiers
    {}              a vector in braces: two or four equal parts of T;  {T}  any vector of T, of one even
    {b32*4}         a vector of four of that type (one may stand without braces);  {f32*n/2}  as many as the shape says
    imm             a constant integer
    []              an address;  [{}]  one with coordinates of a texture
    &  a label, function or table;  _  no result is taken
    POLICY          a cache policy: there exactly with `.L2::cache_hint`
    ...             anything from here on

A `?` after an operand: it may be missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lanewise.ptx.syntax import (
    TYPE_BITS,
    Address,
    Float,
    Instruction,
    Integer,
    Negated,
    Operand,
    PairOperand,
    Register,
    Sink,
    Special,
    SubWord,
    Symbol,
    TensorAddress,
    VectorOperand,
)

INTEGERS = "u16|u32|u64|s16|s32|s64"
BITS = "b16|b32|b64"

# Sets of modifiers that many forms share.
SETS: dict[str, str] = {
    "INT": INTEGERS,
    "INT32": "u32|s32",
    "INT3264": "u32|s32|u64|s64",
    "BITS": BITS,
    "CONVERTIBLE": "u8|s8|" + INTEGERS,
    "FLOAT": "f16|bf16|f32|f64",
    "RND": "rn|rz|rm|rp",
    "IRND": "rni|rzi|rmi|rpi",
    "BOOL": "and|or|xor",
    "COMPARE": "eq|ne|lt|le|gt|ge",
    "UCOMPARE": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "SIGNED": "s16|s32|s64",
    "UNSIGNED": "u16|u32|u64",
    "FCOMPARE": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
    "VEC": "v2|v4|v8",
    "MEMORY": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "SCOPE": "cta|cluster|gpu|sys",
    "SHARED": "shared|shared::cta|shared::cluster",
    "EVICT1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_normal|L2::evict_first|L2::evict_last",
    "HINT": "L2::cache_hint",
    "PREFETCH": "L2::64B|L2::128B|L2::256B",
    "MODE": "clamp|wrap",
    "GROUP": "cta_group::1|cta_group::2",
    "HALF": "f16|bf16",
    "PACKED": "f16x2|bf16x2",
    "ATOMIC": "b32|b64|u32|u64|s32|s64|f32|f64",
    "POLICY1": "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged",
    "POLICY2": "L2::evict_first|L2::evict_unchanged",
    "MULTIMEM": "b32|b64|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64|e5m2|e5m2x2|e5m2x4|e4m3|e4m3x2|e4m3x4",
    "TX": "mbarrier::complete_tx::bytes",
    "DIM": "1d|2d|3d|4d|5d",
    "F8F6F4": "e4m3|e5m2|e3m2|e2m3|e2m1",
}

_TAKE_SYMBOLS = frozenset(("mov", "cvta", "mapa", "getctarank", "isspacep", "istypep"))
_HINT = "L2::cache_hint"
_SHAPE = re.compile(r"m\d+n(\d+)k\d+")
_VECTOR_SIZES = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True, slots=True)
class Slot:
    """One modifier of a form: the words it may be."""

    words: frozenset[str]
    optional: bool


def _parse_slot(text: str) -> Slot:
    optional = text.endswith("?")
    words: set[str] = set()
    for word in text.removesuffix("?").split("|"):
        words.update(SETS[word].split("|") if word in SETS else [word])
    return Slot(frozenset(words), optional)


@dataclass(frozen=True, slots=True)
class OperandPattern:
    """One operand of a form. `type` is a PTX type or one of the words at the top of this file."""

    type: str
    kind: str  # value, pair (second optional), both (of a pair), vector, parts, maybe-vector, address,
    # coordinates, code, sink, constant
    optional: bool
    count: str = ""  # of a vector's elements: a number, or a part of the shape's n ("n/2")

    def fits(self, operand: Operand, instruction: Instruction, *, destination: bool) -> bool:
        modifiers = instruction.modifiers
        if self.kind == "address":
            return isinstance(operand, Address | TensorAddress)
        if self.kind == "sink":
            return isinstance(operand, Sink)
        if self.kind == "coordinates":
            return isinstance(operand, TensorAddress) and len(operand.coordinates) == coordinate_count(modifiers)
        if self.kind == "code":
            return isinstance(operand, Symbol | Register)
        if self.kind == "vector":
            found = len(operand.elements) if isinstance(operand, VectorOperand) else int(isinstance(operand, Register))
            return found > 0 and self.length(modifiers) in (0, found)
        if self.kind == "constant":
            return isinstance(operand, Integer)
        if self.kind == "parts":
            return isinstance(operand, VectorOperand) and _is_parted(modifiers, len(operand.elements))
        if self.kind == "maybe-vector":
            count = next((_VECTOR_SIZES[word] for word in modifiers if word in _VECTOR_SIZES), 1)
            if count > 1:
                right = isinstance(operand, VectorOperand) and len(operand.elements) == count
                return right and _is_width_of_access(count, modifiers)
        if self.kind in ("pair", "both") and isinstance(operand, PairOperand):
            return isinstance(operand.first, Register | Sink) and isinstance(operand.second, Register | Sink)
        if self.kind == "both":
            return False
        if isinstance(operand, SubWord):
            return instruction.opcode[0] == "v" and instruction.opcode != "vote"  # the video instructions
        if destination:
            return isinstance(operand, Register | Sink)
        if isinstance(operand, Negated):
            predicate = self.type == "pred" or (self.type == "T" and "pred" in modifiers)
            return predicate if operand.operator == "!" else instruction.opcode == "vmad"
        if isinstance(operand, Symbol):
            return instruction.opcode in _TAKE_SYMBOLS
        return isinstance(operand, Register | Special | Integer | Float)

    def length(self, modifiers: tuple[str, ...]) -> int:
        """How many elements a vector has; 0 where any number will do."""
        if not self.count.startswith("n"):
            return int(self.count or 0)
        columns = next(int(found[1]) for word in modifiers if (found := _SHAPE.fullmatch(word)))
        return columns // int(self.count.removeprefix("n/"))


# Coordinates of a texture or surface, the layer among them (PTX ISA 9.7.10.3).
_COORDINATES = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4}


def coordinate_count(modifiers: tuple[str, ...]) -> int:
    """How many coordinates a texture instruction is given: those that are not needed fill up vectors of four."""
    return next((count for name, count in _COORDINATES.items() if name in modifiers), 0)


def _is_width_of_access(count: int, modifiers: tuple[str, ...]) -> bool:
    """Vectors are accessed in at most 128 bits and four elements, or in 256 bits (eight of 32 or four of 64) in global
    memory."""
    element = next((TYPE_BITS[word] for word in reversed(modifiers) if word in TYPE_BITS), 0)
    if count == 8 and element == 16:
        return "noftz" in modifiers  # atomics on eight halves
    narrow = any(word.startswith(("shared", "local", "const", "param")) for word in modifiers)
    return (count * element <= 128 and count <= 4) or ((count, element) in ((8, 32), (4, 64)) and not narrow)


def _is_parted(modifiers: tuple[str, ...], count: int) -> bool:
    """A register is packed of two or four parts of at least a byte."""
    whole = next((TYPE_BITS[word] for word in reversed(modifiers) if word in TYPE_BITS), 0)
    return count in (2, 4) and whole // count in (8, 16, 32, 64)


def _parse_operand(text: str) -> OperandPattern:
    optional = text.endswith("?")
    text = text.removesuffix("?")
    if text == "[]":
        return OperandPattern("u64", "address", optional)
    if text == "[{}]":
        return OperandPattern("u64", "coordinates", optional)
    if text == "&":
        return OperandPattern("u64", "code", optional)
    if text == "_":
        return OperandPattern("b64", "sink", optional)
    if text == "{}":
        return OperandPattern("PART", "parts", optional)
    if text.startswith("{"):
        element, _, count = text[1:-1].partition("*")
        return OperandPattern(element, "vector", optional, count)
    if text == "imm":
        return OperandPattern("b32", "constant", optional)
    if text == "V":
        return OperandPattern("T", "maybe-vector", optional)
    if "+" in text:
        return OperandPattern(text.partition("+")[0], "both", optional)
    first, _, second = text.partition("|")
    return OperandPattern(first, "pair" if second else "value", optional)


def _wider(ptx_type: str) -> str:
    return f"{ptx_type[0]}{2 * TYPE_BITS[ptx_type]}"


@dataclass(frozen=True)
class Form:
    """One syntax line of an instruction: `text` as explained at the top of this file."""

    text: str

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(_parse_slot(word) for word in _split(self.text)[0].split())

    @cached_property
    def operands(self) -> tuple[OperandPattern, ...]:
        return tuple(_parse_operand(word) for word in self._operand_text.split() if word != "...")

    @property
    def _operand_text(self) -> str:
        return _split(self.text)[1]

    @cached_property
    def open_ended(self) -> bool:
        return "..." in self._operand_text

    def takes(self, modifiers: tuple[str, ...]) -> bool:
        """Whether these modifiers are this form's: each one in a slot of its own, no required slot empty."""
        slots = self.slots
        free = list(range(len(slots)))
        last_type = -1
        for modifier in modifiers:
            is_type = modifier in TYPE_BITS
            index = next((i for i in free if modifier in slots[i].words and not (is_type and i < last_type)), None)
            if index is None:
                return False
            if is_type:
                last_type = index
            free.remove(index)
        return all(slots[index].optional for index in free)

    def _expected(self, instruction: Instruction) -> tuple[OperandPattern, ...]:
        patterns = self.operands
        if patterns and patterns[-1].type == "POLICY":
            return patterns if _HINT in instruction.modifiers else patterns[:-1]
        return patterns

    def fits(self, instruction: Instruction, destinations: int) -> bool:
        """Whether the operands are those of this form, by number and kind."""
        operands, patterns = instruction.operands, self._expected(instruction)
        if len(operands) > len(patterns) and not self.open_ended:
            return False
        if any(not pattern.optional for pattern in patterns[len(operands) :]):
            return False
        return all(
            pattern.fits(operand, instruction, destination=index < destinations)
            for index, (pattern, operand) in enumerate(zip(patterns, operands, strict=False))
        )

    def types(self, instruction: Instruction) -> tuple[str, ...]:
        """The PTX type of each operand."""
        named = instruction.types
        found: list[str] = []
        for index, operand in enumerate(instruction.operands):
            text = self.operands[index].type if index < len(self.operands) else "b32"
            if text == "T":
                text = named[-1]
            elif text == "W":
                text = _wider(named[-1])
            elif text == "POLICY":
                text = "b64"
            elif text in ("T0", "T1", "T2"):
                text = named[int(text[1])]
            elif text == "PART":
                count = len(operand.elements) if isinstance(operand, VectorOperand) else 1
                text = f"b{TYPE_BITS[named[-1]] // max(count, 1)}"
            found.append(text)
        return tuple(found)


def _split(text: str) -> tuple[str, str]:
    """Modifiers and operands of a form; `::` belongs to a modifier."""
    modifiers, _, operands = text.partition(" : ") if " : " in text else (text.removesuffix(":"), "", "")
    return modifiers.removeprefix(": "), operands
