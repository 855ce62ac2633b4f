"""Reading textures for 32 lanes, as helper functions in LLVM IR.

The modes of a texture are in its record, not in the code: the functions branch on them, and each branch works on
vectors. Coordinates and results are bits in `<32 x i32>`.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Emitter, Value
from lanewise.emulator.textures import coordinates, counting, filtering, texels
from lanewise.emulator.textures.coordinates import Line, Pair
from lanewise.emulator.textures.record import AddressMode, Texture
from lanewise.emulator.textures.texels import Texel
from lanewise.emulator.textures.writing import VECTOR, WIDE, Function

AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
CHANNELS = 4
_HEADER = (
    "i32 @{name}(ptr %x, ptr %w, ptr %d, "
    + ", ".join(f"{VECTOR} %{part}" for part in ("l", "cx", "cy", "cz"))
    + ", i32 %m, i32 %trace, ptr %out)"
)


def require(out: Emitter, geometry: str, *, integer: bool) -> str:
    """Add the function that samples a geometry to the module; returns its name.

    `i32 @name(ptr %x, ptr %w, ptr %d, <32 x i32> %l, %cx, %cy, %cz, i32 %m, i32 %trace, ptr %out)` writes four vectors
    of 32 bits a lane to `%out`, for the lanes of `%m`, and returns the sectors that they ask for; `%trace` as in
    `counting.tell`. `integer`: coordinates are texel numbers.
    """
    name = f"lw_sample_{geometry}_{'s32' if integer else 'f32'}"
    if name not in out.definitions:
        texels.require(out)
        out.define(name, _fetch(out, name, geometry) if integer else _sample(out, name, geometry))
    return name


def require_gather(out: Emitter, geometry: str, channel: int) -> str:
    """Add the function that gathers one channel of the four texels that filtering would take; as `require`. The order
    is that of tld4: from the lower left against the clock, with y pointing down."""
    name = f"lw_sample_four_{geometry}_{channel}"
    if name not in out.definitions:
        texels.require(out)
        out.define(name, _gather(out, name, geometry, channel))
    return name


def _locate(f: Function, geometry: str) -> tuple[list[Line], Value]:
    """Lines along the axes, and the layer."""
    e, s = f.e, f.s
    axes = AXES[geometry]
    sizes = [f.field(offset) for offset in (Texture.WIDTH, Texture.HEIGHT, Texture.DEPTH)]
    modes = [f.field(Texture.ADDRESS + 4 * axis) for axis in range(3)]
    layer = e.const("i32", 0)
    given = [e.as_float(Value(f"%c{axis}", "i32"), "float") for axis in "xyz"][:axes]
    if geometry in ("cube", "acube"):
        layer, *given = coordinates.face(f)
    if geometry == "acube":
        chosen = coordinates.layer(f, s.op("udiv", sizes[2], s.const("i32", 6)))
        layer = e.op("add", e.op("mul", chosen, e.const("i32", 6)), layer)
    elif geometry.startswith("a"):
        layer = coordinates.layer(f, sizes[2])
    return [Line(*axis) for axis in zip(given, sizes, modes, strict=False)], layer


def _texel(f: Function, indices: list[Value], insides: list[Value], layer: Value) -> Texel:
    e, out = f.e, f.out
    inside = f.sum(insides, "and")
    x = e.op("mul", indices[0], f.wide(Texture.ELEMENT))
    z = indices[2] if len(indices) > 2 else layer
    place = out.let(f"call {WIDE} @lw_place(ptr %d, {VECTOR} {x.text}, {VECTOR} {indices[1].text}, {VECTOR} {z.text})")
    return Texel(Value(place, "i64"), inside, out.let(f"and i32 %m, {f.mask(inside)}"))


def _corners(f: Function, pairs: list[Pair], layer: Value) -> list[Texel]:
    """All texels around a point; the first axis varies fastest."""
    corners = []
    for number in range(1 << len(pairs)):
        chosen = [(pair, number >> axis & 1) for axis, pair in enumerate(pairs)]
        indices = [pair.high if high else pair.low for pair, high in chosen]
        insides = [pair.high_inside if high else pair.low_inside for pair, high in chosen]
        corners.append(_texel(f, indices, insides, layer))
    return corners


def _sample(emitter: Emitter, name: str, geometry: str) -> str:
    f = Function.begin(emitter)
    out = f.out
    lines, layer = _locate(f, geometry)
    _defaults(f)
    out.line(f"br i1 {f.flag(Texture.LINEAR).text}, label %linear, label %point")
    out.label("point")
    found = [coordinates.nearest(f, line) for line in lines]
    if len(lines) == 1:
        found.append((f.e.const("i32", 0), f.e.const("i1", True)))
    texel = _texel(f, [index for index, _ in found], [inside for _, inside in found], layer)
    _channels(f, "nearest", lambda c: _decoded(f, _raw(f, texel, c), c))
    counting.tell(f, [texel])
    out.line(f"ret i32 {counting.of(f, [texel], counting.QUAD)}")
    out.label("linear")
    pairs = [coordinates.pair(f, line) for line in lines]
    if geometry == "1d":
        pairs.append(coordinates.single_row(f, f.field(Texture.ADDRESS + 4)))
    elif geometry == "a1d":
        pairs.append(coordinates.single_row(f, f.s.const("i32", AddressMode.CLAMP)))
    corners = _corners(f, pairs, layer)
    weights = filtering.weights(f, [pair.weight for pair in pairs])
    filtered = filtering.require(out, len(corners))

    def value(channel: Value) -> Value:
        parts = [
            f"{VECTOR} {_raw(f, corner, channel).text}, {VECTOR} {weight.text}"
            for corner, weight in zip(corners, weights, strict=True)
        ]
        return Value(out.let(f"call {VECTOR} @{filtered}(ptr %d, i32 {channel.text}, {', '.join(parts)})"), "i32")

    _channels(f, "filtered", value)
    counting.tell(f, corners)
    out.line(f"ret i32 {_filtered_sectors(f, corners)}")
    return f.finish(_HEADER.format(name=name))


def _filtered_sectors(f: Function, corners: list[Texel]) -> str:
    """Filtered reads of texels of 16 bytes are done in two passes of half the lanes."""
    s = f.s
    group = counting.QUAD if len(corners) <= counting.QUAD else counting.PAIR
    narrow, halves = (Value(counting.of(f, corners, lanes), "i32") for lanes in (group, group // 2))
    wide = s.icmp("ugt", f.field(Texture.ELEMENT), s.const("i32", 8))
    return f.out.let(f"select i1 {wide.text}, i32 {s.op('add', halves, halves).text}, i32 {narrow.text}")


def _fetch(emitter: Emitter, name: str, geometry: str) -> str:
    """By texel numbers: neither filtered nor mirrored, and zero outside. With one coordinate only linear memory is
    read; an array gives zeros, as on the card."""
    f = Function.begin(emitter)
    e, s = f.e, f.s
    sizes = [f.field(offset) for offset in (Texture.WIDTH, Texture.HEIGHT, Texture.DEPTH)]
    layer = e.const("i32", 0)
    _defaults(f)
    clamp = s.const("i32", AddressMode.CLAMP)
    indices: list[Value] = []
    insides: list[Value] = []
    if geometry == "1d":
        insides.append(f.splat(s.not_(f.flag(Texture.TILED))))
    if geometry.startswith("a"):
        layer = coordinates.layer(f, sizes[2])
        insides.append(e.icmp("eq", layer, Value("%l", "i32")))
    for axis, size in zip("xyz"[: AXES[geometry]], sizes, strict=False):
        number = Value(f"%c{axis}", "i32")
        indices.append(coordinates.settle(f, number, size, clamp)[0])
        insides.append(e.icmp("ult", number, f.splat(size)))
    indices += [e.const("i32", 0)] * (2 - len(indices))
    texel = _texel(f, indices, insides, layer)

    def value(channel: Value) -> Value:
        found = _decoded(f, _raw(f, texel, channel), channel)
        return e.select(texel.inside, found, e.const("i32", 0))

    _channels(f, "fetched", value)
    counting.tell(f, [texel])
    wide = s.icmp("ugt", f.field(Texture.ELEMENT), s.const("i32", 8))
    octets, quads = (counting.of(f, [texel], group) for group in (counting.OCTET, counting.QUAD))
    f.out.line(f"ret i32 {f.out.let(f'select i1 {wide.text}, i32 {quads}, i32 {octets}')}")
    return f.finish(_HEADER.format(name=name))


def _gather(emitter: Emitter, name: str, geometry: str, channel: int) -> str:
    f = Function.begin(emitter)
    lines, layer = _locate(f, geometry)
    corners = _corners(f, [coordinates.pair(f, line) for line in lines], layer)
    component = f.s.const("i32", channel)
    for number, corner in enumerate((corners[2], corners[3], corners[1], corners[0])):
        _store(f, f.s.const("i32", number), _decoded(f, _raw(f, corner, component), component))
    counting.tell(f, corners)
    f.out.line(f"ret i32 {counting.of(f, corners, counting.QUAD)}")
    return f.finish(_HEADER.format(name=name))


def _raw(f: Function, texel: Texel, channel: Value) -> Value:
    call = f"@lw_raw(ptr %d, {WIDE} {texel.address.text}, <32 x i1> {texel.inside.text}, i32 {texel.mask}, "
    return Value(f.out.let(f"call {VECTOR} {call}i32 {channel.text})"), "i32")


def _decoded(f: Function, raw: Value, channel: Value) -> Value:
    return Value(f.out.let(f"call {VECTOR} @lw_decode(ptr %d, {VECTOR} {raw.text}, i32 {channel.text})"), "i32")


def _defaults(f: Function) -> None:
    """Channels that the format does not have read as zero."""
    for channel in range(CHANNELS):
        _store(f, f.s.const("i32", channel), f.e.const("i32", 0))


def _store(f: Function, channel: Value, value: Value) -> None:
    """Results of the lanes of the mask; those of others stay."""
    out = f.out
    lanes = out.let("bitcast i32 %m to <32 x i1>")
    pointer = out.let(f"getelementptr {VECTOR}, ptr %out, i32 {channel.text}")
    old = out.let(f"load {VECTOR}, ptr {pointer}, align 64")
    new = out.let(f"select <32 x i1> {lanes}, {VECTOR} {value.text}, {VECTOR} {old}")
    out.line(f"store {VECTOR} {new}, ptr {pointer}, align 64")


def _channels(f: Function, label: str, value: Callable[[Value], Value]) -> None:
    """A loop over the channels of the format."""
    out = f.out
    count = f.field(Texture.CHANNELS)
    counter = f.variable()
    out.line(f"store i32 0, ptr {counter}")
    out.line(f"br label %{label}")
    out.label(label)
    channel = Value(out.let(f"load i32, ptr {counter}"), "i32")
    _store(f, channel, value(channel))
    following = f.s.op("add", channel, f.s.const("i32", 1))
    out.line(f"store i32 {following.text}, ptr {counter}")
    more = f.s.icmp("ult", following, count)
    out.line(f"br i1 {more.text}, label %{label}, label %{label}.done")
    out.label(f"{label}.done")
