"""Helper functions of compiled kernels, in LLVM IR: checking, counting and moving the memory of 32 lanes at once.

`touch` functions check bounds and alignment of every lane that is on and add to the counters of the site; they return
host addresses. `gather` and `scatter` then move the data. A fault does not return.

Per site the cache holds {begin of an allocation, number of start addresses in it at which the access fits}: zero at
first, so that nothing passes unseen.
"""

from __future__ import annotations

import re

from lanewise.emulator import clusters
from lanewise.emulator.counting import PATTERN_CODES
from lanewise.emulator.layout import (
    CLUSTER_WINDOW_BYTES,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    SITE_COUNTERS,
    SITE_ON,
    SITE_PATTERNS,
    SITE_REQUESTS_ON,
    SITE_SECTORS,
    SITE_STRIDE,
    SITE_WAVEFRONTS,
    WINDOW_BYTES,
    Fault,
    Launch,
    Warp,
    Worker,
)
from lanewise.emulator.moving import lane_vector
from lanewise.records import Pattern

SCATTERED = next(code for code, pattern in PATTERN_CODES.items() if pattern == Pattern.SCATTERED)


def _checked_offsets(limit: int, fault: int) -> str:
    """Block `check` up to the start of block `count`: the lanes %m that may access %bytes at offsets %o (%o64) of a memory
    whose size is a field of `Launch`, and the host addresses %h that they have. What others do is refused."""
    return f"""check:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %sp = getelementptr i8, ptr %l, i64 {limit}
  %limit = load i64, ptr %sp
  %b64 = zext i32 %bytes to i64
  %i2 = insertelement <32 x i64> poison, i64 %b64, i32 0
  %bytesv = shufflevector <32 x i64> %i2, <32 x i64> poison, <32 x i32> zeroinitializer
  %ends = add <32 x i64> %o64, %bytesv
  %i3 = insertelement <32 x i64> poison, i64 %limit, i32 0
  %limv = shufflevector <32 x i64> %i3, <32 x i64> poison, <32 x i32> zeroinitializer
  %in = icmp ule <32 x i64> %ends, %limv
  %inm = bitcast <32 x i1> %in to i32
  %nin = xor i32 %inm, -1
  %outm = and i32 %nin, %m0
  %low = sub i32 %bytes, 1
  %i4 = insertelement <32 x i32> poison, i32 %low, i32 0
  %lowv = shufflevector <32 x i32> %i4, <32 x i32> poison, <32 x i32> zeroinitializer
  %mis = and <32 x i32> %o, %lowv
  %misb = icmp ne <32 x i32> %mis, zeroinitializer
  %misbm = bitcast <32 x i1> %misb to i32
  %mism = and i32 %misbm, %m0
  %badm = or i32 %outm, %mism
  %fine = icmp eq i32 %badm, 0
  br i1 %fine, label %count, label %bad
bad:
  %isout = icmp ne i32 %outm, 0
  %code = select i1 %isout, i32 {fault}, i32 {Fault.MISALIGNED}
  %lanes = select i1 %isout, i32 %outm, i32 %mism
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %o64, ptr %fa, align 64
  call void @lw_refuse(ptr %x, ptr %w, i32 %site, i32 %code, i32 %lanes, i32 %bytes)
  %hr = call <32 x i64> @lw_redirect(ptr %w, <32 x i64> %host, i32 %badm)
  %keep = xor i32 %badm, -1
  %mr = and i32 %m0, %keep
  %nobody = icmp eq i32 %mr, 0
  br i1 %nobody, label %out, label %count
count:
  %h = phi <32 x i64> [ %host, %check ], [ %hr, %bad ]
  %m = phi i32 [ %m0, %check ], [ %mr, %bad ]
"""


def _bump(counter: int, value: str, name: str, base: str = "%c") -> str:
    return f"""  %{name}p = getelementptr i64, ptr {base}, i64 {counter}
  %{name}o = load i64, ptr %{name}p
  %{name}n = add i64 %{name}o, {value}
  store i64 %{name}n, ptr %{name}p
"""


CHECKS = f"""
; Is [a, a+bytes) inside one live allocation? If so the site's cache is set to it.
define internal i1 @lw_find(ptr %w, i64 %a, i64 %bytes, ptr %k) noinline nounwind {{
entry:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %tp = getelementptr i8, ptr %l, i64 {Launch.BOUNDS}
  %head = load atomic ptr, ptr %tp monotonic, align 8
  %n = load i64, ptr %head
  %t = getelementptr i8, ptr %head, i64 16
  br label %search
search:
  %lo = phi i64 [ 0, %entry ], [ %lo2, %step ]
  %hi = phi i64 [ %n, %entry ], [ %hi2, %step ]
  %go = icmp ult i64 %lo, %hi
  br i1 %go, label %step, label %found
step:
  %s = add i64 %lo, %hi
  %mid = lshr i64 %s, 1
  %mo = shl i64 %mid, 4
  %bp = getelementptr i8, ptr %t, i64 %mo
  %b = load i64, ptr %bp
  %le = icmp ule i64 %b, %a
  %mid1 = add i64 %mid, 1
  %lo2 = select i1 %le, i64 %mid1, i64 %lo
  %hi2 = select i1 %le, i64 %hi, i64 %mid
  br label %search
found:
  %none = icmp eq i64 %lo, 0
  br i1 %none, label %no, label %look
look:
  %i = sub i64 %lo, 1
  %io = shl i64 %i, 4
  %ap = getelementptr i8, ptr %t, i64 %io
  %begin = load i64, ptr %ap
  %ep = getelementptr i8, ptr %ap, i64 8
  %end = load i64, ptr %ep
  %room = sub i64 %end, %begin
  %fits = icmp uge i64 %room, %bytes
  %r1 = sub i64 %room, %bytes
  %starts = add i64 %r1, 1
  %d = sub i64 %a, %begin
  %in = icmp ult i64 %d, %starts
  %ok = and i1 %fits, %in
  br i1 %ok, label %yes, label %no
yes:
  store i64 %begin, ptr %k
  %k1 = getelementptr i64, ptr %k, i64 1
  store i64 %starts, ptr %k1
  ret i1 true
no:
  ret i1 false
}}
; One address for all lanes of %m: checked, nothing counted. Returns the address to access: another one where the access
; was told and is left out.
define internal i64 @lw_check_one(ptr %x, ptr %w, ptr %k, i64 %a, i32 %m, i32 %bytes, i32 %site) noinline nounwind {{
entry:
  %b64 = zext i32 %bytes to i64
  %low = sub i64 %b64, 1
  %mis = and i64 %a, %low
  %al = icmp eq i64 %mis, 0
  %f = call i1 @lw_find(ptr %w, i64 %a, i64 %b64, ptr %k)
  %ok = and i1 %al, %f
  br i1 %ok, label %out, label %bad
bad:
  %code = select i1 %f, i32 {Fault.MISALIGNED}, i32 {Fault.BOUNDS}
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  %i = insertelement <32 x i64> poison, i64 %a, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  store <32 x i64> %v, ptr %fa, align 64
  call void @lw_refuse(ptr %x, ptr %w, i32 %site, i32 %code, i32 %m, i32 %bytes)
  %sink = call i64 @lw_sink(ptr %w)
  ret i64 %sink
out:
  ret i64 %a
}}
; The lanes of %m one by one; faults name all lanes that are wrong in the same way as the first. Returns the lanes that
; were told and are left out.
define internal i32 @lw_check_each(ptr %x, ptr %w, ptr %k, <32 x i64> %a, i32 %m, i32 %bytes, i32 %site) noinline nounwind cold {{
entry:
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %a, ptr %fa, align 64
  %b64 = zext i32 %bytes to i64
  %low = sub i64 %b64, 1
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %rest2, %next ]
  %outm = phi i32 [ 0, %entry ], [ %out2, %next ]
  %mism = phi i32 [ 0, %entry ], [ %mis2, %next ]
  %z = icmp eq i32 %rest, 0
  br i1 %z, label %done, label %one
one:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %i64 = zext i32 %i to i64
  %ap = getelementptr i64, ptr %fa, i64 %i64
  %v = load i64, ptr %ap
  %r1 = sub i32 %rest, 1
  %rest2 = and i32 %rest, %r1
  %bit = xor i32 %rest, %rest2
  %mv = and i64 %v, %low
  %al = icmp eq i64 %mv, 0
  %mbit = select i1 %al, i32 0, i32 %bit
  %mis2 = or i32 %mism, %mbit
  %f = call i1 @lw_find(ptr %w, i64 %v, i64 %b64, ptr %k)
  %obit = select i1 %f, i32 0, i32 %bit
  %out2 = or i32 %outm, %obit
  br label %next
next:
  br label %loop
done:
  %any = or i32 %outm, %mism
  %fine = icmp eq i32 %any, 0
  br i1 %fine, label %out, label %bad
bad:
  %isout = icmp ne i32 %outm, 0
  %code = select i1 %isout, i32 {Fault.BOUNDS}, i32 {Fault.MISALIGNED}
  %lanes = select i1 %isout, i32 %outm, i32 %mism
  call void @lw_refuse(ptr %x, ptr %w, i32 %site, i32 %code, i32 %lanes, i32 %bytes)
  ret i32 %any
out:
  ret i32 0
}}
; Where accesses go that are left out: zeros.
define internal i64 @lw_sink(ptr %w) nounwind {{
  %p = getelementptr i8, ptr %w, i64 {Worker.SINK}
  store <8 x i64> zeroinitializer, ptr %p, align 64
  %a = ptrtoint ptr %p to i64
  ret i64 %a
}}
define internal <32 x i64> @lw_redirect(ptr %w, <32 x i64> %a, i32 %bad) noinline nounwind cold {{
  %s = call i64 @lw_sink(ptr %w)
  %i = insertelement <32 x i64> poison, i64 %s, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  %m = bitcast i32 %bad to <32 x i1>
  %r = select <32 x i1> %m, <32 x i64> %v, <32 x i64> %a
  ret <32 x i64> %r
}}
; Nothing is worse than scattered: what follows it at a site need not be told.
define internal void @lw_note_pattern(ptr %c, <32 x i64> %a, i32 %m, i32 %bytes) noinline nounwind {{
entry:
  %pp = getelementptr i64, ptr %c, i64 {SITE_PATTERNS}
  %o = load i64, ptr %pp
  %scattered = icmp uge i64 %o, {1 << SCATTERED}
  br i1 %scattered, label %out, label %tell
tell:
  %p = call i64 @lw_pattern(<32 x i64> %a, i32 %m, i32 %bytes)
  %code = and i64 %p, 7
  %bit = shl i64 1, %code
  %n = or i64 %o, %bit
  store i64 %n, ptr %pp
  %st = icmp eq i64 %code, 3
  br i1 %st, label %stride, label %out
stride:
  %s = ashr i64 %p, 32
  %sp = getelementptr i64, ptr %c, i64 {SITE_STRIDE}
  %so = load i64, ptr %sp
  %new = icmp eq i64 %so, 0
  %same = icmp eq i64 %so, %s
  %keep = or i1 %new, %same
  %s2 = select i1 %keep, i64 %s, i64 -1
  store i64 %s2, ptr %sp
  br label %out
out:
  ret void
}}
; Global memory: check all lanes of %m0, count sectors. Returns the addresses to access.
define internal <32 x i64> @lw_touch_global(ptr %x, ptr %w, ptr %c, ptr %k, <32 x i64> %a0, i32 %m0, i32 %bytes, i32 %site) noinline nounwind {{
entry:
  %z = icmp eq i32 %m0, 0
  br i1 %z, label %nothing, label %check
nothing:
  ret <32 x i64> %a0
check:
  %mv = bitcast i32 %m0 to <32 x i1>
  %lo = load i64, ptr %k
  %k1 = getelementptr i64, ptr %k, i64 1
  %n = load i64, ptr %k1
  %i1 = insertelement <32 x i64> poison, i64 %lo, i32 0
  %lov = shufflevector <32 x i64> %i1, <32 x i64> poison, <32 x i32> zeroinitializer
  %i2 = insertelement <32 x i64> poison, i64 %n, i32 0
  %nv = shufflevector <32 x i64> %i2, <32 x i64> poison, <32 x i32> zeroinitializer
  %d = sub <32 x i64> %a0, %lov
  %in = icmp ult <32 x i64> %d, %nv
  %b64 = zext i32 %bytes to i64
  %low = sub i64 %b64, 1
  %i3 = insertelement <32 x i64> poison, i64 %low, i32 0
  %lowv = shufflevector <32 x i64> %i3, <32 x i64> poison, <32 x i32> zeroinitializer
  %mis = and <32 x i64> %a0, %lowv
  %al = icmp eq <32 x i64> %mis, zeroinitializer
  %good = and <32 x i1> %in, %al
  %gm = bitcast <32 x i1> %good to i32
  %ng = xor i32 %gm, -1
  %badm = and i32 %ng, %m0
  %fine = icmp eq i32 %badm, 0
  br i1 %fine, label %count, label %each
each:
  %left = call i32 @lw_check_each(ptr %x, ptr %w, ptr %k, <32 x i64> %a0, i32 %m0, i32 %bytes, i32 %site)
  %fine2 = icmp eq i32 %left, 0
  br i1 %fine2, label %count, label %redirect
redirect:
  %ar = call <32 x i64> @lw_redirect(ptr %w, <32 x i64> %a0, i32 %left)
  %keep = xor i32 %left, -1
  %mr = and i32 %m0, %keep
  %nobody = icmp eq i32 %mr, 0
  br i1 %nobody, label %gone, label %count
gone:
  ret <32 x i64> %ar
count:
  %a = phi <32 x i64> [ %a0, %check ], [ %a0, %each ], [ %ar, %redirect ]
  %m = phi i32 [ %m0, %check ], [ %m0, %each ], [ %mr, %redirect ]
  %s = call i32 @lw_sectors(<32 x i64> %a0, i32 %m, i32 %bytes)
  %s64 = zext i32 %s to i64
  %on = call i32 @llvm.ctpop.i32(i32 %m)
  %on64 = zext i32 %on to i64
  %b = mul i64 %on64, %b64
  %b31 = add i64 %b, 31
  %ideal0 = lshr i64 %b31, 5
  %ideal = call i64 @llvm.umin.i64(i64 %ideal0, i64 %s64)
  %cv0 = insertelement <2 x i64> poison, i64 %s64, i32 0
  %cv = insertelement <2 x i64> %cv0, i64 %ideal, i32 1
  %old = load <2 x i64>, ptr %c, align 8
  %new = add <2 x i64> %old, %cv
  store <2 x i64> %new, ptr %c, align 8
{_bump(SITE_ON, "%on64", "q")}{_bump(SITE_REQUESTS_ON, "1", "r")}  call void @lw_note_pattern(ptr %c, <32 x i64> %a0, i32 %m, i32 %bytes)
  ret <32 x i64> %a
}}
; Shared memory: %o are byte offsets, %limit the bytes a block has. Returns host addresses.
define internal <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr %c, ptr %shared, <32 x i32> %o, i32 %m0, i32 %bytes, i32 %site, i1 %load) noinline nounwind {{
entry:
  %o64 = zext <32 x i32> %o to <32 x i64>
  %base = ptrtoint ptr %shared to i64
  %i1 = insertelement <32 x i64> poison, i64 %base, i32 0
  %bv = shufflevector <32 x i64> %i1, <32 x i64> poison, <32 x i32> zeroinitializer
  %host = add <32 x i64> %o64, %bv
  %z = icmp eq i32 %m0, 0
  br i1 %z, label %out, label %check
{_checked_offsets(Launch.SHARED_BYTES, Fault.SHARED_BOUNDS)}  call void @lw_count_shared(ptr %c, <32 x i32> %o, i32 %m, i32 %bytes, i1 %load)
  br label %out
out:
  %r = phi <32 x i64> [ %host, %entry ], [ %hr, %bad ], [ %h, %count ]
  ret <32 x i64> %r
}}
; Take one execution's static wavefronts off: a dynamic count follows.
define internal void @lw_undo_static(ptr %c, i64 %v, i64 %ideal) noinline nounwind {{
  %p = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS}
  %o = load <2 x i64>, ptr %p, align 8
  %a = insertelement <2 x i64> poison, i64 %v, i32 0
  %b = insertelement <2 x i64> %a, i64 %ideal, i32 1
  %n = sub <2 x i64> %o, %b
  store <2 x i64> %n, ptr %p, align 8
  ret void
}}
define internal void @lw_count_shared(ptr %c, <32 x i32> %o, i32 %m, i32 %bytes, i1 %load) noinline nounwind {{
entry:
  %v = call i32 @lw_wavefronts(<32 x i32> %o, i32 %m, i32 %bytes, i1 %load)
  %v64 = zext i32 %v to i64
  %on = call i32 @llvm.ctpop.i32(i32 %m)
  %on64 = zext i32 %on to i64
  %b64 = zext i32 %bytes to i64
  %b = mul i64 %on64, %b64
  %b1 = add i64 %b, 127
  %ideal0 = lshr i64 %b1, 7
  %ideal = call i64 @llvm.umin.i64(i64 %ideal0, i64 %v64)
  %cv0 = insertelement <2 x i64> poison, i64 %v64, i32 0
  %cv = insertelement <2 x i64> %cv0, i64 %ideal, i32 1
  %cw = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS}
  %old = load <2 x i64>, ptr %cw, align 8
  %new = add <2 x i64> %old, %cv
  store <2 x i64> %new, ptr %cw, align 8
{_bump(SITE_ON, "%on64", "q")}{_bump(SITE_REQUESTS_ON, "1", "r")}  %o64 = zext <32 x i32> %o to <32 x i64>
  call void @lw_note_pattern(ptr %c, <32 x i64> %o64, i32 %m, i32 %bytes)
  ret void
}}
; Local memory: %o are byte offsets in the thread's own space. Returns host addresses.
define internal <32 x i64> @lw_touch_local(ptr %x, ptr %w, ptr %c, <32 x i32> %o, i32 %m0, i32 %bytes, i32 %site) noinline nounwind {{
entry:
  %xl = getelementptr i8, ptr %x, i64 {Warp.LOCAL}
  %local = load ptr, ptr %xl
  %host = call <32 x i64> @lw_local_address(ptr %local, <32 x i32> %o)
  %o64 = zext <32 x i32> %o to <32 x i64>
  %z = icmp eq i32 %m0, 0
  br i1 %z, label %out, label %check
{_checked_offsets(Launch.LOCAL_BYTES, Fault.LOCAL_BOUNDS)}  %s = call i32 @lw_local_sectors(<32 x i32> %o, i32 %m, i32 %bytes)
  %s64 = zext i32 %s to i64
{_bump(SITE_SECTORS, "%s64", "s_")}  %on = call i32 @llvm.ctpop.i32(i32 %m)
  %on64 = zext i32 %on to i64
{_bump(SITE_ON, "%on64", "q")}{_bump(SITE_REQUESTS_ON, "1", "r")}  br label %out
out:
  %r = phi <32 x i64> [ %host, %entry ], [ %hr, %bad ], [ %h, %count ]
  ret <32 x i64> %r
}}
define internal <32 x i64> @lw_local_address(ptr %local, <32 x i32> %o) nounwind {{
  %base = ptrtoint ptr %local to i64
  %o64 = zext <32 x i32> %o to <32 x i64>
  %g = and <32 x i64> %o64, splat (i64 -16)
  %go = shl <32 x i64> %g, splat (i64 5)
  %r = and <32 x i64> %o64, splat (i64 15)
  %i1 = insertelement <32 x i64> poison, i64 %base, i32 0
  %bv = shufflevector <32 x i64> %i1, <32 x i64> poison, <32 x i32> zeroinitializer
  %a1 = add <32 x i64> %bv, {lane_vector("i64", (16 * lane for lane in range(32)))}
  %a2 = add <32 x i64> %a1, %go
  %a3 = add <32 x i64> %a2, %r
  ret <32 x i64> %a3
}}
; Generic addresses: each lane goes to the space its address lies in. %c holds three sites: global, shared, local.
define internal <32 x i64> @lw_touch_generic(ptr %x, ptr %w, ptr %c, ptr %k, ptr %shared, <32 x i64> %a, i32 %m, i32 %bytes, i32 %site, i1 %load) noinline nounwind {{
entry:
  %ds = sub <32 x i64> %a, splat (i64 {SHARED_WINDOW})
  %iss = icmp ult <32 x i64> %ds, splat (i64 {CLUSTER_WINDOW_BYTES})
  %sm0 = bitcast <32 x i1> %iss to i32
  %sm = and i32 %sm0, %m
  %dl = sub <32 x i64> %a, splat (i64 {LOCAL_WINDOW})
  %isl = icmp ult <32 x i64> %dl, splat (i64 {WINDOW_BYTES})
  %lm0 = bitcast <32 x i1> %isl to i32
  %lm = and i32 %lm0, %m
  %other = or i32 %sm, %lm
  %no = xor i32 %other, -1
  %gm = and i32 %m, %no
  %hg = call <32 x i64> @lw_touch_global(ptr %x, ptr %w, ptr %c, ptr %k, <32 x i64> %a, i32 %gm, i32 %bytes, i32 %site)
  %plain = icmp eq i32 %other, 0
  br i1 %plain, label %fast, label %windows
fast:
  ret <32 x i64> %hg
windows:
  %so = trunc <32 x i64> %ds to <32 x i32>
  %site1 = add i32 %site, 1
  %c1 = getelementptr i64, ptr %c, i64 {SITE_COUNTERS}
  %hs = call <32 x i64> @lw_touch_cluster(ptr %x, ptr %w, ptr %c1, ptr %shared, <32 x i32> %so, i32 %sm, i32 %bytes, i32 %site1, i1 %load)
  %lo = trunc <32 x i64> %dl to <32 x i32>
  %site2 = add i32 %site, 2
  %c2 = getelementptr i64, ptr %c, i64 {2 * SITE_COUNTERS}
  %hl = call <32 x i64> @lw_touch_local(ptr %x, ptr %w, ptr %c2, <32 x i32> %lo, i32 %lm, i32 %bytes, i32 %site2)
  %h1 = select <32 x i1> %iss, <32 x i64> %hs, <32 x i64> %hg
  %h2 = select <32 x i1> %isl, <32 x i64> %hl, <32 x i64> %h1
  ret <32 x i64> %h2
}}
"""


def _atomic_variants(text: str) -> str:
    """The `touch` functions as atomics need them: shared memory serves one lane a bank at a time."""
    functions = re.findall(r"^define internal [^@]*@(\w+)\(.*?^}\n", text, re.S | re.M)
    bodies = dict(zip(functions, _bodies(text), strict=True))
    result = ""
    names = ("lw_count_shared", "lw_touch_shared", "lw_touch_cluster", "lw_touch_generic")
    for name in names:
        body = bodies[name]
        for used in names:
            body = body.replace(f"@{used}(", f"@{used}_atomic(")
        result += body.replace(
            "@lw_wavefronts(<32 x i32> %o, i32 %m, i32 %bytes, i1 %load)",
            "@lw_atomic_lanes(<32 x i32> %o, i32 %m, i32 %bytes)",
        )
    return result


def _bodies(text: str) -> list[str]:
    return re.findall(r"^define internal .*?^}\n", text, re.S | re.M)


def definitions() -> str:
    """Every helper that does not depend on an element type."""
    text = CHECKS + clusters.definitions()
    return text + _atomic_variants(text)
