"""What is known of a register's value across the 32 lanes of a warp: one scalar, a form over the lanes, or anything.

    uniform    one scalar
    affine     base + offsets[lane] + factor * pattern[lane]                         32 bits, wrapping
    extended   outer + sum of scale * extend(an affine value)                        64 bits; sign or zero extension
    varying    a vector

Offsets and patterns are constants, one a lane: `threadIdx.x % 16 * 32` has them as well as `threadIdx.x`; base, factor
and outer are scalars of the program. The extended form keeps a 32-bit index whose widening might wrap between lanes
symbolic, so that no value has to be guessed: whether it wrapped is asked where memory is accessed.

Source of the idea: Collange, "Identifying scalar behavior in CUDA kernels"; Karrenberg and Hack, whole-function
vectorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from lanewise.ptx.syntax import Address, Instruction, Integer, Negated, Operand, Register, Special, VectorOperand

Lanes = tuple[int, ...]  # one number a lane; empty: all zero
MAX_TERMS = 2


class Tag(IntEnum):
    UNIFORM = 0
    AFFINE = 1
    EXTENDED = 2
    VARYING = 3


class Term(NamedTuple):
    """scale * extend(base + offsets + factor * pattern). A scale of None is known at run time only."""

    signed: bool
    scale: int | None
    offsets: Lanes
    pattern: Lanes


class Kind(NamedTuple):
    """`zeros`: the base (or the scalar) is a multiple of 2**zeros. `most`: no lane's value is above it, as an unsigned
    number; None: not known."""

    tag: Tag
    offsets: Lanes = ()
    pattern: Lanes = ()
    terms: tuple[Term, ...] = ()
    zeros: int = 0
    most: int | None = None


UNIFORM = Kind(Tag.UNIFORM)
VARYING = Kind(Tag.VARYING)


class LaneShape(NamedTuple):
    """How the lanes of a warp lie in a block: `row` lanes share a y; 32 where a warp is part of one row.

    row 0: no regular shape (the block's x size neither divides 32 nor is a multiple of it, in 2D or 3D).
    """

    row: int


def lane_shape(block: tuple[int, int, int]) -> LaneShape:
    """The shape that warps of such a block have; kernels are compiled once per shape."""
    x, y, z = block
    if x % 32 == 0 or y * z == 1:
        return LaneShape(32)
    if x < 32 and 32 % x == 0 and (z == 1 or (x * y) % 32 == 0):
        return LaneShape(x)
    return LaneShape(0)


def _lanes(values: Lanes) -> Lanes:
    """The normal form: empty where all are zero."""
    return values if any(values) else ()


def wrap(value: int, bits: int = 32) -> int:
    """A Python int as a signed number of `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def trailing_zeros(value: int) -> int:
    """Of a number of at most 64 bits; 64 for zero."""
    return (value & -value).bit_length() - 1 if value else 64


def join(a: Kind | None, b: Kind | None) -> Kind | None:
    """The least kind that holds both; None is 'no definition seen yet'."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if (a.tag, a.offsets, a.pattern) != (b.tag, b.offsets, b.pattern):
        return VARYING
    if a.tag == Tag.VARYING:
        return VARYING
    if a.terms != b.terms:
        if len(a.terms) != len(b.terms) or any(
            x._replace(scale=None) != y._replace(scale=None) for x, y in zip(a.terms, b.terms, strict=True)
        ):
            return VARYING
        terms = tuple(x if x == y else x._replace(scale=None) for x, y in zip(a.terms, b.terms, strict=True))
        a = a._replace(terms=terms)
    return a._replace(zeros=min(a.zeros, b.zeros), most=a.most if a.most == b.most else None)


def constant(operand: Operand) -> int | None:
    """The value of a literal."""
    return operand.value if isinstance(operand, Integer) else None


SPECIAL_UNIFORM = frozenset(
    [f"%{name}.{axis}" for name in ("ctaid", "ntid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid",
                                    "cluster_nctaid") for axis in "xyzw"]
    + ["%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%cluster_ctarank", "%cluster_nctarank",
       "%is_explicit_cluster", "%total_smem_size",
       "%aggr_smem_size", "%dynamic_smem_size", "%clock", "%clock_hi", "%clock64",
       "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%current_graph_exec"]
)  # fmt: skip


def special(name: str, shape: LaneShape) -> Kind:
    """The kind of a special register."""
    if name in SPECIAL_UNIFORM or name.startswith(("%envreg", "%pm", "%reserved_smem")):
        return UNIFORM
    lanes = tuple(range(32))
    if name == "%laneid":
        return Kind(Tag.AFFINE, lanes, zeros=64, most=31)
    if not name.startswith("%tid.") or name == "%tid.w":
        return UNIFORM if name == "%tid.w" else VARYING
    if shape.row == 0:
        return VARYING
    if name == "%tid.x":
        if shape.row == 32:
            return Kind(Tag.AFFINE, lanes, zeros=5, most=1023)
        return Kind(Tag.AFFINE, _lanes(tuple(lane % shape.row for lane in lanes)), zeros=64, most=shape.row - 1)
    if name == "%tid.y" and shape.row != 32:
        rows = tuple(lane // shape.row for lane in lanes)
        return Kind(Tag.AFFINE, rows, zeros=trailing_zeros(32 // shape.row), most=1023)
    return Kind(Tag.UNIFORM, most=1023)


def operand_kind(operand: Operand, registers: Callable[[str], Kind | None], shape: LaneShape) -> Kind | None:
    match operand:
        case Register(name):
            return registers(name)
        case Special(name):
            return special(name, shape)
        case Negated(inner, "!"):
            kind = operand_kind(inner, registers, shape)
            return kind if kind is None or kind.tag == Tag.UNIFORM else VARYING
        case Negated(_, _):
            return VARYING
        case Integer(value):
            return literal_kind(value)
        case Address(Register(name), _):
            return registers(name)
        case VectorOperand(elements):
            parts = [operand_kind(element, registers, shape) for element in elements]
            if any(part is None for part in parts):
                return None
            return UNIFORM if all(part is not None and part.tag == Tag.UNIFORM for part in parts) else VARYING
        case _:
            return UNIFORM


def transfer(lowering: str, instruction: Instruction, kinds: list[Kind | None]) -> Kind | None:
    """The kind of the result of an elementwise instruction, from the kinds of its sources (None: not known yet).

    Only what the translator computes in the same form may be answered with an affine or extended kind: `affine.py`.
    """
    if any(kind is None for kind in kinds):
        return None
    known = [kind for kind in kinds if kind is not None]
    if all(kind.tag == Tag.UNIFORM for kind in known):
        return _uniform(lowering, instruction, known)
    rule = _RULES.get(lowering)
    if rule is None or any(kind.tag == Tag.VARYING for kind in known):
        return VARYING
    return rule(instruction, known)


def _width(instruction: Instruction) -> int:
    return 32 if instruction.type in ("u32", "s32", "b32") else 64 if instruction.type in ("u64", "s64", "b64") else 0


def literal_kind(value: int, bits: int = 32) -> Kind:
    value &= (1 << bits) - 1
    return Kind(Tag.UNIFORM, zeros=trailing_zeros(value), most=value)


def _added(a: Lanes, b: Lanes, sign: int = 1) -> Lanes:
    if not a and not b:
        return ()
    a, b = a or (0,) * 32, b or (0,) * 32
    return _lanes(tuple(wrap(x + sign * y) for x, y in zip(a, b, strict=True)))


def _scaled(lanes: Lanes, factor: int) -> Lanes:
    return _lanes(tuple(wrap(x * factor) for x in lanes))


def _simplified(kind: Kind) -> Kind:
    """An affine kind whose lanes do not differ is uniform."""
    if kind.tag == Tag.AFFINE and not kind.offsets and not kind.pattern:
        return Kind(Tag.UNIFORM, zeros=kind.zeros, most=kind.most)
    return kind


def _sum(instruction: Instruction, a: Kind, b: Kind, sign: int) -> Kind:
    if instruction.has("sat", "cc") or Tag.VARYING in (a.tag, b.tag):
        return VARYING
    if _width(instruction) == 32 and Tag.EXTENDED not in (a.tag, b.tag):
        if a.pattern and b.pattern and a.pattern != b.pattern:
            return VARYING
        most = None
        if sign == 1 and a.most is not None and b.most is not None and a.most + b.most < 1 << 31:
            most = a.most + b.most
        return _simplified(
            Kind(
                Tag.AFFINE,
                _added(a.offsets, b.offsets, sign),
                a.pattern or b.pattern,
                zeros=min(a.zeros, b.zeros),
                most=most,
            )
        )
    if _width(instruction) == 64 and Tag.AFFINE not in (a.tag, b.tag):
        mine = b.terms
        if sign == -1:
            mine = tuple(t._replace(scale=None if t.scale is None else wrap(-t.scale, 64)) for t in mine)
        terms = a.terms + mine
        if len(terms) > MAX_TERMS:
            return VARYING
        return Kind(Tag.EXTENDED, terms=terms) if terms else UNIFORM
    return VARYING


def _add(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _sum(instruction, kinds[0], kinds[1], 1)


def _sub(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _sum(instruction, kinds[0], kinds[1], -1)


def _product(instruction: Instruction, a: Kind, b: Kind) -> Kind:
    """a * b where one is uniform; the factor's value, where it is a literal."""
    factor = constant(instruction.operands[2])
    if b.tag != Tag.UNIFORM:
        a, b = b, a
        factor = constant(instruction.operands[1])
    if b.tag != Tag.UNIFORM or instruction.has("hi"):
        return VARYING
    if instruction.has("wide"):
        if instruction.type not in ("s32", "u32") or a.tag != Tag.AFFINE:
            return VARYING
        signed = instruction.type == "s32"
        if factor is not None:
            factor = wrap(factor, 32) if signed else factor & 0xFFFFFFFF
        return Kind(Tag.EXTENDED, terms=(Term(signed, factor, a.offsets, a.pattern),))
    if _width(instruction) == 32 and a.tag == Tag.AFFINE:
        return _times(a, factor, b)
    if _width(instruction) == 64 and a.tag == Tag.EXTENDED:
        terms = tuple(
            t._replace(scale=None if t.scale is None or factor is None else wrap(t.scale * factor, 64)) for t in a.terms
        )
        return Kind(Tag.EXTENDED, terms=terms)
    return VARYING


def _times(a: Kind, factor: int | None, b: Kind) -> Kind:
    """An affine value times a uniform one. Offsets times an unknown factor become the pattern."""
    if factor is not None:
        most = a.most * factor if a.most is not None and factor >= 0 and a.most * factor < 1 << 31 else None
        zeros = min(64, a.zeros + trailing_zeros(factor))
        if factor == 0:
            return literal_kind(0)
        return _simplified(Kind(Tag.AFFINE, _scaled(a.offsets, factor), a.pattern, zeros=zeros, most=most))
    if a.pattern and a.offsets:
        return VARYING
    return Kind(Tag.AFFINE, (), a.pattern or a.offsets, zeros=min(64, a.zeros + b.zeros))


def _mul(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _product(instruction, kinds[0], kinds[1])


def _mad(instruction: Instruction, kinds: list[Kind]) -> Kind:
    if instruction.has("sat", "cc", "hi"):
        return VARYING
    both = kinds[0].tag == kinds[1].tag == Tag.UNIFORM
    product = UNIFORM if both else _product(instruction, kinds[0], kinds[1])
    if instruction.has("wide"):
        wide = Instruction("add", ("s64",), instruction.operands)
        return _sum(wide, product, kinds[2], 1)
    return _sum(instruction, product, kinds[2], 1)


def _shl(instruction: Instruction, kinds: list[Kind]) -> Kind:
    amount = constant(instruction.operands[2])
    a = kinds[0]
    if amount is None or not 0 <= amount < _width(instruction):
        return VARYING
    if a.tag == Tag.AFFINE and _width(instruction) == 32:
        return _times(a, 1 << amount, UNIFORM)
    if a.tag == Tag.EXTENDED and _width(instruction) == 64:
        terms = tuple(t._replace(scale=None if t.scale is None else wrap(t.scale << amount, 64)) for t in a.terms)
        return Kind(Tag.EXTENDED, terms=terms)
    return VARYING


def disjoint(a: Kind) -> bool:
    """Whether base and offsets share no bits, so that bit operations may treat them apart."""
    if a.tag != Tag.AFFINE or a.pattern or not a.offsets:
        return False
    return min(a.offsets) >= 0 and max(a.offsets) < 1 << min(a.zeros, 31)


def _and(instruction: Instruction, kinds: list[Kind]) -> Kind:
    mask = constant(instruction.operands[2])
    a = kinds[0]
    if mask is None or _width(instruction) != 32 or not disjoint(a):
        return VARYING
    most = (
        None if mask < 0 and a.most is None else min(n for n in (a.most, mask if mask >= 0 else None) if n is not None)
    )
    return _simplified(Kind(Tag.AFFINE, _lanes(tuple(x & mask for x in a.offsets)), zeros=a.zeros, most=most))


def _or(instruction: Instruction, kinds: list[Kind]) -> Kind:
    """`tid * 4 | 1`: with a literal that fits under the base's zeros."""
    value = constant(instruction.operands[2])
    a = kinds[0]
    if value is None or _width(instruction) != 32 or not disjoint(a) or not 0 <= value < 1 << min(a.zeros, 31):
        return VARYING
    return Kind(Tag.AFFINE, tuple(x | value for x in a.offsets), zeros=a.zeros)


def _shr(instruction: Instruction, kinds: list[Kind]) -> Kind:
    amount = constant(instruction.operands[2])
    a = kinds[0]
    if amount is None or not 0 <= amount < 32 or _width(instruction) != 32:
        return VARYING
    if a.most is not None and a.most >> amount == 0 and a.tag == Tag.AFFINE:
        return literal_kind(0)
    if not disjoint(a):
        return VARYING
    most = None if a.most is None else a.most >> amount
    zeros = 64 if a.zeros == 64 else max(0, a.zeros - amount)
    return _simplified(Kind(Tag.AFFINE, _lanes(tuple(x >> amount for x in a.offsets)), zeros=zeros, most=most))


def _cvt(instruction: Instruction, kinds: list[Kind]) -> Kind:
    a = kinds[0]
    if len(instruction.types) != 2 or instruction.has("sat"):
        return VARYING
    to, source = instruction.types
    if to in ("s64", "u64") and source in ("s32", "u32") and a.tag == Tag.AFFINE:
        return Kind(Tag.EXTENDED, terms=(Term(source == "s32", 1, a.offsets, a.pattern),))
    if to in ("s32", "u32") and source in ("s64", "u64") and a.tag == Tag.EXTENDED:
        return narrowed(a)
    if ({to, source} <= {"s32", "u32"} and a.tag == Tag.AFFINE) or {to, source} <= {"s64", "u64"}:
        return a
    return VARYING


def narrowed(a: Kind) -> Kind:
    """The low 32 bits of an extended value with one term: affine again."""
    if len(a.terms) != 1:
        return VARYING
    (term,) = a.terms
    factor = None if term.scale is None else wrap(term.scale)
    return _times(Kind(Tag.AFFINE, term.offsets, term.pattern), factor, UNIFORM)


def _mov(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return kinds[0] if len(kinds) == 1 else VARYING


_RULES: dict[str, Callable[[Instruction, list[Kind]], Kind]] = {
    "integer.add": _add,
    "integer.sub": _sub,
    "integer.mul": _mul,
    "integer.mad": _mad,
    "logic.shl": _shl,
    "logic.shr": _shr,
    "logic.and_": _and,
    "logic.or_": _or,
    "convert.cvt": _cvt,
    "move.mov": _mov,
    "address.cvta": _mov,
}


def _uniform(lowering: str, instruction: Instruction, kinds: list[Kind]) -> Kind:
    """What is known of a uniform result: zeros and an upper bound, for operations of index arithmetic."""
    if not instruction.types or _width(instruction) != 32:
        return UNIFORM
    amount = constant(instruction.operands[2]) if len(instruction.operands) > 2 else None
    a = kinds[0]
    if lowering == "move.mov":
        return a
    if lowering == "integer.add" and not instruction.has("sat", "cc"):
        b = kinds[1]
        total = a.most + b.most if a.most is not None and b.most is not None else None
        return Kind(
            Tag.UNIFORM, zeros=min(a.zeros, b.zeros), most=total if total is not None and total < 1 << 31 else None
        )
    if amount is None or (not 0 <= amount < 32 and lowering != "logic.and_"):
        return UNIFORM
    if lowering == "logic.shl":
        return Kind(Tag.UNIFORM, zeros=min(64, a.zeros + amount))
    if lowering == "logic.shr":
        if a.most is not None and a.most < 1 << 31:
            return literal_kind(0) if a.most >> amount == 0 else Kind(Tag.UNIFORM, most=a.most >> amount)
        return UNIFORM
    if lowering == "logic.and_":
        return Kind(
            Tag.UNIFORM, zeros=max(a.zeros, trailing_zeros(amount & 0xFFFFFFFF)), most=amount if amount >= 0 else a.most
        )
    if lowering == "integer.mul" and instruction.has("lo"):
        return Kind(Tag.UNIFORM, zeros=min(64, a.zeros + trailing_zeros(amount & 0xFFFFFFFF)))
    return UNIFORM
