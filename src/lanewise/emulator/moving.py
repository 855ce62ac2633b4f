"""Helper functions of compiled kernels, in LLVM IR, that move the data of 32 lanes: gather, scatter, and the slow ways that
check, count and move in one call."""

from __future__ import annotations

from collections.abc import Iterable


def lane_vector(element: str, values: Iterable[int]) -> str:
    """A constant vector: `<i32 0, i32 4, ...>`."""
    return "<" + ", ".join(f"{element} {value}" for value in values) + ">"


def _shuffle(element: str, vector: str, lanes: Iterable[int], name: str, count: int) -> str:
    picks = ", ".join(f"i32 {lane}" for lane in lanes)
    return f"  %{name} = shufflevector <32 x {element}> {vector}, <32 x {element}> poison, <{count} x i32> <{picks}>\n"


def _contiguous(size: int) -> str:
    """%isc: lane after lane of the mask %m has the next `size` bytes; %a0 is lane 0's address, of which %first is the first
    lane of the mask."""
    return f"""  %mv = bitcast i32 %m to <32 x i1>
  %nm = xor i32 %m, -1
  %af = extractelement <32 x i64> %a, i32 %first
  %f64 = zext i32 %first to i64
  %fo = mul i64 %f64, {size}
  %a0 = sub i64 %af, %fo
  %i1 = insertelement <32 x i64> poison, i64 %a0, i32 0
  %a0v = shufflevector <32 x i64> %i1, <32 x i64> poison, <32 x i32> zeroinitializer
  %line = add <32 x i64> %a0v, {lane_vector("i64", (size * lane for lane in range(32)))}
  %ceq = icmp eq <32 x i64> %a, %line
  %cm = bitcast <32 x i1> %ceq to i32
  %cm1 = or i32 %cm, %nm
  %isc = icmp eq i32 %cm1, -1
"""


_FIRST = """  %i2 = insertelement <32 x i64> poison, i64 %af, i32 0
  %afv = shufflevector <32 x i64> %i2, <32 x i64> poison, <32 x i32> zeroinitializer
"""
# Where all addresses are within 31 bits of the first: %np by 32-bit distances, cheaper than 64-bit pointers.
_NEARBY = """  %dist = sub <32 x i64> %a, %afv
  %short = trunc <32 x i64> %dist to <32 x i32>
  %back = sext <32 x i32> %short to <32 x i64>
  %fit = icmp eq <32 x i64> %back, %dist
  %fitm = bitcast <32 x i1> %fit to i32
  %fitm1 = or i32 %fitm, %nm
  %near = icmp eq i32 %fitm1, -1
  br i1 %near, label %nearby, label %far
nearby:
  %bp = inttoptr i64 %af to ptr
  %np = getelementptr i8, ptr %bp, <32 x i32> %short
"""


def gather(element: str) -> tuple[str, str]:
    """Name and text of a function that loads an `element` (i8 to i128) for each lane of the mask from host addresses.

    Contiguous, equal, and two contiguous or equal halves are found first: they are far cheaper than a gather.
    """
    size = int(element[1:]) // 8
    name = f"lw_gather_{element}"
    suffix = f"v32{element}"
    text = f"""
define internal <32 x {element}> @{name}(<32 x i64> %a, i32 %m) noinline nounwind {{
entry:
  %first = call i32 @llvm.cttz.i32(i32 %m, i1 false)
  %none = icmp eq i32 %m, 0
  br i1 %none, label %empty, label %some
empty:
  ret <32 x {element}> zeroinitializer
some:
{_contiguous(size)}  br i1 %isc, label %contiguous, label %trysame
contiguous:
  %cp = inttoptr i64 %a0 to ptr
  %cv = call <32 x {element}> @llvm.masked.load.{suffix}.p0(ptr align 1 %cp, <32 x i1> %mv, <32 x {element}> zeroinitializer)
  ret <32 x {element}> %cv
trysame:
{_FIRST}  %seq = icmp eq <32 x i64> %a, %afv
  %sm = bitcast <32 x i1> %seq to i32
  %sm1 = or i32 %sm, %nm
  %iss = icmp eq i32 %sm1, -1
  br i1 %iss, label %same, label %tryhalf
same:
  %sp = inttoptr i64 %af to ptr
  %sv = load {element}, ptr %sp, align 1
  %si = insertelement <32 x {element}> poison, {element} %sv, i32 0
  %ss = shufflevector <32 x {element}> %si, <32 x {element}> poison, <32 x i32> zeroinitializer
  ret <32 x {element}> %ss
tryhalf:
  %full = icmp eq i32 %m, -1
  br i1 %full, label %halves, label %gather
halves:
{_shuffle("i64", "%a", range(16), "al", 16)}{_shuffle("i64", "%a", range(16, 32), "ah", 16)}  %l0 = extractelement <16 x i64> %al, i32 0
  %h0 = extractelement <16 x i64> %ah, i32 0
  %li = insertelement <16 x i64> poison, i64 %l0, i32 0
  %lv = shufflevector <16 x i64> %li, <16 x i64> poison, <16 x i32> zeroinitializer
  %hi = insertelement <16 x i64> poison, i64 %h0, i32 0
  %hv = shufflevector <16 x i64> %hi, <16 x i64> poison, <16 x i32> zeroinitializer
  %dl = sub <16 x i64> %al, %lv
  %dh = sub <16 x i64> %ah, %hv
  %dd = or <16 x i64> %dl, %dh
  %dz = icmp eq <16 x i64> %dd, zeroinitializer
  %dzm = bitcast <16 x i1> %dz to i16
  %eq2 = icmp eq i16 %dzm, -1
  br i1 %eq2, label %twosame, label %tryrows
twosame:
  %p1 = inttoptr i64 %l0 to ptr
  %p2 = inttoptr i64 %h0 to ptr
  %v1 = load {element}, ptr %p1, align 1
  %v2 = load {element}, ptr %p2, align 1
  %t1 = insertelement <32 x {element}> poison, {element} %v1, i32 0
  %t2 = insertelement <32 x {element}> %t1, {element} %v2, i32 1
  %t3 = shufflevector <32 x {element}> %t2, <32 x {element}> poison, <32 x i32> {lane_vector("i32", (lane // 16 for lane in range(32)))}
  ret <32 x {element}> %t3
tryrows:
  %rl = icmp eq <16 x i64> %dl, {lane_vector("i64", (size * lane for lane in range(16)))}
  %rh = icmp eq <16 x i64> %dh, {lane_vector("i64", (size * lane for lane in range(16)))}
  %rr = and <16 x i1> %rl, %rh
  %rm = bitcast <16 x i1> %rr to i16
  %rows = icmp eq i16 %rm, -1
  br i1 %rows, label %tworows, label %gather
tworows:
  %q1 = inttoptr i64 %l0 to ptr
  %q2 = inttoptr i64 %h0 to ptr
  %w1 = load <16 x {element}>, ptr %q1, align 1
  %w2 = load <16 x {element}>, ptr %q2, align 1
  %ww = shufflevector <16 x {element}> %w1, <16 x {element}> %w2, <32 x i32> {lane_vector("i32", range(32))}
  ret <32 x {element}> %ww
gather:
{_NEARBY}  %nv = call <32 x {element}> @llvm.masked.gather.{suffix}.v32p0(<32 x ptr> align 1 %np, <32 x i1> %mv, <32 x {element}> zeroinitializer)
  ret <32 x {element}> %nv
far:
  %pv = inttoptr <32 x i64> %a to <32 x ptr>
  %gv = call <32 x {element}> @llvm.masked.gather.{suffix}.v32p0(<32 x ptr> align 1 %pv, <32 x i1> %mv, <32 x {element}> zeroinitializer)
  ret <32 x {element}> %gv
}}
declare <32 x {element}> @llvm.masked.load.{suffix}.p0(ptr, <32 x i1>, <32 x {element}>)
declare <32 x {element}> @llvm.masked.gather.{suffix}.v32p0(<32 x ptr>, <32 x i1>, <32 x {element}>)
"""
    return name, text


def scatter(element: str) -> tuple[str, str]:
    """Name and text of a function that stores an `element` for each lane of the mask; of equal addresses the highest
    lane wins."""
    size = int(element[1:]) // 8
    name = f"lw_scatter_{element}"
    suffix = f"v32{element}"
    text = f"""
define internal void @{name}(<32 x i64> %a, <32 x {element}> %v, i32 %m) noinline nounwind {{
entry:
  %none = icmp eq i32 %m, 0
  br i1 %none, label %empty, label %some
empty:
  ret void
some:
  %first = call i32 @llvm.cttz.i32(i32 %m, i1 true)
{_contiguous(size)}  br i1 %isc, label %contiguous, label %scatter
contiguous:
  %cp = inttoptr i64 %a0 to ptr
  call void @llvm.masked.store.{suffix}.p0(<32 x {element}> %v, ptr align 1 %cp, <32 x i1> %mv)
  ret void
scatter:
{_FIRST}{_NEARBY}  call void @llvm.masked.scatter.{suffix}.v32p0(<32 x {element}> %v, <32 x ptr> align 1 %np, <32 x i1> %mv)
  ret void
far:
  %pv = inttoptr <32 x i64> %a to <32 x ptr>
  call void @llvm.masked.scatter.{suffix}.v32p0(<32 x {element}> %v, <32 x ptr> align 1 %pv, <32 x i1> %mv)
  ret void
}}
declare void @llvm.masked.store.{suffix}.p0(<32 x {element}>, ptr, <32 x i1>)
declare void @llvm.masked.scatter.{suffix}.v32p0(<32 x {element}>, <32 x ptr>, <32 x i1>)
"""
    return name, text


def slow_ways(element: str) -> str:
    """`lw_slow_load_*` and `lw_slow_store_*` for an element type: touch, then move each component through %buffer."""
    size = int(element[1:]) // 8
    vector = f"<32 x {element}>"
    text = ""
    for where, address, place, tail in (
        ("global", "<32 x i64> %a", "ptr %k", ""),
        ("shared", "<32 x i32> %a", "ptr %shared", ", i64 %sw, i64 %si"),
    ):
        for name, is_load in (("load", "true"), ("store", "false")):
            head = f"{address}, i32 %m, i32 %bytes, i32 %site, i32 %count, ptr %buffer{tail}"
            if where == "global":
                touch = (
                    "  %host = call <32 x i64> @lw_touch_global(ptr %x, ptr %w, ptr %c, ptr %k, <32 x i64> %a, i32 %m, "
                    "i32 %bytes, i32 %site)\n  br label %loop\n"
                )
            else:
                touch = (
                    "  call void @lw_undo_static(ptr %c, i64 %sw, i64 %si)\n"
                    "  %host = call <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr %c, ptr %shared, <32 x i32> %a, "
                    f"i32 %m, i32 %bytes, i32 %site, i1 {is_load})\n  br label %loop\n"
                )
            if name == "load":
                move = (
                    f"  %v = call {vector} @lw_gather_{element}(<32 x i64> %at, i32 %m)\n"
                    f"  store {vector} %v, ptr %p, align 16\n"
                )
            else:
                move = (
                    f"  %v = load {vector}, ptr %p, align 16\n"
                    f"  call void @lw_scatter_{element}(<32 x i64> %at, {vector} %v, i32 %m)\n"
                )
            text += f"""
define internal void @lw_slow_{name}_{element}_{where}(ptr %x, ptr %w, ptr %c, {place}, {head}) noinline nounwind cold {{
entry:
{touch}loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %i64 = zext i32 %i to i64
  %skip = mul i64 %i64, {size}
  %s0 = insertelement <32 x i64> poison, i64 %skip, i32 0
  %s = shufflevector <32 x i64> %s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %at = add <32 x i64> %host, %s
  %p = getelementptr {vector}, ptr %buffer, i64 %i64
{move}  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %count
  br i1 %more, label %loop, label %out
out:
  ret void
}}
"""
    return text
