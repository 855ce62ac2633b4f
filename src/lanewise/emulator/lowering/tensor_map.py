"""Changes of tensor maps in memory: tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.28, 9.7.13.16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.kinds import constant
from lanewise.emulator.lowering import each_lane
from lanewise.emulator.lowering.address import address_of, array_name, space_of
from lanewise.emulator.tensor_maps import BYTES, ElementType, Layout
from lanewise.ptx.syntax import Address, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

PART = 16  # bytes that an access of a map is checked and counted by

# Numbers of .elemtype (PTX ISA 9.7.9.28) as those of cuTensorMapEncode*.
_TYPES = (
    ElementType.UINT8,
    ElementType.UINT16,
    ElementType.UINT32,
    ElementType.INT32,
    ElementType.UINT64,
    ElementType.INT64,
    ElementType.FLOAT16,
    ElementType.FLOAT32,
    ElementType.FLOAT32_FTZ,
    ElementType.FLOAT64,
    ElementType.BFLOAT16,
    ElementType.TFLOAT32,
    ElementType.TFLOAT32_FTZ,
)
# By field: where it lies, the bytes from one number to the next, its own bytes, and what is added to a value.
_FIELDS = {
    "global_address": (Layout.ADDRESS, 0, 8, 0),
    "rank": (Layout.RANK, 0, 1, 1),
    "box_dim": (Layout.BOX, 2, 2, 0),
    "global_dim": (Layout.LAST, 4, 4, -1),
    "global_stride": (Layout.STRIDES, 8, 8, 0),
    "element_stride": (Layout.STEPS, 1, 1, 0),
    "elemtype": (Layout.TYPE, 0, 1, 0),
    "swizzle_mode": (Layout.SWIZZLE, 0, 1, 0),
    "fill_mode": (Layout.FILL, 0, 1, 0),
}


def _field(ins: Instruction) -> str:
    return next(modifier for modifier in ins.modifiers if modifier in _FIELDS)


def wrong_constant(ins: Instruction) -> str | None:
    """What is wrong with a constant that an instruction takes; None where nothing is."""
    name = _field(ins)
    if name == "elemtype" and constant(ins.operands[-1]) not in range(len(_TYPES)):
        return f"a type of elements is a constant, 0 to {len(_TYPES) - 1} (PTX ISA 9.7.9.28)"
    most = {"global_stride": 3}.get(name, 4)
    if _FIELDS[name][1] and constant(ins.operands[1]) not in range(most + 1):
        return f"the number of a dimension is a constant, 0 to {most} (PTX ISA 9.7.9.28)"
    return None


def replace(t: FunctionTranslator, ins: Instruction) -> None:
    """tensormap.replace: one field of the map that each lane names."""
    name = _field(ins)
    start, step, size, more = _FIELDS[name]
    number = (constant(ins.operands[1]) or 0) if step else 0
    mask = t.mask(ins)
    host = _place(t, ins, ins.operands[0], space_of(ins), AccessKind.STORE, mask)
    if name == "elemtype":
        kind = _TYPES[constant(ins.operands[-1]) or 0]
        _put(t, host, f"splat (i64 {int(kind)})", Layout.TYPE, 1, mask)
        _put(t, host, f"splat (i64 {kind.size})", Layout.SIZE, 1, mask)
        return
    value = t.vector(t.operand(ins.operands[-1], ins.type))
    if ins.type == "b32":
        value = t.out.let(f"zext <32 x i32> {value} to <32 x i64>")
    if more:
        value = t.out.let(f"add <32 x i64> {value}, splat (i64 {more})")
    _put(t, host, value, start + step * number, size, mask)


def _put(t: FunctionTranslator, host: str, value: str, offset: int, size: int, mask: str) -> None:
    t.out.line(
        f"call void @lw_tensor_map_put(<32 x i64> {host}, <32 x i64> {value}, i64 {offset}, i64 {size}, i32 {mask})"
    )


def copy(t: FunctionTranslator, ins: Instruction) -> None:
    """tensormap.cp_fenceproxy: a map goes from shared to global memory."""
    mask = t.mask(ins)
    target = _place(t, ins, ins.operands[0], Space.GLOBAL, AccessKind.STORE, mask)
    source = _place(t, ins, ins.operands[1], Space.SHARED, AccessKind.LOAD, mask)
    t.out.line(f"call void @lw_tensor_map_copy(<32 x i64> {target}, <32 x i64> {source}, i32 {mask})")


def _place(t: FunctionTranslator, ins: Instruction, operand: Operand, space: Space, kind: AccessKind, mask: str) -> str:
    """Host addresses (<32 x i64>) of maps: the first and the last part of each is checked, and counted."""
    address = address_of(t, operand, wide=space != Space.SHARED)
    site = t.new_site(ins, space, kind, 8 * PART, array_name(t, operand))
    host, _ = each_lane.touch(t, ins, space, address, PART, site, is_load=kind == AccessKind.LOAD, mask=mask)
    assert isinstance(operand, Address)
    last = address_of(t, Address(operand.base, operand.offset + BYTES - PART), wide=space != Space.SHARED)
    each_lane.touch(t, ins, space, last, PART, site, is_load=kind == AccessKind.LOAD, mask=mask)
    return host
