"""Copies from global to shared memory that land when the program waits for them (PTX ISA 9.7.9.25.3), in LLVM IR.

Each warp has a ring of copies on their way. `cp.async` checks and counts its access and adds an entry; the bytes move
when the lanes that copied wait for the group, or wait at an mbarrier that was told to expect them, and not before: a
kernel that forgets to wait reads what was there. Groups are counted lane by lane. Where the ring is full all that is in
it lands: early, as a card may do.
"""

from __future__ import annotations

from lanewise.emulator.lanes import each_lane
from lanewise.emulator.layout import (
    SITE_COUNTERS,
    AsyncEntry,
    AsyncQueue,
    Block,
    CopyFault,
    Fault,
    Warp,
    Worker,
)
from lanewise.emulator.ring import ring

_MAX = "splat (i32 2147483647)"

_TEXT = f"""
; What a copy of %size bytes a lane reads (%from of them) at %a and writes at %o of shared memory: checked, counted as a
; load at %cl and a store at %cs, and added to the warp's ring. %way: see `lw_copy_count`.
define internal void @lw_async_copy(ptr %x, ptr %w, ptr %cl, ptr %k, ptr %cs, ptr %shared, <32 x i64> %a, <32 x i32> %o, <32 x i32> %from, i32 %m, i32 %size, i32 %load, i32 %store, i32 %place, i32 %way) noinline nounwind {{
  %unpaid = alloca [{SITE_COUNTERS} x i64], align 64
  %to = call <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr %unpaid, ptr %shared, <32 x i32> %o, i32 %m, i32 %size, i32 %store, i1 false)
  %source = call <32 x i64> @lw_copy_source(ptr %x, ptr %w, ptr %unpaid, ptr %k, <32 x i64> %a, <32 x i32> %from, i32 %m, i32 %size, i32 %load, i32 %place)
  %readv = icmp ne <32 x i32> %from, zeroinitializer
  %reads = bitcast <32 x i1> %readv to i32
  call void @lw_copy_count(ptr %cl, ptr %cs, <32 x i64> %a, <32 x i32> %o, i32 %m, i32 %reads, i32 %size, i32 %way)
  call void @lw_async_push(ptr %x, ptr %w, <32 x i64> %to, <32 x i64> %source, <32 x i32> %from, i32 %m, i32 %size, i32 %place)
  ret void
}}
; Host addresses of what a copy reads: checked. Lanes that read nothing are off.
define internal <32 x i64> @lw_copy_source(ptr %x, ptr %w, ptr %unpaid, ptr %k, <32 x i64> %a, <32 x i32> %from, i32 %m, i32 %size, i32 %site, i32 %place) noinline nounwind {{
entry:
  %as = alloca <32 x i64>, align 64
  %fs = alloca <32 x i32>, align 64
  %found_in = alloca [2 x i64], align 8
  %s0 = insertelement <32 x i32> poison, i32 %size, i32 0
  %sizes = shufflevector <32 x i32> %s0, <32 x i32> poison, <32 x i32> zeroinitializer
  %over = icmp ugt <32 x i32> %from, %sizes
  %overm0 = bitcast <32 x i1> %over to i32
  %overm = and i32 %overm0, %m
  %none = icmp eq i32 %overm, 0
  br i1 %none, label %sized, label %large
large:
  %from64 = zext <32 x i32> %from to <32 x i64>
  %fa0 = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %from64, ptr %fa0, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 {Fault.COPY}, i32 %overm, i32 {CopyFault.SOURCE_SIZE})
  unreachable
sized:
  %whole = icmp eq <32 x i32> %from, %sizes
  %wholem0 = bitcast <32 x i1> %whole to i32
  %wholem = and i32 %wholem0, %m
  %reads = icmp ne <32 x i32> %from, zeroinitializer
  %readm0 = bitcast <32 x i1> %reads to i32
  %readm = and i32 %readm0, %m
  %partm = xor i32 %readm, %wholem
  %host = call <32 x i64> @lw_touch_global(ptr %x, ptr %w, ptr %unpaid, ptr %k, <32 x i64> %a, i32 %wholem, i32 %size, i32 %site)
  %easy = icmp eq i32 %partm, 0
  br i1 %easy, label %out, label %parts
out:
  ret <32 x i64> %host
parts:
  store <32 x i64> %a, ptr %as, align 64
  store <32 x i32> %from, ptr %fs, align 64
  %low = sub i32 %size, 1
  %low64 = zext i32 %low to i64
  br label %loop
{each_lane("%partm", "parts", "fine")}  %ap = getelementptr i64, ptr %as, i32 %i
  %at = load i64, ptr %ap
  %np = getelementptr i32, ptr %fs, i32 %i
  %n = load i32, ptr %np
  %n64 = zext i32 %n to i64
  %mis = and i64 %at, %low64
  %al = icmp eq i64 %mis, 0
  %found = call i1 @lw_find(ptr %w, i64 %at, i64 %n64, ptr %found_in)
  %ok = and i1 %al, %found
  br i1 %ok, label %fine, label %bad
fine:
  br label %loop
bad:
  %code = select i1 %found, i32 {Fault.MISALIGNED}, i32 {Fault.BOUNDS}
  %wide = select i1 %found, i32 %size, i32 %n
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %a, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %code, i32 %bit, i32 %wide)
  unreachable
}}
; A warp begins: nothing of it is on its way, and (the first warp) nothing of the block.
define internal void @lw_async_begin(ptr %x) noinline nounwind {{
entry:
  %qp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %q = load ptr, ptr %qp
  call void @llvm.memset.p0.i64(ptr %q, i8 0, i64 {AsyncQueue.ENTRIES}, i1 false)
  %ip = getelementptr i8, ptr %x, i64 {Warp.INDEX}
  %index = load i32, ptr %ip
  %first = icmp eq i32 %index, 0
  br i1 %first, label %block, label %out
block:
  call void @lw_bulk_begin(ptr %x)
  br label %out
out:
  ret void
}}
; Add a copy of %size bytes a lane, or (%size 0) arrivals at the mbarriers %to when all before it have landed.
define internal void @lw_async_push(ptr %x, ptr %w, <32 x i64> %to, <32 x i64> %a, <32 x i32> %from, i32 %m, i32 %size, i32 %place) noinline nounwind {{
entry:
  %empty = icmp eq i32 %m, 0
  br i1 %empty, label %out, label %some
some:
  %qp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %q = load ptr, ptr %qp
  %tp = getelementptr i8, ptr %q, i64 {AsyncQueue.TAIL}
  %t = load i64, ptr %tp
  %h = load i64, ptr %q
  %n = sub i64 %t, %h
  %full = icmp uge i64 %n, {AsyncQueue.CAPACITY}
  br i1 %full, label %flush, label %add
flush:
  call void @lw_async_land(ptr %x, ptr %w, ptr %q, i32 -1, <32 x i32> {_MAX}, i64 %t)
  br label %add
add:
  %e = call ptr @lw_async_entry(ptr %q, i64 %t)
  store i32 %m, ptr %e
  %sp = getelementptr i8, ptr %e, i64 {AsyncEntry.BYTES}
  store i32 %size, ptr %sp
  %pp = getelementptr i8, ptr %e, i64 {AsyncEntry.PLACE}
  store i32 %place, ptr %pp
  %dp = getelementptr i8, ptr %e, i64 {AsyncEntry.TO}
  store <32 x i64> %to, ptr %dp, align 64
  %ap = getelementptr i8, ptr %e, i64 {AsyncEntry.FROM}
  store <32 x i64> %a, ptr %ap, align 64
  %cp = getelementptr i8, ptr %q, i64 {AsyncQueue.COMMITTED}
  %g = load <32 x i32>, ptr %cp, align 64
  %gp = getelementptr i8, ptr %e, i64 {AsyncEntry.GROUP}
  store <32 x i32> %g, ptr %gp, align 64
  %fp = getelementptr i8, ptr %e, i64 {AsyncEntry.READ}
  store <32 x i32> %from, ptr %fp, align 64
  %t1 = add i64 %t, 1
  store i64 %t1, ptr %tp
  br label %out
out:
  ret void
}}
define internal void @lw_async_commit(ptr %x, i32 %m, i64 %where) noinline nounwind {{
  %qp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %q = load ptr, ptr %qp
  %cp = getelementptr i8, ptr %q, i64 %where
  %g = load <32 x i32>, ptr %cp, align 64
  %on = bitcast i32 %m to <32 x i1>
  %one = zext <32 x i1> %on to <32 x i32>
  %g1 = add <32 x i32> %g, %one
  store <32 x i32> %g1, ptr %cp, align 64
  ret void
}}
; The lanes of %m wait until at most %pending of their groups are on their way; %all: for everything, groups or not.
define internal void @lw_async_wait(ptr %x, ptr %w, i32 %m, i32 %pending, i1 %all) noinline nounwind {{
  %qp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %q = load ptr, ptr %qp
  %cp = getelementptr i8, ptr %q, i64 {AsyncQueue.COMMITTED}
  %g = load <32 x i32>, ptr %cp, align 64
  %p0 = insertelement <32 x i32> poison, i32 %pending, i32 0
  %p = shufflevector <32 x i32> %p0, <32 x i32> poison, <32 x i32> zeroinitializer
  %until = call <32 x i32> @llvm.ssub.sat.v32i32(<32 x i32> %g, <32 x i32> %p)
  %limit = select i1 %all, <32 x i32> {_MAX}, <32 x i32> %until
  %tp = getelementptr i8, ptr %q, i64 {AsyncQueue.TAIL}
  %t = load i64, ptr %tp
  call void @lw_async_land(ptr %x, ptr %w, ptr %q, i32 %m, <32 x i32> %limit, i64 %t)
  ret void
}}
; What lies before entry %end of a warp's ring lands, for the lanes of %m, of groups before %limit.
define internal void @lw_async_land(ptr %x, ptr %w, ptr %q, i32 %m, <32 x i32> %limit, i64 %end) noinline nounwind {{
entry:
  %h = load i64, ptr %q
  br label %loop
loop:
  %i = phi i64 [ %h, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %one, label %pop
one:
  %e = call ptr @lw_async_entry(ptr %q, i64 %i)
  %em = load i32, ptr %e
  %gp = getelementptr i8, ptr %e, i64 {AsyncEntry.GROUP}
  %g = load <32 x i32>, ptr %gp, align 64
  %due = icmp slt <32 x i32> %g, %limit
  %duem = bitcast <32 x i1> %due to i32
  %l0 = and i32 %em, %m
  %lanes = and i32 %l0, %duem
  %nothing = icmp eq i32 %lanes, 0
  br i1 %nothing, label %next, label %move
move:
  %left = xor i32 %em, %lanes
  store i32 %left, ptr %e
  call void @lw_async_move(ptr %x, ptr %w, ptr %e, i32 %lanes)
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %loop
pop:
  call void @lw_async_pop(ptr %q)
  ret void
}}
; Lanes of one entry: move the bytes and fill with zeros, or arrive.
define internal void @lw_async_move(ptr %x, ptr %w, ptr %e, i32 %lanes) noinline nounwind {{
entry:
  %sp = getelementptr i8, ptr %e, i64 {AsyncEntry.BYTES}
  %size = load i32, ptr %sp
  %pp = getelementptr i8, ptr %e, i64 {AsyncEntry.PLACE}
  %place = load i32, ptr %pp
  %tos = getelementptr i8, ptr %e, i64 {AsyncEntry.TO}
  %froms = getelementptr i8, ptr %e, i64 {AsyncEntry.FROM}
  %reads = getelementptr i8, ptr %e, i64 {AsyncEntry.READ}
  br label %loop
{each_lane("%lanes", "entry", "moved")}  %top = getelementptr i64, ptr %tos, i32 %i
  %to64 = load i64, ptr %top
  %to = inttoptr i64 %to64 to ptr
  %fromp = getelementptr i64, ptr %froms, i32 %i
  %from64 = load i64, ptr %fromp
  %from = inttoptr i64 %from64 to ptr
  %rp = getelementptr i32, ptr %reads, i32 %i
  %n = load i32, ptr %rp
  %whole = icmp eq i32 %n, %size
  br i1 %whole, label %full, label %part
full:
  switch i32 %size, label %arrive [ i32 4, label %b4
    i32 8, label %b8
    i32 16, label %b16 ]
b4:
  %v4 = load i32, ptr %from, align 1
  store i32 %v4, ptr %to, align 1
  br label %moved
b8:
  %v8 = load i64, ptr %from, align 1
  store i64 %v8, ptr %to, align 1
  br label %moved
b16:
  %v16 = load <2 x i64>, ptr %from, align 1
  store <2 x i64> %v16, ptr %to, align 1
  br label %moved
part:
  %size64 = zext i32 %size to i64
  %n64 = zext i32 %n to i64
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %size64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n64, i1 false)
  br label %moved
arrive:
  %old = call i64 @lw_mbarrier_step(ptr %x, ptr %w, ptr %to, i64 1, i64 0, i32 0, i32 %bit, i32 %place)
  br label %moved
moved:
  br label %loop
out:
  ret void
}}
; Somebody waits at the mbarrier %word: copies that it was told of land. Returns whether any did.
define internal i1 @lw_async_pump(ptr %x, ptr %w, ptr %word) noinline nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %qp0 = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %q0 = load ptr, ptr %qp0
  %unused = icmp eq ptr %q0, null
  br i1 %unused, label %no, label %start
no:
  ret i1 false
start:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %x0 = getelementptr i8, ptr %blk, i64 {Block.WARP_CONTEXTS}
  %p64 = ptrtoint ptr %word to i64
  %p0 = insertelement <32 x i64> poison, i64 %p64, i32 0
  %p = shufflevector <32 x i64> %p0, <32 x i64> poison, <32 x i32> zeroinitializer
  br label %warp
warp:
  %k = phi i64 [ 0, %start ], [ %k1, %done ]
  %any = phi i1 [ false, %start ], [ %any1, %done ]
  %ko = mul i64 %k, {Warp.SIZE}
  %y = getelementptr i8, ptr %x0, i64 %ko
  %qp = getelementptr i8, ptr %y, i64 {Warp.QUEUE}
  %q = load ptr, ptr %qp
  %tp = getelementptr i8, ptr %q, i64 {AsyncQueue.TAIL}
  %t = load i64, ptr %tp
  %h = load i64, ptr %q
  br label %loop
loop:
  %i = phi i64 [ %h, %warp ], [ %i1, %next ]
  %any1 = phi i1 [ %any, %warp ], [ %any2, %next ]
  %more = icmp ult i64 %i, %t
  br i1 %more, label %one, label %done
one:
  %e = call ptr @lw_async_entry(ptr %q, i64 %i)
  %em = load i32, ptr %e
  %sp = getelementptr i8, ptr %e, i64 {AsyncEntry.BYTES}
  %size = load i32, ptr %sp
  %is = icmp eq i32 %size, 0
  %i1 = add i64 %i, 1
  br i1 %is, label %arrival, label %next
arrival:
  %dp = getelementptr i8, ptr %e, i64 {AsyncEntry.TO}
  %to = load <32 x i64>, ptr %dp, align 64
  %same = icmp eq <32 x i64> %to, %p
  %samem = bitcast <32 x i1> %same to i32
  %lanes = and i32 %em, %samem
  %nothing = icmp eq i32 %lanes, 0
  br i1 %nothing, label %next, label %land
land:
  call void @lw_async_land(ptr %x, ptr %w, ptr %q, i32 %lanes, <32 x i32> {_MAX}, i64 %i1)
  br label %next
next:
  %any2 = phi i1 [ %any1, %one ], [ %any1, %arrival ], [ true, %land ]
  br label %loop
done:
  %k1 = add i64 %k, 1
  %others = icmp ult i64 %k1, %nw
  br i1 %others, label %warp, label %out
out:
  %bulk = call i1 @lw_bulk_pump(ptr %x, ptr %w, ptr %blk, ptr %word)
  %either = or i1 %any1, %bulk
  br i1 %either, label %landed, label %back
landed:
  %clp = getelementptr i8, ptr %blk, i64 {Block.CLUSTER}
  %cl = load ptr, ptr %clp
  %idlep = getelementptr i8, ptr %cl, i64 {Block.IDLE}
  store i64 0, ptr %idlep
  br label %back
back:
  ret i1 %either
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare <32 x i32> @llvm.ssub.sat.v32i32(<32 x i32>, <32 x i32>)
declare i32 @llvm.cttz.i32(i32, i1)
"""


def definitions() -> str:
    """The functions' text."""
    return ring("lw_async", AsyncQueue, AsyncEntry) + _TEXT
