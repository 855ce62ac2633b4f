"""Blocks in the scheduler, in LLVM IR: drawn from an atomic counter, put into slots, their barriers released."""

from __future__ import annotations

from lanewise.emulator.layout import Block, Launch, Status, Warp, Worker


def definitions(frame: int, argument: int, function: int, start: int) -> str:
    """What the scheduler calls. `frame` words lie below the top of a new stack; the others say in which words a fiber
    finds its argument, its function and where it starts."""
    return f"""
; Draw the next cluster (a block, where clusters have one) and put its blocks into the slots from %blk on. Returns 0 when
; none is left.
define internal i1 @lw_take(ptr %w, ptr %blk) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %fup = getelementptr i8, ptr %w, i64 {Worker.FUEL}
  %fu = load i64, ptr %fup
  %fu1 = sub i64 %fu, %nw
  store i64 %fu1, ptr %fup
  %burnt = icmp slt i64 %fu1, 0
  br i1 %burnt, label %spend, label %look
spend:
  call void @lw_spend(ptr %w)
  br label %look
look:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %ap = getelementptr i8, ptr %l, i64 {Launch.ABORT}
  %a = load atomic volatile i64, ptr %ap monotonic, align 8
  %stop = icmp ne i64 %a, 0
  br i1 %stop, label %none, label %draw
draw:
  %cntp = getelementptr i8, ptr %l, i64 {Launch.COUNT}
  %n = load i64, ptr %cntp
  %drawn = atomicrmw add ptr %l, i64 1 monotonic
  %c = icmp ult i64 %drawn, %n
  br i1 %c, label %some, label %none
none:
  ret i1 false
some:
  %osp = getelementptr i8, ptr %l, i64 {Launch.ORDER_STEP}
  %os = load i64, ptr %osp
  %obp = getelementptr i8, ptr %l, i64 {Launch.ORDER_START}
  %ob = load i64, ptr %obp
  %far = mul i64 %drawn, %os
  %off = add i64 %far, %ob
  %i = urem i64 %off, %n
  %gxp = getelementptr i8, ptr %l, i64 {Launch.CLUSTERS_X}
  %gx = load i64, ptr %gxp
  %gyp = getelementptr i8, ptr %l, i64 {Launch.CLUSTERS_Y}
  %gy = load i64, ptr %gyp
  %nx = urem i64 %i, %gx
  %q = udiv i64 %i, %gx
  %ny = urem i64 %q, %gy
  %nz = udiv i64 %q, %gy
  %dxp = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_X}
  %dx = load i64, ptr %dxp
  %dyp = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_Y}
  %dy = load i64, ptr %dyp
  %dzp = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_Z}
  %dz = load i64, ptr %dzp
  %fx = mul i64 %nx, %dx
  %fy = mul i64 %ny, %dy
  %fz = mul i64 %nz, %dz
  %cbp = getelementptr i8, ptr %l, i64 {Launch.CLUSTER_BLOCKS}
  %cb = load i64, ptr %cbp
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  br label %loop
loop:
  %r = phi i64 [ 0, %some ], [ %r1, %loop ]
  %rx = urem i64 %r, %dx
  %rq = udiv i64 %r, %dx
  %ry = urem i64 %rq, %dy
  %rz = udiv i64 %rq, %dy
  %x = add i64 %fx, %rx
  %y = add i64 %fy, %ry
  %z = add i64 %fz, %rz
  %o = mul i64 %r, %bz
  %b = getelementptr i8, ptr %blk, i64 %o
  call void @lw_fill(ptr %w, ptr %l, ptr %b, ptr %blk, i64 %r, i64 %x, i64 %y, i64 %z)
  %r1 = add i64 %r, 1
  %more = icmp ult i64 %r1, %cb
  br i1 %more, label %loop, label %out
out:
  ret i1 true
}}
; Put the block at (%cx, %cy, %cz) of the grid, of rank %rank in its cluster, into slot %blk.
define internal void @lw_fill(ptr %w, ptr %l, ptr %blk, ptr %first, i64 %rank, i64 %cx, i64 %cy, i64 %cz) noinline nounwind {{
some:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %gxp = getelementptr i8, ptr %l, i64 {Launch.GRID_X}
  %gx = load i64, ptr %gxp
  %gyp = getelementptr i8, ptr %l, i64 {Launch.GRID_Y}
  %gy = load i64, ptr %gyp
  %i0 = mul i64 %cz, %gy
  %i1 = add i64 %i0, %cy
  %i2 = mul i64 %i1, %gx
  %i = add i64 %i2, %cx
  %cx32 = trunc i64 %cx to i32
  %cy32 = trunc i64 %cy to i32
  %cz32 = trunc i64 %cz to i32
  %clp = getelementptr i8, ptr %blk, i64 {Block.CLUSTER}
  store ptr %first, ptr %clp
  %rkp = getelementptr i8, ptr %blk, i64 {Block.RANK}
  store i64 %rank, ptr %rkp
  %sllp = getelementptr i8, ptr %blk, i64 {Block.STILL}
  store i64 0, ptr %sllp
  %linp = getelementptr i8, ptr %blk, i64 {Block.LINEAR}
  store i64 %i, ptr %linp
  %acp = getelementptr i8, ptr %blk, i64 {Block.ACTIVE}
  store ptr %w, ptr %acp
  %livp = getelementptr i8, ptr %blk, i64 {Block.LIVE}
  store i64 %nw, ptr %livp
  %idlep = getelementptr i8, ptr %blk, i64 {Block.IDLE}
  store i64 0, ptr %idlep
  %bars = getelementptr i8, ptr %blk, i64 {Block.BARRIERS}
  call void @llvm.memset.p0.i64(ptr %bars, i8 0, i64 {16 * Block.BARRIER_SIZE}, i1 false)
  %shp = load ptr, ptr %blk
  %sbp = getelementptr i8, ptr %l, i64 {Launch.SHARED_BYTES}
  %sb = load i64, ptr %sbp
  call void @llvm.memset.p0.i64(ptr %shp, i8 0, i64 %sb, i1 false)
  %wtp = getelementptr i8, ptr %l, i64 {Launch.WARP_TABLE}
  %wt = load ptr, ptr %wtp
  %x0 = getelementptr i8, ptr %blk, i64 {Block.WARP_CONTEXTS}
  br label %loop
loop:
  %k = phi i64 [ 0, %some ], [ %k1, %loop ]
  %ko = mul i64 %k, {Warp.SIZE}
  %x = getelementptr i8, ptr %x0, i64 %ko
  %to = mul i64 %k, 16
  %t = getelementptr i8, ptr %wt, i64 %to
  %tv = load <4 x i32>, ptr %t, align 4
  %m = extractelement <4 x i32> %tv, i32 0
  %xm = getelementptr i8, ptr %x, i64 {Warp.MASK}
  store i32 %m, ptr %xm
  %tid = shufflevector <4 x i32> %tv, <4 x i32> poison, <3 x i32> <i32 1, i32 2, i32 3>
  %xt = getelementptr i8, ptr %x, i64 {Warp.TID_X}
  store <3 x i32> %tid, ptr %xt, align 4
  %c1p = getelementptr i8, ptr %x, i64 {Warp.CTAID_X}
  store i32 %cx32, ptr %c1p
  %c2p = getelementptr i8, ptr %x, i64 {Warp.CTAID_Y}
  store i32 %cy32, ptr %c2p
  %c3p = getelementptr i8, ptr %x, i64 {Warp.CTAID_Z}
  store i32 %cz32, ptr %c3p
  %spn = getelementptr i8, ptr %x, i64 {Warp.SPIN}
  store <4 x i32> zeroinitializer, ptr %spn, align 4
  %clk = getelementptr i8, ptr %x, i64 {Warp.CLOCK}
  store <2 x i64> zeroinitializer, ptr %clk, align 8
  %stp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.READY}, ptr %stp
  %topp = getelementptr i8, ptr %x, i64 {Warp.STACK_TOP}
  %top = load ptr, ptr %topp
  %sp = getelementptr i64, ptr %top, i64 -{frame}
  %pa = getelementptr i64, ptr %sp, i64 {argument}
  store ptr %x, ptr %pa
  %pf = getelementptr i64, ptr %sp, i64 {function}
  store ptr @lw_body, ptr %pf
  %pr = getelementptr i64, ptr %sp, i64 {start}
  store ptr @lw_start, ptr %pr
  store ptr %sp, ptr %x
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %nw
  br i1 %more, label %loop, label %out
out:
  call void @lw_tell_block(ptr %w, ptr %blk, i64 1)
  ret void
}}
; Release every barrier of a block that is complete. Returns whether one was.
define internal i1 @lw_release(ptr %blk) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %livp = getelementptr i8, ptr %blk, i64 {Block.LIVE}
  %live = load i64, ptr %livp
  %live32 = trunc i64 %live to i32
  %all = shl i32 %live32, 5
  %x0 = getelementptr i8, ptr %blk, i64 {Block.WARP_CONTEXTS}
  br label %bar
bar:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %any = phi i1 [ false, %entry ], [ %any2, %next ]
  %o = mul i64 %i, {Block.BARRIER_SIZE}
  %o2 = add i64 %o, {Block.BARRIERS}
  %b = getelementptr i8, ptr %blk, i64 %o2
  %arr = load i32, ptr %b
  %has = icmp ne i32 %arr, 0
  br i1 %has, label %test, label %next
test:
  %ep = getelementptr i8, ptr %b, i64 4
  %e = load i32, ptr %ep
  %z = icmp eq i32 %e, 0
  %r1 = add i32 %e, 31
  %r2 = and i32 %r1, -32
  %need = select i1 %z, i32 %all, i32 %r2
  %full = icmp uge i32 %arr, %need
  br i1 %full, label %open, label %next
open:
  %sp = getelementptr i8, ptr %b, i64 8
  %sum = load i32, ptr %sp
  %fp = getelementptr i8, ptr %b, i64 12
  %false = load i32, ptr %fp
  %fsh = shl i32 %false, 31
  %res = or i32 %sum, %fsh
  store i32 0, ptr %b
  store i32 0, ptr %sp
  store i32 0, ptr %fp
  call void @lw_tell_release(ptr %blk, i64 %i)
  br label %w
w:
  %k = phi i64 [ 0, %open ], [ %k1, %wn ]
  %ko = mul i64 %k, {Warp.SIZE}
  %x = getelementptr i8, ptr %x0, i64 %ko
  %stp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  %st = load i32, ptr %stp
  %ip = getelementptr i8, ptr %x, i64 {Warp.BARRIER}
  %id = load i32, ptr %ip
  %idz = zext i32 %id to i64
  %c1 = icmp eq i32 %st, {Status.WAITING}
  %c2 = icmp eq i64 %idz, %i
  %c = and i1 %c1, %c2
  br i1 %c, label %go, label %wn
go:
  store i32 {Status.READY}, ptr %stp
  %rp = getelementptr i8, ptr %x, i64 {Warp.BARRIER_RESULT}
  store i32 %res, ptr %rp
  br label %wn
wn:
  %k1 = add i64 %k, 1
  %km = icmp ult i64 %k1, %nw
  br i1 %km, label %w, label %opened
opened:
  br label %next
next:
  %any2 = phi i1 [ %any, %bar ], [ %any, %test ], [ true, %opened ]
  %i1 = add i64 %i, 1
  %im = icmp ult i64 %i1, 16
  br i1 %im, label %bar, label %out
out:
  ret i1 %any2
}}
"""
