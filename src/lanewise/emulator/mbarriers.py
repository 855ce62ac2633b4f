"""Mbarrier objects in LLVM IR (PTX ISA 9.7.13.15): operations lane by lane, completion, and waits that give way.

An object is one 64-bit word of shared memory. The ISA leaves its contents open; here it holds, from the lowest bit:

    pending arrivals (20) | arrivals of each phase (20) | bytes still expected (21, signed) | phase's parity (1) | 2

The 2 in the two highest bits marks an object that was made, so that one that was not is found. A state that `arrive`
gives back is the word before the arrival. `lw_mbarrier_complete_tx` is what copies call when their bytes have landed.
"""

from __future__ import annotations

from lanewise.emulator.lanes import each_lane
from lanewise.emulator.layout import Block, Fault, Launch, MbarrierFault, Status, Warp, Worker

COUNT_BITS = 20
MAX_COUNT = (1 << COUNT_BITS) - 1  # arrivals; bytes reach as far to both sides
EXPECTED_SHIFT = COUNT_BITS
BYTES_SHIFT = 2 * COUNT_BITS
PHASE_SHIFT = 61
MADE = 2 << 62  # as the two highest bits
MADE_TOP = 4  # the three highest bits of the word of an object in an even phase

# Flags of @lw_mbarrier_step.
DROP, NO_COMPLETE = 1, 2


def unpack(word: int) -> tuple[int, int, int, int]:
    """(pending arrivals, arrivals of each phase, bytes still expected, parity of the phase) of an object's word."""
    bytes_ = word >> BYTES_SHIFT & (1 << 21) - 1
    bytes_ -= (bytes_ >> 20) << 21
    return word & MAX_COUNT, word >> EXPECTED_SHIFT & MAX_COUNT, bytes_, word >> PHASE_SHIFT & 1


_SPLAT = "shufflevector <32 x i64> {0}, <32 x i64> poison, <32 x i32> zeroinitializer"

TEXT = f"""
; A fault of the lanes %m at the object at %p; %what is one of MbarrierFault.
define internal void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %m, i32 %what, i32 %place) noinline nounwind cold {{
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %shared = load ptr, ptr %blk
  %base = ptrtoint ptr %shared to i64
  %at = ptrtoint ptr %p to i64
  %offset = sub i64 %at, %base
  %i = insertelement <32 x i64> poison, i64 %offset, i32 0
  %v = {_SPLAT.format("%i")}
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %v, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 {Fault.MBARRIER}, i32 %m, i32 %what)
  unreachable
}}
; Host addresses of objects at offsets %o in the block's shared memory, checked for the lanes of %m.
define internal <32 x i64> @lw_mbarrier_hosts(ptr %x, ptr %w, ptr %shared, <32 x i64> %o, i32 %m, i32 %place) noinline nounwind {{
entry:
  %lp = getelementptr i8, ptr %w, i64 {Worker.LAUNCH}
  %l = load ptr, ptr %lp
  %sp = getelementptr i8, ptr %l, i64 {Launch.SHARED_BYTES}
  %limit = load i64, ptr %sp
  %room = sub i64 %limit, 7
  %some = call i64 @llvm.smax.i64(i64 %room, i64 0)
  %i1 = insertelement <32 x i64> poison, i64 %some, i32 0
  %roomv = {_SPLAT.format("%i1")}
  %in = icmp ult <32 x i64> %o, %roomv
  %inm = bitcast <32 x i1> %in to i32
  %out = xor i32 %inm, -1
  %outm = and i32 %out, %m
  %low = and <32 x i64> %o, splat (i64 7)
  %mis = icmp ne <32 x i64> %low, zeroinitializer
  %mism0 = bitcast <32 x i1> %mis to i32
  %mism = and i32 %mism0, %m
  %badm = or i32 %outm, %mism
  %base = ptrtoint ptr %shared to i64
  %i2 = insertelement <32 x i64> poison, i64 %base, i32 0
  %basev = {_SPLAT.format("%i2")}
  %host = add <32 x i64> %o, %basev
  %fine = icmp eq i32 %badm, 0
  br i1 %fine, label %good, label %bad
good:
  ret <32 x i64> %host
bad:
  %isout = icmp ne i32 %outm, 0
  %what = select i1 %isout, i32 {MbarrierFault.OUTSIDE}, i32 {MbarrierFault.MISALIGNED}
  %lanes = select i1 %isout, i32 %outm, i32 %mism
  %fa = getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}
  store <32 x i64> %o, ptr %fa, align 64
  call void @lw_fault(ptr %x, ptr %w, i32 %place, i32 {Fault.MBARRIER}, i32 %lanes, i32 %what)
  unreachable
}}
; One operation on the object at %p: %tx more bytes expected, then %n arrivals. Returns the word before it. The phase
; ends when neither arrivals nor bytes are missing.
define internal i64 @lw_mbarrier_step(ptr %x, ptr %w, ptr %p, i64 %n, i64 %tx, i32 %flags, i32 %m, i32 %place) nounwind {{
entry:
  %word = load i64, ptr %p, align 8
  %top = lshr i64 %word, 62
  %made = icmp eq i64 %top, 2
  br i1 %made, label %bytes, label %bad
bytes:
  %pending = and i64 %word, {MAX_COUNT}
  %e0 = lshr i64 %word, {EXPECTED_SHIFT}
  %each = and i64 %e0, {MAX_COUNT}
  %t0 = shl i64 %word, 3
  %t1 = ashr i64 %t0, 43
  %t = add i64 %t1, %tx
  %high = icmp sgt i64 %t, {MAX_COUNT}
  %low = icmp slt i64 %t, -{MAX_COUNT}
  %far = or i1 %high, %low
  br i1 %far, label %bad, label %arrive
arrive:
  %enough = icmp ule i64 %n, %pending
  br i1 %enough, label %count, label %bad
count:
  %left = sub i64 %pending, %n
  %dropf = and i32 %flags, {DROP}
  %drops = icmp ne i32 %dropf, 0
  %gone = select i1 %drops, i64 %n, i64 0
  %stay = sub i64 %each, %gone
  %missing = or i64 %left, %t
  %ends = icmp eq i64 %missing, 0
  %keepf = and i32 %flags, {NO_COMPLETE}
  %keeps = icmp ne i32 %keepf, 0
  %wrong = and i1 %ends, %keeps
  br i1 %wrong, label %bad, label %write
write:
  %next = select i1 %ends, i64 %stay, i64 %left
  %s1 = shl i64 %stay, {EXPECTED_SHIFT}
  %w1 = or i64 %next, %s1
  %b1 = and i64 %t, {(1 << 21) - 1}
  %b2 = shl i64 %b1, {BYTES_SHIFT}
  %w2 = or i64 %w1, %b2
  %ph = and i64 %word, {1 << PHASE_SHIFT}
  %flip = select i1 %ends, i64 {1 << PHASE_SHIFT}, i64 0
  %ph1 = xor i64 %ph, %flip
  %w3 = or i64 %w2, %ph1
  %w4 = or i64 %w3, {MADE - (1 << 64)}
  store i64 %w4, ptr %p, align 8
  ret i64 %word
bad:
  %what = phi i32 [ {MbarrierFault.INVALID}, %entry ], [ {MbarrierFault.BYTES}, %bytes ], [ {MbarrierFault.ARRIVALS}, %arrive ], [ {MbarrierFault.NO_COMPLETE}, %count ]
  call void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %m, i32 %what, i32 %place)
  unreachable
}}
; %bytes have landed that the object at host address %p expects: what asynchronous copies do when they are done.
define internal void @lw_mbarrier_complete_tx(ptr %x, ptr %w, ptr %p, i64 %bytes, i32 %m, i32 %place) noinline nounwind {{
  %tx = sub i64 0, %bytes
  %old = call i64 @lw_mbarrier_step(ptr %x, ptr %w, ptr %p, i64 0, i64 %tx, i32 0, i32 %m, i32 %place)
  ret void
}}
; Lanes go one after the other, lowest first; returns the words before each.
define internal <32 x i64> @lw_mbarrier_each(ptr %x, ptr %w, <32 x i64> %host, <32 x i64> %n, <32 x i64> %tx, i32 %flags, i32 %m, i32 %place) noinline nounwind {{
entry:
  %hs = alloca <32 x i64>, align 64
  %ns = alloca <32 x i64>, align 64
  %ts = alloca <32 x i64>, align 64
  %os = alloca <32 x i64>, align 64
  store <32 x i64> %host, ptr %hs, align 64
  store <32 x i64> %n, ptr %ns, align 64
  store <32 x i64> %tx, ptr %ts, align 64
  store <32 x i64> zeroinitializer, ptr %os, align 64
  br label %loop
{each_lane("%m", "entry", "counted")}  %i64 = zext i32 %i to i64
  %hp = getelementptr i64, ptr %hs, i64 %i64
  %h = load i64, ptr %hp
  %p = inttoptr i64 %h to ptr
  %np = getelementptr i64, ptr %ns, i64 %i64
  %count = load i64, ptr %np
  %tp = getelementptr i64, ptr %ts, i64 %i64
  %bytes = load i64, ptr %tp
  %big = icmp ugt i64 %count, {MAX_COUNT}
  br i1 %big, label %bad, label %counted
counted:
  %old = call i64 @lw_mbarrier_step(ptr %x, ptr %w, ptr %p, i64 %count, i64 %bytes, i32 %flags, i32 %bit, i32 %place)
  %op = getelementptr i64, ptr %os, i64 %i64
  store i64 %old, ptr %op
  br label %loop
out:
  %r = load <32 x i64>, ptr %os, align 64
  ret <32 x i64> %r
bad:
  call void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %bit, i32 {MbarrierFault.COUNT}, i32 %place)
  unreachable
}}
; One more arrival that the phase at hand waits for, for each lane of %m.
define internal void @lw_mbarrier_more(ptr %x, ptr %w, <32 x i64> %host, i32 %m, i32 %place) noinline nounwind {{
entry:
  %hs = alloca <32 x i64>, align 64
  store <32 x i64> %host, ptr %hs, align 64
  br label %loop
{each_lane("%m", "entry", "more")}  %hp = getelementptr i64, ptr %hs, i32 %i
  %h = load i64, ptr %hp
  %p = inttoptr i64 %h to ptr
  %word = load i64, ptr %p, align 8
  %top = lshr i64 %word, 62
  %made = icmp eq i64 %top, 2
  br i1 %made, label %range, label %bad
range:
  %pending = and i64 %word, {MAX_COUNT}
  %room = icmp ult i64 %pending, {MAX_COUNT}
  br i1 %room, label %more, label %bad
more:
  %word1 = add i64 %word, 1
  store i64 %word1, ptr %p, align 8
  br label %loop
out:
  ret void
bad:
  %what = phi i32 [ {MbarrierFault.INVALID}, %lane ], [ {MbarrierFault.COUNT}, %range ]
  call void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %bit, i32 %what, i32 %place)
  unreachable
}}
; Make objects for %n arrivals, or (%made false) end their use: each must have been made.
define internal void @lw_mbarrier_make(ptr %x, ptr %w, <32 x i64> %host, <32 x i32> %n, i1 %made, i32 %m, i32 %place) noinline nounwind {{
entry:
  %hs = alloca <32 x i64>, align 64
  %ns = alloca <32 x i32>, align 64
  store <32 x i64> %host, ptr %hs, align 64
  store <32 x i32> %n, ptr %ns, align 64
  br label %loop
{each_lane("%m", "entry", "set")}  %hp = getelementptr i64, ptr %hs, i32 %i
  %h = load i64, ptr %hp
  %p = inttoptr i64 %h to ptr
  %np = getelementptr i32, ptr %ns, i32 %i
  %c32 = load i32, ptr %np
  %c = zext i32 %c32 to i64
  %less1 = sub i64 %c, 1
  %range = icmp ult i64 %less1, {MAX_COUNT}
  %old = load i64, ptr %p, align 8
  %top = lshr i64 %old, 62
  %valid = icmp eq i64 %top, 2
  %fine = select i1 %made, i1 %range, i1 %valid
  br i1 %fine, label %set, label %bad
set:
  %e = shl i64 %c, {EXPECTED_SHIFT}
  %w1 = or i64 %c, %e
  %w2 = or i64 %w1, {MADE - (1 << 64)}
  %new = select i1 %made, i64 %w2, i64 0
  store i64 %new, ptr %p, align 8
  br label %loop
out:
  ret void
bad:
  %what = select i1 %made, i32 {MbarrierFault.COUNT}, i32 {MbarrierFault.INVALID}
  call void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %bit, i32 %what, i32 %place)
  unreachable
}}
; Wait at the objects of the lanes of %m until phases of parity %parity have ended. Returns the lanes for which they
; have: all, or some after a wait. Where none has, the warp gives way to the others; after a wait in vain it comes back
; with what there is.
define internal i32 @lw_mbarrier_wait(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, <32 x i64> %host, i32 %parity, i32 %m, i32 %place) noinline nounwind {{
entry:
  %hs = alloca <32 x i64>, align 64
  store <32 x i64> %host, ptr %hs, align 64
  %empty = icmp eq i32 %m, 0
  br i1 %empty, label %nothing, label %look
nothing:
  ret i32 0
look:
  %again = phi i1 [ false, %entry ], [ true, %sleep ], [ %again, %open ]
  br label %loop
loop:
  %rest = phi i32 [ %m, %look ], [ %rest1, %tested ]
  %done = phi i32 [ 0, %look ], [ %done1, %tested ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %all, label %lane
lane:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %hp = getelementptr i64, ptr %hs, i32 %i
  %h = load i64, ptr %hp
  %p = inttoptr i64 %h to ptr
  %word = load i64, ptr %p, align 8
  %top64 = lshr i64 %word, {PHASE_SHIFT}
  %top = trunc i64 %top64 to i32
  %kind = lshr i32 %top, 1
  %valid = icmp eq i32 %kind, 2
  %bit = shl i32 1, %i
  br i1 %valid, label %test, label %bad
test:                                             ; all lanes that ask the same at once
  %h0 = insertelement <32 x i64> poison, i64 %h, i32 0
  %hv = {_SPLAT.format("%h0")}
  %same = icmp eq <32 x i64> %host, %hv
  %samem = bitcast <32 x i1> %same to i32
  %asked = lshr i32 %parity, %i
  %even = and i32 %asked, 1
  %flip = sub i32 %even, 1
  %like = xor i32 %parity, %flip
  %group0 = and i32 %samem, %like
  %group = and i32 %group0, %rest
  %now = and i32 %top, 1
  %ended = icmp ne i32 %now, %even
  br i1 %ended, label %tested, label %open
tested:
  %done0 = or i32 %done, %group
  %not = xor i32 %group, -1
  %rest1 = and i32 %rest, %not
  %done1 = select i1 %ended, i32 %done0, i32 %done
  br label %loop
open:
  %landed = call i1 @lw_async_pump(ptr %x, ptr %w, ptr %p)
  br i1 %landed, label %look, label %still
still:
  br i1 %again, label %tested, label %sleep
sleep:
  %wwp = getelementptr i8, ptr %x, i64 {Warp.WAIT_WORD}
  store ptr %p, ptr %wwp
  %wsp = getelementptr i8, ptr %x, i64 {Warp.WAIT_STATE}
  %state = or i32 %even, {MADE_TOP}
  store i32 %state, ptr %wsp
  %plp = getelementptr i8, ptr %x, i64 {Warp.PLACE}
  store i32 %place, ptr %plp
  %st = getelementptr i8, ptr %x, i64 {Warp.STATUS}
  store i32 {Status.PHASE}, ptr %st
  call void @lw_leave(ptr %x, ptr %w)
  br label %look
all:
  ret i32 %done
bad:
  call void @lw_mbarrier_fault(ptr %x, ptr %w, ptr %p, i32 %bit, i32 {MbarrierFault.INVALID}, i32 %place)
  unreachable
}}
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.cttz.i32(i32, i1)
"""
assert Block.SHARED == 0  # what `lw_mbarrier_fault` reads


def definitions() -> str:
    """The functions' text."""
    return TEXT
