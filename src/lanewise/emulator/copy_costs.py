"""The costs of asynchronous copies in LLVM IR, by the rules of `hardware.copies`."""

from __future__ import annotations

from lanewise.emulator.layout import SITE_ON, SITE_REQUESTS_ON, SITE_SECTORS, SITE_WAVEFRONTS
from lanewise.emulator.moving import lane_vector

_ZEROS = "<32 x i32> zeroinitializer"
_LANES = range(32)
_PREVIOUS = lane_vector("i32", (max(0, lane - 1) for lane in _LANES))
_MATE = lane_vector("i32", (lane ^ 1 for lane in _LANES))
_EVEN = 0x55555555  # the even lanes


def _splat(name: str, element: str, value: str) -> str:
    return (
        f"  %{name}.0 = insertelement <32 x {element}> poison, {element} {value}, i32 0\n"
        f"  %{name} = shufflevector <32 x {element}> %{name}.0, <32 x {element}> poison, {_ZEROS}\n"
    )


def _same(name: str, element: str, vector: str, value: str) -> str:
    """`%name`: the lanes (i32) of a vector that hold a value."""
    return (
        _splat(f"{name}.v", element, value)
        + f"  %{name}.e = icmp eq <32 x {element}> {vector}, %{name}.v\n"
        + f"  %{name} = bitcast <32 x i1> %{name}.e to i32\n"
    )


def _agree(name: str, mask: str, lane: str) -> str:
    """`%name`: the lanes whose bit in a mask is that of a lane."""
    return (
        f"  %{name}.s = lshr i32 {mask}, {lane}\n  %{name}.b = and i32 %{name}.s, 1\n"
        f"  %{name}.m = sub i32 %{name}.b, 1\n  %{name} = xor i32 {mask}, %{name}.m\n"
    )


_ADD = f"""
; Add a cost and its ideal (%lanes of %size bytes in units of %unit) at a counter, and the lanes that are on.
define internal void @lw_copy_add(ptr %c, i64 %counter, i32 %cost, i32 %lanes, i32 %size, i32 %unit) nounwind {{
  %bytes = mul i32 %lanes, %size
  %up = add i32 %bytes, %unit
  %up1 = sub i32 %up, 1
  %fill = udiv i32 %up1, %unit
  %less = icmp ult i32 %fill, %cost
  %ideal = select i1 %less, i32 %fill, i32 %cost
  %cost64 = zext i32 %cost to i64
  %ideal64 = zext i32 %ideal to i64
  %p = getelementptr i64, ptr %c, i64 %counter
  %v0 = insertelement <2 x i64> poison, i64 %cost64, i32 0
  %v = insertelement <2 x i64> %v0, i64 %ideal64, i32 1
  %o = load <2 x i64>, ptr %p, align 8
  %n = add <2 x i64> %o, %v
  store <2 x i64> %n, ptr %p, align 8
  ret void
}}
define internal void @lw_copy_on(ptr %c, i32 %m) nounwind {{
  %on = call i32 @llvm.ctpop.i32(i32 %m)
  %on64 = zext i32 %on to i64
  %p = getelementptr i64, ptr %c, i64 {SITE_ON}
  %o = load i64, ptr %p
  %n = add i64 %o, %on64
  store i64 %n, ptr %p
  %any = icmp ne i32 %m, 0
  %one = zext i1 %any to i64
  %rp = getelementptr i64, ptr %c, i64 {SITE_REQUESTS_ON}
  %r = load i64, ptr %rp
  %r1 = add i64 %r, %one
  store i64 %r1, ptr %rp
  ret void
}}
"""

_THROUGH = f"""
; Most lanes of %m that use one bank, of the phase from lane %first to before %last.
define internal i32 @lw_copy_bank(ptr %words, i32 %m, i32 %first, i32 %last, i32 %count) nounwind {{
entry:
  %used = alloca <32 x i8>, align 32
  store <32 x i8> zeroinitializer, ptr %used, align 32
  br label %loop
loop:
  %i = phi i32 [ %first, %entry ], [ %i1, %next ]
  %most = phi i8 [ 0, %entry ], [ %most2, %next ]
  %end = icmp eq i32 %i, %last
  br i1 %end, label %out, label %lane
lane:
  %i1 = add i32 %i, 1
  %s = lshr i32 %m, %i
  %b = and i32 %s, 1
  %on = icmp ne i32 %b, 0
  br i1 %on, label %look, label %next
look:
  %wp = getelementptr i32, ptr %words, i32 %i
  %w = load i32, ptr %wp
  br label %word
word:
  %k = phi i32 [ 0, %look ], [ %k1, %word ]
  %most0 = phi i8 [ %most, %look ], [ %most1, %word ]
  %at = add i32 %w, %k
  %bank = and i32 %at, 31
  %up = getelementptr i8, ptr %used, i32 %bank
  %u = load i8, ptr %up
  %u1 = add i8 %u, 1
  store i8 %u1, ptr %up
  %most1 = call i8 @llvm.umax.i8(i8 %most0, i8 %u1)
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %count
  br i1 %more, label %word, label %next
next:
  %most2 = phi i8 [ %most, %lane ], [ %most1, %word ]
  br label %loop
out:
  %r = zext i8 %most to i32
  ret i32 %r
}}
; cp.async.ca: wavefronts of the lanes %m, of which %reads read anything.
define internal i32 @lw_copy_wavefronts(<32 x i64> %a, <32 x i32> %o, i32 %m, i32 %reads, i32 %size) noinline nounwind {{
entry:
  %from = alloca <32 x i32>, align 64
  %to = alloca <32 x i32>, align 64
  %low = trunc <32 x i64> %a to <32 x i32>
  %count = lshr i32 %size, 2
{_splat("sizev", "i32", "%size")}  %step = mul <32 x i32> %sizev, {lane_vector("i32", _LANES)}
  %a0 = extractelement <32 x i32> %low, i32 0
  %o0 = extractelement <32 x i32> %o, i32 0
{_splat("a0v", "i32", "%a0")}{_splat("o0v", "i32", "%o0")}  %al = add <32 x i32> %a0v, %step
  %ol = add <32 x i32> %o0v, %step
  %da = xor <32 x i32> %low, %al
  %do = xor <32 x i32> %o, %ol
  %dd = or <32 x i32> %da, %do
  %line = icmp eq <32 x i32> %dd, zeroinitializer
  %linem = bitcast <32 x i1> %line to i32
  %all = and i32 %m, %reads
  %both = and i32 %all, %linem
  %plain = icmp eq i32 %both, -1
  br i1 %plain, label %easy, label %words
easy:
  ret i32 %count
words:
  %aw = lshr <32 x i32> %low, splat (i32 2)
  %ow = lshr <32 x i32> %o, splat (i32 2)
  store <32 x i32> %aw, ptr %from, align 64
  store <32 x i32> %ow, ptr %to, align 64
  %per = udiv i32 32, %count
  %mr = and i32 %m, %reads
  br label %phase
phase:
  %first = phi i32 [ 0, %words ], [ %last, %phase ]
  %sum = phi i32 [ 0, %words ], [ %sum1, %phase ]
  %last = add i32 %first, %per
  %s = call i32 @lw_copy_bank(ptr %from, i32 %mr, i32 %first, i32 %last, i32 %count)
  %t = call i32 @lw_copy_bank(ptr %to, i32 %m, i32 %first, i32 %last, i32 %count)
  %most = call i32 @llvm.umax.i32(i32 %s, i32 %t)
  %sum1 = add i32 %sum, %most
  %more = icmp ult i32 %last, 32
  br i1 %more, label %phase, label %out
out:
  ret i32 %sum1
}}
"""

_PAST = f"""
; cp.async.cg of the lanes %m: {{ what is moved at once, wavefronts, lanes that write last }}.
define internal {{ i32, i32, i32 }} @lw_copy_moves(<32 x i64> %a, <32 x i32> %o, i32 %m) noinline nounwind {{
entry:
  %os = alloca <32 x i32>, align 64
  %gs = alloca <32 x i64>, align 64
  %ss = alloca <32 x i32>, align 64
  %gsec = lshr <32 x i64> %a, splat (i64 5)
  %gline = lshr <32 x i64> %a, splat (i64 7)
  %ssec = lshr <32 x i32> %o, splat (i32 5)
  %sline = lshr <32 x i32> %o, splat (i32 7)
  store <32 x i32> %o, ptr %os, align 64
  store <32 x i64> %gsec, ptr %gs, align 64
  store <32 x i32> %ssec, ptr %ss, align 64
  %low = trunc <32 x i64> %a to <32 x i32>
  %halfv0 = and <32 x i32> %low, splat (i32 16)
  %halfv = icmp ne <32 x i32> %halfv0, zeroinitializer
  %high = bitcast <32 x i1> %halfv to i32
  %xor = xor <32 x i32> %low, %o
  %swapv0 = and <32 x i32> %xor, splat (i32 16)
  %swapv = icmp ne <32 x i32> %swapv0, zeroinitializer
  %swap = bitcast <32 x i1> %swapv to i32
  %oddv0 = and <32 x i32> %xor, splat (i32 32)
  %oddv = icmp ne <32 x i32> %oddv0, zeroinitializer
  %odd = bitcast <32 x i1> %oddv to i32
  ; Most copies move whole sectors, neighbouring lanes together, to rising places from rising addresses.
  %full = icmp eq i32 %m, -1
  %oprev = shufflevector <32 x i32> %o, <32 x i32> poison, <32 x i32> {_PREVIOUS}
  %aprev = shufflevector <32 x i64> %a, <32 x i64> poison, <32 x i32> {_PREVIOUS}
  %orise = icmp ugt <32 x i32> %o, %oprev
  %arise = icmp ugt <32 x i64> %a, %aprev
  %gmate = shufflevector <32 x i64> %gsec, <32 x i64> poison, <32 x i32> {_MATE}
  %smate = shufflevector <32 x i32> %ssec, <32 x i32> poison, <32 x i32> {_MATE}
  %gpair = icmp eq <32 x i64> %gsec, %gmate
  %spair = icmp eq <32 x i32> %ssec, %smate
  %both1 = and <32 x i1> %orise, %arise
  %both2 = and <32 x i1> %gpair, %spair
  %rises0 = bitcast <32 x i1> %both1 to i32
  %rises1 = or i32 %rises0, 1
  %rises = icmp eq i32 %rises1, -1
  %pairs0 = bitcast <32 x i1> %both2 to i32
  %pairs = icmp eq i32 %pairs0, -1
  %upper = icmp eq i32 %high, {0xAAAAAAAA - (1 << 32)}
  %straight = icmp eq i32 %swap, 0
  %c1 = and i1 %full, %rises
  %c2 = and i1 %pairs, %upper
  %c3 = and i1 %c1, %c2
  %plain = and i1 %c3, %straight
  br i1 %plain, label %passes, label %write
write:                                            ; of lanes that write one place the last one counts
  %rest = phi i32 [ %m, %entry ], [ %rest1, %one ]
  %alive = phi i32 [ %m, %entry ], [ %alive1, %one ]
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %join, label %one
one:
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %less = sub i32 %rest, 1
  %rest1 = and i32 %rest, %less
  %bit = xor i32 %rest, %rest1
  %op = getelementptr i32, ptr %os, i32 %i
  %oi = load i32, ptr %op
{_same("place", "i32", "%o", "%oi")}  %later = and i32 %place, %rest1
  %isover = icmp ne i32 %later, 0
  %gone = select i1 %isover, i32 %bit, i32 0
  %alive1 = xor i32 %alive, %gone
  br label %write
join:                                             ; lanes that move together: their lowest stands for them
  %jrest = phi i32 [ %alive, %write ], [ %jrest1, %member ]
  %heads = phi i32 [ 0, %write ], [ %heads1, %member ]
  %los = phi i32 [ 0, %write ], [ %los1, %member ]
  %his = phi i32 [ 0, %write ], [ %his1, %member ]
  %jend = icmp eq i32 %jrest, 0
  br i1 %jend, label %passes, label %member
member:
  %j = call i32 @llvm.cttz.i32(i32 %jrest, i1 true)
  %jbit = shl i32 1, %j
  %gp = getelementptr i64, ptr %gs, i32 %j
  %gj = load i64, ptr %gp
  %sp = getelementptr i32, ptr %ss, i32 %j
  %sj = load i32, ptr %sp
{_same("gsame", "i64", "%gsec", "%gj")}{_same("ssame", "i32", "%ssec", "%sj")}{_agree("swsame", "%swap", "%j")}  %g1 = and i32 %gsame, %ssame
  %g2 = and i32 %g1, %swsame
  %group = and i32 %g2, %jrest
  %ingroup = xor i32 %group, -1
  %jrest1 = and i32 %jrest, %ingroup
  %heads1 = or i32 %heads, %jbit
  %nhigh = xor i32 %high, -1
  %lo = and i32 %group, %nhigh
  %haslo = icmp ne i32 %lo, 0
  %lobit = select i1 %haslo, i32 %jbit, i32 0
  %los1 = or i32 %los, %lobit
  %hi = and i32 %group, %high
  %hashi = icmp ne i32 %hi, 0
  %hibit = select i1 %hashi, i32 %jbit, i32 0
  %his1 = or i32 %his, %hibit
  br label %join
passes:                                           ; what is moved so passes together where it goes alike
  %prest = phi i32 [ {_EVEN}, %entry ], [ %heads, %join ], [ %prest1, %summed ]
  %sum = phi i32 [ 0, %entry ], [ 0, %join ], [ %sum1, %summed ]
  %heads2 = phi i32 [ {_EVEN}, %entry ], [ %heads, %join ], [ %heads2, %summed ]
  %los2 = phi i32 [ {_EVEN}, %entry ], [ %los, %join ], [ %los2, %summed ]
  %his2 = phi i32 [ {_EVEN}, %entry ], [ %his, %join ], [ %his2, %summed ]
  %alive2 = phi i32 [ -1, %entry ], [ %alive, %join ], [ %alive2, %summed ]
  %pend = icmp eq i32 %prest, 0
  br i1 %pend, label %done, label %pass
pass:
  %p = call i32 @llvm.cttz.i32(i32 %prest, i1 true)
  %pgl = extractelement <32 x i64> %gline, i32 %p
  %psl = extractelement <32 x i32> %sline, i32 %p
{_same("glsame", "i64", "%gline", "%pgl")}{_same("slsame", "i32", "%sline", "%psl")}{_agree("pswap", "%swap", "%p")}{_agree("podd", "%odd", "%p")}{_agree("plo", "%los2", "%p")}{_agree("phi", "%his2", "%p")}  %q1 = and i32 %glsame, %slsame
  %q2 = and i32 %pswap, %podd
  %q3 = and i32 %plo, %phi
  %q4 = and i32 %q1, %q2
  %q5 = and i32 %q3, %q4
  %set = and i32 %q5, %prest
  %inset = xor i32 %set, -1
  %prest1 = and i32 %prest, %inset
  br i1 %plain, label %summed, label %most
most:                                             ; each sector only once on either side
  %trest = phi i32 [ %set, %pass ], [ %trest1, %turn ]
  %best = phi i32 [ 0, %pass ], [ %best2, %turn ]
  %tend = icmp eq i32 %trest, 0
  br i1 %tend, label %summed, label %turn
turn:
  %t = call i32 @llvm.cttz.i32(i32 %trest, i1 true)
  %tless = sub i32 %trest, 1
  %trest1 = and i32 %trest, %tless
  %tgp = getelementptr i64, ptr %gs, i32 %t
  %tg = load i64, ptr %tgp
  %tsp = getelementptr i32, ptr %ss, i32 %t
  %ts = load i32, ptr %tsp
{_same("tgsame", "i64", "%gsec", "%tg")}{_same("tssame", "i32", "%ssec", "%ts")}  %tgm = and i32 %tgsame, %set
  %tsm = and i32 %tssame, %set
  %tgn = call i32 @llvm.ctpop.i32(i32 %tgm)
  %tsn = call i32 @llvm.ctpop.i32(i32 %tsm)
  %best1 = call i32 @llvm.umax.i32(i32 %best, i32 %tgn)
  %best2 = call i32 @llvm.umax.i32(i32 %best1, i32 %tsn)
  br label %most
summed:
  %cost = phi i32 [ 1, %pass ], [ %best, %most ]
  %sum1 = add i32 %sum, %cost
  br label %passes
done:
  %sectors = call i32 @llvm.ctpop.i32(i32 %heads2)
  %writing = call i32 @llvm.ctpop.i32(i32 %alive2)
  %r0 = insertvalue {{ i32, i32, i32 }} poison, i32 %sectors, 0
  %r1 = insertvalue {{ i32, i32, i32 }} %r0, i32 %sum, 1
  %r2 = insertvalue {{ i32, i32, i32 }} %r1, i32 %writing, 2
  ret {{ i32, i32, i32 }} %r2
}}
; cp.async.cg: sectors at %cl, wavefronts at %cs of the lanes %m, of which %reads read anything. %fills: the zeros are a
; store of their own.
define internal void @lw_copy_past(ptr %cl, ptr %cs, <32 x i64> %a, <32 x i32> %o, i32 %m, i32 %reads, i1 %fills) noinline nounwind {{
entry:
  %w = call {{ i32, i32, i32 }} @lw_copy_moves(<32 x i64> %a, <32 x i32> %o, i32 %m)
  %some = icmp ne i32 %m, %reads
  br i1 %some, label %part, label %add
part:
  %p = call {{ i32, i32, i32 }} @lw_copy_moves(<32 x i64> %a, <32 x i32> %o, i32 %reads)
  br label %add
add:
  %r = phi {{ i32, i32, i32 }} [ %w, %entry ], [ %p, %part ]
  %sectors = extractvalue {{ i32, i32, i32 }} %r, 0
  %reading = extractvalue {{ i32, i32, i32 }} %r, 2
  %wavefronts = extractvalue {{ i32, i32, i32 }} %w, 1
  %writing = extractvalue {{ i32, i32, i32 }} %w, 2
  call void @lw_copy_add(ptr %cl, i64 {SITE_SECTORS}, i32 %sectors, i32 %reading, i32 16, i32 32)
  call void @lw_copy_add(ptr %cs, i64 {SITE_WAVEFRONTS}, i32 %wavefronts, i32 %writing, i32 16, i32 128)
  br i1 %fills, label %zeros, label %out
zeros:
  %z = call i32 @lw_copy_wavefronts(<32 x i64> %a, <32 x i32> %o, i32 %m, i32 0, i32 16)
  %all = call i32 @llvm.ctpop.i32(i32 %m)
  call void @lw_copy_add(ptr %cs, i64 {SITE_WAVEFRONTS}, i32 %z, i32 %all, i32 16, i32 128)
  br label %out
out:
  ret void
}}
; Count a copy of %size bytes a lane as a load at %cl and a store at %cs. %way is 0 through the first-level cache, 1 past
; it, 2 past it with an operand that says how much is read.
define internal void @lw_copy_count(ptr %cl, ptr %cs, <32 x i64> %a, <32 x i32> %o, i32 %m, i32 %reads, i32 %size, i32 %way) noinline nounwind {{
entry:
  %r = and i32 %m, %reads
  %none = icmp eq i32 %m, 0
  br i1 %none, label %out, label %some
some:
  call void @lw_copy_on(ptr %cl, i32 %r)
  call void @lw_copy_on(ptr %cs, i32 %m)
  %o64 = zext <32 x i32> %o to <32 x i64>
  call void @lw_note_pattern(ptr %cs, <32 x i64> %o64, i32 %m, i32 %size)
  %reading = icmp ne i32 %r, 0
  br i1 %reading, label %pattern, label %which
pattern:
  call void @lw_note_pattern(ptr %cl, <32 x i64> %a, i32 %r, i32 %size)
  br label %which
which:
  %cached = icmp eq i32 %way, 0
  br i1 %cached, label %through, label %straight
straight:
  %fills = icmp eq i32 %way, 2
  call void @lw_copy_past(ptr %cl, ptr %cs, <32 x i64> %a, <32 x i32> %o, i32 %m, i32 %r, i1 %fills)
  ret void
through:
  %sectors = call i32 @lw_sectors(<32 x i64> %a, i32 %r, i32 %size)
  %rn = call i32 @llvm.ctpop.i32(i32 %r)
  %mn = call i32 @llvm.ctpop.i32(i32 %m)
  call void @lw_copy_add(ptr %cl, i64 {SITE_SECTORS}, i32 %sectors, i32 %rn, i32 %size, i32 32)
  %wavefronts = call i32 @lw_copy_wavefronts(<32 x i64> %a, <32 x i32> %o, i32 %m, i32 %r, i32 %size)
  call void @lw_copy_add(ptr %cs, i64 {SITE_WAVEFRONTS}, i32 %wavefronts, i32 %mn, i32 %size, i32 128)
  ret void
out:
  ret void
}}
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.umax.i32(i32, i32)
declare i8 @llvm.umax.i8(i8, i8)
"""


def definitions() -> str:
    """The functions' text."""
    return _ADD + _THROUGH + _PAST
