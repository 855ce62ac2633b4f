"""Surfaces for 32 lanes, as helper functions in LLVM IR: where accesses go, and how channels are written.

Coordinates of surfaces are whole numbers; that along x counts bytes (`.b`) or texels (`.p`).
"""

from __future__ import annotations

from enum import IntEnum

from lanewise.emulator.ir import Emitter, Value
from lanewise.emulator.layout import Fault, Worker
from lanewise.emulator.textures import counting, handles, sampling, texels
from lanewise.emulator.textures.record import SURFACE_MAGIC, Decode, Texture
from lanewise.emulator.textures.writing import VECTOR, WIDE, Function

_ARGUMENTS = f"{VECTOR} %l, {VECTOR} %cx, {VECTOR} %cy, {VECTOR} %cz"


class Outside(IntEnum):
    """What an access outside of a surface does (PTX ISA 9.7.11.1)."""

    ZERO = 0
    CLAMP = 1
    TRAP = 2


def each(out: Emitter, geometry: str) -> str:
    """Add the function that finds the bytes of an access; returns its name.

    `i32 @name(ptr %x, ptr %w, ptr %c, <32 x i64> %h, <32 x i32> %l, %cx, %cy, %cz, i32 %m, i32 %trace, i32 %site, i32
    %bytes, i32 %outside, i1 %texels, ptr %out)` writes addresses (<32 x i64>) to `%out` and returns the lanes that have
    one; it counts the request, and tells it where `%trace` is not -1.
    """
    name = f"lw_each_surface_{geometry}"
    if name in out.definitions:
        return name
    texels.require(out)
    handles.require(out)
    out.define(f"lw_surface_{geometry}", _place(out, geometry))
    arguments = f"ptr %d, {_ARGUMENTS}, i32 %sub, i32 %size, i32 %outside, i1 %texels, ptr %out"
    body = f"""  %ep = getelementptr i8, ptr %d, i64 {Texture.ELEMENT}
  %element = load i32, ptr %ep
  %size = select i1 %texels, i32 %element, i32 %bytes
  %n = call i32 @lw_surface_{geometry}({arguments})
  %lost = xor i32 %n, %sub
  %loses = icmp ne i32 %lost, 0
  %traps = icmp eq i32 %outside, {Outside.TRAP}
  %fails = and i1 %loses, %traps
  %one.less = sub i32 %bytes, 1
  %below = select i1 %texels, i32 0, i32 %one.less
  %low.i = insertelement {VECTOR} poison, i32 %below, i32 0
  %low = shufflevector {VECTOR} %low.i, {VECTOR} poison, {VECTOR} zeroinitializer
  %beyond = and {VECTOR} %cx, %low
  %odd = icmp ne {VECTOR} %beyond, zeroinitializer
  %odd.bits = bitcast <32 x i1> %odd to i32
  %odd.here = and i32 %odd.bits, %n
  %skew = icmp ne i32 %odd.here, 0
  %wrong = or i1 %fails, %skew
  br i1 %wrong, label %fault, label %served.here
fault:
  %code = select i1 %fails, i32 {Fault.SURFACE_BOUNDS}, i32 {Fault.SURFACE_MISALIGNED}
  %who = select i1 %fails, i32 %lost, i32 %odd.here
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %h, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %code, i32 %who, i32 %size)
  unreachable
served.here:
  %at = load <32 x i64>, ptr %out, align 64
  %sectors = call i32 @{counting.sectors(out, counting.OCTET, 1)}(<32 x i64> %at, i32 %n)
  %more = load i32, ptr %all
  %union = or i32 %more, %n
  store i32 %union, ptr %all
  %told = icmp sge i32 %trace, 0
  br i1 %told, label %tell, label %count
tell:
  call void @lw_trace(ptr %x, ptr %w, <32 x i64> %at, i32 %n, i32 %trace)
  br label %count
count:
{handles.count(out, "%sectors", "%size", counting.OCTET)}"""
    loop = handles.loop(SURFACE_MAGIC, handles.ANY_GEOMETRY, body)
    loop = loop.replace("entry:\n", "entry:\n  %all = alloca i32\n  store i32 0, ptr %all\n", 1)
    out.define(
        name,
        f"define internal i32 @{name}(ptr %x, ptr %w, ptr %c, <32 x i64> %h, {_ARGUMENTS}, i32 %m, i32 %trace, "
        f"i32 %site, i32 %bytes, i32 %outside, i1 %texels, ptr %out) noinline nounwind {{\n{loop}"
        "  %found = load i32, ptr %all\n  ret i32 %found\n}\n",
    )
    return name


def _place(emitter: Emitter, geometry: str) -> str:
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    axes = sampling.AXES[geometry]
    element = f.field(Texture.ELEMENT)
    bytes_ = Value("%bytes", "i32")
    row = s.op("mul", f.field(Texture.WIDTH), element)
    texels = Value("%texels", "i1")
    x = Value("%cx", "i32")
    near = e.intrinsic("smax", e.intrinsic("smin", x, f.splat(f.field(Texture.WIDTH))), e.const("i32", -1))
    x = f.choose(texels, e.op("mul", near, f.splat(element)), x)
    limits = [s.op("sub", row, bytes_), s.op("sub", f.field(Texture.HEIGHT), s.const("i32", 1))]
    limits.append(s.op("sub", f.field(Texture.DEPTH), s.const("i32", 1)))
    found = [x, Value("%cy", "i32"), Value("%cz", "i32")][:axes]
    if geometry.startswith("a"):
        found.append(Value("%l", "i32"))
    ends = limits[:axes] + ([limits[2]] if geometry.startswith("a") else [])
    fits = s.icmp("ule", bytes_, row)
    inside = f.splat(fits)
    for coordinate, end in zip(found, ends, strict=True):
        inside = e.op("and", inside, e.icmp("ule", coordinate, f.splat(end)))
    is_clamp = s.icmp("eq", Value("%outside", "i32"), s.const("i32", Outside.CLAMP))
    lanes = e.op("or", inside, f.splat(s.op("and", is_clamp, fits)))
    zero = e.const("i32", 0)
    held = [
        e.intrinsic("smin", e.intrinsic("smax", coordinate, zero), f.splat(end))
        for coordinate, end in zip(found, ends, strict=True)
    ]
    x = held[0]
    if geometry.startswith("a"):  # a layer's number has no sign: -1 is beyond the last
        held[axes] = e.intrinsic("umin", found[axes], f.splat(ends[axes]))
    y = held[1] if axes > 1 else zero
    z = held[axes] if geometry.startswith("a") else held[2] if axes > 2 else zero
    mask = out.let(f"and i32 %m, {f.mask(lanes)}")
    place = out.let(f"call <32 x i64> @lw_place(ptr %d, {VECTOR} {x.text}, {VECTOR} {y.text}, {VECTOR} {z.text})")
    blend = out.let(f"bitcast i32 {mask} to <32 x i1>")
    old = out.let("load <32 x i64>, ptr %out, align 64")
    new = out.let(f"select <32 x i1> {blend}, <32 x i64> {place}, <32 x i64> {old}")
    out.line(f"store <32 x i64> {new}, ptr %out, align 64")
    out.line(f"ret i32 {mask}")
    header = f"i32 @lw_surface_{geometry}(ptr %d, {_ARGUMENTS}, i32 %m, i32 %bytes, i32 %outside, i1 %texels, ptr %out)"
    return f.finish(header)


_WHOLE = {  # what holds the value below, the most that there is, bits
    Decode.U8: ("umin", 255, 8),
    Decode.U16: ("umin", 65535, 16),
    Decode.S8: ("smin", 127, 8),
    Decode.S16: ("smin", 32767, 16),
}


def store_texels(out: Emitter) -> str:
    """Add the function that writes texels in the format of their surface, whole numbers cut to its range, halves
    rounded toward zero; returns its name.

    `void @name(<32 x i64> %h, <32 x i64> %at, <32 x i32> %v0, ..., %v3, i32 %m)`.
    """
    name = "lw_store_texels"
    if name not in out.definitions:
        cases = ""
        for decode, (least, most, bits) in _WHOLE.items():
            lower = -most - 1 if least == "smin" else 0
            other = "smax" if least == "smin" else "umax"
            cases += f"""
whole.{decode.value}:
  %top.{decode.value} = call i32 @llvm.{least}.i32(i32 %value, i32 {most})
  %cut.{decode.value} = call i32 @llvm.{other}.i32(i32 %top.{decode.value}, i32 {lower})
  %short.{decode.value} = trunc i32 %cut.{decode.value} to i{bits}
  store i{bits} %short.{decode.value}, ptr %to, align 1
  br label %next"""
        kinds = " ".join(f"i32 {decode.value}, label %whole.{decode.value}" for decode in _WHOLE)
        stores = "\n".join(
            f"  %p{k} = getelementptr [4 x <32 x i32>], ptr %all, i32 0, i32 {k}\n"
            f"  store <32 x i32> %v{k}, ptr %p{k}, align 64"
            for k in range(4)
        )
        given = ", ".join(f"{VECTOR} %v{k}" for k in range(4))
        out.define(
            name,
            f"""
define internal void @{name}({WIDE} %h, {WIDE} %at, {given}, i32 %m) noinline nounwind {{
entry:
  %all = alloca [4 x <32 x i32>], align 64
{stores}
  br label %lanes
lanes:
  %left = phi i32 [ %m, %entry ], [ %rest, %after ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %done, label %lane
lane:
  %i = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %handle = extractelement <32 x i64> %h, i32 %i
  %d = inttoptr i64 %handle to ptr
  %first = extractelement <32 x i64> %at, i32 %i
  %ep = getelementptr i8, ptr %d, i64 {Texture.ELEMENT}
  %element = load i32, ptr %ep
  %np = getelementptr i8, ptr %d, i64 {Texture.CHANNELS}
  %n = load i32, ptr %np
  %dp = getelementptr i8, ptr %d, i64 {Texture.DECODE}
  %decode = load i32, ptr %dp
  %each = udiv i32 %element, %n
  br label %channel
channel:
  %c = phi i32 [ 0, %lane ], [ %c.next, %next ]
  %vp = getelementptr [4 x [32 x i32]], ptr %all, i32 0, i32 %c, i32 %i
  %value = load i32, ptr %vp
  %offset = mul i32 %c, %each
  %offset.wide = zext i32 %offset to i64
  %place = add i64 %first, %offset.wide
  %to = inttoptr i64 %place to ptr
  switch i32 %decode, label %word [ {kinds} i32 {Decode.F16.value}, label %half ]{cases}
half:
  %float = bitcast i32 %value to float
  %narrow = fptrunc float %float to half
  %back = fpext half %narrow to float
  %size = call float @llvm.fabs.f32(float %float)
  %back.size = call float @llvm.fabs.f32(float %back)
  %larger = fcmp ogt float %back.size, %size
  %bits = bitcast half %narrow to i16
  %step = zext i1 %larger to i16
  %toward = sub i16 %bits, %step
  store i16 %toward, ptr %to, align 1
  br label %next
word:
  store i32 %value, ptr %to, align 1
  br label %next
next:
  %c.next = add i32 %c, 1
  %more = icmp ult i32 %c.next, %n
  br i1 %more, label %channel, label %after
after:
  br label %lanes
done:
  ret void
}}
""",
        )
    return name
