"""Bulk copies on their way, in LLVM IR (PTX ISA 9.7.9.25.4 and .6): a ring for each block, and what lands from it.

An instruction checks and counts at once and adds an entry; the bytes move when somebody waits at the mbarrier that
they are to be told to, or, where they belong to a group, when the thread waits for it or ends. The entry lies with the
block that has the mbarrier, or that copies to global memory. `lw_bulk_push` takes any function that moves the bytes:

    void move(ptr warp, ptr worker, ptr payload)

and gives back the payload, `BulkEntry.PAYLOAD_BYTES` bytes for the caller to fill, which `move` finds as they were.
"""

from __future__ import annotations

from lanewise.emulator.layout import AsyncQueue, Block, BulkCopy, BulkEntry, BulkQueue, Warp
from lanewise.emulator.ring import ring
from lanewise.emulator.updates import one_update

# The reductions of cp.reduce.async.bulk by operation and type (PTX ISA 9.7.9.25.4.2).
REDUCTIONS: tuple[tuple[str, str], ...] = (
    *((operation, kind) for operation in ("and", "or", "xor") for kind in ("b32", "b64")),
    *(("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64", "f16", "bf16")),
    *((operation, "u32") for operation in ("inc", "dec")),
    *((operation, kind) for operation in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16", "bf16")),
)
_WIDTHS = {"f16": 16, "bf16": 16}


def reducer(operation: str, kind: str) -> str:
    """The function that reduces a payload `BulkCopy` into global or shared memory."""
    return f"lw_bulk_{operation}_{kind}"


_QUEUE = f"""
; A new block: nothing is on its way.
define internal void @lw_bulk_begin(ptr %x) noinline nounwind {{
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %qp = getelementptr i8, ptr %blk, i64 {Block.BULK}
  %q = load ptr, ptr %qp
  store <2 x i64> zeroinitializer, ptr %q, align 8
  ret void
}}
; Add what %move will do to the ring of block %blk, for the one lane of %bit. Afterwards %bytes have come that the
; mbarrier at host address %word expects; null: it is of a group of the lane. Returns the payload, to be filled.
define internal ptr @lw_bulk_push(ptr %x, ptr %w, ptr %blk, ptr %move, ptr %word, i64 %bytes, i32 %bit, i32 %place) noinline nounwind {{
entry:
  %qp = getelementptr i8, ptr %blk, i64 {Block.BULK}
  %q = load ptr, ptr %qp
  %h = load i64, ptr %q
  %tp = getelementptr i8, ptr %q, i64 {BulkQueue.TAIL}
  %t = load i64, ptr %tp
  %n = sub i64 %t, %h
  %full = icmp uge i64 %n, {BulkQueue.CAPACITY}
  br i1 %full, label %flush, label %add
flush:                                            ; the oldest lands early, as a card may do
  %oldest = call ptr @lw_bulk_entry(ptr %q, i64 %h)
  call void @lw_bulk_land(ptr %x, ptr %w, ptr %oldest)
  call void @lw_bulk_pop(ptr %q)
  br label %add
add:
  %e = call ptr @lw_bulk_entry(ptr %q, i64 %t)
  store i32 1, ptr %e
  %pp = getelementptr i8, ptr %e, i64 {BulkEntry.PLACE}
  store i32 %place, ptr %pp
  %mp = getelementptr i8, ptr %e, i64 {BulkEntry.MOVE}
  store ptr %move, ptr %mp
  %wp = getelementptr i8, ptr %e, i64 {BulkEntry.WORD}
  store ptr %word, ptr %wp
  %np = getelementptr i8, ptr %e, i64 {BulkEntry.BYTES}
  store i64 %bytes, ptr %np
  %lp = getelementptr i8, ptr %e, i64 {BulkEntry.LANE}
  store i32 %bit, ptr %lp
  %xp = getelementptr i8, ptr %e, i64 {BulkEntry.WARP}
  store ptr %x, ptr %xp
  %aqp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %aq = load ptr, ptr %aqp
  %lane = call i32 @llvm.cttz.i32(i32 %bit, i1 true)
  %lane64 = zext i32 %lane to i64
  %go = mul i64 %lane64, 4
  %go1 = add i64 %go, {AsyncQueue.BULK_COMMITTED}
  %cp = getelementptr i8, ptr %aq, i64 %go1
  %g = load i32, ptr %cp
  %gp = getelementptr i8, ptr %e, i64 {BulkEntry.GROUP}
  store i32 %g, ptr %gp
  %t1 = add i64 %t, 1
  store i64 %t1, ptr %tp
  %payload = getelementptr i8, ptr %e, i64 {BulkEntry.PAYLOAD}
  ret ptr %payload
}}
define internal void @lw_bulk_land(ptr %x, ptr %w, ptr %e) noinline nounwind {{
entry:
  %live = load i32, ptr %e
  %done = icmp eq i32 %live, 0
  br i1 %done, label %out, label %move
move:
  store i32 0, ptr %e
  %mp = getelementptr i8, ptr %e, i64 {BulkEntry.MOVE}
  %f = load ptr, ptr %mp
  %payload = getelementptr i8, ptr %e, i64 {BulkEntry.PAYLOAD}
  call void %f(ptr %x, ptr %w, ptr %payload)
  %wp = getelementptr i8, ptr %e, i64 {BulkEntry.WORD}
  %word = load ptr, ptr %wp
  %grouped = icmp eq ptr %word, null
  br i1 %grouped, label %out, label %tell
tell:
  %np = getelementptr i8, ptr %e, i64 {BulkEntry.BYTES}
  %n = load i64, ptr %np
  %lp = getelementptr i8, ptr %e, i64 {BulkEntry.LANE}
  %bit = load i32, ptr %lp
  %pp = getelementptr i8, ptr %e, i64 {BulkEntry.PLACE}
  %place = load i32, ptr %pp
  call void @lw_mbarrier_complete_tx(ptr %x, ptr %w, ptr %word, i64 %n, i32 %bit, i32 %place)
  br label %out
out:
  ret void
}}
; Somebody of block %blk waits at the mbarrier %word: what it was promised lands. Returns whether anything did.
define internal i1 @lw_bulk_pump(ptr %x, ptr %w, ptr %blk, ptr %word) noinline nounwind {{
entry:
  %qp = getelementptr i8, ptr %blk, i64 {Block.BULK}
  %q = load ptr, ptr %qp
  %unused = icmp eq ptr %q, null
  br i1 %unused, label %no, label %start
no:
  ret i1 false
start:
  %h = load i64, ptr %q
  %tp = getelementptr i8, ptr %q, i64 {BulkQueue.TAIL}
  %t = load i64, ptr %tp
  br label %loop
loop:
  %i = phi i64 [ %h, %start ], [ %i1, %next ]
  %any = phi i1 [ false, %start ], [ %any1, %next ]
  %more = icmp ult i64 %i, %t
  br i1 %more, label %one, label %out
one:
  %e = call ptr @lw_bulk_entry(ptr %q, i64 %i)
  %live = load i32, ptr %e
  %on = icmp ne i32 %live, 0
  %wp = getelementptr i8, ptr %e, i64 {BulkEntry.WORD}
  %its = load ptr, ptr %wp
  %same = icmp eq ptr %its, %word
  %due = and i1 %on, %same
  br i1 %due, label %land, label %next
land:
  call void @lw_bulk_land(ptr %x, ptr %w, ptr %e)
  br label %next
next:
  %any1 = phi i1 [ %any, %one ], [ true, %land ]
  %i1 = add i64 %i, 1
  br label %loop
out:
  call void @lw_bulk_pop(ptr %q)
  ret i1 %any
}}
; The groups of the lanes of %m land, but for each lane's last %pending ones; %all: also what is in no group yet.
define internal void @lw_bulk_wait(ptr %x, ptr %w, i32 %m, i32 %pending, i1 %all) noinline nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %qp = getelementptr i8, ptr %blk, i64 {Block.BULK}
  %q = load ptr, ptr %qp
  %aqp = getelementptr i8, ptr %x, i64 {Warp.QUEUE}
  %aq = load ptr, ptr %aqp
  %h = load i64, ptr %q
  %tp = getelementptr i8, ptr %q, i64 {BulkQueue.TAIL}
  %t = load i64, ptr %tp
  br label %loop
loop:
  %i = phi i64 [ %h, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %t
  br i1 %more, label %one, label %out
one:
  %i1 = add i64 %i, 1
  %e = call ptr @lw_bulk_entry(ptr %q, i64 %i)
  %live = load i32, ptr %e
  %on = icmp ne i32 %live, 0
  %wp = getelementptr i8, ptr %e, i64 {BulkEntry.WORD}
  %word = load ptr, ptr %wp
  %grouped = icmp eq ptr %word, null
  %xp = getelementptr i8, ptr %e, i64 {BulkEntry.WARP}
  %its = load ptr, ptr %xp
  %own = icmp eq ptr %its, %x
  %lp = getelementptr i8, ptr %e, i64 {BulkEntry.LANE}
  %bit = load i32, ptr %lp
  %both = and i32 %bit, %m
  %lane_waits = icmp ne i32 %both, 0
  %c1 = and i1 %on, %grouped
  %c2 = and i1 %own, %lane_waits
  %mine = and i1 %c1, %c2
  br i1 %mine, label %group, label %next
group:
  %gp = getelementptr i8, ptr %e, i64 {BulkEntry.GROUP}
  %g = load i32, ptr %gp
  %lane = call i32 @llvm.cttz.i32(i32 %bit, i1 true)
  %lane64 = zext i32 %lane to i64
  %go = mul i64 %lane64, 4
  %go1 = add i64 %go, {AsyncQueue.BULK_COMMITTED}
  %cp = getelementptr i8, ptr %aq, i64 %go1
  %committed = load i32, ptr %cp
  %limit = call i32 @llvm.ssub.sat.i32(i32 %committed, i32 %pending)
  %before = icmp slt i32 %g, %limit
  %due = or i1 %before, %all
  br i1 %due, label %land, label %next
land:
  call void @lw_bulk_land(ptr %x, ptr %w, ptr %e)
  br label %next
next:
  br label %loop
out:
  call void @lw_bulk_pop(ptr %q)
  ret void
}}
define internal void @lw_bulk_copy(ptr %x, ptr %w, ptr %p) noinline nounwind {{
  %to = load ptr, ptr %p
  %fp = getelementptr i8, ptr %p, i64 {BulkCopy.FROM}
  %from = load ptr, ptr %fp
  %np = getelementptr i8, ptr %p, i64 {BulkCopy.BYTES}
  %n = load i64, ptr %np
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}}
; A copy where the bits of %mask, one for each byte of 16, say what is written.
define internal void @lw_bulk_copy_masked(ptr %x, ptr %w, ptr %p) noinline nounwind {{
entry:
  %to = load ptr, ptr %p
  %fp = getelementptr i8, ptr %p, i64 {BulkCopy.FROM}
  %from = load ptr, ptr %fp
  %np = getelementptr i8, ptr %p, i64 {BulkCopy.BYTES}
  %n = load i64, ptr %np
  %mp = getelementptr i8, ptr %p, i64 {BulkCopy.MASK}
  %m = load i16, ptr %mp
  %on = bitcast i16 %m to <16 x i1>
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %out
one:
  %a = getelementptr i8, ptr %from, i64 %i
  %b = getelementptr i8, ptr %to, i64 %i
  %new = load <16 x i8>, ptr %a, align 1
  %old = load <16 x i8>, ptr %b, align 1
  %v = select <16 x i1> %on, <16 x i8> %new, <16 x i8> %old
  store <16 x i8> %v, ptr %b, align 1
  %i1 = add i64 %i, 16
  br label %loop
out:
  ret void
}}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @llvm.ssub.sat.i32(i32, i32)
declare i32 @llvm.cttz.i32(i32, i1)
"""


def _reducer(operation: str, kind: str) -> str:
    """One element after the other, each an atomic operation."""
    bits = _WIDTHS.get(kind) or int(kind[1:])
    element = f"i{bits}"
    return f"""
define internal void @{reducer(operation, kind)}(ptr %x, ptr %w, ptr %payload) noinline nounwind {{
entry:
  %to = load ptr, ptr %payload
  %fp = getelementptr i8, ptr %payload, i64 {BulkCopy.FROM}
  %from = load ptr, ptr %fp
  %np = getelementptr i8, ptr %payload, i64 {BulkCopy.BYTES}
  %n = load i64, ptr %np
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %stored ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %lane, label %out
lane:
  %bp = getelementptr i8, ptr %from, i64 %i
  %b = load {element}, ptr %bp
  %p = getelementptr i8, ptr %to, i64 %i
{one_update(operation, kind, element, shared=False)}stored:
  %i1 = add i64 %i, {bits // 8}
  br label %loop
out:
  ret void
}}
"""


def definitions() -> str:
    """The functions' text."""
    return (
        ring("lw_bulk", BulkQueue, BulkEntry)
        + _QUEUE
        + "".join(_reducer(operation, kind) for operation, kind in REDUCTIONS)
    )
