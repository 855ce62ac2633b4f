"""Reading textures for 32 lanes, as helper functions in LLVM IR: coordinates to texels, decoding, filtering.

The modes of a texture are in its record (`emulator.texture`), not in the code: the functions branch on them, and each
branch works on vectors. Coordinates and results are bits in `<32 x i32>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lanewise.emulator.ir import Elementwise, Emitter, Value
from lanewise.emulator.texture import TILE_BYTES, TILE_ROWS, TILE_SIZE, AddressMode, Decode, Texture

AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
CHANNELS = 4
_VECTOR = "<32 x i32>"


class Function(NamedTuple):
    """A helper function while it is written: its lines, vector and scalar arithmetic, and fields of the record."""

    out: Emitter
    e: Elementwise
    s: Elementwise

    @classmethod
    def begin(cls, emitter: Emitter) -> Function:
        out = Emitter()
        out.definitions, out.declarations = emitter.definitions, emitter.declarations
        return cls(out, Elementwise(out, 32), Elementwise(out, 1))

    def field(self, offset: int, element: str = "i32") -> Value:
        """A field of the record `%d`, a scalar."""
        pointer = self.out.let(f"getelementptr i8, ptr %d, i64 {offset}")
        return Value(self.out.let(f"load {element}, ptr {pointer}"), element)

    def flag(self, offset: int) -> Value:
        return self.s.icmp("ne", self.field(offset), self.s.const("i32", 0))

    def splat(self, value: Value) -> Value:
        kind = f"<32 x {value.type}>"
        one = self.out.let(f"insertelement {kind} poison, {value.type} {value.text}, i32 0")
        return Value(self.out.let(f"shufflevector {kind} {one}, {kind} poison, <32 x i32> zeroinitializer"), value.type)

    def wide(self, offset: int, element: str = "i32") -> Value:
        """A field of the record in every lane."""
        return self.splat(self.field(offset, element))

    def choose(self, condition: Value, a: Value, b: Value) -> Value:
        """One of two vectors by a scalar condition."""
        kind = self.e.shape(a.type)
        return Value(self.out.let(f"select i1 {condition.text}, {kind} {a.text}, {kind} {b.text}"), a.type)

    def bits(self, lanes: Value) -> str:
        """A vector of i1 as a mask."""
        return self.out.let(f"bitcast <32 x i1> {lanes.text} to i32")

    def to_integer(self, value: Value) -> Value:
        """Float to i32, saturating; NaN is 0."""
        self.out.declare("declare <32 x i32> @llvm.fptosi.sat.v32i32.v32f32(<32 x float>)")
        return Value(self.out.let(f"call <32 x i32> @llvm.fptosi.sat.v32i32.v32f32(<32 x float> {value.text})"), "i32")


def require(out: Emitter, geometry: str, *, integer: bool) -> str:
    """Add the function that samples a geometry to the module; returns its name.

    `i32 @name(ptr %d, <32 x i32> %l, %x, %y, %z, i32 %m, ptr %out)` writes four vectors of 32 bits a lane to `%out`,
    for the lanes of `%m`, and returns the sectors that they ask for. `integer`: coordinates are texel numbers.
    """
    name = f"lw_sample_{geometry}_{'s32' if integer else 'f32'}"
    if name not in out.definitions:
        out.define("lw_texel", _texel(out))
        require_places(out)
        out.define(name, _sample(out, name, geometry, integer))
    return name


def require_gather(out: Emitter, geometry: str, channel: int) -> str:
    """Add the function that gathers one channel of the four texels that filtering would take; as `require`. The order
    is that of tld4: from the texel below left against the clock, with y pointing down."""
    name = f"lw_four_{geometry}_{channel}"
    if name not in out.definitions:
        out.define("lw_texel", _texel(out))
        require_places(out)
        out.define(name, _gather(out, name, geometry, channel))
    return name


def require_places(out: Emitter) -> None:
    """Add `<32 x i64> @lw_place(ptr %d, <32 x i32> %x, %y, %z)`: addresses of bytes, rows and slices."""
    if "lw_place" not in out.definitions:
        out.define("lw_place", _place(out))


def _finish(function: Function, header: str) -> str:
    return f"define internal {header} noinline nounwind {{\nentry:\n" + "\n".join(function.out.lines) + "\n}\n"


# ---------------------------------------------------------------------- texels
def _place(emitter: Emitter) -> str:
    """Addresses of bytes `%x` of rows `%y` of slices `%z`."""
    f = Function.begin(emitter)
    e, out = f.e, f.out
    x, y, z = (e.resize(Value(f"%{name}", "i32"), "i64") for name in "xyz")
    pitch = f.wide(Texture.PITCH, "i64")
    slice_start = e.op("add", f.wide(Texture.BASE, "i64"), e.op("mul", z, f.wide(Texture.SLICE, "i64")))
    tiled = f.flag(Texture.TILED)
    out.line(f"br i1 {tiled.text}, label %tiles, label %rows")
    out.label("rows")
    row = e.op("add", e.op("add", slice_start, e.op("mul", y, pitch)), x)
    out.line(f"ret <32 x i64> {row.text}")
    out.label("tiles")

    def part(value: Value, low: int, width: int, target: int) -> Value:
        """`width` bits from bit `low` on, moved to bit `target`."""
        cut = e.op("and", e.op("lshr", value, e.const("i64", low)), e.const("i64", (1 << width) - 1))
        return e.op("shl", cut, e.const("i64", target))

    offset = e.op("mul", e.op("lshr", y, e.const("i64", 3)), e.op("mul", pitch, e.const("i64", TILE_ROWS)))
    tile = e.op("mul", e.op("lshr", x, e.const("i64", 6)), e.const("i64", TILE_SIZE))
    offset = e.op("add", offset, tile)
    for piece in (part(x, 5, 1, 8), part(y, 1, 2, 6), part(x, 4, 1, 5), part(y, 0, 1, 4), part(x, 0, 4, 0)):
        offset = e.op("add", offset, piece)
    out.line(f"ret <32 x i64> {e.op('add', slice_start, offset).text}")
    assert TILE_BYTES == 64
    return _finish(f, f"<32 x i64> @lw_place(ptr %d, {_VECTOR} %x, {_VECTOR} %y, {_VECTOR} %z)")


def _texel(emitter: Emitter) -> str:
    """Channel `%c` of the texels at `%a`, decoded; a channel that the format does not have."""
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    decode = f.field(Texture.DECODE)
    out.line(f"switch i32 {decode.text}, label %word [")
    for item in Decode:
        if item != Decode.WORD:
            out.line(f"  i32 {item.value}, label %{item.name.lower()}")
    out.line("]")
    channel = Value("%c", "i32")

    def load(bits: int) -> Value:
        step = f.splat(s.resize(s.op("mul", channel, s.const("i32", bits // 8)), "i64"))
        address = e.op("add", Value("%a", "i64"), step)
        loaded = out.let(f"call <32 x i{bits}> @lw_gather_i{bits}(<32 x i64> {address.text}, i32 %m)")
        return Value(loaded, f"i{bits}")

    def give(value: Value) -> None:
        bits = e.as_int(value) if value.type == "float" else value
        out.line(f"ret {_VECTOR} {bits.text}")

    out.label("word")
    give(load(32))
    for name, bits in (("u8", 8), ("u16", 16), ("s8", 8), ("s16", 16)):
        out.label(name)
        give(e.resize(load(bits), "i32", signed=name[0] == "s"))
    out.label("f16")
    give(e.cast("fpext", e.as_float(load(16), "half"), "float"))
    for name, bits in (("unorm8", 8), ("unorm16", 16)):
        out.label(name)
        give(e.op("fdiv", e.cast("uitofp", load(bits), "float"), e.const("float", (1 << bits) - 1)))
    for name, bits in (("snorm8", 8), ("snorm16", 16)):
        out.label(name)
        value = e.op("fdiv", e.cast("sitofp", load(bits), "float"), e.const("float", (1 << (bits - 1)) - 1))
        give(e.intrinsic("maxnum", value, e.const("float", -1.0)))
    out.label("srgb8")
    out.define("lw_srgb", _srgb_table())
    value = e.resize(load(8), "i32")
    alpha = s.icmp("eq", channel, s.const("i32", 3))
    plain = e.op("fdiv", e.cast("uitofp", value, "float"), e.const("float", 255))
    table = e.op(
        "add",
        Value("splat (i64 ptrtoint (ptr @lw_srgb to i64))", "i64"),
        e.op("shl", e.resize(value, "i64"), e.const("i64", 2)),
    )
    looked_up = Value(out.let(f"call <32 x i32> @lw_gather_i32(<32 x i64> {table.text}, i32 %m)"), "i32")
    give(f.choose(alpha, e.as_int(plain), looked_up))
    return _finish(f, f"{_VECTOR} @lw_texel(ptr %d, <32 x i64> %a, i32 %m, i32 %c)")


def _srgb_table() -> str:
    """The curve of IEC 61966-2-1 for each byte."""
    import struct

    def linear(byte: int) -> float:
        v = byte / 255
        return v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4

    words = (struct.unpack("<i", struct.pack("<f", linear(byte)))[0] for byte in range(256))
    return f"@lw_srgb = internal constant [256 x i32] [{', '.join(f'i32 {word}' for word in words)}]\n"


# ---------------------------------------------------------------------- coordinates
class Axis(NamedTuple):
    """Texels along one axis. `inside`: lanes whose texel exists (None: all); `weight`: of the second texel, of 256."""

    low: Value
    high: Value
    low_inside: Value
    high_inside: Value
    weight: Value


def _scaled(f: Function, coordinate: Value, size: Value, mode: Value) -> Value:
    """A coordinate in texels: normalized ones are brought into [0, 1] as the mode says, and multiplied."""
    e, s = f.e, f.s
    whole = e.intrinsic("floor", coordinate)
    fraction = e.op("fsub", coordinate, whole)
    odd = e.icmp("ne", e.op("and", f.to_integer(whole), e.const("i32", 1)), e.const("i32", 0))
    mirrored = e.select(odd, e.op("fsub", e.const("float", 1.0), fraction), fraction)
    is_wrap = s.icmp("eq", mode, s.const("i32", AddressMode.WRAP))
    is_mirror = s.icmp("eq", mode, s.const("i32", AddressMode.MIRROR))
    folded = f.choose(is_wrap, fraction, f.choose(is_mirror, mirrored, coordinate))
    extent = f.splat(s.cast("uitofp", size, "float"))
    return f.choose(f.flag(Texture.NORMALIZED), e.op("fmul", folded, extent), coordinate)


def _settle(f: Function, index: Value, size: Value, mode: Value) -> tuple[Value, Value]:
    """A texel's number as the mode says for those outside, and whether there is such a texel."""
    e, s = f.e, f.s
    extent = f.splat(size)
    zero, last = e.const("i32", 0), e.op("sub", extent, e.const("i32", 1))
    inside = e.icmp("ult", index, extent)
    clamped = e.intrinsic("smin", e.intrinsic("smax", index, zero), last)
    below = e.icmp("slt", index, zero)
    wrapped = e.select(inside, index, e.select(below, last, zero))
    is_wrap = s.icmp("eq", mode, s.const("i32", AddressMode.WRAP))
    is_border = s.icmp("eq", mode, s.const("i32", AddressMode.BORDER))
    return f.choose(is_wrap, wrapped, clamped), e.op("or", inside, f.splat(s.not_(is_border)))


def _point(f: Function, coordinate: Value, size: Value, mode: Value) -> tuple[Value, Value]:
    scaled = _scaled(f, coordinate, size, mode)
    return _settle(f, f.to_integer(f.e.intrinsic("floor", scaled)), size, mode)


def _pair(f: Function, coordinate: Value, size: Value, mode: Value) -> Axis:
    """The two texels beside a coordinate, and the weight in steps of 1/256."""
    e = f.e
    scaled = _scaled(f, coordinate, size, mode)
    steps = e.op("fsub", e.op("fmul", scaled, e.const("float", 256.0)), e.const("float", 128.0))
    fixed = f.to_integer(e.intrinsic("floor", e.op("fadd", steps, e.const("float", 0.5))))
    low = e.op("ashr", fixed, e.const("i32", 8))
    weight = e.op("and", fixed, e.const("i32", 255))
    high = e.op("add", low, e.const("i32", 1))
    low, low_inside = _settle(f, low, size, mode)
    high, high_inside = _settle(f, high, size, mode)
    return Axis(low, high, low_inside, high_inside, weight)


def _layer(f: Function, layers: Value) -> Value:
    """A layer's number, clamped."""
    e = f.e
    last = e.op("sub", f.splat(layers), e.const("i32", 1))
    return e.intrinsic("smin", e.intrinsic("smax", Value("%l", "i32"), e.const("i32", 0)), last)


def _face(f: Function) -> tuple[Value, Value, Value]:
    """The face that a direction meets, and the coordinates on it, in [0, 1] (CUDA C++ Programming Guide, cubemaps)."""
    e = f.e
    x, y, z = (e.as_float(Value(f"%{name}", "i32"), "float") for name in "xyz")
    ax, ay, az = (e.intrinsic("fabs", v) for v in (x, y, z))
    z_major = e.op("and", e.fcmp("oge", az, ax), e.fcmp("oge", az, ay))
    y_major = e.fcmp("oge", ay, ax)
    zero = e.const("float", 0.0)

    def negative(value: Value) -> Value:
        return e.icmp("slt", e.as_int(value), e.const("i32", 0))

    def negate(value: Value) -> Value:
        return e.unary("fneg", value)

    def pick(of_z: Value, of_y: Value, of_x: Value) -> Value:
        return e.select(z_major, of_z, e.select(y_major, of_y, of_x))

    major = pick(z, y, x)
    minus = negative(major)
    magnitude = pick(az, ay, ax)
    s = pick(e.select(minus, negate(x), x), x, e.select(minus, z, negate(z)))
    t = pick(negate(y), e.select(minus, negate(z), z), negate(y))
    face = pick(e.const("i32", 4), e.const("i32", 2), e.const("i32", 0))
    face = e.op("add", face, e.resize(minus, "i32"))
    half = e.const("float", 0.5)
    u, v = (e.op("fadd", e.op("fmul", e.op("fdiv", a, magnitude), half), half) for a in (s, t))
    none = e.fcmp("oeq", magnitude, zero)
    return face, e.select(none, half, u), e.select(none, half, v)


# ---------------------------------------------------------------------- the functions
class Place(NamedTuple):
    """Where a request reads: coordinates along the axes, extents and address modes (scalars), and the layer."""

    coordinates: list[Value]
    sizes: list[Value]
    modes: list[Value]
    layer: Value


def _locate(f: Function, geometry: str) -> Place:
    e, s = f.e, f.s
    axes = AXES[geometry]
    sizes = [f.field(offset) for offset in (Texture.WIDTH, Texture.HEIGHT, Texture.DEPTH)]
    modes = [f.field(Texture.ADDRESS + 4 * axis) for axis in range(axes)]
    layer = e.const("i32", 0)
    coordinates = [Value(f"%{axis}", "i32") for axis in "xyz"][:axes]
    if geometry in ("cube", "acube"):
        layer, u, v = _face(f)
        coordinates = [e.as_int(u), e.as_int(v)]
    if geometry == "acube":
        chosen = _layer(f, s.op("udiv", sizes[2], s.const("i32", 6)))
        layer = e.op("add", e.op("mul", chosen, e.const("i32", 6)), layer)
    elif geometry.startswith("a"):
        layer = _layer(f, sizes[2])
    return Place(coordinates, sizes[:axes], modes, layer)


_HEADER = "i32 @{name}(ptr %d, " + ", ".join(f"{_VECTOR} %{part}" for part in "lxyz") + ", i32 %m, ptr %out)"


def _sample(emitter: Emitter, name: str, geometry: str, integer: bool) -> str:
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    place = _locate(f, geometry)
    _defaults(f)
    if integer:
        clamp = s.const("i32", AddressMode.CLAMP)
        found = [
            (_settle(f, c, size, clamp)[0], e.icmp("ult", c, f.splat(size)))
            for c, size in zip(place.coordinates, place.sizes, strict=True)
        ]
    else:
        out.line(f"br i1 {f.flag(Texture.LINEAR).text}, label %linear, label %point")
        out.label("point")
        found = [_point(f, *axis) for axis in _axes(f, place)]
    corner = _corner(f, [i for i, _ in found], [inside for _, inside in found], place.layer)
    _channels(f, "nearest", lambda c: _read(f, corner, c, border=not integer))
    out.line(f"ret i32 {_sectors(f, [corner])}")
    if not integer:
        out.label("linear")
        pairs = [_pair(f, *axis) for axis in _axes(f, place)]
        corners = _corners(f, pairs, place.layer)
        weights = [p.weight for p in pairs]
        _channels(f, "filtered", lambda c: _filter(f, [_read(f, k, c, border=True) for k in corners], weights))
        out.line(f"ret i32 {_sectors(f, corners)}")
    return _finish(f, _HEADER.format(name=name))


def _axes(f: Function, place: Place) -> list[tuple[Value, Value, Value]]:
    """Coordinate (as float), extent and address mode of each axis."""
    floats = [f.e.as_float(c, "float") for c in place.coordinates]
    return list(zip(floats, place.sizes, place.modes, strict=True))


def _corners(f: Function, pairs: list[Axis], layer: Value) -> list[Corner]:
    """All texels around a point; the first axis varies fastest."""
    corners = []
    for number in range(1 << len(pairs)):
        chosen = [(pair, number >> axis & 1) for axis, pair in enumerate(pairs)]
        indices = [pair.high if high else pair.low for pair, high in chosen]
        insides = [pair.high_inside if high else pair.low_inside for pair, high in chosen]
        corners.append(_corner(f, indices, insides, layer))
    return corners


def _gather(emitter: Emitter, name: str, geometry: str, channel: int) -> str:
    f = Function.begin(emitter)
    place = _locate(f, geometry)
    corners = _corners(f, [_pair(f, *axis) for axis in _axes(f, place)], place.layer)
    component = f.s.const("i32", channel)
    for number, corner in enumerate((corners[2], corners[3], corners[1], corners[0])):
        _store(f, f.s.const("i32", number), _read(f, corner, component, border=True))
    f.out.line(f"ret i32 {_sectors(f, corners)}")
    return _finish(f, _HEADER.format(name=name))


class Corner(NamedTuple):
    """A texel of each lane: its address, and the lanes (i32) that have one."""

    address: Value
    inside: Value
    mask: str


def _corner(f: Function, indices: list[Value], insides: list[Value], layer: Value) -> Corner:
    e, out = f.e, f.out
    inside = insides[0]
    for more in insides[1:]:
        inside = e.op("and", inside, more)
    x = e.op("mul", indices[0], f.wide(Texture.ELEMENT))
    y = indices[1] if len(indices) > 1 else e.const("i32", 0)
    z = indices[2] if len(indices) > 2 else layer
    place = out.let(f"call <32 x i64> @lw_place(ptr %d, {_VECTOR} {x.text}, {_VECTOR} {y.text}, {_VECTOR} {z.text})")
    mask = out.let(f"and i32 %m, {f.bits(inside)}")
    return Corner(Value(place, "i64"), inside, mask)


def _read(f: Function, corner: Corner, channel: Value, *, border: bool) -> Value:
    """One channel of a texel; the border's colour, or zero, where there is none."""
    e, out = f.e, f.out
    value = Value(
        out.let(
            f"call {_VECTOR} @lw_texel(ptr %d, <32 x i64> {corner.address.text}, i32 {corner.mask}, i32 {channel.text})"
        ),
        "i32",
    )
    outside = e.const("i32", 0)
    if border:
        place = out.let(f"getelementptr i32, ptr %d, i32 {channel.text}")
        pointer = out.let(f"getelementptr i8, ptr {place}, i64 {Texture.BORDER}")
        outside = f.splat(Value(out.let(f"load i32, ptr {pointer}"), "i32"))
    return e.select(corner.inside, value, outside)


def _filter(f: Function, values: list[Value], weights: list[Value]) -> Value:
    """Weighted mean of two, four or eight texels; the first axis varies fastest."""
    e = f.e
    texels = [e.as_float(value, "float") for value in values]
    step = e.const("float", 1 / 256)
    for weight in weights:
        share = e.op("fmul", e.cast("uitofp", weight, "float"), step)
        rest = e.op("fsub", e.const("float", 1.0), share)
        texels = [
            e.op("fadd", e.op("fmul", a, rest), e.op("fmul", b, share))
            for a, b in zip(texels[::2], texels[1::2], strict=True)
        ]
    return e.as_int(texels[0])


def _defaults(f: Function) -> None:
    """Channels that the format does not have read as zero."""
    for channel in range(CHANNELS):
        _store(f, f.s.const("i32", channel), f.e.const("i32", 0))


def _store(f: Function, channel: Value, value: Value) -> None:
    """Results of the lanes of the mask; those of others stay."""
    out = f.out
    lanes = out.let("bitcast i32 %m to <32 x i1>")
    pointer = out.let(f"getelementptr {_VECTOR}, ptr %out, i32 {channel.text}")
    old = out.let(f"load {_VECTOR}, ptr {pointer}, align 64")
    new = out.let(f"select <32 x i1> {lanes}, {_VECTOR} {value.text}, {_VECTOR} {old}")
    out.line(f"store {_VECTOR} {new}, ptr {pointer}, align 64")


def _channels(f: Function, label: str, value: Callable[[Value], Value]) -> None:
    """A loop over the channels of the format."""
    out = f.out
    count = f.field(Texture.CHANNELS)
    counter = out.let("alloca i32")
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


def _sectors(f: Function, corners: list[Corner]) -> str:
    """Sectors that a request asks for."""
    element = f.field(Texture.ELEMENT)
    corner = corners[0]
    return f.out.let(f"call i32 @lw_sectors(<32 x i64> {corner.address.text}, i32 {corner.mask}, i32 {element.text})")
