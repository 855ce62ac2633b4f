"""Handles of textures and surfaces: lanes with one handle are served together, each handle is checked first."""

from __future__ import annotations

from lanewise.emulator.ir import Emitter
from lanewise.emulator.layout import SITE_ON, SITE_REQUESTS_ON, SITE_SECTORS, SITE_SECTORS_IDEAL, Fault, Worker
from lanewise.emulator.textures import counting
from lanewise.emulator.textures.record import GEOMETRIES, TEXTURE_MAGIC, Texture

ANY_GEOMETRY = -1
_SPLAT = "<32 x i32> zeroinitializer"

_CHECK = f"""
; The record of a handle that the lanes of %m have, of the kind that %magic says; %geometry -1: any.
; One row of two dimensions is also read with one coordinate.
define internal ptr @lw_handle(ptr %x, ptr %w, i64 %h, i32 %m, i32 %site, i64 %magic, i32 %geometry) noinline {{
entry:
  %k = alloca [2 x i64]
  %low = and i64 %h, 511
  %aligned = icmp eq i64 %low, 0
  %live = call i1 @lw_find(ptr %w, i64 %h, i64 {Texture.SIZE}, ptr %k)
  %readable = and i1 %aligned, %live
  br i1 %readable, label %read, label %bad
read:
  %d = inttoptr i64 %h to ptr
  %found = load i64, ptr %d
  %is = icmp eq i64 %found, %magic
  br i1 %is, label %shape, label %bad
shape:
  %gp = getelementptr i8, ptr %d, i64 {Texture.GEOMETRY}
  %g = load i32, ptr %gp
  %any = icmp slt i32 %geometry, 0
  %same = icmp eq i32 %g, %geometry
  %hp = getelementptr i8, ptr %d, i64 {Texture.HEIGHT}
  %rows = load i32, ptr %hp
  %flat = icmp eq i32 %rows, 1
  %plane = icmp eq i32 %g, {GEOMETRIES.index("2d")}
  %line = icmp eq i32 %geometry, {GEOMETRIES.index("1d")}
  %row = and i1 %flat, %plane
  %alike = and i1 %line, %row
  %either = or i1 %same, %alike
  %fits = or i1 %any, %either
  br i1 %fits, label %good, label %misfit
good:
  ret ptr %d
bad:
  br label %fault
misfit:
  br label %fault
fault:
  %code = phi i32 [ {Fault.HANDLE}, %bad ], [ {Fault.GEOMETRY}, %misfit ]
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  %i = insertelement <32 x i64> poison, i64 %h, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, {_SPLAT}
  store <32 x i64> %v, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %code, i32 %m, i32 0)
  unreachable
}}
"""


def loop(magic: int, geometry: int, body: str) -> str:
    """Blocks `entry` to `done` of a function with %h and %m: `body` runs with %d for the lanes %sub of each handle."""
    return f"""entry:
  %hs = alloca <32 x i64>, align 64
  store <32 x i64> %h, ptr %hs, align 64
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %left, %served ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %done, label %serve
serve:
  %first = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %hp = getelementptr i64, ptr %hs, i32 %first
  %one = load i64, ptr %hp
  %h1 = insertelement <32 x i64> poison, i64 %one, i32 0
  %hv = shufflevector <32 x i64> %h1, <32 x i64> poison, {_SPLAT}
  %eq = icmp eq <32 x i64> %h, %hv
  %eqm = bitcast <32 x i1> %eq to i32
  %sub = and i32 %eqm, %rest
  %left = xor i32 %rest, %sub
  %d = call ptr @lw_handle(ptr %x, ptr %w, i64 %one, i32 %sub, i32 %site, i64 {magic}, i32 {geometry})
{body}  br label %served
served:
  br label %loop
done:
"""


def count(out: Emitter, sectors: str, bytes_: str, group: int) -> str:
    """Add a request to the counters %c of its site; `bytes_` (i32) is what each lane of %sub reads or writes."""
    text = f"""  %wide = zext i32 {sectors} to i64
  %on = call i32 @llvm.ctpop.i32(i32 %sub)
  %on64 = zext i32 %on to i64
  %whole = call i32 @{counting.least(out, group)}(i32 %sub, i32 {bytes_})
  %least = call i32 @llvm.umin.i32(i32 %whole, i32 {sectors})
  %ideal = zext i32 %least to i64
"""
    added = ((SITE_SECTORS, "%wide"), (SITE_SECTORS_IDEAL, "%ideal"), (SITE_ON, "%on64"), (SITE_REQUESTS_ON, "1"))
    for number, value in added:
        text += f"""  %p{number} = getelementptr i64, ptr %c, i64 {number}
  %o{number} = load i64, ptr %p{number}
  %n{number} = add i64 %o{number}, {value}
  store i64 %n{number}, ptr %p{number}
"""
    return text


def require(out: Emitter) -> None:
    """Add what the functions here use."""
    out.declare("declare i32 @llvm.cttz.i32(i32, i1)")
    out.declare("declare i32 @llvm.ctpop.i32(i32)")
    out.declare("declare i32 @llvm.umin.i32(i32, i32)")
    out.define("lw_handle", _CHECK)


def each_texture(out: Emitter, geometry: str, sample: str, *, several: bool) -> str:
    """Add the function that samples with every handle of a warp; returns its name. `several`: a gather.

    `void @name(ptr %x, ptr %w, ptr %c, <32 x i64> %h, <32 x i32> %l, %cx, %cy, %cz, i32 %m, i32 %trace, i32 %site, ptr
    %out)`.
    """
    name = f"lw_each_{sample.removeprefix('lw_')}"
    require(out)
    call = (
        f"  %n = call i32 @{sample}(ptr %x, ptr %w, ptr %d, <32 x i32> %l, <32 x i32> %cx, <32 x i32> %cy, "
        "<32 x i32> %cz, i32 %sub, i32 %trace, ptr %out)\n"
    )
    # Filtered reads have no ideal of their own: how many texels lie in a sector is up to the coordinates.
    size = f"""  %ep = getelementptr i8, ptr %d, i64 {Texture.ELEMENT}
  %single = load i32, ptr %ep
  %fp = getelementptr i8, ptr %d, i64 {Texture.LINEAR}
  %linear = load i32, ptr %fp
  %filters = icmp ne i32 %linear, 0
  %several = or i1 %filters, {"true" if several else "false"}
  %element = select i1 %several, i32 65536, i32 %single
"""
    body = loop(TEXTURE_MAGIC, GEOMETRIES.index(geometry), call + size + count(out, "%n", "%element", counting.QUAD))
    out.define(
        name,
        f"define internal void @{name}(ptr %x, ptr %w, ptr %c, <32 x i64> %h, <32 x i32> %l, <32 x i32> %cx, "
        f"<32 x i32> %cy, <32 x i32> %cz, i32 %m, i32 %trace, i32 %site, ptr %out) noinline nounwind "
        f"{{\n{body}  ret void\n}}\n",
    )
    return name


def query(out: Emitter, magic: int) -> str:
    """Add the function that reads a field of records: `<32 x i32> @name(%x, %w, <32 x i64> %h, i32 %m, i32 %site, i64
    %offset)`."""
    name = "lw_query_texture" if magic == TEXTURE_MAGIC else "lw_query_surface"
    require(out)
    body = loop(
        magic,
        ANY_GEOMETRY,
        """  %fp = getelementptr i8, ptr %d, i64 %offset
  %field = load i32, ptr %fp
  %f1 = insertelement <32 x i32> poison, i32 %field, i32 0
  %fv = shufflevector <32 x i32> %f1, <32 x i32> poison, <32 x i32> zeroinitializer
  %lanes = bitcast i32 %sub to <32 x i1>
  %old = load <32 x i32>, ptr %result, align 64
  %new = select <32 x i1> %lanes, <32 x i32> %fv, <32 x i32> %old
  store <32 x i32> %new, ptr %result, align 64
""",
    ).replace(
        "entry:\n",
        "entry:\n  %result = alloca <32 x i32>, align 64\n  store <32 x i32> zeroinitializer, ptr %result, align 64\n",
        1,
    )
    out.define(
        name,
        f"define internal <32 x i32> @{name}(ptr %x, ptr %w, <32 x i64> %h, i32 %m, i32 %site, i64 %offset) noinline "
        f"nounwind {{\n{body}  %all = load <32 x i32>, ptr %result, align 64\n  ret <32 x i32> %all\n}}\n",
    )
    return name
