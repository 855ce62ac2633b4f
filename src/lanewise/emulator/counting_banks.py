"""Counting functions of shared memory as text of LLVM IR: wavefronts, and the lanes of a bank for atomics.

The rules are stated by `lanewise.hardware.banks`; `counting` says how the functions are called.
"""

from __future__ import annotations

from lanewise.emulator.counting_parts import (
    ATTRIBUTES,
    LANES,
    PREVIOUS,
    ZEROS,
    constant,
    indices,
    octet_maxima,
    octets_present,
)

_LANE_NUMBERS = constant("i32", LANES)
_PAIRS_1 = f"<32 x i32> {indices(lane ^ 1 for lane in LANES)}"
_PAIRS_2 = f"<32 x i32> {indices(lane ^ 2 for lane in LANES)}"

# Loads of 8 and 16 bytes: do neighbouring phases go as one? Of 16 bytes each half of the warp is asked by itself.
_WIDE_LOADS = f"""
compare:
  %n1 = shufflevector <32 x i32> %a, <32 x i32> poison, {_PAIRS_1}
  %n2 = shufflevector <32 x i32> %a, <32 x i32> poison, {_PAIRS_2}
  %d1 = icmp ne <32 x i32> %a, %n1
  %d2 = icmp ne <32 x i32> %a, %n2
  %d1m = bitcast <32 x i1> %d1 to i32
  %d2m = bitcast <32 x i1> %d2 to i32
  %u1 = lshr i32 %mask, 1
  %u1k = and i32 %u1, 1431655765
  %v1 = shl i32 %mask, 1
  %v1k = and i32 %v1, -1431655766
  %u2 = lshr i32 %mask, 2
  %u2k = and i32 %u2, 858993459
  %v2 = shl i32 %mask, 2
  %v2k = and i32 %v2, -858993460
  %both1 = or i32 %u1k, %v1k                      ; lanes whose partner is on
  %both2 = or i32 %u2k, %v2k
  %bad1 = and i32 %d1m, %both1
  %bad2 = and i32 %d2m, %both2
  %on1 = and i32 %bad1, %mask                     ; lanes that disagree
  %on2 = and i32 %bad2, %mask
  br i1 %wide16, label %halves, label %whole
whole:
  %ok1 = icmp eq i32 %on1, 0
  %ok2 = icmp eq i32 %on2, 0
  %ok = or i1 %ok1, %ok2
  br i1 %ok, label %together, label %apart
together:
  %t = call i32 @lw_phases(<32 x i32> %a, i32 %mask, i32 %bytes, i1 true)
  %free = icmp ule i32 %t, 1
  br i1 %free, label %once, label %apart
once:
  ret i32 %t
halves:
  %alone1 = xor i32 %both1, -1                    ; lanes without a partner, which the first half may not have
  %alone2 = xor i32 %both2, -1
  %lone1 = and i32 %alone1, %mask
  %lone2 = and i32 %alone2, %mask
  %first1 = or i32 %on1, %lone1
  %first2 = or i32 %on2, %lone2
  %f1 = and i32 %first1, 65535
  %f2 = and i32 %first2, 65535
  %g1 = lshr i32 %on1, 16
  %g2 = lshr i32 %on2, 16
  %fok1 = icmp eq i32 %f1, 0
  %fok2 = icmp eq i32 %f2, 0
  %last_on = icmp slt i32 %mask, 0
  %last_off = xor i1 %last_on, true
  %fok3 = or i1 %fok1, %fok2
  %fok = or i1 %fok3, %last_off
  %gok1 = icmp eq i32 %g1, 0
  %gok2 = icmp eq i32 %g2, 0
  %gok = or i1 %gok1, %gok2
  %any = or i1 %fok, %gok
  br i1 %any, label %each, label %apart
each:                                             ; one address for all: a wavefront for 16 lanes
  %on = bitcast i32 %mask to <32 x i1>
  %lows = select <32 x i1> %on, <32 x i32> %a, <32 x i32> splat (i32 -1)
  %highs = select <32 x i1> %on, <32 x i32> %a, <32 x i32> zeroinitializer
  %low = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %lows)
  %high = call i32 @llvm.vector.reduce.umax.v32i32(<32 x i32> %highs)
  %one = icmp eq i32 %low, %high
  br i1 %one, label %broadcast, label %split
broadcast:
  %count = call i32 @llvm.ctpop.i32(i32 %mask)
  %up = add i32 %count, 15
  %sixteens = lshr i32 %up, 4
  ret i32 %sixteens
split:
  %fm = and i32 %mask, 65535
  %gm = and i32 %mask, -65536
  %fn = call i32 @lw_half(<32 x i32> %a, i32 %fm, i1 %fok)
  %gn = call i32 @lw_half(<32 x i32> %a, i32 %gm, i1 %gok)
  %sum = add i32 %fn, %gn
  ret i32 %sum
"""

WAVEFRONTS = f"""define internal i32 @lw_wavefronts(<32 x i32> %a, i32 %mask, i32 %bytes, i1 %is_load) {ATTRIBUTES} {{
  %wide8 = icmp ugt i32 %bytes, 4
  %wide16 = icmp ugt i32 %bytes, 8
  %merges = and i1 %wide8, %is_load
  br i1 %merges, label %compare, label %apart
{_WIDE_LOADS}
apart:
  %n = call i32 @lw_phases(<32 x i32> %a, i32 %mask, i32 %bytes, i1 false)
  ret i32 %n
}}"""

HALF = f"""define internal i32 @lw_half(<32 x i32> %a, i32 %mask, i1 %shares) {ATTRIBUTES} {{
  br i1 %shares, label %together, label %apart    ; a half's load of 16 bytes: in one phase, or in two
together:
  %t = call i32 @lw_phases(<32 x i32> %a, i32 %mask, i32 16, i1 true)
  %free = icmp ule i32 %t, 1
  br i1 %free, label %once, label %apart
once:
  ret i32 %t
apart:
  %n = call i32 @lw_phases(<32 x i32> %a, i32 %mask, i32 16, i1 false)
  ret i32 %n
}}"""

# One access in its phases, neighbouring ones together where `merged`.
PHASES = f"""define internal i32 @lw_phases(<32 x i32> %a, i32 %mask, i32 %bytes, i1 %merged) {ATTRIBUTES} {{
  %box = alloca <32 x i32>, align 64
  %empty = icmp eq i32 %mask, 0
  br i1 %empty, label %nothing, label %some
nothing:
  ret i32 0
some:                                             ; units of a word, or of 8 or 16 bytes: `slots` of them fill the banks
  %wide8 = icmp ugt i32 %bytes, 4
  %wide16 = icmp ugt i32 %bytes, 8
  %w8 = zext i1 %wide8 to i32
  %w16 = zext i1 %wide16 to i32
  %wider = add i32 %w8, %w16
  %shift = add i32 %wider, 2
  %slots = lshr i32 32, %wider
  %merged32 = zext i1 %merged to i32
  %pshift0 = sub i32 5, %wider
  %pshift = add i32 %pshift0, %merged32           ; log2 of the lanes in a phase
  %shift1 = insertelement <32 x i32> poison, i32 %shift, i32 0
  %shiftv = shufflevector <32 x i32> %shift1, <32 x i32> poison, {ZEROS}
  %unit = lshr <32 x i32> %a, %shiftv
  %pshift1 = insertelement <32 x i32> poison, i32 %pshift, i32 0
  %pshiftv = shufflevector <32 x i32> %pshift1, <32 x i32> poison, {ZEROS}
  %phase = lshr <32 x i32> {_LANE_NUMBERS}, %pshiftv
  %slots1 = insertelement <32 x i32> poison, i32 %slots, i32 0
  %slotsv = shufflevector <32 x i32> %slots1, <32 x i32> poison, {ZEROS}
  %ahead = mul <32 x i32> %phase, %slotsv
  %level = sub <32 x i32> %unit, %ahead           ; a contiguous access has the same units in every phase
  store <32 x i32> %level, ptr %box, align 64
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %fp = getelementptr i32, ptr %box, i32 %first
  %fu = load i32, ptr %fp, align 4
  %fu1 = insertelement <32 x i32> poison, i32 %fu, i32 0
  %fuv = shufflevector <32 x i32> %fu1, <32 x i32> poison, {ZEROS}
  %over = sub <32 x i32> %level, %fuv
  %row = xor <32 x i32> %level, %fuv
  %overx = icmp uge <32 x i32> %over, %slotsv
  %rowx = icmp uge <32 x i32> %row, %slotsv
  %overm = bitcast <32 x i1> %overx to i32
  %rowm = bitcast <32 x i1> %rowx to i32
  %overon = and i32 %overm, %mask
  %rowon = and i32 %rowm, %mask
  %overok = icmp eq i32 %overon, 0
  %rowok = icmp eq i32 %rowon, 0
  %free = or i1 %overok, %rowok
  br i1 %free, label %smooth, label %rough
smooth:                                           ; no two words of a phase in one bank: a phase with lanes costs one
{octets_present("%mask")}
  %z0 = zext i1 %o0 to i32
  %z1 = zext i1 %o1 to i32
  %z2 = zext i1 %o2 to i32
  %z3 = zext i1 %o3 to i32
  %h0 = or i32 %z0, %z1
  %h1 = or i32 %z2, %z3
  %z01 = add i32 %z0, %z1
  %z23 = add i32 %z2, %z3
  %eights = add i32 %z01, %z23
  %halves = add i32 %h0, %h1
  %is3 = icmp eq i32 %pshift, 3
  %is4 = icmp eq i32 %pshift, 4
  %few = select i1 %is4, i32 %halves, i32 1
  %smoothn = select i1 %is3, i32 %eights, i32 %few
  ret i32 %smoothn
rough:                                            ; all lanes on one line, k units apart: gcd(k, slots) meet in a bank
  %full = icmp eq i32 %mask, -1
  %single = xor i1 %merged, true
  %simple = and i1 %full, %single
  br i1 %simple, label %line, label %keyed
line:
  %unit0 = shufflevector <32 x i32> %unit, <32 x i32> poison, {ZEROS}
  %rise = sub <32 x i32> %unit, %unit0
  %step = shufflevector <32 x i32> %rise, <32 x i32> poison, <32 x i32> splat (i32 1)
  %expected = mul <32 x i32> %step, {_LANE_NUMBERS}
  %off_line = icmp ne <32 x i32> %rise, %expected
  %off_linem = bitcast <32 x i1> %off_line to i32
  %straight = icmp eq i32 %off_linem, 0
  br i1 %straight, label %strided, label %keyed
strided:
  %k0 = extractelement <32 x i32> %rise, i32 1
  %k1 = or i32 %k0, %slots
  %k2 = sub i32 0, %k1
  %ways = and i32 %k1, %k2                        ; the lowest set bit
  %same = icmp eq i32 %k0, 0
  %waysn = select i1 %same, i32 1, i32 %ways
  %each = shl i32 %waysn, %wider                  ; in every phase
  ret i32 %each
keyed:                                            ; a key for each unit of a phase: phase, then unit, in 16 bits
  %ubits = sub i32 18, %shift
  %ubits1 = insertelement <32 x i32> poison, i32 %ubits, i32 0
  %ubitsv = shufflevector <32 x i32> %ubits1, <32 x i32> poison, {ZEROS}
  %high = shl <32 x i32> %phase, %ubitsv
  %key32 = or <32 x i32> %high, %unit
  %key16 = trunc <32 x i32> %key32 to <32 x i16>
  %on = bitcast i32 %mask to <32 x i1>
  %keys = select <32 x i1> %on, <32 x i16> %key16, <32 x i16> splat (i16 -1)
  %previous = shufflevector <32 x i16> %keys, <32 x i16> poison, {PREVIOUS}
  %less = icmp ult <32 x i16> %keys, %previous
  %lessm = bitcast <32 x i1> %less to i32
  %rising = icmp eq i32 %lessm, 0
  br i1 %rising, label %count, label %sort
sort:
  %sorted = call <32 x i16> @lw_sort_i16(<32 x i16> %keys)
  br label %count
count:
  %k = phi <32 x i16> [ %keys, %keyed ], [ %sorted, %sort ]
  %before = shufflevector <32 x i16> %k, <32 x i16> poison, {PREVIOUS}
  %differ = icmp ne <32 x i16> %k, %before
  %differm = bitcast <32 x i1> %differ to i32
  %newm = or i32 %differm, 1
  %new = bitcast i32 %newm to <32 x i1>
  %real = icmp ne <32 x i16> %k, splat (i16 -1)
  %counts = and <32 x i1> %new, %real
  %kw = zext <32 x i16> %k to <32 x i32>
  %kp = lshr <32 x i32> %kw, %ubitsv
  %kb = mul <32 x i32> %kp, %slotsv
  %slots_1 = sub i32 %slots, 1
  %within1 = insertelement <32 x i32> poison, i32 %slots_1, i32 0
  %withinv = shufflevector <32 x i32> %within1, <32 x i32> poison, {ZEROS}
  %ku = and <32 x i32> %kw, %withinv
  %ks = add <32 x i32> %kb, %ku
  %ks8 = trunc <32 x i32> %ks to <32 x i8>
  %slot = select <32 x i1> %counts, <32 x i8> %ks8, <32 x i8> splat (i8 32)
  %seen = call <32 x i8> @lw_histogram(<32 x i8> %slot)
{octet_maxima("%seen")}
  %g01 = icmp ugt i32 %q0, %q1
  %x01 = select i1 %g01, i32 %q0, i32 %q1
  %g23 = icmp ugt i32 %q2, %q3
  %x23 = select i1 %g23, i32 %q2, i32 %q3
  %gx = icmp ugt i32 %x01, %x23
  %one = select i1 %gx, i32 %x01, i32 %x23
  %two = add i32 %x01, %x23
  %q01 = add i32 %q0, %q1
  %q23 = add i32 %q2, %q3
  %four = add i32 %q01, %q23
  %not1 = select i1 %wide16, i32 %four, i32 %two
  %result = select i1 %wide8, i32 %not1, i32 %one
  ret i32 %result
}}"""


ATOMIC_LANES = f"""define internal i32 @lw_atomic_lanes(<32 x i32> %a, i32 %mask, i32 %bytes) {ATTRIBUTES} {{
  %wide = icmp ugt i32 %bytes, 4                  ; 8 bytes go by halves of the warp, over 16 pairs of banks
  %word = lshr <32 x i32> %a, splat (i32 2)
  %pair = lshr <32 x i32> %a, splat (i32 3)
  %bank = and <32 x i32> %word, splat (i32 31)
  %low = and <32 x i32> %pair, splat (i32 15)
  %double = or <32 x i32> %low, {constant("i32", (lane & 16 for lane in LANES))}
  %place = select i1 %wide, <32 x i32> %double, <32 x i32> %bank
  %bank8 = trunc <32 x i32> %place to <32 x i8>
  %on = bitcast i32 %mask to <32 x i1>
  %slot = select <32 x i1> %on, <32 x i8> %bank8, <32 x i8> splat (i8 32)
  %seen = call <32 x i8> @lw_histogram(<32 x i8> %slot)
{octet_maxima("%seen")}
  %g01 = icmp ugt i32 %q0, %q1
  %x01 = select i1 %g01, i32 %q0, i32 %q1
  %g23 = icmp ugt i32 %q2, %q3
  %x23 = select i1 %g23, i32 %q2, i32 %q3
  %gx = icmp ugt i32 %x01, %x23
  %most = select i1 %gx, i32 %x01, i32 %x23
  %both = add i32 %x01, %x23
  %lanes = select i1 %wide, i32 %both, i32 %most
  ret i32 %lanes
}}"""
