"""Texels: where they lie, and how their bits become what a read gives."""

from __future__ import annotations

import struct
from typing import NamedTuple

from lanewise.emulator.ir import Emitter, Value
from lanewise.emulator.textures import srgb as srgb_numbers
from lanewise.emulator.textures.record import TILE_ROWS, TILE_SIZE, Decode, Texture
from lanewise.emulator.textures.writing import VECTOR, WIDE, Function

BITS = {Decode.U8: 8, Decode.U16: 16, Decode.WORD: 32, Decode.S8: 8, Decode.S16: 16, Decode.F16: 16, Decode.UNORM8: 8,
        Decode.UNORM16: 16, Decode.SNORM8: 8, Decode.SNORM16: 16, Decode.SRGB8: 8}  # fmt: skip
ALPHA = 3  # the channel that sRGB leaves alone


class Texel(NamedTuple):
    """A texel of each lane: its address, and the lanes (vector of i1, and mask) that have one."""

    address: Value
    inside: Value
    mask: str


def require(out: Emitter) -> None:
    """Add the functions of this file to the module:

    `<32 x i64> @lw_place(ptr %d, <32 x i32> %x, %y, %z)`: addresses of bytes, rows and slices;
    `<32 x i32> @lw_raw(ptr %d, <32 x i64> %a, <32 x i1> %inside, i32 %m, i32 %c)`: bits of a channel, or the border's;
    `<32 x i32> @lw_decode(ptr %d, <32 x i32> %raw, i32 %c)`: what reads of one texel give.
    """
    if "lw_place" not in out.definitions:
        out.define("lw_place", _place(out))
        out.define("lw_raw", _raw(out))
        out.define("lw_decode", _decode(out))


def _place(emitter: Emitter) -> str:
    f = Function.begin(emitter)
    e, out = f.e, f.out
    x, y, z = (e.resize(Value(f"%{name}", "i32"), "i64") for name in "xyz")
    pitch = f.wide(Texture.PITCH, "i64")
    slice_start = e.op("add", f.wide(Texture.BASE, "i64"), e.op("mul", z, f.wide(Texture.SLICE, "i64")))
    out.line(f"br i1 {f.flag(Texture.TILED).text}, label %tiles, label %rows")
    out.label("rows")
    out.line(f"ret {WIDE} {e.op('add', e.op('add', slice_start, e.op('mul', y, pitch)), x).text}")
    out.label("tiles")

    def part(value: Value, low: int, width: int, target: int) -> Value:
        """`width` bits from bit `low` on, moved to bit `target`."""
        cut = e.op("and", e.op("lshr", value, e.const("i64", low)), e.const("i64", (1 << width) - 1))
        return e.op("shl", cut, e.const("i64", target))

    row = e.op("mul", e.op("lshr", y, e.const("i64", 3)), e.op("mul", pitch, e.const("i64", TILE_ROWS)))
    tile = e.op("mul", e.op("lshr", x, e.const("i64", 6)), e.const("i64", TILE_SIZE))
    within = [part(x, 5, 1, 8), part(y, 1, 2, 6), part(x, 4, 1, 5), part(y, 0, 1, 4), part(x, 0, 4, 0)]
    out.line(f"ret {WIDE} {f.sum([slice_start, row, tile, *within]).text}")
    return f.finish(f"{WIDE} @lw_place(ptr %d, {VECTOR} %x, {VECTOR} %y, {VECTOR} %z)")


def _switch(f: Function, cases: dict[str, list[Decode]]) -> None:
    """Jump by the record's decoding to the label of its group; the first group is the default."""
    first, *others = cases
    decode = f.field(Texture.DECODE)
    f.out.line(f"switch i32 {decode.text}, label %{first} [")
    for label in others:
        for item in cases[label]:
            f.out.line(f"  i32 {item.value}, label %{label}")
    f.out.line("]")


def _raw(emitter: Emitter) -> str:
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    channel = Value("%c", "i32")
    place = out.let("getelementptr i32, ptr %d, i32 %c")
    pointer = out.let(f"getelementptr i8, ptr {place}, i64 {Texture.BORDER}")
    border = f.splat(Value(out.let(f"load i32, ptr {pointer}"), "i32"))
    _switch(f, {f"of{bits}": [item for item in Decode if BITS[item] == bits] for bits in (32, 16, 8)})
    for bits in (32, 16, 8):
        out.label(f"of{bits}")
        step = f.splat(s.resize(s.op("mul", channel, s.const("i32", bits // 8)), "i64"))
        address = e.op("add", Value("%a", "i64"), step)
        loaded = out.let(f"call <32 x i{bits}> @lw_gather_i{bits}({WIDE} {address.text}, i32 %m)")
        value = e.resize(Value(loaded, f"i{bits}"), "i32")
        out.line(f"ret {VECTOR} {e.select(Value('%inside', 'i1'), value, border).text}")
    return f.finish(f"{VECTOR} @lw_raw(ptr %d, {WIDE} %a, <32 x i1> %inside, i32 %m, i32 %c)")


def signed(f: Function, raw: Value, bits: int) -> Value:
    """The low `bits` of a vector of i32, with their sign."""
    shift = f.e.const("i32", 32 - bits)
    return f.e.op("ashr", f.e.op("shl", raw, shift), shift)


def half_to_float(f: Function, raw: Value) -> Value:
    """Float bits of half ones; a NaN keeps its bits."""
    e = f.e
    value = e.as_int(e.cast("fpext", e.as_float(e.resize(raw, "i16"), "half"), "float"))
    sign = e.op("shl", e.op("lshr", raw, e.const("i32", 15)), e.const("i32", 31))
    payload = e.op("shl", e.op("and", raw, e.const("i32", 0x3FF)), e.const("i32", 13))
    nan = e.op("or", e.op("or", sign, payload), e.const("i32", 0x7F800000))
    return e.select(e.icmp("ugt", e.op("and", raw, e.const("i32", 0x7FFF)), e.const("i32", 0x7C00)), nan, value)


def fraction(f: Function, number: Value, most: int) -> Value:
    """Float bits of a whole number as a part of `most`, at least -1."""
    e = f.e
    value = e.op("fdiv", e.cast("sitofp", number, "float"), e.const("float", most))
    return e.as_int(e.intrinsic("maxnum", value, e.const("float", -1.0)))


def _decode(emitter: Emitter) -> str:
    f = Function.begin(emitter)
    s, out = f.s, f.out
    raw = Value("%raw", "i32")
    plain = [Decode.WORD, Decode.U8, Decode.U16]
    groups: dict[str, list[Decode]] = {item.name.lower(): [item] for item in Decode if item not in plain}
    _switch(f, {"plain": plain, **groups})

    def give(value: Value) -> None:
        out.line(f"ret {VECTOR} {value.text}")

    out.label("plain")
    give(raw)
    for name, bits in (("s8", 8), ("s16", 16)):
        out.label(name)
        give(signed(f, raw, bits))
    out.label("f16")
    give(half_to_float(f, raw))
    for name, bits in (("unorm8", 8), ("unorm16", 16)):
        out.label(name)
        give(fraction(f, raw, (1 << bits) - 1))
    for name, bits in (("snorm8", 8), ("snorm16", 16)):
        out.label(name)
        give(fraction(f, signed(f, raw, bits), (1 << (bits - 1)) - 1))
    out.label("srgb8")
    is_alpha = s.icmp("eq", Value("%c", "i32"), s.const("i32", ALPHA))
    give(f.choose(is_alpha, fraction(f, raw, 255), srgb(f, raw)))
    return f.finish(f"{VECTOR} @lw_decode(ptr %d, {VECTOR} %raw, i32 %c)")


def srgb(f: Function, raw: Value) -> Value:
    """Float bits of sRGB bytes."""
    e = f.e
    f.out.define("lw_srgb", _srgb_table())
    base = Value("splat (i64 ptrtoint (ptr @lw_srgb to i64))", "i64")
    address = e.op("add", base, e.op("shl", e.resize(raw, "i64"), e.const("i64", 2)))
    return Value(f.out.let(f"call {VECTOR} @lw_gather_i32({WIDE} {address.text}, i32 -1)"), "i32")


def _srgb_table() -> str:
    words = (struct.unpack("<i", struct.pack("<f", number / srgb_numbers.STEPS))[0] for number in srgb_numbers.LINEAR)
    return f"@lw_srgb = internal constant [256 x i32] [{', '.join(f'i32 {word}' for word in words)}]\n"
