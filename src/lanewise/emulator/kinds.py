"""What is known of a register's value across the 32 lanes of a warp: one scalar, an affine form, or anything.

    uniform    one scalar
    affine     base + sx * X + sy * Y                       32 bits, wrapping
    extended   outer + scale * extend(base + sx * X + sy * Y)    64 bits; extend is sign or zero extension
    varying    a vector

X and Y are the lane's place in the block's rows (`LaneShape`). A stride or scale of None is known only at run time and
stored beside the base. The extended form keeps a 32-bit index whose widening might wrap between lanes symbolic, so that
no value has to be guessed: whether it wrapped is asked where memory is accessed.

Source of the idea: Collange, "Identifying scalar behavior in CUDA kernels"; Karrenberg and Hack, whole-function
vectorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from lanewise.ptx.syntax import Address, Instruction, Integer, Negated, Operand, Register, Special, VectorOperand


class Tag(IntEnum):
    UNIFORM = 0
    AFFINE = 1
    EXTENDED = 2
    VARYING = 3


class Kind(NamedTuple):
    """Strides in bytes or elements, as the value has them; None: known at run time only."""

    tag: Tag
    sx: int | None = 0
    sy: int | None = 0
    scale: int | None = 1
    signed: bool = False
    aligned: bool = False  # affine: the base is a multiple of 32


UNIFORM = Kind(Tag.UNIFORM)
VARYING = Kind(Tag.VARYING)


class LaneShape(NamedTuple):
    """How the lanes of a warp lie in a block: `row` lanes share a y; 32 where a warp is part of one row.

    row 0: no regular shape (the block's x size neither divides 32 nor is a multiple of it, in 2D or 3D).
    """

    row: int

    @property
    def x(self) -> tuple[int, ...]:
        return tuple(lane % self.row for lane in range(32))

    @property
    def y(self) -> tuple[int, ...]:
        return tuple(lane // self.row for lane in range(32))


def lane_shape(block: tuple[int, int, int]) -> LaneShape:
    """The shape that warps of such a block have; kernels are compiled once per shape."""
    x, y, z = block
    if x % 32 == 0 or y * z == 1:
        return LaneShape(32)
    if x < 32 and 32 % x == 0 and (z == 1 or (x * y) % 32 == 0):
        return LaneShape(x)
    return LaneShape(0)


def _same(a: int | None, b: int | None) -> int | None:
    return a if a == b else None


def join(a: Kind | None, b: Kind | None) -> Kind | None:
    """The least kind that holds both; None is 'no definition seen yet'."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if Tag.VARYING in (a.tag, b.tag) or {a.tag, b.tag} == {Tag.AFFINE, Tag.EXTENDED}:
        return VARYING
    if a.tag == Tag.UNIFORM or b.tag == Tag.UNIFORM:
        other = b if a.tag == Tag.UNIFORM else a
        return other._replace(sx=_same(other.sx, 0), sy=_same(other.sy, 0), aligned=False)
    if a.tag == Tag.EXTENDED and a.signed != b.signed:
        return VARYING
    return a._replace(
        sx=_same(a.sx, b.sx), sy=_same(a.sy, b.sy), scale=_same(a.scale, b.scale), aligned=a.aligned and b.aligned
    )


def wrap(value: int, bits: int = 32) -> int:
    """A Python int as a signed number of `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _plus(a: int | None, b: int | None, sign: int = 1) -> int | None:
    return None if a is None or b is None else wrap(a + sign * b)


def _times(a: int | None, factor: int | None, bits: int = 32) -> int | None:
    if a == 0:
        return 0
    return None if a is None or factor is None else wrap(a * factor, bits)


KindOf = Callable[[Operand], Kind | None]


def constant(operand: Operand) -> int | None:
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
    if shape.row == 0:
        return VARYING
    if name == "%tid.x":
        return Kind(Tag.AFFINE, 1, 0, aligned=shape.row == 32)
    if name == "%tid.y":
        return UNIFORM if shape.row == 32 else Kind(Tag.AFFINE, 0, 1)
    if name == "%tid.z":
        return UNIFORM
    if name == "%laneid":
        return Kind(Tag.AFFINE, 1, 0 if shape.row == 32 else shape.row, aligned=shape.row == 32)
    return VARYING


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
        return UNIFORM
    rule = _RULES.get(lowering)
    if rule is None or any(kind.tag == Tag.VARYING for kind in known):
        return VARYING
    return rule(instruction, known)


def _is_32(instruction: Instruction) -> bool:
    return instruction.type in ("u32", "s32", "b32")


def _is_64(instruction: Instruction) -> bool:
    return instruction.type in ("u64", "s64", "b64")


def _sum(instruction: Instruction, a: Kind, b: Kind, sign: int) -> Kind:
    if instruction.has("sat", "cc"):
        return VARYING
    if _is_32(instruction) and Tag.EXTENDED not in (a.tag, b.tag):
        return Kind(Tag.AFFINE, _plus(a.sx, b.sx, sign), _plus(a.sy, b.sy, sign))
    if _is_64(instruction):
        if b.tag == Tag.UNIFORM:
            return a
        if a.tag == Tag.UNIFORM:
            return b._replace(scale=_times(b.scale, sign, 64))
    return VARYING


def _add(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _sum(instruction, kinds[0], kinds[1], 1)


def _sub(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _sum(instruction, kinds[0], kinds[1], -1)


def _product(instruction: Instruction, a: Kind, b: Kind) -> Kind:
    """a * b where one is uniform; the factor's value, where it is a literal."""
    if b.tag != Tag.UNIFORM:
        a, b = b, a
        factor = constant(instruction.operands[1])
    else:
        factor = constant(instruction.operands[2])
    if b.tag != Tag.UNIFORM:
        return VARYING
    if instruction.has("wide"):
        if instruction.type not in ("s32", "u32") or a.tag != Tag.AFFINE:
            return VARYING
        signed = instruction.type == "s32"
        if factor is not None:
            factor = wrap(factor, 32) if signed else factor & 0xFFFFFFFF
        return Kind(Tag.EXTENDED, a.sx, a.sy, factor, signed)
    if instruction.has("hi"):
        return VARYING
    if _is_32(instruction) and a.tag == Tag.AFFINE:
        return Kind(Tag.AFFINE, _times(a.sx, factor), _times(a.sy, factor))
    if _is_64(instruction) and a.tag == Tag.EXTENDED:
        return a._replace(scale=_times(a.scale, factor, 64))
    return VARYING


def _mul(instruction: Instruction, kinds: list[Kind]) -> Kind:
    return _product(instruction, kinds[0], kinds[1])


def _mad(instruction: Instruction, kinds: list[Kind]) -> Kind:
    if instruction.has("sat", "cc", "hi"):
        return VARYING
    if kinds[0].tag == kinds[1].tag == Tag.UNIFORM:
        product = UNIFORM
    else:
        product = _product(instruction, kinds[0], kinds[1])
    addend = kinds[2]
    if product.tag == Tag.VARYING:
        return VARYING
    if _is_32(instruction) and not instruction.has("wide"):
        if Tag.EXTENDED in (product.tag, addend.tag):
            return VARYING
        return Kind(Tag.AFFINE, _plus(product.sx, addend.sx), _plus(product.sy, addend.sy))
    if product.tag == Tag.UNIFORM:
        return addend if addend.tag == Tag.EXTENDED else VARYING
    return product if addend.tag == Tag.UNIFORM else VARYING


def _shl(instruction: Instruction, kinds: list[Kind]) -> Kind:
    amount = constant(instruction.operands[2])
    if amount is None or kinds[0].tag == Tag.UNIFORM:
        return VARYING
    if _is_32(instruction) and kinds[0].tag == Tag.AFFINE and 0 <= amount < 32:
        return kinds[0]._replace(
            sx=_times(kinds[0].sx, 1 << amount), sy=_times(kinds[0].sy, 1 << amount), aligned=kinds[0].aligned
        )
    if _is_64(instruction) and kinds[0].tag == Tag.EXTENDED and 0 <= amount < 64:
        return kinds[0]._replace(scale=_times(kinds[0].scale, 1 << amount, 64))
    return VARYING


def low_mask_bits(value: int | None) -> int | None:
    """k where value is 2**k - 1, else None."""
    if value is None or value <= 0 or value & (value + 1):
        return None
    return value.bit_length()


def _and(instruction: Instruction, kinds: list[Kind]) -> Kind:
    bits = low_mask_bits(constant(instruction.operands[2]))
    a = kinds[0]
    if bits is not None and bits >= 5 and a.tag == Tag.AFFINE and a.aligned and (a.sx, a.sy) == (1, 0):
        return a
    return VARYING


def _shr(instruction: Instruction, kinds: list[Kind]) -> Kind:
    amount = constant(instruction.operands[2])
    a = kinds[0]
    if amount is not None and 5 <= amount < 32 and a.tag == Tag.AFFINE and a.aligned and (a.sx, a.sy) == (1, 0):
        return UNIFORM
    return VARYING


def _cvt(instruction: Instruction, kinds: list[Kind]) -> Kind:
    a = kinds[0]
    if len(instruction.types) != 2 or instruction.has("sat"):
        return VARYING
    to, source = instruction.types
    if to in ("s64", "u64") and source in ("s32", "u32") and a.tag == Tag.AFFINE:
        return Kind(Tag.EXTENDED, a.sx, a.sy, 1, source == "s32")
    if to in ("s32", "u32") and source in ("s64", "u64") and a.tag == Tag.EXTENDED:
        scale = None if a.scale is None else wrap(a.scale)
        return Kind(Tag.AFFINE, _times(a.sx, scale), _times(a.sy, scale))
    if {to, source} <= {"s32", "u32"} or {to, source} <= {"s64", "u64"}:
        return a
    return VARYING


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
    "convert.cvt": _cvt,
    "move.mov": _mov,
    "memory.cvta": _mov,
    "memory.mapa": lambda instruction, kinds: kinds[0] if kinds[1].tag == Tag.UNIFORM else VARYING,
}
