"""The stream of cache lines that a kernel's accesses ask for, kept in memory while it runs.

Code tells its accesses only where the plan asks for it (`CountingPlan.trace`). Each request of a warp is cut into lines
of 128 bytes, as the L1 does; a line becomes one record of 16 bytes: `line` (address from the arena's start, over 128;
of local memory the word within the thread + `APART` times the warp within the block), `what` (sectors touched, kind,
local, lanes or of an atomic the most lanes at one address, site), `order` (requests of the warp before this one) and
`warp` (block * 32 + warp within the block).

A launch may ask for more lines than can be kept. Then only lines whose hash ends in `level` zero bits are: a share of
1 / 2**level of all lines, with every access to them, which is sound for caches since a line's hits depend on the lines
of its own set alone (set sampling: Puzak, 1985). When its buffer is full a thread raises its level and drops what no
longer passes; the level of the launch is the least at which the records of all threads fit, whatever ran where.

Local memory has the same place for each block that comes to a slot of an SM, so words of the warps of all blocks are
chosen, not of single blocks. How often atomics meet at one address says nothing about other addresses: beside those
that pass, all atomics of some warps are kept, whose hash ends in as many zero bits.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lanewise.emulator.layout import SITE_WAVEFRONTS, SITE_WAVEFRONTS_IDEAL, Block, Warp, Worker

RECORDS = 1 << 22  # of a launch that is followed whole; a thread has room for as many
SAMPLE = 5 << 19  # of one of which a share is followed
RECORD = np.dtype([("line", "<u4"), ("what", "<u4"), ("order", "<u4"), ("warp", "<u4")])
MAX_BLOCKS = 1 << 27  # what `warp` has room for
LOAD, STORE, ATOMIC = range(3)
KIND_SHIFT, LOCAL_BIT, LANES_SHIFT, SITE_SHIFT = 4, 6, 8, 13
_HASH = 0x9E3779B1
APART = 5  # local words of neighbouring warps, of which every second, fourth, ... is followed
_SPARE = 32 * 8  # records that one request may add: 32 lines, of local memory up to 8 words


@dataclass(frozen=True, slots=True)
class Trace:
    """Records of one launch, blocks in no order, each warp's in its own; `level` as above."""

    records: npt.NDArray[np.void]
    level: int


def hash_of(lines: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The hash that decides which lines are kept; the code below computes the same."""
    mixed = lines * np.uint32(_HASH)
    return np.asarray(mixed ^ (mixed >> np.uint32(15)), np.uint32)


class TraceBuffer:
    """Room for the records of one worker: address space that takes memory where it is written."""

    def __init__(self) -> None:
        self._space = mmap.mmap(-1, RECORD.itemsize * (RECORDS + _SPARE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._records = np.frombuffer(self._space, RECORD)
        self.begin: int = self._records.__array_interface__["data"][0]
        self.limit = self.begin + RECORD.itemsize * RECORDS

    def kept(self, end: int) -> npt.NDArray[np.void]:
        """The records up to an address."""
        return self._records[: (end - self.begin) // RECORD.itemsize]


def joined(parts: list[npt.NDArray[np.void]], levels: list[int]) -> Trace:
    """What all workers kept, at one level."""
    trace = thinned(Trace(np.concatenate(parts), min(levels)), max(levels))
    while len(trace.records) > (SAMPLE if trace.level else RECORDS):
        trace = thinned(trace, trace.level + 1)
    return trace


def thinned(trace: Trace, level: int) -> Trace:
    """The records that are kept at a level as high or higher."""
    if level == trace.level:
        return trace
    line, what, warp = (trace.records[name] for name in ("line", "what", "warp"))
    local, atomic = (what >> LOCAL_BIT & 1) != 0, (what >> KIND_SHIFT & 3) == ATOMIC
    word = line & np.uint32((1 << level) - 1)
    kept = np.where(local, word == 0, followed(line, level)) | (atomic & followed(warp, level))
    return Trace(trace.records[kept], level)


def followed(numbers: npt.NDArray[np.uint32], level: int) -> npt.NDArray[np.bool_]:
    """Which lines of global memory are kept at a level, and of which warps all atomics are."""
    return np.asarray((hash_of(numbers) & np.uint32((1 << level) - 1)) == 0)


def definitions() -> str:
    """`@lw_trace` and `@lw_trace_local`: tell one request; `@lw_trace_keeps` and `@lw_trace_pass`: see `tell`."""
    return f"""
; Whether the line at a global address is followed.
define internal i1 @lw_trace_keeps(ptr %w, i64 %a) alwaysinline nounwind {{
entry:
  %tp = getelementptr i8, ptr %w, i64 {Worker.TRACE_ARENA}
  %base = load i64, ptr %tp
  %fp = getelementptr i8, ptr %w, i64 {Worker.TRACE_MASK}
  %filter = load i32, ptr %fp
  %d = sub i64 %a, %base
  %line64 = lshr i64 %d, 7
  %line = trunc i64 %line64 to i32
  %mixed = mul i32 %line, {_HASH}
  %high = lshr i32 %mixed, 15
  %hash = xor i32 %mixed, %high
  %out = and i32 %hash, %filter
  %keep = icmp eq i32 %out, 0
  ret i1 %keep
}}
; A request whose lines are not followed.
define internal void @lw_trace_pass(ptr %x, i32 %m) alwaysinline nounwind {{
entry:
  %nobody = icmp eq i32 %m, 0
  br i1 %nobody, label %out, label %some
some:
  %order = call i32 @lw_trace_order(ptr %x)
  br label %out
out:
  ret void
}}
define internal i32 @lw_trace_order(ptr %x) nounwind {{
entry:
  %bp = getelementptr i8, ptr %x, i64 {Warp.BLOCK}
  %blk = load ptr, ptr %bp
  %lp = getelementptr i8, ptr %blk, i64 {Block.LINEAR}
  %lin = load i64, ptr %lp
  %l32 = trunc i64 %lin to i32
  %tp = getelementptr i8, ptr %x, i64 {Warp.TRACE_BLOCK}
  %was = load i32, ptr %tp
  %same = icmp eq i32 %was, %l32
  %op = getelementptr i8, ptr %x, i64 {Warp.TRACE_ORDER}
  %old = load i32, ptr %op
  %order = select i1 %same, i32 %old, i32 0
  %next = add i32 %order, 1
  store i32 %next, ptr %op
  store i32 %l32, ptr %tp
  ret i32 %order
}}
define internal i32 @lw_trace_warp(ptr %x) nounwind {{
entry:
  %tp = getelementptr i8, ptr %x, i64 {Warp.TRACE_BLOCK}
  %blk = load i32, ptr %tp
  %ip = getelementptr i8, ptr %x, i64 {Warp.INDEX}
  %index = load i32, ptr %ip
  %b = shl i32 %blk, 5
  %id = or i32 %b, %index
  ret i32 %id
}}
; -1 where a warp's atomics are followed, all of them; else 0.
define internal i32 @lw_trace_whole(i32 %what, i32 %warp, i32 %filter) alwaysinline nounwind {{
  %kind = and i32 %what, {3 << KIND_SHIFT}
  %atomic = icmp eq i32 %kind, {ATOMIC << KIND_SHIFT}
  %mixed = mul i32 %warp, {_HASH}
  %high = lshr i32 %mixed, 15
  %hash = xor i32 %mixed, %high
  %out = and i32 %hash, %filter
  %keep = icmp eq i32 %out, 0
  %both = and i1 %atomic, %keep
  %all = sext i1 %both to i32
  ret i32 %all
}}
; Lines %line of the lanes %m0, each with the bits %bits of its sectors.
define internal void @lw_trace_lines(ptr %x, ptr %w, <32 x i32> %line, <32 x i32> %bits, i32 %m0, i32 %what,
    i32 %order) noinline nounwind {{
entry:
  %id = call i32 @lw_trace_warp(ptr %x)
  %fp = getelementptr i8, ptr %w, i64 {Worker.TRACE_MASK}
  %filter = load i32, ptr %fp
  %i0 = insertelement <32 x i32> poison, i32 %filter, i32 0
  %filters = shufflevector <32 x i32> %i0, <32 x i32> poison, <32 x i32> zeroinitializer
  %mixed = mul <32 x i32> %line, splat (i32 {_HASH})
  %high = lshr <32 x i32> %mixed, splat (i32 15)
  %hash = xor <32 x i32> %mixed, %high
  %localb = and i32 %what, {1 << LOCAL_BIT}
  %local = icmp ne i32 %localb, 0
  %chosen = select i1 %local, <32 x i32> %line, <32 x i32> %hash
  %out = and <32 x i32> %chosen, %filters
  %keep = icmp eq <32 x i32> %out, zeroinitializer
  %keepm = bitcast <32 x i1> %keep to i32
  %whole = call i32 @lw_trace_whole(i32 %what, i32 %id, i32 %filter)
  %keepa = or i32 %keepm, %whole
  %m1 = and i32 %keepa, %m0
  %none = icmp eq i32 %m1, 0
  br i1 %none, label %done, label %begin
begin:
  %cp = getelementptr i8, ptr %w, i64 {Worker.TRACE_AT}
  %at0 = load ptr, ptr %cp
  br label %each
each:
  %m = phi i32 [ %m1, %begin ], [ %left, %each ]
  %at = phi ptr [ %at0, %begin ], [ %next, %each ]
  %lane = call i32 @llvm.cttz.i32(i32 %m, i1 true)
  %l = extractelement <32 x i32> %line, i32 %lane
  %i1 = insertelement <32 x i32> poison, i32 %l, i32 0
  %ls = shufflevector <32 x i32> %i1, <32 x i32> poison, <32 x i32> zeroinitializer
  %eq = icmp eq <32 x i32> %line, %ls
  %mv = bitcast i32 %m to <32 x i1>
  %mine = and <32 x i1> %eq, %mv
  %minem = bitcast <32 x i1> %mine to i32
  %sel = select <32 x i1> %mine, <32 x i32> %bits, <32 x i32> zeroinitializer
  %sectors = call i32 @llvm.vector.reduce.or.v32i32(<32 x i32> %sel)
  %lanes = call i32 @llvm.ctpop.i32(i32 %minem)
  %others = sub i32 %lanes, 1
  %place = shl i32 %others, {LANES_SHIFT}
  %word0 = or i32 %sectors, %what
  %word = or i32 %word0, %place
  store i32 %l, ptr %at
  %a1 = getelementptr i32, ptr %at, i64 1
  store i32 %word, ptr %a1
  %a2 = getelementptr i32, ptr %at, i64 2
  store i32 %order, ptr %a2
  %a3 = getelementptr i32, ptr %at, i64 3
  store i32 %id, ptr %a3
  %next = getelementptr i32, ptr %at, i64 4
  %off = xor i32 %minem, -1
  %left = and i32 %m, %off
  %end = icmp eq i32 %left, 0
  br i1 %end, label %written, label %each
written:
  store ptr %next, ptr %cp
  %np = getelementptr i8, ptr %w, i64 {Worker.TRACE_LIMIT}
  %limit = load ptr, ptr %np
  %full = icmp uge ptr %next, %limit
  br i1 %full, label %thin, label %done
thin:
  call void @lw_trace_thin(ptr %w)
  br label %done
done:
  ret void
}}
; The buffer is full: keep half of the lines, again until there is room. From here on a sample is all that is kept.
define internal void @lw_trace_thin(ptr %w) noinline nounwind cold {{
entry:
  %fp = getelementptr i8, ptr %w, i64 {Worker.TRACE_MASK}
  %bp = getelementptr i8, ptr %w, i64 {Worker.TRACE_BEGIN}
  %cp = getelementptr i8, ptr %w, i64 {Worker.TRACE_AT}
  %begin = load ptr, ptr %bp
  %end = load ptr, ptr %cp
  %old = load i32, ptr %fp
  %twice = shl i32 %old, 1
  %mask = or i32 %twice, 1
  store i32 %mask, ptr %fp
  br label %each
each:
  %from = phi ptr [ %begin, %entry ], [ %from1, %next ]
  %to = phi ptr [ %begin, %entry ], [ %to1, %next ]
  %record = load <4 x i32>, ptr %from, align 4
  %line = extractelement <4 x i32> %record, i32 0
  %mixed = mul i32 %line, {_HASH}
  %high = lshr i32 %mixed, 15
  %hash = xor i32 %mixed, %high
  %what = extractelement <4 x i32> %record, i32 1
  %localb = and i32 %what, {1 << LOCAL_BIT}
  %local = icmp ne i32 %localb, 0
  %chosen = select i1 %local, i32 %line, i32 %hash
  %out = and i32 %chosen, %mask
  %keep = icmp eq i32 %out, 0
  %warp = extractelement <4 x i32> %record, i32 3
  %whole = call i32 @lw_trace_whole(i32 %what, i32 %warp, i32 %mask)
  %followed = icmp ne i32 %whole, 0
  %kept = or i1 %keep, %followed
  br i1 %kept, label %move, label %next
move:
  store <4 x i32> %record, ptr %to, align 4
  %after = getelementptr i32, ptr %to, i64 4
  br label %next
next:
  %to1 = phi ptr [ %to, %each ], [ %after, %move ]
  %from1 = getelementptr i32, ptr %from, i64 4
  %done = icmp uge ptr %from1, %end
  br i1 %done, label %ended, label %each
ended:
  store ptr %to1, ptr %cp
  %np = getelementptr i8, ptr %w, i64 {Worker.TRACE_LIMIT}
  %limit = getelementptr i8, ptr %begin, i64 {RECORD.itemsize * SAMPLE}
  store ptr %limit, ptr %np
  %full = icmp uge ptr %to1, %limit
  br i1 %full, label %again, label %out0
again:
  call void @lw_trace_thin(ptr %w)
  br label %out0
out0:
  ret void
}}
; Atomics: each sector a record, with the most lanes at one address in place of the lanes.
define internal void @lw_trace_atomic(ptr %x, ptr %w, <32 x i64> %a, i32 %m0, i32 %what) noinline nounwind {{
entry:
  %nobody = icmp eq i32 %m0, 0
  br i1 %nobody, label %out, label %some
some:
  %tp = getelementptr i8, ptr %w, i64 {Worker.TRACE_ARENA}
  %base = load i64, ptr %tp
  %i0 = insertelement <32 x i64> poison, i64 %base, i32 0
  %bases = shufflevector <32 x i64> %i0, <32 x i64> poison, <32 x i32> zeroinitializer
  %d = sub <32 x i64> %a, %bases
  %in = icmp ult <32 x i64> %d, splat (i64 {1 << 39})
  %inm = bitcast <32 x i1> %in to i32
  %m1 = and i32 %inm, %m0
  %order = call i32 @lw_trace_order(ptr %x)
  %sector = lshr <32 x i64> %d, splat (i64 5)
  %line64 = lshr <32 x i64> %d, splat (i64 7)
  %line = trunc <32 x i64> %line64 to <32 x i32>
  %s32 = trunc <32 x i64> %sector to <32 x i32>
  %within = and <32 x i32> %s32, splat (i32 3)
  %bits = shl <32 x i32> splat (i32 1), %within
  %none = icmp eq i32 %m1, 0
  br i1 %none, label %out, label %each
each:
  %m = phi i32 [ %m1, %some ], [ %left, %told ]
  %lane = call i32 @llvm.cttz.i32(i32 %m, i1 true)
  %s = extractelement <32 x i64> %sector, i32 %lane
  %i1 = insertelement <32 x i64> poison, i64 %s, i32 0
  %ss = shufflevector <32 x i64> %i1, <32 x i64> poison, <32 x i32> zeroinitializer
  %eq = icmp eq <32 x i64> %sector, %ss
  %eqm = bitcast <32 x i1> %eq to i32
  %mine = and i32 %eqm, %m
  br label %word
word:
  %wm = phi i32 [ %mine, %each ], [ %rest, %word ]
  %most = phi i32 [ 0, %each ], [ %more, %word ]
  %wl = call i32 @llvm.cttz.i32(i32 %wm, i1 true)
  %wa = extractelement <32 x i64> %a, i32 %wl
  %i2 = insertelement <32 x i64> poison, i64 %wa, i32 0
  %was = shufflevector <32 x i64> %i2, <32 x i64> poison, <32 x i32> zeroinitializer
  %weq = icmp eq <32 x i64> %a, %was
  %weqm = bitcast <32 x i1> %weq to i32
  %same = and i32 %weqm, %wm
  %n = call i32 @llvm.ctpop.i32(i32 %same)
  %more = call i32 @llvm.umax.i32(i32 %most, i32 %n)
  %woff = xor i32 %same, -1
  %rest = and i32 %wm, %woff
  %wend = icmp eq i32 %rest, 0
  br i1 %wend, label %told, label %word
told:
  %less = sub i32 %more, 1
  %place = shl i32 %less, {LANES_SHIFT}
  %full = or i32 %what, %place
  %bit0 = shl i32 1, %lane
  call void @lw_trace_lines(ptr %x, ptr %w, <32 x i32> %line, <32 x i32> %bits, i32 %bit0, i32 %full, i32 %order)
  %off = xor i32 %mine, -1
  %left = and i32 %m, %off
  %end = icmp eq i32 %left, 0
  br i1 %end, label %out, label %each
out:
  ret void
}}
; Global memory (of a generic address: the lanes that are in it). %what: kind and site.
define internal void @lw_trace(ptr %x, ptr %w, <32 x i64> %a, i32 %m, i32 %what) noinline nounwind {{
entry:
  %nobody = icmp eq i32 %m, 0
  br i1 %nobody, label %out, label %some
some:
  %order = call i32 @lw_trace_order(ptr %x)
  %tp = getelementptr i8, ptr %w, i64 {Worker.TRACE_ARENA}
  %base = load i64, ptr %tp
  %i0 = insertelement <32 x i64> poison, i64 %base, i32 0
  %bases = shufflevector <32 x i64> %i0, <32 x i64> poison, <32 x i32> zeroinitializer
  %d = sub <32 x i64> %a, %bases
  %in = icmp ult <32 x i64> %d, splat (i64 {1 << 39})
  %inm = bitcast <32 x i1> %in to i32
  %m1 = and i32 %inm, %m
  %line64 = lshr <32 x i64> %d, splat (i64 7)
  %line = trunc <32 x i64> %line64 to <32 x i32>
  %sector64 = lshr <32 x i64> %d, splat (i64 5)
  %sector = trunc <32 x i64> %sector64 to <32 x i32>
  %within = and <32 x i32> %sector, splat (i32 3)
  %bits = shl <32 x i32> splat (i32 1), %within
  call void @lw_trace_lines(ptr %x, ptr %w, <32 x i32> %line, <32 x i32> %bits, i32 %m1, i32 %what, i32 %order)
  br label %out
out:
  ret void
}}
; Global memory: the passes that a request takes through the banks of the L1 are counted in place of wavefronts.
define internal void @lw_trace_banks(ptr %c, <32 x i64> %a, i32 %m, i32 %bytes) noinline nounwind {{
entry:
  %nobody = icmp eq i32 %m, 0
  br i1 %nobody, label %out, label %some
some:
  %words = trunc <32 x i64> %a to <32 x i32>
  %n = call i32 @lw_wavefronts(<32 x i32> %words, i32 %m, i32 %bytes, i1 true)
  %n64 = zext i32 %n to i64
  %p = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS}
  %old = load i64, ptr %p
  %new = add i64 %old, %n64
  store i64 %new, ptr %p
  br label %out
out:
  ret void
}}
; Constant memory: the addresses of a request beside its first are counted in place of wavefronts, its lines of 64 bytes
; in place of ideal ones. (Words eight times as far apart lie in sectors of their own, the two halves of a line, at half
; the distance, in one.)
define internal void @lw_trace_constants(ptr %c, <32 x i64> %a, i32 %m) noinline nounwind {{
entry:
  %nobody = icmp eq i32 %m, 0
  br i1 %nobody, label %out, label %some
some:
  %apart = shl <32 x i64> %a, splat (i64 3)
  %words = call i32 @lw_sectors(<32 x i64> %apart, i32 %m, i32 4)
  %more = sub i32 %words, 1
  %more64 = zext i32 %more to i64
  %p = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS}
  %old = load i64, ptr %p
  %new = add i64 %old, %more64
  store i64 %new, ptr %p
  %halved = lshr <32 x i64> %a, splat (i64 1)
  %lines = call i32 @lw_sectors(<32 x i64> %halved, i32 %m, i32 1)
  %lines64 = zext i32 %lines to i64
  %lp = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS_IDEAL}
  %before = load i64, ptr %lp
  %after = add i64 %before, %lines64
  store i64 %after, ptr %lp
  br label %out
out:
  ret void
}}
; Local memory: %o are byte offsets of a thread. Word k of all lanes is one line, eight lanes a sector.
define internal void @lw_trace_local(ptr %x, ptr %w, <32 x i32> %o, i32 %m, i32 %what, i32 %bytes) noinline nounwind {{
entry:
  %nobody = icmp eq i32 %m, 0
  br i1 %nobody, label %out, label %some
some:
  %order = call i32 @lw_trace_order(ptr %x)
  %id = call i32 @lw_trace_warp(ptr %x)
  %own = and i32 %id, 31
  %far = mul i32 %own, {APART}
  %i1 = insertelement <32 x i32> poison, i32 %far, i32 0
  %fars = shufflevector <32 x i32> %i1, <32 x i32> poison, <32 x i32> zeroinitializer
  %word = lshr <32 x i32> %o, splat (i32 2)
  %first = add <32 x i32> %word, %fars
  %b3 = add i32 %bytes, 3
  %words = lshr i32 %b3, 2
  br label %each
each:
  %k = phi i32 [ 0, %some ], [ %k1, %each ]
  %i0 = insertelement <32 x i32> poison, i32 %k, i32 0
  %ks = shufflevector <32 x i32> %i0, <32 x i32> poison, <32 x i32> zeroinitializer
  %line = add <32 x i32> %first, %ks
  %bits = add <32 x i32> zeroinitializer, <{_lane_sectors()}>
  call void @lw_trace_lines(ptr %x, ptr %w, <32 x i32> %line, <32 x i32> %bits, i32 %m, i32 %what, i32 %order)
  %k1 = add i32 %k, 1
  %done = icmp uge i32 %k1, %words
  br i1 %done, label %out, label %each
out:
  ret void
}}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)
"""


def _lane_sectors() -> str:
    return ", ".join(f"i32 {1 << lane // 8}" for lane in range(32))
