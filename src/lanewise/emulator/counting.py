"""Counting functions for translated kernels, as text of LLVM IR: what one warp's access costs.

They agree with the pure functions of `lanewise.hardware` (`coalescing`, `banks`, `pattern`), which state the rules.
Vectors hold one element a lane; `mask` has bit `l` set where lane `l` takes part; other lanes may hold anything;
accesses are naturally aligned. Everything is portable LLVM: shuffles, comparisons, bit counts.

- `i32 @lw_sectors(<32 x i64> addresses, i32 mask, i32 bytes)`: distinct 32-byte sectors; `bytes` up to 32.
- `i32 @lw_wavefronts(<32 x i32> offsets, i32 mask, i32 bytes, i1 is_load)`: wavefronts of a load or store of shared
  memory; `bytes` up to 16, offsets below 256 KiB.
- `i32 @lw_atomic_lanes(<32 x i32> offsets, i32 mask, i32 bytes)`: wavefronts of an atomic on shared memory that is one
  machine instruction (4 or 8 bytes).
- `i32 @lw_local_sectors(<32 x i32> offsets, i32 mask, i32 bytes)`: sectors of an access to local memory; offsets are
  within each thread's local memory, below 2 GiB.
- `i64 @lw_pattern(<32 x i64> addresses, i32 mask, i32 bytes)`: in the low 3 bits a key of `PATTERN_CODES` (0: no lane),
  in the upper 32 the signed stride in bytes, clipped to 32 bits (0: none). `unpack_pattern` takes it apart.

How they stay cheap: the usual shapes (one address, addresses in order, a row of banks) are told by one comparison with
the neighbouring or the first lane; the rest is sorted by a network of 15 exchanges, after which equal elements are
neighbours; lanes of a bank are counted by adding rows of a table of unit vectors.
"""

from __future__ import annotations

import re

from lanewise.emulator.counting_banks import ATOMIC_LANES, HALF, PHASES, WAVEFRONTS
from lanewise.emulator.counting_parts import (
    ATTRIBUTES,
    INTRINSICS,
    LANES,
    PREVIOUS,
    UNIT_ROWS,
    ZEROS,
    constant,
    histogram,
    octets_present,
    sort,
)
from lanewise.emulator.ir import Emitter
from lanewise.records import Pattern

PATTERN_CODES = {1: Pattern.BROADCAST, 2: Pattern.CONTIGUOUS, 3: Pattern.STRIDED, 4: Pattern.SCATTERED}


def require(out: Emitter, name: str) -> None:
    """Add the function `name` to the module being emitted, with everything that it uses."""
    text = _FUNCTIONS[name]
    if out.definitions.get(name) == text:
        return
    out.define(name, text)
    for used in sorted(set(re.findall(r"@((?:lw_|llvm\.)[\w.]+)", text)) - {name}):
        if used in _FUNCTIONS:
            require(out, used)
        else:
            out.declare(INTRINSICS[used])


def definitions() -> dict[str, str]:
    """Every function (and the table they share) by name."""
    return dict(_FUNCTIONS)


def intrinsic_declaration(name: str) -> str:
    """The declaration of an LLVM intrinsic that the functions use."""
    return INTRINSICS[name]


def unpack_pattern(packed: int) -> tuple[Pattern | None, int | None]:
    """The pattern and stride in a result of `@lw_pattern`, as `hardware.pattern.classify` gives them."""
    pattern = PATTERN_CODES.get(packed & 7)
    stride = packed >> 32 & 0xFFFFFFFF
    stride -= (stride >> 31) << 32
    return pattern, stride or None


_SECTORS = f"""define internal i32 @lw_sectors(<32 x i64> %a, i32 %mask, i32 %bytes) {ATTRIBUTES} {{
  %box = alloca <32 x i64>, align 64
  %s = lshr <32 x i64> %a, splat (i64 5)
  %full = icmp eq i32 %mask, -1
  br i1 %full, label %common, label %partial
partial:
  %empty = icmp eq i32 %mask, 0
  br i1 %empty, label %nothing, label %fill
nothing:
  ret i32 0
fill:                                             ; lanes that are off repeat the first or last one that is on
  store <32 x i64> %s, ptr %box, align 64
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %above = call i32 @llvm.ctlz.i32(i32 %mask, i1 true)
  %last = sub i32 31, %above
  %fp = getelementptr i64, ptr %box, i32 %first
  %lp = getelementptr i64, ptr %box, i32 %last
  %fs = load i64, ptr %fp, align 8
  %ls = load i64, ptr %lp, align 8
  %fs1 = insertelement <32 x i64> poison, i64 %fs, i32 0
  %fsv = shufflevector <32 x i64> %fs1, <32 x i64> poison, {ZEROS}
  %ls1 = insertelement <32 x i64> poison, i64 %ls, i32 0
  %lsv = shufflevector <32 x i64> %ls1, <32 x i64> poison, {ZEROS}
  %low = shl i32 -1, %first
  %lowv = bitcast i32 %low to <32 x i1>
  %on = bitcast i32 %mask to <32 x i1>
  %ends = select <32 x i1> %lowv, <32 x i64> %lsv, <32 x i64> %fsv
  %filled = select <32 x i1> %on, <32 x i64> %s, <32 x i64> %ends
  br label %common
common:
  %v = phi <32 x i64> [ %s, %0 ], [ %filled, %fill ]
  %base = shufflevector <32 x i64> %v, <32 x i64> poison, {ZEROS}
  %d = sub <32 x i64> %v, %base
  %t = trunc <32 x i64> %d to <32 x i32>
  %back = sext <32 x i32> %t to <32 x i64>
  %lost = icmp ne <32 x i64> %back, %d
  %lostm = bitcast <32 x i1> %lost to i32
  %far = icmp ne i32 %lostm, 0
  br i1 %far, label %wide, label %near
near:
  %previous = shufflevector <32 x i32> %t, <32 x i32> poison, {PREVIOUS}
  %less = icmp slt <32 x i32> %t, %previous
  %more = icmp sgt <32 x i32> %t, %previous
  %lessm = bitcast <32 x i1> %less to i32
  %morem = bitcast <32 x i1> %more to i32
  %rising = icmp eq i32 %lessm, 0
  %falling = icmp eq i32 %morem, 0
  %ordered = or i1 %rising, %falling
  %steps = or i32 %lessm, %morem
  br i1 %ordered, label %count, label %sort
sort:                                             ; within 2 MiB of lane 0 16 bits do, in half the time
  %short = trunc <32 x i32> %t to <32 x i16>
  %whole = sext <32 x i16> %short to <32 x i32>
  %cut = icmp ne <32 x i32> %whole, %t
  %cutm = bitcast <32 x i1> %cut to i32
  %fits = icmp eq i32 %cutm, 0
  br i1 %fits, label %sort16, label %sort32
sort16:
  %sorted16 = call <32 x i16> @lw_sort_i16(<32 x i16> %short)
  %before16 = shufflevector <32 x i16> %sorted16, <32 x i16> poison, {PREVIOUS}
  %differ16 = icmp ne <32 x i16> %sorted16, %before16
  %differm16 = bitcast <32 x i1> %differ16 to i32
  br label %count
sort32:
  %sorted = call <32 x i32> @lw_sort_i32(<32 x i32> %t)
  %before = shufflevector <32 x i32> %sorted, <32 x i32> poison, {PREVIOUS}
  %differ = icmp ne <32 x i32> %sorted, %before
  %differm = bitcast <32 x i1> %differ to i32
  br label %count
count:
  %changes = phi i32 [ %steps, %near ], [ %differm16, %sort16 ], [ %differm, %sort32 ]
  %ones = call i32 @llvm.ctpop.i32(i32 %changes)
  %n = add i32 %ones, 1
  ret i32 %n
wide:                                             ; over 64 GiB apart: strike out equal sectors, one at a time
  store <32 x i64> %v, ptr %box, align 64
  br label %strike
strike:
  %left = phi i32 [ -1, %wide ], [ %rest, %strike ]
  %found = phi i32 [ 0, %wide ], [ %found1, %strike ]
  %at = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %xp = getelementptr i64, ptr %box, i32 %at
  %x = load i64, ptr %xp, align 8
  %x1 = insertelement <32 x i64> poison, i64 %x, i32 0
  %xv = shufflevector <32 x i64> %x1, <32 x i64> poison, {ZEROS}
  %other = icmp ne <32 x i64> %v, %xv
  %otherm = bitcast <32 x i1> %other to i32
  %rest = and i32 %left, %otherm
  %found1 = add i32 %found, 1
  %done = icmp eq i32 %rest, 0
  br i1 %done, label %finish, label %strike
finish:
  ret i32 %found1
}}"""


_LOCAL_SECTORS = f"""define internal i32 @lw_local_sectors(<32 x i32> %a, i32 %mask, i32 %bytes) {ATTRIBUTES} {{
  %box = alloca <32 x i32>, align 64
  %empty = icmp eq i32 %mask, 0
  br i1 %empty, label %nothing, label %some
nothing:
  ret i32 0
some:                                             ; an aligned access of n words counts n times what its first word does
  %up = add i32 %bytes, 3
  %words = lshr i32 %up, 2
  store <32 x i32> %a, ptr %box, align 64
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %fp = getelementptr i32, ptr %box, i32 %first
  %fa = load i32, ptr %fp, align 4
  %fa1 = insertelement <32 x i32> poison, i32 %fa, i32 0
  %fav = shufflevector <32 x i32> %fa1, <32 x i32> poison, {ZEROS}
  %on = bitcast i32 %mask to <32 x i1>
  %apart = xor <32 x i32> %a, %fav
  %far = icmp ugt <32 x i32> %apart, splat (i32 3)
  %farm = bitcast <32 x i1> %far to i32
  %faron = and i32 %farm, %mask
  %same = icmp eq i32 %faron, 0
  %unit = lshr <32 x i32> %a, splat (i32 2)
  br i1 %same, label %equal, label %mixed
equal:
{octets_present("%mask")}
  %z0 = zext i1 %o0 to i32
  %z1 = zext i1 %o1 to i32
  %z2 = zext i1 %o2 to i32
  %z3 = zext i1 %o3 to i32
  %z01 = add i32 %z0, %z1
  %z23 = add i32 %z2, %z3
  %octets = add i32 %z01, %z23
  %equaln = mul i32 %octets, %words
  ret i32 %equaln
mixed:                                            ; key: the eight lanes of a sector, then the word
  %high = icmp ugt <32 x i32> %unit, splat (i32 8190)
  %highm = bitcast <32 x i1> %high to i32
  %highon = and i32 %highm, %mask
  %low = icmp eq i32 %highon, 0
  br i1 %low, label %keys16, label %keys32
keys16:                                           ; 13 bits for the word, and never all ones
  %octet16 = shl <32 x i16> {constant("i16", (lane // 8 for lane in LANES))}, splat (i16 13)
  %unit16 = trunc <32 x i32> %unit to <32 x i16>
  %all16 = or <32 x i16> %octet16, %unit16
  %key16 = select <32 x i1> %on, <32 x i16> %all16, <32 x i16> splat (i16 -1)
  %sorted16 = call <32 x i16> @lw_sort_i16(<32 x i16> %key16)
  %before16 = shufflevector <32 x i16> %sorted16, <32 x i16> poison, {PREVIOUS}
  %differ16 = icmp ne <32 x i16> %sorted16, %before16
  %real16 = icmp ne <32 x i16> %sorted16, splat (i16 -1)
  %differm16 = bitcast <32 x i1> %differ16 to i32
  %realm16 = bitcast <32 x i1> %real16 to i32
  br label %sum
keys32:
  %octet = shl <32 x i32> {constant("i32", (lane // 8 for lane in LANES))}, splat (i32 29)
  %all = or <32 x i32> %octet, %unit
  %keys = select <32 x i1> %on, <32 x i32> %all, <32 x i32> splat (i32 -1)
  %sorted = call <32 x i32> @lw_sort_i32(<32 x i32> %keys)
  %before = shufflevector <32 x i32> %sorted, <32 x i32> poison, {PREVIOUS}
  %differ = icmp ne <32 x i32> %sorted, %before
  %real = icmp ne <32 x i32> %sorted, splat (i32 -1)
  %differm = bitcast <32 x i1> %differ to i32
  %realm = bitcast <32 x i1> %real to i32
  br label %sum
sum:
  %starts = phi i32 [ %differm16, %keys16 ], [ %differm, %keys32 ]
  %keyed = phi i32 [ %realm16, %keys16 ], [ %realm, %keys32 ]
  %newm = or i32 %starts, 1
  %countm = and i32 %newm, %keyed
  %ones = call i32 @llvm.ctpop.i32(i32 %countm)
  %n = mul i32 %ones, %words
  ret i32 %n
}}"""


_PATTERN = f"""define internal i64 @lw_pattern(<32 x i64> %a, i32 %mask, i32 %bytes) {ATTRIBUTES} {{
  %box = alloca <32 x i64>, align 64
  %empty = icmp eq i32 %mask, 0
  br i1 %empty, label %nothing, label %some
nothing:
  ret i64 0
some:
  %width = zext i32 %bytes to i64
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %lower = sub i32 %mask, 1
  %others = and i32 %mask, %lower
  store <32 x i64> %a, ptr %box, align 64
  %fp = getelementptr i64, ptr %box, i32 %first
  %fa = load i64, ptr %fp, align 8
  %lone = icmp eq i32 %others, 0
  br i1 %lone, label %broadcast, label %several
broadcast:
  ret i64 1
several:
  %second = call i32 @llvm.cttz.i32(i32 %others, i1 true)
  %sp = getelementptr i64, ptr %box, i32 %second
  %sa = load i64, ptr %sp, align 8
  %between = sub i32 %second, %first
  %rise = sub i64 %sa, %fa
  %next = icmp eq i32 %between, 1
  br i1 %next, label %line, label %divide
divide:
  %between64 = zext i32 %between to i64
  %quotient = sdiv i64 %rise, %between64
  br label %line
line:                                             ; do all lanes lie on the line through the first two?
  %step = phi i64 [ %rise, %several ], [ %quotient, %divide ]
  %fa1 = insertelement <32 x i64> poison, i64 %fa, i32 0
  %fav = shufflevector <32 x i64> %fa1, <32 x i64> poison, {ZEROS}
  %d = sub <32 x i64> %a, %fav
  %first64 = zext i32 %first to i64
  %lane1 = insertelement <32 x i64> poison, i64 %first64, i32 0
  %lanev = shufflevector <32 x i64> %lane1, <32 x i64> poison, {ZEROS}
  %away = sub <32 x i64> {constant("i64", LANES)}, %lanev
  %step1 = insertelement <32 x i64> poison, i64 %step, i32 0
  %stepv = shufflevector <32 x i64> %step1, <32 x i64> poison, {ZEROS}
  %expected = mul <32 x i64> %stepv, %away
  %wrong = icmp ne <32 x i64> %d, %expected
  %wrongm = bitcast <32 x i1> %wrong to i32
  %wrongon = and i32 %wrongm, %mask
  %straight = icmp eq i32 %wrongon, 0
  br i1 %straight, label %affine, label %bent
affine:
  %flat = icmp eq i64 %step, 0
  br i1 %flat, label %broadcast, label %slope
slope:
  %down = sub i64 0, %step
  %size = call i64 @llvm.smax.i64(i64 %step, i64 %down)
  %tight = icmp ule i64 %size, %width
  %slopecode = select i1 %tight, i64 2, i64 3
  br label %pack
bent:                                             ; else the distinct addresses, in order, decide
  %on = bitcast i32 %mask to <32 x i1>
  %e = select <32 x i1> %on, <32 x i64> %d, <32 x i64> zeroinitializer
  %t = trunc <32 x i64> %e to <32 x i32>
  %back = sext <32 x i32> %t to <32 x i64>
  %lost = icmp ne <32 x i64> %back, %e
  %lostm = bitcast <32 x i1> %lost to i32
  %far = icmp ne i32 %lostm, 0
  br i1 %far, label %wide, label %near
near:                                             ; 2^31 more: unsigned order is signed order
  %t1 = xor <32 x i32> %t, splat (i32 -2147483648)
  %t2 = call <32 x i32> @lw_sort_i32(<32 x i32> %t1)
  %near64 = zext <32 x i32> %t2 to <32 x i64>
  store <32 x i64> %near64, ptr %box, align 64
  br label %runs
wide:                                             ; rare: take out the smallest, one lane's address at a time
  %e1 = xor <32 x i64> %e, splat (i64 -9223372036854775808)
  br label %take
take:
  %at = phi i64 [ 0, %wide ], [ %at1, %take ]
  %e2 = phi <32 x i64> [ %e1, %wide ], [ %e3, %take ]
  %least = call i64 @llvm.vector.reduce.umin.v32i64(<32 x i64> %e2)
  %tp = getelementptr i64, ptr %box, i64 %at
  store i64 %least, ptr %tp, align 8
  %le1 = insertelement <32 x i64> poison, i64 %least, i32 0
  %lev = shufflevector <32 x i64> %le1, <32 x i64> poison, {ZEROS}
  %is = icmp eq <32 x i64> %e2, %lev
  %ism = bitcast <32 x i1> %is to i32
  %low1 = sub i32 0, %ism
  %lowest = and i32 %ism, %low1
  %lowestv = bitcast i32 %lowest to <32 x i1>
  %e3 = select <32 x i1> %lowestv, <32 x i64> splat (i64 -1), <32 x i64> %e2
  %at1 = add i64 %at, 1
  %taken = icmp eq i64 %at1, 32
  br i1 %taken, label %runs, label %take
runs:
  %o = load <32 x i64>, ptr %box, align 64
  %before = shufflevector <32 x i64> %o, <32 x i64> poison, {PREVIOUS}
  %gap = sub <32 x i64> %o, %before
  %width1 = insertelement <32 x i64> poison, i64 %width, i32 0
  %widthv = shufflevector <32 x i64> %width1, <32 x i64> poison, {ZEROS}
  %hole = icmp ugt <32 x i64> %gap, %widthv
  %holes = bitcast <32 x i1> %hole to i32
  %whole = icmp eq i32 %holes, 0
  br i1 %whole, label %contiguous, label %broken
contiguous:
  br label %pack
broken:                                           ; more runs than fit 32 lanes at 32 bytes each cannot all be long
  %nholes = call i32 @llvm.ctpop.i32(i32 %holes)
  %many = icmp uge i32 %nholes, %bytes
  %start0 = load i64, ptr %box, align 64
  br i1 %many, label %spacing, label %run
run:
  %left = phi i32 [ %holes, %broken ], [ %left1, %next_run ]
  %start = phi i64 [ %start0, %broken ], [ %start1, %next_run ]
  %h = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %h1 = sub i32 %h, 1
  %ep = getelementptr i64, ptr %box, i32 %h1
  %end = load i64, ptr %ep, align 8
  %span = sub i64 %end, %start
  %length = add i64 %span, %width
  %short = icmp ult i64 %length, 32
  br i1 %short, label %spacing, label %next_run
next_run:
  %final = icmp eq i32 %left, 0
  %hm = and i32 %h, 31
  %np = getelementptr i64, ptr %box, i32 %hm
  %start1 = load i64, ptr %np, align 8
  %left0 = sub i32 %left, 1
  %left1 = and i32 %left, %left0
  br i1 %final, label %contiguous, label %run
spacing:                                          ; one distance between all distinct neighbours?
  %h0 = call i32 @llvm.cttz.i32(i32 %holes, i1 true)
  %g1p = getelementptr i64, ptr %box, i32 %h0
  %g1 = load i64, ptr %g1p, align 8
  %h0l = sub i32 %h0, 1
  %g0p = getelementptr i64, ptr %box, i32 %h0l
  %g0 = load i64, ptr %g0p, align 8
  %distance = sub i64 %g1, %g0
  %distance1 = insertelement <32 x i64> poison, i64 %distance, i32 0
  %distancev = shufflevector <32 x i64> %distance1, <32 x i64> poison, {ZEROS}
  %unlike = icmp ne <32 x i64> %gap, %distancev
  %apart = icmp ne <32 x i64> %gap, zeroinitializer
  %odd = and <32 x i1> %unlike, %apart
  %oddm = bitcast <32 x i1> %odd to i32
  %even = icmp eq i32 %oddm, 0
  br i1 %even, label %pack, label %scattered
scattered:
  ret i64 4
pack:
  %code = phi i64 [ %slopecode, %slope ], [ 2, %contiguous ], [ 3, %spacing ]
  %stride = phi i64 [ %step, %slope ], [ %width, %contiguous ], [ %distance, %spacing ]
  %c1 = call i64 @llvm.smin.i64(i64 %stride, i64 2147483647)
  %c2 = call i64 @llvm.smax.i64(i64 %c1, i64 -2147483648)
  %shifted = shl i64 %c2, 32
  %packed = or i64 %shifted, %code
  ret i64 %packed
}}"""


_FUNCTIONS = {
    "lw_unit_rows": f"@lw_unit_rows = internal constant [33 x [32 x i8]] [{UNIT_ROWS}], align 32",
    "lw_sort_i16": sort("i16"),
    "lw_sort_i32": sort("i32"),
    "lw_histogram": histogram(),
    "lw_sectors": _SECTORS,
    "lw_phases": PHASES,
    "lw_half": HALF,
    "lw_wavefronts": WAVEFRONTS,
    "lw_atomic_lanes": ATOMIC_LANES,
    "lw_local_sectors": _LOCAL_SECTORS,
    "lw_pattern": _PATTERN,
}
