"""Issuing bulk copies, in LLVM IR: for each lane its addresses are checked, its sectors counted, and an entry added to
the ring of a block (`emulator.bulk`)."""

from __future__ import annotations

from lanewise.emulator.lanes import each_lane
from lanewise.emulator.layout import (
    RANK_SHIFT,
    SITE_ON,
    SITE_REQUESTS_ON,
    Block,
    BulkCopy,
    CopyFault,
    Fault,
    Launch,
    Warp,
    Worker,
)
from lanewise.emulator.moving import lane_vector

_SECTORS = lane_vector("i64", (32 * lane for lane in range(32)))
UNIT = 16  # bytes: what sizes and addresses of bulk copies are multiples of (PTX ISA 9.7.9.25.4.1)
_OFFSET = (1 << RANK_SHIFT) - 1

_CHECKS = f"""
; %what is one of CopyFault, %number what it is about, %bytes the size of the copy.
define internal void @lw_bulk_fault(ptr %x, ptr %w, i64 %number, i64 %bytes, i32 %what, i32 %bit, i32 %place) noinline nounwind cold {{
  %i = insertelement <32 x i64> poison, i64 %number, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %v, ptr %fa, align 64
  %b = trunc i64 %bytes to i32
  %b1 = shl i32 %b, 8
  %s = or i32 %b1, %what
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 {Fault.COPY}, i32 %bit, i32 %s)
  unreachable
}}
; Sectors that [%a, %a + %n) lies in.
define internal i64 @lw_bulk_span(i64 %a, i64 %n) nounwind {{
  %last0 = add i64 %a, %n
  %last = sub i64 %last0, 1
  %s0 = lshr i64 %a, 5
  %s1 = lshr i64 %last, 5
  %d = sub i64 %s1, %s0
  %d1 = add i64 %d, 1
  %none = icmp eq i64 %n, 0
  %r = select i1 %none, i64 0, i64 %d1
  ret i64 %r
}}
; The sectors of [%a, %a + %n), up to 32 a request of the trace (`emulator.trace`).
define internal void @lw_bulk_tell(ptr %x, ptr %w, i64 %a, i64 %n, i32 %trace) noinline nounwind {{
entry:
  %begin = and i64 %a, -32
  %count = call i64 @lw_bulk_span(i64 %a, i64 %n)
  br label %each
each:
  %at = phi i64 [ %begin, %entry ], [ %next, %each ]
  %left = phi i64 [ %count, %entry ], [ %rest, %each ]
  %some = call i64 @llvm.umin.i64(i64 %left, i64 32)
  %bits = shl i64 1, %some
  %low = sub i64 %bits, 1
  %mask = trunc i64 %low to i32
  %i = insertelement <32 x i64> poison, i64 %at, i32 0
  %all = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  %addresses = add <32 x i64> %all, {_SECTORS}
  call void @lw_trace(ptr %x, ptr %w, <32 x i64> %addresses, i32 %mask, i32 %trace)
  %next = add i64 %at, 1024
  %rest = sub i64 %left, %some
  %done = icmp eq i64 %rest, 0
  br i1 %done, label %out, label %each
out:
  ret void
}}
; Global memory [%a, %a + %n), whose other side is at %o in shared memory: checked, its sectors counted at %c, by the
; rule of `hardware.copies.bulk_sectors`; told to the trace of lines where %trace is not -1.
define internal void @lw_bulk_global(ptr %x, ptr %w, ptr %c, i64 %a, i32 %o, i64 %n, i32 %trace, i32 %bit, i32 %place) noinline nounwind {{
entry:
  %k = alloca [2 x i64], align 8
  %low = and i64 %a, {UNIT - 1}
  %aligned = icmp eq i64 %low, 0
  br i1 %aligned, label %size, label %bad
size:
  %odd = and i64 %n, {UNIT - 1}
  %whole = icmp eq i64 %odd, 0
  br i1 %whole, label %look, label %bad_size
look:
  %nothing = icmp eq i64 %n, 0
  br i1 %nothing, label %out, label %find
find:
  %found = call i1 @lw_find(ptr %w, i64 %a, i64 %n, ptr %k)
  br i1 %found, label %count, label %bad
count:                                            ; a piece for each 128 bytes of shared memory
  %o0 = zext i32 %o to i64
  %in = and i64 %o0, 127
  %room = sub i64 128, %in
  %first = call i64 @llvm.umin.i64(i64 %room, i64 %n)
  %sf = call i64 @lw_bulk_span(i64 %a, i64 %first)
  %left = sub i64 %n, %first
  %pieces = lshr i64 %left, 7
  %next = add i64 %a, %first
  %each = call i64 @lw_bulk_span(i64 %next, i64 128)
  %sp = mul i64 %pieces, %each
  %rest = and i64 %left, 127
  %tail = shl i64 %pieces, 7
  %end = add i64 %next, %tail
  %sr = call i64 @lw_bulk_span(i64 %end, i64 %rest)
  %s01 = add i64 %sf, %sp
  %sectors = add i64 %s01, %sr
  %up = add i64 %n, 31
  %ideal = lshr i64 %up, 5
  %v0 = insertelement <2 x i64> poison, i64 %sectors, i32 0
  %v = insertelement <2 x i64> %v0, i64 %ideal, i32 1
  %old = load <2 x i64>, ptr %c, align 8
  %new = add <2 x i64> %old, %v
  store <2 x i64> %new, ptr %c, align 8
  %told = icmp sge i32 %trace, 0
  br i1 %told, label %tell, label %out
tell:
  call void @lw_bulk_tell(ptr %x, ptr %w, i64 %a, i64 %n, i32 %trace)
  br label %out
out:
  ret void
bad_size:
  call void @lw_bulk_fault(ptr %x, ptr %w, i64 %n, i64 %n, i32 {CopyFault.BULK_SIZE}, i32 %bit, i32 %place)
  unreachable
bad:
  %what = phi i32 [ {CopyFault.BULK_GLOBAL_ALIGNMENT}, %entry ], [ {CopyFault.BULK_GLOBAL_BOUNDS}, %find ]
  call void @lw_bulk_fault(ptr %x, ptr %w, i64 %a, i64 %n, i32 %what, i32 %bit, i32 %place)
  unreachable
}}
; Host address of [%a, %a + %n) in the shared memory of block %blk: checked. %a may name a block in byte 3, which is not
; looked at.
define internal ptr @lw_bulk_shared(ptr %x, ptr %w, ptr %blk, i32 %a, i64 %n, i32 %bit, i32 %place) noinline nounwind {{
entry:
  %off32 = and i32 %a, {_OFFSET}
  %off = zext i32 %off32 to i64
  %low = and i64 %off, {UNIT - 1}
  %aligned = icmp eq i64 %low, 0
  br i1 %aligned, label %size, label %bad
size:
  %odd = and i64 %n, {UNIT - 1}
  %whole = icmp eq i64 %odd, 0
  br i1 %whole, label %look, label %bad_size
look:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %sp = getelementptr i8, ptr %l, i64 {Launch.SHARED_BYTES}
  %limit = load i64, ptr %sp
  %end = add i64 %off, %n
  %in = icmp ule i64 %end, %limit
  br i1 %in, label %good, label %bad
good:
  %shared = load ptr, ptr %blk
  %host = getelementptr i8, ptr %shared, i64 %off
  ret ptr %host
bad_size:
  call void @lw_bulk_fault(ptr %x, ptr %w, i64 %n, i64 %n, i32 {CopyFault.BULK_SIZE}, i32 %bit, i32 %place)
  unreachable
bad:
  %what = phi i32 [ {CopyFault.BULK_SHARED_ALIGNMENT}, %entry ], [ {CopyFault.BULK_SHARED_BOUNDS}, %look ]
  call void @lw_bulk_fault(ptr %x, ptr %w, i64 %off, i64 %n, i32 %what, i32 %bit, i32 %place)
  unreachable
}}
; The block that an address in shared::cluster names.
define internal ptr @lw_bulk_block(ptr %x, ptr %w, i32 %a, i32 %bit, i32 %place) noinline nounwind {{
entry:
  %rank1 = lshr i32 %a, {RANK_SHIFT}
  %mine = icmp eq i32 %rank1, 0
  br i1 %mine, label %own, label %other
own:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  ret ptr %blk
other:
  %rank32 = sub i32 %rank1, 1
  %rank = zext i32 %rank32 to i64
  %b = call ptr @lw_bulk_rank(ptr %x, ptr %w, i64 %rank, i32 %bit, i32 %place)
  ret ptr %b
}}
; The block of a rank of the cluster.
define internal ptr @lw_bulk_rank(ptr %x, ptr %w, i64 %rank, i32 %bit, i32 %place) noinline nounwind {{
entry:
  %n = call i64 @lw_cluster_size(ptr %w)
  %there = icmp ult i64 %rank, %n
  br i1 %there, label %look, label %bad
look:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %own = load ptr, ptr %bp
  %fp = getelementptr i8, ptr %own, i64 {Block.CLUSTER}
  %f = load ptr, ptr %fp
  %bzp = getelementptr i8, ptr %w, i64 {Worker.BLOCK_SIZE}
  %bz = load i64, ptr %bzp
  %o = mul i64 %rank, %bz
  %b = getelementptr i8, ptr %f, i64 %o
  %ap = getelementptr i8, ptr %b, i64 {Block.ACTIVE}
  %ac = load ptr, ptr %ap
  %gone = icmp eq ptr %ac, null
  br i1 %gone, label %bad, label %found
found:
  ret ptr %b
bad:
  %what = phi i32 [ {CopyFault.BULK_RANK}, %entry ], [ {CopyFault.BULK_EXITED}, %look ]
  call void @lw_bulk_fault(ptr %x, ptr %w, i64 %rank, i64 0, i32 %what, i32 %bit, i32 %place)
  unreachable
}}
; Host address of the mbarrier at %a in the shared memory of block %blk: checked.
define internal ptr @lw_bulk_word(ptr %x, ptr %w, ptr %blk, i32 %a, i32 %bit, i32 %place) noinline nounwind {{
  %off32 = and i32 %a, {_OFFSET}
  %off = zext i32 %off32 to i64
  %i = insertelement <32 x i64> poison, i64 %off, i32 0
  %v = shufflevector <32 x i64> %i, <32 x i64> poison, <32 x i32> zeroinitializer
  %shared = load ptr, ptr %blk
  %h = call <32 x i64> @lw_mbarrier_hosts(ptr %x, ptr %w, ptr %shared, <32 x i64> %v, i32 %bit, i32 %place)
  %at = extractelement <32 x i64> %h, i32 0
  %p = inttoptr i64 %at to ptr
  ret ptr %p
}}
"""


def _lanes(name: str, parameters: str, columns: tuple[tuple[str, str], ...], body: str) -> str:
    """A function over the lanes of %m. `columns` are vectors (name, element) of which `%name` is the lane's own."""
    stores = "".join(
        f"  %{name}.s = alloca <32 x {element}>, align 64\n  store <32 x {element}> %{name}.v, ptr %{name}.s, align 64\n"
        for name, element in columns
    )
    loads = "".join(
        f"  %{name}.p = getelementptr {element}, ptr %{name}.s, i32 %i\n  %{name} = load {element}, ptr %{name}.p\n"
        for name, element in columns
    )
    vectors = ", ".join(f"<32 x {element}> %{name}.v" for name, element in columns)
    return f"""
define internal void @{name}(ptr %x, ptr %w, ptr %c, {vectors}, {parameters}, i32 %m, i32 %place) noinline nounwind {{
entry:
{stores}  %none = icmp eq i32 %m, 0
  br i1 %none, label %out, label %count
count:
  %on0 = call i32 @llvm.ctpop.i32(i32 %m)
  %on64 = zext i32 %on0 to i64
  %onp = getelementptr i64, ptr %c, i64 {SITE_ON}
  %on1 = load i64, ptr %onp
  %on2 = add i64 %on1, %on64
  store i64 %on2, ptr %onp
  %rqp = getelementptr i64, ptr %c, i64 {SITE_REQUESTS_ON}
  %rq1 = load i64, ptr %rqp
  %rq2 = add i64 %rq1, 1
  store i64 %rq2, ptr %rqp
  br label %loop
{each_lane("%m", "count", "next")}{loads}{body}next:
  br label %loop
out:
  ret void
}}
"""


_FILL = f"""
define internal void @lw_bulk_fill(ptr %p, ptr %to, ptr %from, i64 %n, i16 %mask) nounwind {{
  store ptr %to, ptr %p
  %fp = getelementptr i8, ptr %p, i64 {BulkCopy.FROM}
  store ptr %from, ptr %fp
  %np = getelementptr i8, ptr %p, i64 {BulkCopy.BYTES}
  store i64 %n, ptr %np
  %mp = getelementptr i8, ptr %p, i64 {BulkCopy.MASK}
  store i16 %mask, ptr %mp
  ret void
}}
; Add a copy to shared memory of block %blk that tells an mbarrier there.
define internal void @lw_bulk_add(ptr %x, ptr %w, ptr %blk, i32 %to, ptr %from, i64 %n, i32 %word, ptr %move, i32 %bit, i32 %place) noinline nounwind {{
  %host = call ptr @lw_bulk_shared(ptr %x, ptr %w, ptr %blk, i32 %to, i64 %n, i32 %bit, i32 %place)
  %wp = call ptr @lw_bulk_word(ptr %x, ptr %w, ptr %blk, i32 %word, i32 %bit, i32 %place)
  %p = call ptr @lw_bulk_push(ptr %x, ptr %w, ptr %blk, ptr %move, ptr %wp, i64 %n, i32 %bit, i32 %place)
  call void @lw_bulk_fill(ptr %p, ptr %host, ptr %from, i64 %n, i16 0)
  ret void
}}
"""

# Global memory to the shared memory of one block.
_LOAD = _lanes(
    "lw_bulk_load",
    "ptr %move, i32 %trace",
    (("to", "i32"), ("from", "i64"), ("size", "i32"), ("word", "i32")),
    """  %n = zext i32 %size to i64
  call void @lw_bulk_global(ptr %x, ptr %w, ptr %c, i64 %from, i32 %to, i64 %n, i32 %trace, i32 %bit, i32 %place)
  %source = inttoptr i64 %from to ptr
  %blk = call ptr @lw_bulk_block(ptr %x, ptr %w, i32 %to, i32 %bit, i32 %place)
  call void @lw_bulk_add(ptr %x, ptr %w, ptr %blk, i32 %to, ptr %source, i64 %n, i32 %word, ptr %move, i32 %bit, i32 %place)
  br label %next
""",
)
# ... of each block of a mask of ranks: to the same place in each, where an mbarrier lies at the same place too.
_MULTICAST = _lanes(
    "lw_bulk_multicast",
    "ptr %move, i32 %trace",
    (("to", "i32"), ("from", "i64"), ("size", "i32"), ("word", "i32"), ("ranks", "i16")),
    """  %n = zext i32 %size to i64
  call void @lw_bulk_global(ptr %x, ptr %w, ptr %c, i64 %from, i32 %to, i64 %n, i32 %trace, i32 %bit, i32 %place)
  %source = inttoptr i64 %from to ptr
  br label %each
each:
  %left = phi i16 [ %ranks, %lane ], [ %left2, %one ]
  %done = icmp eq i16 %left, 0
  br i1 %done, label %next, label %one
one:
  %r16 = call i16 @llvm.cttz.i16(i16 %left, i1 true)
  %r = zext i16 %r16 to i64
  %left1 = sub i16 %left, 1
  %left2 = and i16 %left, %left1
  %blk = call ptr @lw_bulk_rank(ptr %x, ptr %w, i64 %r, i32 %bit, i32 %place)
  call void @lw_bulk_add(ptr %x, ptr %w, ptr %blk, i32 %to, ptr %source, i64 %n, i32 %word, ptr %move, i32 %bit, i32 %place)
  br label %each
""",
)
# The own shared memory to that of a block of the cluster.
_ACROSS = _lanes(
    "lw_bulk_across",
    "ptr %move, i32 %trace",
    (("to", "i32"), ("from", "i32"), ("size", "i32"), ("word", "i32")),
    """  %n = zext i32 %size to i64
  %own = call ptr @lw_bulk_block(ptr %x, ptr %w, i32 0, i32 %bit, i32 %place)
  %source = call ptr @lw_bulk_shared(ptr %x, ptr %w, ptr %own, i32 %from, i64 %n, i32 %bit, i32 %place)
  %blk = call ptr @lw_bulk_block(ptr %x, ptr %w, i32 %to, i32 %bit, i32 %place)
  call void @lw_bulk_add(ptr %x, ptr %w, ptr %blk, i32 %to, ptr %source, i64 %n, i32 %word, ptr %move, i32 %bit, i32 %place)
  br label %next
""",
)
# The own shared memory to global memory, in a group of the lane.
_STORE = _lanes(
    "lw_bulk_store",
    "ptr %move, i32 %trace",
    (("to", "i64"), ("from", "i32"), ("size", "i32"), ("bytes", "i16")),
    """  %n = zext i32 %size to i64
  %own = call ptr @lw_bulk_block(ptr %x, ptr %w, i32 0, i32 %bit, i32 %place)
  %source = call ptr @lw_bulk_shared(ptr %x, ptr %w, ptr %own, i32 %from, i64 %n, i32 %bit, i32 %place)
  call void @lw_bulk_global(ptr %x, ptr %w, ptr %c, i64 %to, i32 %from, i64 %n, i32 %trace, i32 %bit, i32 %place)
  %target = inttoptr i64 %to to ptr
  %p = call ptr @lw_bulk_push(ptr %x, ptr %w, ptr %own, ptr %move, ptr null, i64 %n, i32 %bit, i32 %place)
  call void @lw_bulk_fill(ptr %p, ptr %target, ptr %source, i64 %n, i16 %bytes)
  br label %next
""",
)
_DECLARATIONS = (
    "declare i64 @llvm.umin.i64(i64, i64)\ndeclare i32 @llvm.ctpop.i32(i32)\ndeclare i16 @llvm.cttz.i16(i16, i1)\n"
)


def definitions() -> str:
    """The functions' text."""
    return _CHECKS + _FILL + _LOAD + _MULTICAST + _ACROSS + _STORE + _DECLARATIONS
