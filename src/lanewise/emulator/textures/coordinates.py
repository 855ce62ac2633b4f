"""From coordinates to texels and weights, as an H200 does it (measured; tests/emulator/texture_model.py).

Normalized coordinates are cut to 21 bits behind the point (22 and 23 in larger textures) and multiplied exactly.
Filtering takes the position of the lower texel and a weight of 8 bits, rounded to nearest, ties up.
"""

from __future__ import annotations

from typing import NamedTuple

from lanewise.emulator.ir import Value
from lanewise.emulator.textures.record import AddressMode, Texture
from lanewise.emulator.textures.writing import Function

FRACTION_BITS = 21
MORE_BITS_FROM = (8192, 65536)  # extents beyond which there is one bit more
WEIGHT_BITS = 8
_LEAST_NORMAL = 2.0**-126


class Line(NamedTuple):
    """One axis of a request: coordinates (float) and, scalars, the extent and the address mode."""

    coordinate: Value
    size: Value
    mode: Value


class Pair(NamedTuple):
    """The two texels beside a coordinate, whether there is such a texel, and the weight of the upper one, of 256."""

    low: Value
    high: Value
    low_inside: Value
    high_inside: Value
    weight: Value


def position(f: Function, line: Line) -> Value:
    """A coordinate in texels, as double; with mirrors from 0 to twice the extent. What is no number is 0, as is what is
    infinite where it would be folded."""
    e, s = f.e, f.s
    normal = e.fcmp("oge", e.intrinsic("fabs", line.coordinate), e.const("float", _LEAST_NORMAL))
    given = e.cast("fpext", e.select(normal, line.coordinate, e.const("float", 0.0)), "double")
    is_mirror, is_wrap = (_is(f, line.mode, which) for which in (AddressMode.MIRROR, AddressMode.WRAP))
    one = e.const("double", 1.0)
    period = f.choose(is_mirror, e.const("double", 2.0), one)
    whole = e.op("fmul", e.intrinsic("floor", e.op("fdiv", given, period)), period)
    folded = e.op("fsub", given, whole)
    folded = e.select(e.is_nan(folded), e.const("double", 0.0), folded)
    folds = s.op("or", is_mirror, is_wrap)
    bits = s.const("i32", FRACTION_BITS)
    for extent in MORE_BITS_FROM:
        bits = s.op("add", bits, s.resize(s.icmp("ugt", line.size, s.const("i32", extent)), "i32"))
    up, down = (_power(f, s.op(way, s.const("i32", 1023), bits)) for way in ("add", "sub"))
    cut = e.op("fmul", e.intrinsic("floor", e.op("fmul", f.choose(folds, folded, given), up)), down)
    cut = f.choose(folds, e.intrinsic("minnum", cut, e.op("fsub", period, down)), cut)
    scaled = e.op("fmul", cut, f.splat(s.cast("uitofp", line.size, "double")))
    return f.choose(f.flag(Texture.NORMALIZED), scaled, given)


def _power(f: Function, exponent: Value) -> Value:
    """2 to the power of a scalar, given with the bias of a double, in all lanes."""
    bits = f.s.op("shl", f.s.cast("zext", exponent, "i64"), f.s.const("i64", 52))
    return f.splat(f.s.cast("bitcast", bits, "double"))


def _is(f: Function, mode: Value, which: AddressMode) -> Value:
    return f.s.icmp("eq", mode, f.s.const("i32", which))


def settle(f: Function, index: Value, size: Value, mode: Value) -> tuple[Value, Value]:
    """A texel's number as the mode says for those outside, and whether there is such a texel."""
    e, s = f.e, f.s
    extent = f.splat(size)
    zero, last = e.const("i32", 0), e.op("sub", extent, e.const("i32", 1))
    inside = e.icmp("ult", index, extent)
    clamped = e.intrinsic("smin", e.intrinsic("smax", index, zero), last)
    wrapped = e.select(inside, index, e.select(e.icmp("slt", index, zero), last, zero))
    beyond = e.op("sub", e.op("sub", e.op("add", extent, extent), e.const("i32", 1)), index)
    mirrored = e.intrinsic("smax", e.select(e.icmp("slt", index, extent), index, beyond), zero)
    is_wrap, is_mirror, is_border = (
        s.icmp("eq", mode, s.const("i32", which))
        for which in (AddressMode.WRAP, AddressMode.MIRROR, AddressMode.BORDER)
    )
    chosen = f.choose(is_wrap, wrapped, f.choose(is_mirror, mirrored, clamped))
    return chosen, e.op("or", inside, f.splat(s.not_(is_border)))


def single_row(f: Function, mode: Value) -> Pair:
    """Across a texture of one dimension: the row, and half of the one above, which only a border has."""
    e = f.e
    zero = e.const("i32", 0)
    is_border = _is(f, mode, AddressMode.BORDER)
    low_inside = f.splat(f.s.not_(is_border))
    half = f.choose(is_border, e.const("i32", 1 << (WEIGHT_BITS - 1)), zero)
    return Pair(zero, zero, low_inside, e.const("i1", True), half)


def nearest(f: Function, line: Line) -> tuple[Value, Value]:
    """The texel that a coordinate lies in."""
    index = f.saturate(f.e.intrinsic("floor", position(f, line)))
    return settle(f, index, line.size, line.mode)


def pair(f: Function, line: Line) -> Pair:
    """The two texels beside a coordinate. Where clamping makes them one its weight is whole."""
    e = f.e
    steps = 1 << WEIGHT_BITS
    scaled = e.op("fmul", position(f, line), e.const("double", steps))
    fixed = f.saturate(e.intrinsic("floor", e.op("fsub", scaled, e.const("double", steps / 2 - 0.5))))
    weight = e.op("and", fixed, e.const("i32", steps - 1))
    below = e.op("ashr", fixed, e.const("i32", WEIGHT_BITS))
    low, low_inside = settle(f, below, line.size, line.mode)
    high, high_inside = settle(f, e.op("add", below, e.const("i32", 1)), line.size, line.mode)
    same = e.op("and", e.icmp("eq", low, high), f.splat(_is(f, line.mode, AddressMode.CLAMP)))
    return Pair(low, high, low_inside, high_inside, e.select(same, e.const("i32", 0), weight))


def layer(f: Function, layers: Value) -> Value:
    """A layer's number (unsigned) and, beyond the last, the last."""
    return f.e.intrinsic("umin", Value("%l", "i32"), f.e.op("sub", f.splat(layers), f.e.const("i32", 1)))


def face(f: Function) -> tuple[Value, Value, Value]:
    """The face that a direction meets, and the coordinates on it in [0, 1] (CUDA C++ Programming Guide, Cubemap
    Textures)."""
    e = f.e
    given = [e.as_float(Value(f"%c{name}", "i32"), "float") for name in "xyz"]
    largest = e.const("float", 0.0)
    for coordinate in given:
        largest = e.intrinsic("maxnum", largest, e.intrinsic("fabs", coordinate))
    scale = e.op("fdiv", e.const("float", 1.0), largest)
    x, y, z = (e.op("fmul", coordinate, scale) for coordinate in given)
    ax, ay, az = (e.intrinsic("fabs", v) for v in (x, y, z))
    z_major = e.op("and", e.fcmp("oge", az, ax), e.fcmp("oge", az, ay))
    y_major = e.fcmp("oge", ay, ax)

    def negate(value: Value) -> Value:
        return e.unary("fneg", value)

    def pick(of_z: Value, of_y: Value, of_x: Value) -> Value:
        return e.select(z_major, of_z, e.select(y_major, of_y, of_x))

    minus = e.icmp("slt", e.as_int(pick(z, y, x)), e.const("i32", 0))
    s = pick(e.select(minus, negate(x), x), x, e.select(minus, z, negate(z)))
    t = pick(negate(y), e.select(minus, negate(z), z), negate(y))
    number = pick(e.const("i32", 4), e.const("i32", 2), e.const("i32", 0))
    number = e.op("add", number, e.resize(minus, "i32"))
    half = e.const("float", 0.5)
    none = e.fcmp("oeq", largest, e.const("float", 0.0))  # the middle of the fifth face
    u, v = (e.select(none, half, e.op("fadd", e.op("fmul", a, half), half)) for a in (s, t))
    return e.select(none, e.const("i32", 4), number), u, v
