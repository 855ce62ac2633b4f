"""Surface accesses: suld, sust, sured, suq (PTX ISA 9.7.11). Places are found by `emulator.textures.surfaces`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering import atomics, tell
from lanewise.emulator.lowering.address import components
from lanewise.emulator.lowering.texture import base_of, coordinates_of, geometry_of, query
from lanewise.emulator.textures import surfaces
from lanewise.emulator.textures.record import SURFACE_MAGIC
from lanewise.emulator.textures.surfaces import Outside
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def _outside(ins: Instruction) -> Outside:
    """The default is to trap."""
    return Outside.CLAMP if ins.has("clamp") else Outside.ZERO if ins.has("zero") else Outside.TRAP


def _places(
    t: FunctionTranslator, ins: Instruction, address: Operand, kind: AccessKind, bytes_: int, *, texels: bool = False
) -> tuple[str, str, str]:
    """Host addresses (<32 x i64>) of an access, counted, the lanes that have one (i32), and the handles."""
    out = t.out
    geometry = geometry_of(ins)
    handle = base_of(t, address)
    layer, (x, y, z) = coordinates_of(t, address, geometry, "s32")
    site = t.new_site(ins, Space.SURFACE, kind, 8 * bytes_)
    counters, _ = t.site_pointers(site)
    vectors = ", ".join(f"<32 x i32> {v}" for v in (layer, x, y, z))
    mask = out.let(
        f"call i32 @{surfaces.each(out, geometry)}(ptr %x, ptr %w, ptr {counters}, <32 x i64> {handle}, {vectors}, "
        f"i32 {t.mask(ins)}, i32 {tell.what(t, site)}, i32 {site.index}, i32 {bytes_}, i32 {_outside(ins)}, "
        f"i1 {int(texels)}, ptr %scratch)"
    )
    return out.let("load <32 x i64>, ptr %scratch, align 64"), mask, handle


def _part(t: FunctionTranslator, addresses: str, offset: int) -> str:
    return addresses if not offset else t.out.let(f"add <32 x i64> {addresses}, splat (i64 {offset})")


def suld(t: FunctionTranslator, ins: Instruction) -> None:
    """suld.b: bytes as they are; zero where there are none."""
    targets = components(ins.operands[0])
    size = TYPE_BITS[ins.type] // 8
    addresses, mask, _ = _places(t, ins, ins.operands[1], AccessKind.LOAD, size * len(targets))
    element = f"i{8 * size}"
    for number, target in enumerate(targets):
        at = _part(t, addresses, number * size)
        value = t.out.let(f"call <32 x {element}> @lw_gather_{element}(<32 x i64> {at}, i32 {mask})")
        t.write(target, q.varying(value, element), ins)


def sust(t: FunctionTranslator, ins: Instruction) -> None:
    """sust.b: bytes as they are; none where there is no place for them."""
    sources = components(ins.operands[1])
    size = TYPE_BITS[ins.type] // 8
    values = [t.vector(t.operand(source, ins.type)) for source in sources]
    addresses, mask, _ = _places(t, ins, ins.operands[0], AccessKind.STORE, size * len(sources))
    element = f"i{8 * size}"
    for number, value in enumerate(values):
        at = _part(t, addresses, number * size)
        t.out.line(f"call void @lw_scatter_{element}(<32 x i64> {at}, <32 x {element}> {value}, i32 {mask})")


def sust_formatted(t: FunctionTranslator, ins: Instruction) -> None:
    """sust.p: one texel in the surface's format, from up to four channels; those that are not given are 0."""
    sources = components(ins.operands[1])
    values = [t.vector(t.operand(source, ins.type)) for source in sources]
    values += ["zeroinitializer"] * (4 - len(values))
    addresses, mask, handle = _places(t, ins, ins.operands[0], AccessKind.STORE, 4 * len(sources), texels=True)
    channels = ", ".join(f"<32 x i32> {value}" for value in values)
    name = surfaces.store_texels(t.out)
    t.out.line(f"call void @{name}(<32 x i64> {handle}, <32 x i64> {addresses}, {channels}, i32 {mask})")


def sured(t: FunctionTranslator, ins: Instruction) -> None:
    """sured.b: one reduction a lane."""
    operation = atomics.operation_of(ins)
    size = TYPE_BITS[ins.type] // 8
    value = t.vector(t.operand(ins.operands[1], ins.type))
    addresses, mask, _ = _places(t, ins, ins.operands[0], AccessKind.ATOMIC, size)
    atomics.combine(t, operation, ins.type, addresses, value, mask)


def suq(t: FunctionTranslator, ins: Instruction) -> None:
    """suq: a field of the record."""
    query(t, ins, SURFACE_MAGIC)
