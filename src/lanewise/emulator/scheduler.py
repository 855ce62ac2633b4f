"""The scheduler, in LLVM IR: warps are fibers, blocks are drawn from an atomic counter, barriers release when complete.

`@lw_run(worker)` runs until no block is left, a kernel faults, or the host is asked for something, and returns a
`Request`. It may be called again to go on after a service request.
"""

from __future__ import annotations

import platform

from lanewise.emulator import block_slots
from lanewise.emulator.layout import (
    BLOCK_COUNTERS,
    BLOCK_THREADS,
    IDLE_LIMIT,
    SPIN_TURNS,
    Abort,
    Block,
    Fault,
    Hooks,
    Launch,
    Request,
    Status,
    Warp,
    Worker,
)

_SWAP = {
    "x86_64": (
        "pushq %rbp\\0Apushq %rbx\\0Apushq %r12\\0Apushq %r13\\0Apushq %r14\\0Apushq %r15\\0A"
        "movq %rsp, (%rdi)\\0Amovq (%rsi), %rsp\\0A"
        "popq %r15\\0Apopq %r14\\0Apopq %r13\\0Apopq %r12\\0Apopq %rbx\\0Apopq %rbp\\0Aretq"
    ),
    "aarch64": (
        "sub sp, sp, #160\\0A"
        "stp x19, x20, [sp, #0]\\0Astp x21, x22, [sp, #16]\\0Astp x23, x24, [sp, #32]\\0Astp x25, x26, [sp, #48]\\0A"
        "stp x27, x28, [sp, #64]\\0Astp x29, x30, [sp, #80]\\0Astp d8, d9, [sp, #96]\\0Astp d10, d11, [sp, #112]\\0A"
        "stp d12, d13, [sp, #128]\\0Astp d14, d15, [sp, #144]\\0A"
        "mov x9, sp\\0Astr x9, [x0]\\0Aldr x9, [x1]\\0Amov sp, x9\\0A"
        "ldp x19, x20, [sp, #0]\\0Aldp x21, x22, [sp, #16]\\0Aldp x23, x24, [sp, #32]\\0Aldp x25, x26, [sp, #48]\\0A"
        "ldp x27, x28, [sp, #64]\\0Aldp x29, x30, [sp, #80]\\0Aldp d8, d9, [sp, #96]\\0Aldp d10, d11, [sp, #112]\\0A"
        "ldp d12, d13, [sp, #128]\\0Aldp d14, d15, [sp, #144]\\0Aadd sp, sp, #160\\0Aret"
    ),
}
# A new fiber starts here: two saved registers hold the function and its argument.
_START = {"x86_64": "movq %r12, %rdi\\0Acallq *%r13", "aarch64": "mov x0, x19\\0Ablr x20"}
# Words below the top of a new stack: (size of the frame, word of the argument, word of the function, word of the start).
_FRAME = {"x86_64": (9, 3, 2, 6), "aarch64": (20, 0, 1, 11)}


def machine() -> str:
    """The host's architecture as this module names it."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def definitions() -> str:
    """The scheduler's functions. `@lw_kernel(ptr warp)` must be defined by the kernel's module."""
    host = machine()
    return (
        f"""
define internal void @lw_swap(ptr %save, ptr %load) naked noinline nounwind {{
  call void asm sideeffect "{_SWAP[host]}", ""()
  unreachable
}}
define internal void @lw_start() naked noinline nounwind {{
  call void asm sideeffect "{_START[host]}", ""()
  unreachable
}}
; Hand control back to the scheduler of worker %w with the status of warp %x already set.
define internal void @lw_leave(ptr %x, ptr %w) noinline nounwind {{
  %sp = getelementptr i8, ptr %x, i64 {Warp.STACK_POINTER}
  %main = getelementptr i8, ptr %w, i64 {Worker.MAIN_STACK}
  call void @lw_swap(ptr %sp, ptr %main)
  ret void
}}
; The function that listens to an event, null where there is none.
define internal ptr @lw_hook(ptr %w, i64 %which) nounwind {{
entry:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %hp = getelementptr i8, ptr %l, i64 {Launch.HOOKS}
  %h = load ptr, ptr %hp
  %none = icmp eq ptr %h, null
  br i1 %none, label %no, label %some
no:
  ret ptr null
some:
  %fp = getelementptr i8, ptr %h, i64 %which
  %f = load ptr, ptr %fp
  ret ptr %f
}}
define internal void @lw_tell_block(ptr %w, ptr %blk, i64 %begins) noinline nounwind {{
  %f = call ptr @lw_hook(ptr %w, i64 {Hooks.BLOCK})
  %none = icmp eq ptr %f, null
  br i1 %none, label %out, label %tell
tell:
  call void %f(ptr %w, ptr %blk, i64 %begins)
  br label %out
out:
  ret void
}}
define internal void @lw_tell_arrive(ptr %x, ptr %w, i32 %id, i32 %threads, i32 %own, i32 %wait, i32 %place) noinline nounwind {{
  %f = call ptr @lw_hook(ptr %w, i64 {Hooks.ARRIVE})
  %none = icmp eq ptr %f, null
  br i1 %none, label %out, label %tell
tell:
  call void %f(ptr %x, ptr %w, i32 %id, i32 %threads, i32 %own, i32 %wait, i32 %place)
  br label %out
out:
  ret void
}}
define internal void @lw_tell_release(ptr %blk, i64 %id) noinline nounwind {{
  %wp = getelementptr i8, ptr %blk, i64 {Block.ACTIVE}
  %w = load ptr, ptr %wp
  %f = call ptr @lw_hook(ptr %w, i64 {Hooks.RELEASE})
  %none = icmp eq ptr %f, null
  br i1 %none, label %out, label %tell
tell:
  call void %f(ptr %w, ptr %blk, i64 %id)
  br label %out
out:
  ret void
}}
; An access that a card would refuse, its addresses in the worker: does the launch go on without it? If not, this does
; not return.
define internal void @lw_refuse(ptr %x, ptr %w, i32 %site, i32 %code, i32 %mask, i32 %size) noinline nounwind cold {{
  %f = call ptr @lw_hook(ptr %w, i64 {Hooks.FAULT})
  %none = icmp eq ptr %f, null
  br i1 %none, label %stop, label %tell
tell:
  %go = call i32 %f(ptr %x, ptr %w, i32 %site, i32 %code, i32 %mask, i32 %size)
  %no = icmp eq i32 %go, 0
  br i1 %no, label %stop, label %out
stop:
  call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %code, i32 %mask, i32 %size)
  unreachable
out:
  ret void
}}
; The body of a fiber: run the kernel, then report done for ever.
define internal void @lw_body(ptr %x) nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %wp = getelementptr i8, ptr %blk, i64 {Block.ACTIVE}
  %w = load ptr, ptr %wp
  call void @lw_kernel(ptr %x, ptr %w)
  %st = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.DONE}, ptr %st
  br label %forever
forever:
  call void @lw_leave(ptr %x, ptr %w)
  br label %forever
}}
; Wait at barrier %id for %threads threads (0: all of the block). The predicate lanes serve bar.red. Never inlined: other
; warps change memory meanwhile, which is why every pointer a kernel keeps is handed in.
define internal void @lw_barrier(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, i32 %id, i32 %threads, i32 %own, i32 %true, i32 %wait, i32 %place) noinline nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %exists = icmp ult i32 %id, 16
  br i1 %exists, label %counted, label %bad
counted:
  %odd = and i32 %threads, 31
  %whole = icmp eq i32 %odd, 0
  br i1 %whole, label %arrive, label %bad
bad:
  %code = select i1 %exists, i32 {Fault.BARRIER_COUNT}, i32 {Fault.BARRIER}
  %what = select i1 %exists, i32 %threads, i32 %id
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 %code, i32 %own, i32 %what)
  unreachable
arrive:
  %idm = and i32 %id, 15
  %id64 = zext i32 %idm to i64
  %off = mul i64 %id64, {Block.BARRIER_SIZE}
  %b0 = getelementptr i8, ptr %blk, i64 {Block.BARRIERS}
  %b = getelementptr i8, ptr %b0, i64 %off
  %arr = load i32, ptr %b
  %arr1 = add i32 %arr, 32
  store i32 %arr1, ptr %b
  %ep = getelementptr i8, ptr %b, i64 4
  store i32 %threads, ptr %ep
  %nt = call i32 @llvm.ctpop.i32(i32 %true)
  %sp = getelementptr i8, ptr %b, i64 8
  %s = load i32, ptr %sp
  %s1 = add i32 %s, %nt
  store i32 %s1, ptr %sp
  %false = icmp ne i32 %own, %true
  %fz = zext i1 %false to i32
  %fp = getelementptr i8, ptr %b, i64 12
  %f = load i32, ptr %fp
  %f1 = or i32 %f, %fz
  store i32 %f1, ptr %fp
  call void @lw_tell_arrive(ptr %x, ptr %w, i32 %idm, i32 %threads, i32 %own, i32 %wait, i32 %place)
  %block = icmp ne i32 %wait, 0
  br i1 %block, label %stop, label %out
stop:
  %st = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.WAITING}, ptr %st
  %ip = getelementptr i8, ptr %x, i64 {Warp.BARRIER}
  store i32 %idm, ptr %ip
  %plp = getelementptr i8, ptr %x, i64 {Warp.PLACE}
  store i32 %place, ptr %plp
  call void @lw_leave(ptr %x, ptr %w)
  ret void
out:
  ret void
}}
; A warp that spins lets the others run.
define internal void @lw_yield(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared) noinline nounwind {{
entry:
  %cp = getelementptr i8, ptr %x, i64 {Warp.SPIN}
  %c = load i32, ptr %cp
  %c1 = add i32 %c, 1
  store i32 %c1, ptr %cp
  %few = icmp ult i32 %c1, {SPIN_TURNS}
  br i1 %few, label %out, label %go
go:
  store i32 0, ptr %cp
  %st = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.YIELDED}, ptr %st
  call void @lw_leave(ptr %x, ptr %w)
  ret void
out:
  ret void
}}
; The fuel is burnt: fill up, and end the launch where it has executed more than its budget.
define internal void @lw_spend(ptr %w) noinline nounwind {{
entry:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %rp = getelementptr i8, ptr %l, i64 {Launch.REFILL}
  %r = load i64, ptr %rp
  %fp = getelementptr i8, ptr %w, i64 {Worker.FUEL}
  store i64 %r, ptr %fp
  %sp = getelementptr i8, ptr %l, i64 {Launch.SIZES}
  %sizes = load ptr, ptr %sp
  %np = getelementptr i8, ptr %l, i64 {Launch.SIZES_COUNT}
  %n = load i64, ptr %np
  %cp = getelementptr i8, ptr %w, i64 {Worker.COUNTERS}
  %counters = load ptr, ptr %cp
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %sum1, %loop ]
  %at = mul i64 %i, {BLOCK_COUNTERS}
  %at1 = add i64 %at, {BLOCK_THREADS}
  %tp = getelementptr i64, ptr %counters, i64 %at1
  %t = load i64, ptr %tp
  %zp = getelementptr i64, ptr %sizes, i64 %i
  %z = load i64, ptr %zp
  %p = mul i64 %t, %z
  %sum1 = add i64 %sum, %p
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %add
add:
  %dp = getelementptr i8, ptr %w, i64 {Worker.SPENT}
  %d = load i64, ptr %dp
  store i64 %sum1, ptr %dp
  %new = sub i64 %sum1, %d
  %xp = getelementptr i8, ptr %l, i64 {Launch.EXECUTED}
  %before = atomicrmw add ptr %xp, i64 %new monotonic
  %all = add i64 %before, %new
  %bp = getelementptr i8, ptr %l, i64 {Launch.BUDGET}
  %b = load i64, ptr %bp
  %over = icmp ugt i64 %all, %b
  br i1 %over, label %stop, label %out
stop:
  %ap = getelementptr i8, ptr %l, i64 {Launch.ABORT}
  %old = cmpxchg ptr %ap, i64 0, i64 {Abort.BUDGET} monotonic monotonic
  ret void
out:
  ret void
}}
; Fuel is burnt at back edges and calls: has the launch come to its end?
define internal void @lw_tick(ptr %x, ptr %w) noinline nounwind {{
entry:
  call void @lw_spend(ptr %w)
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %ap = getelementptr i8, ptr %l, i64 {Launch.ABORT}
  %a = load atomic volatile i64, ptr %ap monotonic, align 8
  %z = icmp eq i64 %a, 0
  br i1 %z, label %out, label %stop
stop:
  call void @lw_ask(ptr %x, ptr %w, i64 {Request.ABORTED})
  br label %stop
out:
  ret void
}}
; Return to the host with a request; comes back when the host calls @lw_run again.
define internal void @lw_ask(ptr %x, ptr %w, i64 %request) noinline nounwind {{
  %rp = getelementptr i8, ptr %w, i64 {Worker.REQUEST}
  store i64 %request, ptr %rp
  call void @lw_leave(ptr %x, ptr %w)
  ret void
}}
define internal void @lw_fault(ptr %x, ptr %w, i32 %site, i32 %code, i32 %mask, i32 %size) noinline nounwind cold {{
entry:
  %s = zext i32 %site to i64
  %p1 = getelementptr i8, ptr %w, i64 {Worker.FAULT_SITE}
  store i64 %s, ptr %p1
  %c = zext i32 %code to i64
  %p2 = getelementptr i8, ptr %w, i64 {Worker.FAULT_CODE}
  store i64 %c, ptr %p2
  %m = zext i32 %mask to i64
  %p3 = getelementptr i8, ptr %w, i64 {Worker.FAULT_MASK}
  store i64 %m, ptr %p3
  %z = zext i32 %size to i64
  %p4 = getelementptr i8, ptr %w, i64 {Worker.FAULT_SIZE}
  store i64 %z, ptr %p4
  br label %again
again:
  call void @lw_ask(ptr %x, ptr %w, i64 {Request.FAULT})
  br label %again
}}
"""
        + block_slots.definitions(*_FRAME[host])
        + f"""
; Run the warps of one block until it is finished (0), only spins (1), asks the host (2), or all wait: after some have
; run (3), or none could (4).
define internal i32 @lw_block(ptr %w, ptr %blk) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %livp = getelementptr i8, ptr %blk, i64 {Block.LIVE}
  %x0 = getelementptr i8, ptr %blk, i64 {Block.WARP_CONTEXTS}
  %main = getelementptr i8, ptr %w, i64 {Worker.MAIN_STACK}
  %reqp = getelementptr i8, ptr %w, i64 {Worker.REQUEST}
  %curp = getelementptr i8, ptr %w, i64 {Worker.CURRENT}
  %fp = getelementptr i8, ptr %blk, i64 {Block.CLUSTER}
  %f = load ptr, ptr %fp
  %idlep = getelementptr i8, ptr %f, i64 {Block.IDLE}
  %cluster = call i64 @lw_cluster_size(ptr %w)
  %alone = icmp ule i64 %cluster, 1
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %firstp = getelementptr i8, ptr %l, i64 {Launch.WARP_START}
  %first = load i64, ptr %firstp
  br label %round
round:
  %ran_before = phi i1 [ false, %entry ], [ true, %still ], [ true, %tell ]
  br label %warp
warp:
  %k = phi i64 [ 0, %round ], [ %k1, %after ]
  %moved = phi i1 [ false, %round ], [ %moved2, %after ]
  %spun = phi i1 [ false, %round ], [ %spun2, %after ]
  %kf = add i64 %k, %first
  %kover = icmp uge i64 %kf, %nw
  %kb = sub i64 %kf, %nw
  %kk = select i1 %kover, i64 %kb, i64 %kf
  %ko = mul i64 %kk, {Warp.SIZE}
  %x = getelementptr i8, ptr %x0, i64 %ko
  %stp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  %st = load i32, ptr %stp
  switch i32 %st, label %after [ i32 {Status.READY}, label %go
    i32 {Status.YIELDED}, label %go
    i32 {Status.PHASE}, label %phase ]
phase:
  %wwp = getelementptr i8, ptr %x, i64 {Warp.WAIT_WORD}
  %ww = load ptr, ptr %wwp
  %word = load i64, ptr %ww
  %top64 = lshr i64 %word, 61
  %top = trunc i64 %top64 to i32
  %wsp = getelementptr i8, ptr %x, i64 {Warp.WAIT_STATE}
  %ws = load i32, ptr %wsp
  %lasts = icmp eq i32 %top, %ws
  br i1 %lasts, label %after, label %ends
ends:
  store i64 0, ptr %idlep
  br label %go
go:
  store i32 {Status.READY}, ptr %stp
  store i64 -1, ptr %reqp
  store ptr %x, ptr %curp
  call void @lw_swap(ptr %main, ptr %x)
  %req = load i64, ptr %reqp
  %asks = icmp ne i64 %req, -1
  br i1 %asks, label %ask, label %ran
ask:
  ret i32 2
ran:
  %st2 = load i32, ptr %stp
  %isdone = icmp eq i32 %st2, {Status.DONE}
  br i1 %isdone, label %done, label %notdone
done:
  %live = load i64, ptr %livp
  %live1 = add i64 %live, -1
  store i64 %live1, ptr %livp
  store i64 0, ptr %idlep
  br label %after
notdone:
  %isspin = icmp eq i32 %st2, {Status.YIELDED}
  %ismove = xor i1 %isspin, true
  br label %after
after:
  %mv = phi i1 [ false, %warp ], [ false, %phase ], [ true, %done ], [ %ismove, %notdone ]
  %sv = phi i1 [ false, %warp ], [ false, %phase ], [ false, %done ], [ %isspin, %notdone ]
  %moved2 = or i1 %moved, %mv
  %spun2 = or i1 %spun, %sv
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %nw
  br i1 %more, label %warp, label %ended
ended:
  %l2 = load i64, ptr %livp
  %none = icmp eq i64 %l2, 0
  br i1 %none, label %finished, label %check
finished:
  ret i32 0
check:
  %rel = call i1 @lw_release(ptr %blk)
  br i1 %rel, label %released, label %looked
released:
  store i64 0, ptr %idlep
  br label %looked
looked:
  %prog = or i1 %rel, %moved2
  br i1 %spun2, label %spinning, label %still
spinning:
  br i1 %prog, label %turn, label %told
told:
  %tolds = call i1 @lw_time_out(ptr %blk)
  br label %turn
turn:
  ret i32 1
still:
  br i1 %prog, label %round, label %idle
idle:
  br i1 %alone, label %count, label %stuck
count:
  %idle0 = load i64, ptr %idlep
  %idle1 = add i64 %idle0, 1
  store i64 %idle1, ptr %idlep
  %over = icmp ugt i64 %idle1, {IDLE_LIMIT}
  br i1 %over, label %stuck, label %tell
tell:
  %some = call i1 @lw_time_out(ptr %blk)
  br i1 %some, label %round, label %stuck
stuck:
  %how = select i1 %ran_before, i32 3, i32 4
  ret i32 %how
}}
; The wait of warps at mbarriers ends without success, as a card's does after a while. Returns whether there were any.
define internal i1 @lw_time_out(ptr %blk) noinline nounwind {{
entry:
  %nwp = getelementptr i8, ptr %blk, i64 {Block.WARPS}
  %nw = load i64, ptr %nwp
  %x0 = getelementptr i8, ptr %blk, i64 {Block.WARP_CONTEXTS}
  br label %warp
warp:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %any = phi i1 [ false, %entry ], [ %any2, %next ]
  %ko = mul i64 %k, {Warp.SIZE}
  %x = getelementptr i8, ptr %x0, i64 %ko
  %stp = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  %st = load i32, ptr %stp
  %waits = icmp eq i32 %st, {Status.PHASE}
  br i1 %waits, label %wake, label %next
wake:
  store i32 {Status.READY}, ptr %stp
  br label %next
next:
  %any2 = or i1 %any, %waits
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %nw
  br i1 %more, label %warp, label %out
out:
  ret i1 %any2
}}
define i64 @lw_run(ptr %w) nounwind {{
entry:
  %slp = getelementptr i8, ptr %w, i64 {Worker.SLOTS}
  %slots = load i64, ptr %slp
  %bsp = getelementptr i8, ptr %w, i64 {Worker.BLOCKS}
  %blocks = load ptr, ptr %bsp
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bsize = load i64, ptr %bzp
  %curp = getelementptr i8, ptr %w, i64 {Worker.CURSOR}
  %reqp = getelementptr i8, ptr %w, i64 {Worker.REQUEST}
  %donep = getelementptr i8, ptr %w, i64 {Worker.BLOCKS_DONE}
  %idle = alloca i64
  store i64 0, ptr %idle
  %more = alloca i1
  store i1 true, ptr %more
  br label %slot
; Visit the slots in turn. A free slot takes a block; %idle counts slots in a row that had nothing to do.
slot:
  %s = load i64, ptr %curp
  %so = mul i64 %s, %bsize
  %blk = getelementptr i8, ptr %blocks, i64 %so
  %acp = getelementptr i8, ptr %blk, i64 {Block.ACTIVE}
  %ac = load ptr, ptr %acp
  %free = icmp eq ptr %ac, null
  br i1 %free, label %take, label %run
take:
  %m = load i1, ptr %more
  br i1 %m, label %draw, label %empty
draw:
  %room = call i1 @lw_cluster_free(ptr %w, ptr %blk, i64 %s)
  br i1 %room, label %drawn, label %empty
drawn:
  %got = call i1 @lw_take(ptr %w, ptr %blk)
  store i1 %got, ptr %more
  br i1 %got, label %run, label %empty
empty:
  %i = load i64, ptr %idle
  %i1 = add i64 %i, 1
  store i64 %i1, ptr %idle
  %over = icmp uge i64 %i1, %slots
  br i1 %over, label %finished, label %advance
finished:
  ret i64 {Request.FINISHED}
run:
  store i64 0, ptr %idle
  %r = call i32 @lw_block(ptr %w, ptr %blk)
  switch i32 %r, label %waits [ i32 0, label %again
    i32 1, label %spins
    i32 2, label %asks ]
spins:
  call void @lw_cluster_moved(ptr %blk)
  br label %advance
again:
  call void @lw_cluster_moved(ptr %blk)
  call void @lw_tell_block(ptr %w, ptr %blk, i64 0)
  store ptr null, ptr %acp
  %d = load i64, ptr %donep
  %d1 = add i64 %d, 1
  store i64 %d1, ptr %donep
  br label %slot
advance:
  %n1 = add i64 %s, 1
  %n = urem i64 %n1, %slots
  store i64 %n, ptr %curp
  br label %slot
asks:
  %req = load i64, ptr %reqp
  ret i64 %req
waits:
  %none_ran = icmp eq i32 %r, 4
  %may = call i1 @lw_cluster_waits(ptr %w, ptr %blk, i1 %none_ran)
  br i1 %may, label %advance, label %stuck
stuck:
  store i64 {Request.DEADLOCK}, ptr %reqp
  ret i64 {Request.DEADLOCK}
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.ctpop.i32(i32)
"""
    )
