"""Calls that add what one access costs to the counters of a site: lane by lane, as a machine instruction is charged."""

from __future__ import annotations

from lanewise.emulator.ir import Emitter
from lanewise.emulator.layout import SITE_ON, SITE_WAVEFRONTS
from lanewise.emulator.machine import CountRule
from lanewise.records import Space

_FUNCTIONS = {
    Space.GLOBAL: ("lw_recount_global", "lw_sectors", 0, "i64"),
    Space.LOCAL: ("lw_recount_local", "lw_local_sectors", 0, "i32"),
    Space.SHARED: ("lw_recount_lanes", "lw_atomic_lanes", SITE_WAVEFRONTS, "i32"),
}


def call(out: Emitter, space: Space, rule: CountRule, counters: str, addresses: str, mask: str, bytes_: int) -> str:
    """The call for one access; addresses are `<32 x i64>` of global memory, else `<32 x i32>` offsets, all aligned."""
    if space == Space.SHARED and rule != CountRule.LANES:
        flag = "false" if rule == CountRule.STORE else "true"
        return (
            f"call void @lw_count_shared(ptr {counters}, <32 x i32> {addresses}, i32 {mask}, i32 {bytes_}, i1 {flag})"
        )
    name, cost, counter, element = _FUNCTIONS[space]
    out.define(name, _function(name, cost, counter, element))
    return f"call void @{name}(ptr {counters}, <32 x {element}> {addresses}, i32 {mask}, i32 {bytes_})"


def _function(name: str, cost: str, counter: int, element: str) -> str:
    """Adds an access's cost and its ideal at counters `counter` and `counter` + 1, and the lanes that are on."""
    takes_bytes = "" if cost == "lw_atomic_lanes" else ", i32 %bytes"
    unit = 128 if counter == SITE_WAVEFRONTS else 32
    return f"""
define internal void @{name}(ptr %c, <32 x {element}> %a, i32 %m, i32 %bytes) noinline nounwind {{
entry:
  %z = icmp eq i32 %m, 0
  br i1 %z, label %out, label %count
count:
  %s = call i32 @{cost}(<32 x {element}> %a, i32 %m{takes_bytes})
  %s64 = zext i32 %s to i64
  %on = call i32 @llvm.ctpop.i32(i32 %m)
  %b = mul i32 %on, %bytes
  %b1 = add i32 %b, {unit - 1}
  %ideal0 = udiv i32 %b1, {unit}
  %less = icmp ult i32 %ideal0, %s
  %ideal = select i1 %less, i32 %ideal0, i32 %s
  %ideal64 = zext i32 %ideal to i64
  %on64 = zext i32 %on to i64
  %p = getelementptr i64, ptr %c, i64 {counter}
  %o = load i64, ptr %p
  %n = add i64 %o, %s64
  store i64 %n, ptr %p
  %ip = getelementptr i64, ptr %c, i64 {counter + 1}
  %io = load i64, ptr %ip
  %in = add i64 %io, %ideal64
  store i64 %in, ptr %ip
  %qp = getelementptr i64, ptr %c, i64 {SITE_ON}
  %qo = load i64, ptr %qp
  %qn = add i64 %qo, %on64
  store i64 %qn, ptr %qp
  br label %out
out:
  ret void
}}
declare i32 @llvm.ctpop.i32(i32)
"""
