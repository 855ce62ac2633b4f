"""Clusters of blocks, in LLVM IR: their barrier, who may still go on, and the shared memory of other blocks.

The blocks of a cluster lie in neighbouring slots of one worker and take turns, so that what they do to each other's
shared memory needs no atomics. An address in shared::cluster names its block in byte 3 (`layout.RANK_SHIFT`).
"""

from __future__ import annotations

from lanewise.emulator.layout import (
    BARRIER_OF_CLUSTER,
    CLUSTER_WINDOW_BYTES,
    IDLE_LIMIT,
    RANK_SHIFT,
    Block,
    Fault,
    Launch,
    Status,
    Warp,
    Worker,
)


def definitions() -> str:
    """What the scheduler and the kernels call."""
    return _SCHEDULING + _BARRIER + _MEMORY


_SCHEDULING = f"""
; May slot %s, which is free, take the first block of a cluster? It must be the first of its group, and all of them free.
define internal i1 @lw_cluster_free(ptr %w, ptr %blk, i64 %s) noinline nounwind {{
entry:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %np = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_BLOCKS}
  %n = load i64, ptr %np
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  %place = urem i64 %s, %n
  %first = icmp eq i64 %place, 0
  br i1 %first, label %loop, label %no
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %o = mul i64 %i, %bz
  %b = getelementptr i8, ptr %blk, i64 %o
  %ap = getelementptr i8, ptr %b, i64 {Block.ACTIVE}
  %a = load ptr, ptr %ap
  %free = icmp eq ptr %a, null
  br i1 %free, label %next, label %no
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}
; Some warp of the cluster of %blk has run.
define internal void @lw_cluster_moved(ptr %blk) noinline nounwind {{
  %fp = getelementptr i8, ptr %blk, i64 {Block.CLUSTER}
  %f = load ptr, ptr %fp
  %sp = getelementptr i8, ptr %f, i64 {Block.STILL}
  store i64 0, ptr %sp
  ret void
}}
; All warps of %blk wait. May its cluster go on? Its barrier is released if it is complete. Where each of its blocks in
; progress was visited and no warp could run, the waits at mbarriers end without success, as in a block alone.
define internal i1 @lw_cluster_waits(ptr %w, ptr %blk, i1 %none_ran) noinline nounwind {{
entry:
  %fp = getelementptr i8, ptr %blk, i64 {Block.CLUSTER}
  %f = load ptr, ptr %fp
  %sp = getelementptr i8, ptr %f, i64 {Block.STILL}
  %open = call i1 @lw_cluster_release(ptr %w, ptr %f)
  br i1 %open, label %opened, label %closed
opened:
  %ip0 = getelementptr i8, ptr %f, i64 {Block.IDLE}
  store i64 0, ptr %ip0
  br label %moved
moved:
  store i64 0, ptr %sp
  ret i1 true
closed:
  br i1 %none_ran, label %still, label %moved
still:
  %s = load i64, ptr %sp
  %s1 = add i64 %s, 1
  store i64 %s1, ptr %sp
  %n = call i64 @lw_cluster_size(ptr %w)
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  br label %loop
loop:
  %i = phi i64 [ 0, %still ], [ %i1, %loop ]
  %live = phi i64 [ 0, %still ], [ %live1, %loop ]
  %o = mul i64 %i, %bz
  %b = getelementptr i8, ptr %f, i64 %o
  %ap = getelementptr i8, ptr %b, i64 {Block.ACTIVE}
  %a = load ptr, ptr %ap
  %on = icmp ne ptr %a, null
  %onz = zext i1 %on to i64
  %live1 = add i64 %live, %onz
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %out
out:
  %unseen = icmp ult i64 %s1, %live1
  br i1 %unseen, label %yes, label %all
yes:
  ret i1 true
all:
  %many = icmp ugt i64 %n, 1
  br i1 %many, label %idle, label %no
idle:
  %ip = getelementptr i8, ptr %f, i64 {Block.IDLE}
  %idle0 = load i64, ptr %ip
  %idle1 = add i64 %idle0, 1
  store i64 %idle1, ptr %ip
  %over = icmp ugt i64 %idle1, {IDLE_LIMIT}
  br i1 %over, label %no, label %tell
no:
  ret i1 false
tell:
  %j = phi i64 [ 0, %idle ], [ %j1, %told ]
  %any = phi i1 [ false, %idle ], [ %any2, %told ]
  %to = mul i64 %j, %bz
  %tb = getelementptr i8, ptr %f, i64 %to
  %tap = getelementptr i8, ptr %tb, i64 {Block.ACTIVE}
  %ta = load ptr, ptr %tap
  %tfree = icmp eq ptr %ta, null
  br i1 %tfree, label %told, label %wake
wake:
  %some = call i1 @lw_time_out(ptr %tb)
  br label %told
told:
  %some2 = phi i1 [ false, %tell ], [ %some, %wake ]
  %any2 = or i1 %any, %some2
  %j1 = add i64 %j, 1
  %left = icmp ult i64 %j1, %n
  br i1 %left, label %tell, label %ended
ended:
  br i1 %any2, label %moved, label %no
}}
define internal i64 @lw_cluster_size(ptr %w) noinline nounwind {{
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %np = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_BLOCKS}
  %n = load i64, ptr %np
  ret i64 %n
}}
; The contexts of a cluster's warps that are in progress: place %i of all. Returns null where there is none.
define internal ptr @lw_cluster_warp(ptr %w, ptr %f, i64 %i) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %f, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  %r = udiv i64 %i, %nw
  %k = urem i64 %i, %nw
  %o = mul i64 %r, %bz
  %b = getelementptr i8, ptr %f, i64 %o
  %ap = getelementptr i8, ptr %b, i64 {Block.ACTIVE}
  %a = load ptr, ptr %ap
  %free = icmp eq ptr %a, null
  br i1 %free, label %none, label %look
look:
  %ko = mul i64 %k, {Warp.SIZE}
  %k1 = add i64 %ko, {Block.WARP_CONTEXTS}
  %x = getelementptr i8, ptr %b, i64 %k1
  %stp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  %st = load i32, ptr %stp
  %done = icmp eq i32 %st, {Status.DONE}
  br i1 %done, label %none, label %some
some:
  ret ptr %x
none:
  ret ptr null
}}
"""

_BARRIER = f"""
; Release the cluster barrier where every thread that has not ended has arrived. Returns whether it was released.
define internal i1 @lw_cluster_release(ptr %w, ptr %f) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %f, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %n = call i64 @lw_cluster_size(ptr %w)
  %all = mul i64 %nw, %n
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %i1, %tested ]
  %any = phi i1 [ false, %entry ], [ %any2, %tested ]
  %x = call ptr @lw_cluster_warp(ptr %w, ptr %f, i64 %i)
  %gone = icmp eq ptr %x, null
  br i1 %gone, label %tested, label %look
look:
  %waits = call i1 @lw_cluster_at_barrier(ptr %x)
  %mp = getelementptr i8, ptr %x, i64 {Warp.MASK}
  %m = load i32, ptr %mp
  %ep = getelementptr i8, ptr %x, i64 {Warp.EXITED}
  %e = load i32, ptr %ep
  %arp = getelementptr i8, ptr %x, i64 {Warp.CLUSTER_ARRIVED}
  %ar = load i32, ptr %arp
  %out = or i32 %e, %ar
  %in = xor i32 %out, -1
  %missing = and i32 %m, %in
  %here = icmp eq i32 %missing, 0
  ; Lanes of a warp that waits which have not arrived have returned: a wait lets all others go first.
  %fine = or i1 %here, %waits
  %any3 = or i1 %any, %waits
  br i1 %fine, label %tested, label %no
tested:
  %any2 = phi i1 [ %any, %test ], [ %any3, %look ]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %all
  br i1 %more, label %test, label %full
full:
  br i1 %any2, label %open, label %no
no:
  ret i1 false
open:
  %k = phi i64 [ 0, %full ], [ %k1, %opened ]
  %y = call ptr @lw_cluster_warp(ptr %w, ptr %f, i64 %k)
  %none = icmp eq ptr %y, null
  br i1 %none, label %opened, label %clear
clear:
  %yap = getelementptr i8, ptr %y, i64 {Warp.CLUSTER_ARRIVED}
  store i32 0, ptr %yap
  %yw = call i1 @lw_cluster_at_barrier(ptr %y)
  br i1 %yw, label %wake, label %opened
wake:
  %ysp = getelementptr i8, ptr %y, i64 {Warp.STATUS}
  store i32 {Status.READY}, ptr %ysp
  br label %opened
opened:
  %k1 = add i64 %k, 1
  %left = icmp ult i64 %k1, %all
  br i1 %left, label %open, label %done
done:
  ret i1 true
}}
define internal i1 @lw_cluster_at_barrier(ptr %x) noinline nounwind {{
  %sp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  %s = load i32, ptr %sp
  %s1 = icmp eq i32 %s, {Status.WAITING}
  %bp = getelementptr i8, ptr %x, i64 {Warp.BARRIER}
  %b = load i32, ptr %bp
  %b1 = icmp eq i32 %b, {BARRIER_OF_CLUSTER}
  %both = and i1 %s1, %b1
  ret i1 %both
}}
; The lanes of %m arrive: a second time before they have waited is an error.
define internal void @lw_cluster_arrive(ptr %x, ptr %w, i32 %m, i32 %site) noinline nounwind {{
entry:
  %pp = getelementptr i8, ptr %x, i64 {Warp.CLUSTER_PENDING}
  %p = load i32, ptr %pp
  %twice = and i32 %p, %m
  %fine = icmp eq i32 %twice, 0
  br i1 %fine, label %go, label %bad
bad:
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 {Fault.CLUSTER_ARRIVE}, i32 %twice, i32 0)
  unreachable
go:
  %p1 = or i32 %p, %m
  store i32 %p1, ptr %pp
  %ap = getelementptr i8, ptr %x, i64 {Warp.CLUSTER_ARRIVED}
  %a = load i32, ptr %ap
  %a1 = or i32 %a, %m
  store i32 %a1, ptr %ap
  ret void
}}
; The lanes of %m, which have arrived, wait until the barrier that they arrived at is complete.
define internal void @lw_cluster_wait(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, i32 %m, i32 %place) noinline nounwind {{
entry:
  %pp = getelementptr i8, ptr %x, i64 {Warp.CLUSTER_PENDING}
  %p = load i32, ptr %pp
  %np = xor i32 %p, -1
  %never = and i32 %np, %m
  %fine = icmp eq i32 %never, 0
  br i1 %fine, label %go, label %bad
bad:
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 {Fault.CLUSTER_WAIT}, i32 %never, i32 0)
  unreachable
go:
  %nm = xor i32 %m, -1
  %p1 = and i32 %p, %nm
  store i32 %p1, ptr %pp
  %ap = getelementptr i8, ptr %x, i64 {Warp.CLUSTER_ARRIVED}
  %a = load i32, ptr %ap
  %held = and i32 %a, %m
  %open = icmp eq i32 %held, 0
  br i1 %open, label %out, label %stop
stop:
  %st = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.WAITING}, ptr %st
  %ip = getelementptr i8, ptr %x, i64 {Warp.BARRIER}
  store i32 {BARRIER_OF_CLUSTER}, ptr %ip
  %plp = getelementptr i8, ptr %x, i64 {Warp.PLACE}
  store i32 %place, ptr %plp
  call void @lw_leave(ptr %x, ptr %w)
  ret void
out:
  ret void
}}
"""

_MEMORY = f"""
; Where an address in shared::cluster lies: {{ shared memory of its block, 0 }}, or a fault code.
define internal {{ ptr, i32 }} @lw_cluster_block(ptr %x, ptr %w, i32 %a) noinline nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %own = load ptr, ptr %bp
  %rank1 = lshr i32 %a, {RANK_SHIFT}
  %mine = icmp eq i32 %rank1, 0
  br i1 %mine, label %found, label %other
other:
  %rank32 = sub i32 %rank1, 1
  %rank = zext i32 %rank32 to i64
  %n = call i64 @lw_cluster_size(ptr %w)
  %there = icmp ult i64 %rank, %n
  br i1 %there, label %look, label %nobody
nobody:
  ret {{ ptr, i32 }} {{ ptr null, i32 {Fault.CLUSTER_RANK} }}
look:
  %fp = getelementptr i8, ptr %own, i64 {Block.CLUSTER}
  %f = load ptr, ptr %fp
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  %o = mul i64 %rank, %bz
  %b = getelementptr i8, ptr %f, i64 %o
  %ap = getelementptr i8, ptr %b, i64 {Block.ACTIVE}
  %ac = load ptr, ptr %ap
  %gone = icmp eq ptr %ac, null
  br i1 %gone, label %ended, label %found
ended:
  ret {{ ptr, i32 }} {{ ptr null, i32 {Fault.CLUSTER_EXITED} }}
found:
  %blk = phi ptr [ %own, %entry ], [ %b, %look ]
  %shared = load ptr, ptr %blk
  %r0 = insertvalue {{ ptr, i32 }} poison, ptr %shared, 0
  %r1 = insertvalue {{ ptr, i32 }} %r0, i32 0, 1
  ret {{ ptr, i32 }} %r1
}}
; Host addresses of %a in shared::cluster, for the lanes of %m: checked, nothing counted.
define internal <32 x i64> @lw_cluster_hosts(ptr %x, ptr %w, <32 x i32> %a, i32 %m, i32 %bytes, i32 %site) noinline nounwind {{
entry:
  %as = alloca <32 x i32>, align 64
  %hs = alloca <32 x i64>, align 64
  store <32 x i32> %a, ptr %as, align 64
  store <32 x i64> zeroinitializer, ptr %hs, align 64
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %sp = getelementptr i8, ptr %l, i64 {Launch.SHARED_BYTES}
  %limit = load i64, ptr %sp
  %b64 = zext i32 %bytes to i64
  %low = sub i64 %b64, 1
  br label %loop
loop:
  %rest = phi i32 [ %m, %entry ], [ %rest2, %placed ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %lane
lane:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %i64 = zext i32 %i to i64
  %bit = shl i32 1, %i
  %rest1 = sub i32 %rest, 1
  %rest2 = and i32 %rest, %rest1
  %ap = getelementptr i32, ptr %as, i64 %i64
  %at = load i32, ptr %ap
  %found = call {{ ptr, i32 }} @lw_cluster_block(ptr %x, ptr %w, i32 %at)
  %base = extractvalue {{ ptr, i32 }} %found, 0
  %why = extractvalue {{ ptr, i32 }} %found, 1
  %there = icmp eq i32 %why, 0
  br i1 %there, label %within, label %bad
within:
  %off32 = and i32 %at, {(1 << RANK_SHIFT) - 1}
  %off = zext i32 %off32 to i64
  %last = add i64 %off, %b64
  %in = icmp ule i64 %last, %limit
  %mis = and i64 %off, %low
  %al = icmp eq i64 %mis, 0
  %ok = and i1 %in, %al
  br i1 %ok, label %placed, label %outside
outside:
  %code = select i1 %in, i32 {Fault.CLUSTER_MISALIGNED}, i32 {Fault.CLUSTER_BOUNDS}
  br label %bad
bad:
  %fault = phi i32 [ %why, %lane ], [ %code, %outside ]
  %wide = zext <32 x i32> %a to <32 x i64>
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %wide, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %fault, i32 %bit, i32 %bytes)
  unreachable
placed:
  %base64 = ptrtoint ptr %base to i64
  %host = add i64 %base64, %off
  %hp = getelementptr i64, ptr %hs, i64 %i64
  store i64 %host, ptr %hp
  br label %loop
out:
  %r = load <32 x i64>, ptr %hs, align 64
  ret <32 x i64> %r
}}
; Does a lane of %m access another block of the cluster?
define internal i1 @lw_cluster_far(<32 x i32> %a, i32 %m) nounwind {{
  %top = lshr <32 x i32> %a, splat (i32 {RANK_SHIFT})
  %far = icmp ne <32 x i32> %top, zeroinitializer
  %farm = bitcast <32 x i1> %far to i32
  %some = and i32 %farm, %m
  %any = icmp ne i32 %some, 0
  ret i1 %any
}}
; As lw_touch_shared, for addresses that may lie in the shared memory of another block of the cluster.
define internal <32 x i64> @lw_touch_cluster(ptr %x, ptr %w, ptr %c, ptr %shared, <32 x i32> %a, i32 %m, i32 %bytes, i32 %site, i1 %load) noinline nounwind {{
entry:
  %any = call i1 @lw_cluster_far(<32 x i32> %a, i32 %m)
  br i1 %any, label %far, label %near
near:
  %h = call <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr %c, ptr %shared, <32 x i32> %a, i32 %m, i32 %bytes, i32 %site, i1 %load)
  ret <32 x i64> %h
far:
  %r = call <32 x i64> @lw_cluster_hosts(ptr %x, ptr %w, <32 x i32> %a, i32 %m, i32 %bytes, i32 %site)
  %offs = and <32 x i32> %a, splat (i32 {(1 << RANK_SHIFT) - 1})
  call void @lw_count_shared(ptr %c, <32 x i32> %offs, i32 %m, i32 %bytes, i1 %load)
  ret <32 x i64> %r
}}
; As lw_mbarrier_hosts, for objects that may lie in another block of the cluster.
define internal <32 x i64> @lw_cluster_mbarriers(ptr %x, ptr %w, ptr %shared, <32 x i64> %o, i32 %m, i32 %place) noinline nounwind {{
entry:
  %high = icmp ult <32 x i64> %o, splat (i64 {CLUSTER_WINDOW_BYTES})
  %inm = bitcast <32 x i1> %high to i32
  %off = xor i32 %inm, -1
  %strange = and i32 %off, %m
  %a = trunc <32 x i64> %o to <32 x i32>
  %any = call i1 @lw_cluster_far(<32 x i32> %a, i32 %m)
  %known = icmp eq i32 %strange, 0
  %go = and i1 %any, %known
  br i1 %go, label %far, label %near
near:
  %h = call <32 x i64> @lw_mbarrier_hosts(ptr %x, ptr %w, ptr %shared, <32 x i64> %o, i32 %m, i32 %place)
  ret <32 x i64> %h
far:
  %r = call <32 x i64> @lw_cluster_hosts(ptr %x, ptr %w, <32 x i32> %a, i32 %m, i32 8, i32 %place)
  ret <32 x i64> %r
}}
"""
