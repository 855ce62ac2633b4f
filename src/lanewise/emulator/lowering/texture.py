"""Texture reads: tex, tld4, txq (PTX ISA 9.7.10). The work is done by the functions of `emulator.textures.sampling`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering import tell
from lanewise.emulator.lowering.address import address_of, components
from lanewise.emulator.textures import handles, sampling
from lanewise.emulator.textures.record import GEOMETRIES, TEXTURE_MAGIC, Texture
from lanewise.emulator.textures.sampling import CHANNELS
from lanewise.ptx.syntax import Address, Instruction, Operand, TensorAddress
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_QUERIES = {
    "width": Texture.WIDTH,
    "height": Texture.HEIGHT,
    "depth": Texture.DEPTH,
    "channel_data_type": Texture.DATA_TYPE,
    "channel_order": Texture.ORDER,
    "normalized_coords": Texture.NORMALIZED,
    "array_size": Texture.DEPTH,
}


def geometry_of(ins: Instruction) -> str:
    return next(modifier for modifier in ins.modifiers if modifier in GEOMETRIES)


def base_of(t: FunctionTranslator, operand: Operand) -> str:
    """The handles of all lanes."""
    assert isinstance(operand, TensorAddress | Address)
    base = operand.base
    assert base is not None
    if isinstance(operand, Address):
        return t.vector(address_of(t, operand, wide=True))
    if isinstance(base, Address):
        return t.vector(address_of(t, base, wide=True))
    return t.vector(t.operand(base, "u64"))


def coordinates_of(t: FunctionTranslator, operand: Operand, geometry: str, ptx_type: str) -> tuple[str, list[str]]:
    """The layer, and x, y and z: vectors of 32 bits; zeros where a geometry has none."""
    assert isinstance(operand, TensorAddress)
    given = list(operand.coordinates)
    layer = t.vector(t.operand(given.pop(0), "u32")) if geometry.startswith("a") else "zeroinitializer"
    count = 3 if geometry in ("3d", "cube", "acube") else 2 if geometry.endswith("2d") else 1
    found = [t.vector(t.operand(coordinate, ptx_type)) for coordinate in given[:count]]
    return layer, found + ["zeroinitializer"] * (3 - count)


def tex(t: FunctionTranslator, ins: Instruction) -> None:
    """tex: without mipmaps every level is the first, so levels and gradients say nothing."""
    geometry, coordinate_type = geometry_of(ins), ins.types[1]
    sample = sampling.require(t.out, geometry, integer=coordinate_type == "s32")
    _read(t, ins, geometry, coordinate_type, sample)


def _read(t: FunctionTranslator, ins: Instruction, geometry: str, coordinate_type: str, sample: str) -> None:
    out = t.out
    handle = base_of(t, ins.operands[1])
    layer, (x, y, z) = coordinates_of(t, ins.operands[1], geometry, coordinate_type)
    site = t.new_site(ins, Space.TEXTURE, AccessKind.LOAD, 32 * CHANNELS)
    counters, _ = t.site_pointers(site)
    each = handles.each_texture(out, geometry, sample, several=ins.opcode == "tld4")
    vectors = ", ".join(f"<32 x i32> {v}" for v in (layer, x, y, z))
    out.line(
        f"call void @{each}(ptr %x, ptr %w, ptr {counters}, <32 x i64> {handle}, {vectors}, i32 {t.mask(ins)}, "
        f"i32 {tell.what(t, site)}, i32 {site.index}, ptr %scratch)"
    )
    for number, target in enumerate(components(ins.operands[0])):
        place = out.let(f"getelementptr <32 x i32>, ptr %scratch, i64 {number}")
        t.write(target, q.varying(out.let(f"load <32 x i32>, ptr {place}, align 64"), "i32"), ins)


def tld4(t: FunctionTranslator, ins: Instruction) -> None:
    """tld4: one channel of four texels."""
    geometry = geometry_of(ins)
    channel = next(number for number, name in enumerate("rgba") if ins.has(name))
    _read(t, ins, geometry, "f32", sampling.require_gather(t.out, geometry, channel))


def txq(t: FunctionTranslator, ins: Instruction) -> None:
    """txq: a field of the record."""
    query(t, ins, TEXTURE_MAGIC)


def query(t: FunctionTranslator, ins: Instruction, magic: int) -> None:
    """txq and suq: a property that the record holds."""
    name = next(modifier for modifier in ins.modifiers if modifier in _QUERIES)
    handle = base_of(t, ins.operands[1])
    function = handles.query(t.out, magic)
    site = t.fault_site()
    value = t.out.let(
        f"call <32 x i32> @{function}(ptr %x, ptr %w, <32 x i64> {handle}, i32 {t.mask(ins)}, i32 {site}, "
        f"i64 {_QUERIES[name]})"
    )
    t.write(ins.operands[0], q.varying(value, "i32"), ins)
