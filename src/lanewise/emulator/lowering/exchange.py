"""Counts of the loop of loads and compare-and-swaps that an atomic on shared memory becomes where the machine has none
(`hardware.banks.compare_and_swap`): of its loads at one site, of its swaps at another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.emulator.layout import (
    SHARED_WINDOW,
    SITE_ON,
    SITE_REQUESTS_ON,
    SITE_WAVEFRONTS,
    SITE_WAVEFRONTS_IDEAL,
    WINDOW_BYTES,
)
from lanewise.emulator.machine import CountRule, Recount
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Instruction

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo


@dataclass(frozen=True, slots=True)
class Update:
    """What an atomic is about to do, as LLVM: the host addresses of its lanes (checked), and their operands."""

    operation: str  # "add", "min", ...
    ptx_type: str
    host: str  # <32 x i64>
    operands: str  # <32 x i{bits of the type}>


_BETTER = {("min", "u"): "ult", ("min", "s"): "slt", ("max", "u"): "ugt", ("max", "s"): "sgt"}


def count(
    t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, wanted: Recount, update: Update | None
) -> None:
    """Count the loop of one atomic: of generic ones, for the lanes whose addresses lie in the shared window. Called
    before memory changes: a minimum or maximum looks at what is there."""
    out = t.out
    loads, _ = t.site_pointers(t.unit.add_recount(site, wanted))
    swaps, _ = t.site_pointers(t.unit.add_recount(site, replace(wanted, rule=CountRule.EXCHANGE_SWAP)))
    vector, mask = t.vector(address), t.mask(ins)
    if site.generic:
        offsets = out.let(f"sub <32 x i64> {vector}, splat (i64 {SHARED_WINDOW})")
        lanes = out.let(f"icmp ult <32 x i64> {offsets}, splat (i64 {WINDOW_BYTES})")
        mask = out.let(f"and i32 {out.let(f'bitcast <32 x i1> {lanes} to i32')}, {mask}")
        vector = out.let(f"trunc <32 x i64> {offsets} to <32 x i32>")
    better = None if update is None else _BETTER.get((update.operation, update.ptx_type[0]))
    name, values = "lw_count_exchange", ""
    if better is not None and update is not None:
        bits = int(update.ptx_type[1:])
        name = f"{name}_{better}{bits}"
        pointers = out.let(f"inttoptr <32 x i64> {update.host} to <32 x ptr>")
        element = f"<32 x i{bits}>"
        lanes = out.let(f"bitcast i32 {mask} to <32 x i1>")
        out.define(f"llvm.masked.gather.v32i{bits}", _gather(bits))
        held = out.let(
            f"call {element} @llvm.masked.gather.v32i{bits}.v32p0(<32 x ptr> {pointers}, i32 {bits // 8}, "
            f"<32 x i1> {lanes}, {element} zeroinitializer)"
        )
        values = f", {element} {held}, {element} {update.operands}"
        out.define(name, _loop(name, better, bits))
    else:
        out.define(name, _loop(name, None, 0))
    bytes_ = (wanted.width_bits if not site.generic else site.width_bits) // 8
    out.line(f"call void @{name}(ptr {loads}, ptr {swaps}, <32 x i32> {vector}, i32 {mask}, i32 {bytes_}{values})")


def _gather(bits: int) -> str:
    vector = f"<32 x i{bits}>"
    return f"declare {vector} @llvm.masked.gather.v32i{bits}.v32p0(<32 x ptr>, i32, <32 x i1>, {vector})\n"


def _add(counters: str, lanes: str, wavefronts: str, bytes_: str, tag: str) -> str:
    """A request of some lanes: its wavefronts, and the least in which as many bytes could go (`lanes` i32, `wavefronts`
    i64; swaps go twice over)."""
    twice = 1 if tag == "s" else 0
    return f"""
  %{tag}on = call i32 @llvm.ctpop.i32(i32 {lanes})
  %{tag}on64 = zext i32 %{tag}on to i64
  %{tag}moved = mul i64 %{tag}on64, {bytes_}
  %{tag}full = add i64 %{tag}moved, 127
  %{tag}least = lshr i64 %{tag}full, 7
  %{tag}most = shl i64 %{tag}least, {twice}
  %{tag}ideal = call i64 @llvm.umin.i64(i64 %{tag}most, i64 {wavefronts})
  %{tag}some = icmp ne i32 {lanes}, 0
  %{tag}one = zext i1 %{tag}some to i64
""" + "".join(
        f"""  %{tag}p{place} = getelementptr i64, ptr {counters}, i64 {place}
  %{tag}o{place} = load i64, ptr %{tag}p{place}
  %{tag}n{place} = add i64 %{tag}o{place}, {value}
  store i64 %{tag}n{place}, ptr %{tag}p{place}
"""
        for place, value in (
            (SITE_WAVEFRONTS, wavefronts),
            (SITE_WAVEFRONTS_IDEAL, f"%{tag}ideal"),
            (SITE_REQUESTS_ON, f"%{tag}one"),
            (SITE_ON, f"%{tag}on64"),
        )
    )


def _loop(name: str, better: str | None, bits: int) -> str:
    """Each round loads for the lanes that wait; those that would change nothing (`better`: the comparison by which a
    lane's operand beats what is there) are done; of the others the lowest of each bank (of 8 bytes: in each half of the
    warp) swaps, unless the first half changed the place in this round."""
    values = "" if better is None else f", <32 x i{bits}> %held0, <32 x i{bits}> %new"
    if better is None:
        begin = "  %try = or i32 %left, 0"
        won = ""
    else:
        begin = f"""  %held = load <32 x i{bits}>, ptr %values, align 64
  %beats = icmp {better} <32 x i{bits}> %new, %held
  %beating = bitcast <32 x i1> %beats to i32
  %try = and i32 %left, %beating"""
        won = f"""  %vp = getelementptr i{bits}, ptr %news, i32 %i
  %v = load i{bits}, ptr %vp
  %v1 = insertelement <32 x i{bits}> poison, i{bits} %v, i32 0
  %vv = shufflevector <32 x i{bits}> %v1, <32 x i{bits}> poison, <32 x i32> zeroinitializer
  %was = load <32 x i{bits}>, ptr %values, align 64
  %written = select <32 x i1> %same, <32 x i{bits}> %vv, <32 x i{bits}> %was
  %now = select i1 %wins, <32 x i{bits}> %written, <32 x i{bits}> %was
  store <32 x i{bits}> %now, ptr %values, align 64
"""
    keep = (
        ""
        if better is None
        else f"""  %values = alloca <32 x i{bits}>, align 64
  %news = alloca <32 x i{bits}>, align 64
  store <32 x i{bits}> %held0, ptr %values, align 64
  store <32 x i{bits}> %new, ptr %news, align 64
"""
    )
    return f"""
define internal void @{name}(ptr %l, ptr %s, <32 x i32> %a, i32 %m, i32 %bytes{values}) noinline nounwind {{
entry:
  %wide = icmp ugt i32 %bytes, 4
  %shift = select i1 %wide, i32 3, i32 2
  %last_bank = select i1 %wide, i32 15, i32 31
  %s1 = insertelement <32 x i32> poison, i32 %shift, i32 0
  %sv = shufflevector <32 x i32> %s1, <32 x i32> poison, <32 x i32> zeroinitializer
  %places = lshr <32 x i32> %a, %sv
  %box = alloca <32 x i32>, align 128
  store <32 x i32> %places, ptr %box, align 128
  %bytes64 = zext i32 %bytes to i64
{keep}  %any = icmp ne i32 %m, 0
  br i1 %any, label %round, label %out
round:
  %left = phi i32 [ %m, %entry ], [ %losers, %next ]
  %w = call i32 @lw_wavefronts(<32 x i32> %a, i32 %left, i32 %bytes, i1 true)
  %w64 = zext i32 %w to i64
{_add("%l", "%left", "%w64", "%bytes64", "l")}{begin}
  %none = icmp eq i32 %try, 0
  br i1 %none, label %out, label %swap
swap:
  %below = and i32 %try, 65535
  %above = lshr i32 %try, 16
  %b1 = icmp ne i32 %below, 0
  %a1 = icmp ne i32 %above, 0
  %both = and i1 %b1, %a1
  %twice = and i1 %both, %wide
  %swaps = select i1 %twice, i64 4, i64 2
{_add("%s", "%try", "%swaps", "%bytes64", "s")}  br label %lane
lane:
  %rest = phi i32 [ %try, %swap ], [ %rest2, %lane ]
  %lost = phi i32 [ 0, %swap ], [ %lost2, %lane ]
  %banks = phi i32 [ 0, %swap ], [ %banks2, %lane ]
  %won = phi i32 [ 0, %swap ], [ %won2, %lane ]
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %ap = getelementptr i32, ptr %box, i32 %i
  %place = load i32, ptr %ap
  %slot = and i32 %place, %last_bank
  %half = and i32 %i, 16
  %upper = select i1 %wide, i32 %half, i32 0
  %bank = or i32 %slot, %upper
  %bit = shl i32 1, %bank
  %taken = and i32 %banks, %bit
  %tries = icmp eq i32 %taken, 0
  %p1 = insertelement <32 x i32> poison, i32 %place, i32 0
  %pv = shufflevector <32 x i32> %p1, <32 x i32> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i32> %places, %pv
  %samem = bitcast <32 x i1> %same to i32
  %lower = icmp eq i32 %upper, 0
  %firsts = select i1 %lower, i32 0, i32 65535
  %before0 = and i32 %samem, %won
  %before = and i32 %before0, %firsts
  %unchanged = icmp eq i32 %before, 0
  %wins = and i1 %tries, %unchanged
{won}  %banks2 = or i32 %banks, %bit
  %less = sub i32 %rest, 1
  %rest2 = and i32 %rest, %less
  %me = xor i32 %rest, %rest2
  %more = or i32 %lost, %me
  %lost2 = select i1 %wins, i32 %lost, i32 %more
  %winners = or i32 %won, %me
  %won2 = select i1 %wins, i32 %winners, i32 %won
  %last = icmp eq i32 %rest2, 0
  br i1 %last, label %next, label %lane
next:
  %losers = or i32 %lost2, 0
  %done = icmp eq i32 %losers, 0
  br i1 %done, label %out, label %round
out:
  ret void
}}
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.umin.i64(i64, i64)
"""
