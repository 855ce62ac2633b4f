"""Counts for the sake of machine code (`emulator.machine`): accesses at another width, trips of unrolled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import BLOCK_COUNTERS, SITE_ON, SITE_REQUESTS_ON, SITE_WAVEFRONTS, STAGE_ARRIVED
from lanewise.emulator.machine import CountRule, Recount, TripStage
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Instruction
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo


def recount(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity) -> None:
    """Count an access again the way the machine instruction that carries its line is charged, where that differs."""
    for wanted in t.unit.recounts.get((site.module, ins.line), ()):
        if site.space in (Space.GLOBAL, Space.SHARED, Space.LOCAL):
            _recount(t, ins, site, address, wanted)


def _recount(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, wanted: Recount) -> None:
    extra = t.unit.add_recount(site, wanted)
    bytes_ = wanted.width_bits // 8
    if (
        site.space == Space.SHARED
        and wanted.rule == CountRule.LOAD
        and ins.guard is None
        and address.tag == Tag.UNIFORM
    ):
        _broadcast(t, extra, address, bytes_)
        return
    vector = t.vector(address)
    element = "i64" if site.space == Space.GLOBAL else "i32"
    aligned = t.out.let(f"and <32 x {element}> {vector}, splat ({element} {-bytes_})")
    counters, _ = t.site_pointers(extra)
    mask = t.mask(ins)
    if site.space == Space.SHARED and wanted.rule == CountRule.EXCHANGE:
        t.out.define("lw_count_exchange", _EXCHANGE)
        t.out.line(f"call void @lw_count_exchange(ptr {counters}, <32 x i32> {aligned}, i32 {mask}, i32 {bytes_})")
        return
    if site.space == Space.SHARED and wanted.rule != CountRule.LANES:
        flag = "false" if wanted.rule == CountRule.STORE else "true"
        t.out.line(
            f"call void @lw_count_shared(ptr {counters}, <32 x i32> {aligned}, i32 {mask}, i32 {bytes_}, i1 {flag})"
        )
        return
    name, cost, counter = {
        Space.GLOBAL: ("lw_recount_global", "lw_sectors", 0),
        Space.LOCAL: ("lw_recount_local", "lw_local_sectors", 0),
        Space.SHARED: ("lw_recount_lanes", "lw_atomic_lanes", SITE_WAVEFRONTS),
    }[site.space]
    t.out.define(name, _recount_function(name, cost, counter, element))
    t.out.line(f"call void @{name}(ptr {counters}, <32 x {element}> {aligned}, i32 {mask}, i32 {bytes_})")


def _broadcast(t: FunctionTranslator, extra: SiteInfo, address: Quantity, bytes_: int) -> None:
    """One address for all lanes: the cost is known, but for a 128-bit load of part of the lanes."""
    from lanewise.emulator.lowering.memory import uniform_cost

    low = t.out.let(f"and i32 {address.text}, {-bytes_}")
    uniform_cost(t, Space.SHARED, q.uniform(low, "i32"), bytes_, extra)


def _recount_function(name: str, cost: str, counter: int, element: str) -> str:
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


# A loop of loads and compare-and-swaps: each round loads for the lanes that are left, then one lane of each bank
# succeeds. Counts the wavefronts of the loads, the rounds, and the lanes of all rounds.
_EXCHANGE = f"""
define internal void @lw_count_exchange(ptr %c, <32 x i32> %a, i32 %m, i32 %bytes) noinline nounwind {{
entry:
  %box = alloca <32 x i32>, align 128
  store <32 x i32> %a, ptr %box, align 128
  %some = icmp ne i32 %m, 0
  br i1 %some, label %round, label %out
round:
  %left = phi i32 [ %m, %entry ], [ %losers, %next ]
  %w = call i32 @lw_wavefronts(<32 x i32> %a, i32 %left, i32 %bytes, i1 true)
  %w64 = zext i32 %w to i64
  %on = call i32 @llvm.ctpop.i32(i32 %left)
  %on64 = zext i32 %on to i64
  %cw = getelementptr i64, ptr %c, i64 {SITE_WAVEFRONTS}
  %ow = load i64, ptr %cw
  %nw = add i64 %ow, %w64
  store i64 %nw, ptr %cw
  %cr = getelementptr i64, ptr %c, i64 {SITE_REQUESTS_ON}
  %or = load i64, ptr %cr
  %nr = add i64 %or, 1
  store i64 %nr, ptr %cr
  %co = getelementptr i64, ptr %c, i64 {SITE_ON}
  %oo = load i64, ptr %co
  %no = add i64 %oo, %on64
  store i64 %no, ptr %co
  br label %lane
lane:
  %rest = phi i32 [ %left, %round ], [ %rest2, %lane ]
  %lost = phi i32 [ 0, %round ], [ %lost2, %lane ]
  %banks = phi i32 [ 0, %round ], [ %banks2, %lane ]
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %ap = getelementptr i32, ptr %box, i32 %i
  %at = load i32, ptr %ap
  %word = lshr i32 %at, 2
  %bank = and i32 %word, 31
  %bit = shl i32 1, %bank
  %taken = and i32 %banks, %bit
  %wins = icmp eq i32 %taken, 0
  %banks2 = or i32 %banks, %bit
  %less = sub i32 %rest, 1
  %rest2 = and i32 %rest, %less
  %me = xor i32 %rest, %rest2
  %more = or i32 %lost, %me
  %lost2 = select i1 %wins, i32 %lost, i32 %more
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
"""


# ---------------------------------------------------------------------- trips
class TripCounters:
    """The loops of one function whose trips are counted: a vector of trips for each, zero outside."""

    def __init__(self, t: FunctionTranslator) -> None:
        self.t = t
        module = t.unit.program.module_of(t.function)
        self.plans = {
            plan.header: plan
            for plan in t.unit.plan.trips
            if plan.module == module and plan.function == t.function.name
        }
        self.bodies = {
            header: range(header, max(source for source, head in t.analysis.graph.back_edges if head == header) + 1)
            for header in self.plans
        }

    def prologue(self) -> None:
        for header in self.plans:
            self.t.out.line(f"%trips.{header} = alloca <32 x i32>, align 64")
            self.t.out.line(f"store <32 x i32> zeroinitializer, ptr %trips.{header}, align 64")

    def count(self, block: int) -> None:
        """At the start of a loop's header: one trip more for every lane that runs."""
        if block in self.plans:
            out = self.t.out
            old = out.let(f"load <32 x i32>, ptr %trips.{block}, align 64")
            one = out.let(f"zext <32 x i1> {self.t.active_lanes} to <32 x i32>")
            out.line(f"store <32 x i32> {out.let(f'add <32 x i32> {old}, {one}')}, ptr %trips.{block}, align 64")

    def enter(self, source: int, target: int) -> None:
        """On an edge into a loop from outside: what it ran before is over."""
        if target in self.plans and source not in self.bodies[target]:
            self._flush(target)

    def leave(self) -> None:
        for header in self.plans:
            self._flush(header)

    def _flush(self, header: int) -> None:
        plan = self.plans[header]
        row = self.t.unit.trip_rows[plan]
        name = f"lw_trips_{row}"
        self.t.out.define(name, _flush_function(name, row * BLOCK_COUNTERS, plan.stages))
        self.t.out.line(f"call void @{name}(ptr %cnt, ptr %trips.{header})")


_BEFORE = "<" + ", ".join(f"i32 {32 if lane == 0 else lane - 1}" for lane in range(32)) + ">"  # lane 0: a zero


def _flush_function(name: str, first: int, stages: tuple[TripStage, ...]) -> str:
    """Split the trips of lanes that entered a loop together among its stages (`machine.split_trips`), add the stages'
    executions to their counters, and forget the trips."""
    lines = [
        f"define internal void @{name}(ptr %cnt, ptr %trips) noinline nounwind {{",
        "entry:",
        "  %n0 = load <32 x i32>, ptr %trips, align 64",
        "  %most = call i32 @llvm.vector.reduce.umax.v32i32(<32 x i32> %n0)",
        "  %none = icmp eq i32 %most, 0",
        "  br i1 %none, label %out, label %split",
        "split:",
        "  store <32 x i32> zeroinitializer, ptr %trips, align 64",
    ]
    for k, stage in enumerate(stages):
        lines.append(f"  %d{k} = udiv <32 x i32> %n{k}, splat (i32 {stage.copies})")
        if stage.repeats:
            lines.append(f"  %q{k} = add <32 x i32> %d{k}, zeroinitializer")
        else:
            lines.append(f"  %q{k} = call <32 x i32> @llvm.umin.v32i32(<32 x i32> %d{k}, <32 x i32> splat (i32 1))")
        lines += [
            f"  %m{k} = mul <32 x i32> %q{k}, splat (i32 {stage.copies})",
            f"  %n{k + 1} = sub <32 x i32> %n{k}, %m{k}",
            f"  %w{k} = call i32 @llvm.vector.reduce.umax.v32i32(<32 x i32> %q{k})",
            f"  %wide{k} = zext <32 x i32> %q{k} to <32 x i64>",
            f"  %t{k} = call i64 @llvm.vector.reduce.add.v32i64(<32 x i64> %wide{k})",
            f"  %w64{k} = zext i32 %w{k} to i64",
            f"  %v{k} = insertelement <2 x i64> poison, i64 %w64{k}, i32 0",
            f"  %x{k} = insertelement <2 x i64> %v{k}, i64 %t{k}, i32 1",
            f"  %p{k} = getelementptr i64, ptr %cnt, i64 {first + k * BLOCK_COUNTERS}",
            f"  %o{k} = load <2 x i64>, ptr %p{k}, align 16",
            f"  %s{k} = add <2 x i64> %o{k}, %x{k}",
            f"  store <2 x i64> %s{k}, ptr %p{k}, align 16",
            f"  %sorted{k} = call <32 x i32> @lw_sort_i32(<32 x i32> %q{k})",
            f"  %before{k} = shufflevector <32 x i32> %sorted{k}, <32 x i32> zeroinitializer, <32 x i32> {_BEFORE}",
            f"  %step{k} = icmp ne <32 x i32> %sorted{k}, %before{k}",
            f"  %steps{k} = bitcast <32 x i1> %step{k} to i32",
            f"  %groups{k} = call i32 @llvm.ctpop.i32(i32 %steps{k})",
            f"  %ran{k} = icmp ne <32 x i32> %q{k}, zeroinitializer",
            f"  %rans{k} = bitcast <32 x i1> %ran{k} to i32",
            f"  %came{k} = call i32 @llvm.ctpop.i32(i32 %rans{k})",
            f"  %g64{k} = zext i32 %groups{k} to i64",
            f"  %c64{k} = zext i32 %came{k} to i64",
            f"  %y{k} = insertelement <2 x i64> poison, i64 %c64{k}, i32 0",
            f"  %z{k} = insertelement <2 x i64> %y{k}, i64 %g64{k}, i32 1",
            f"  %p2{k} = getelementptr i64, ptr %p{k}, i64 {STAGE_ARRIVED}",
            f"  %o2{k} = load <2 x i64>, ptr %p2{k}, align 16",
            f"  %s2{k} = add <2 x i64> %o2{k}, %z{k}",
            f"  store <2 x i64> %s2{k}, ptr %p2{k}, align 16",
        ]
    lines += ["  br label %out", "out:", "  ret void", "}"]
    lines += [
        "declare i32 @llvm.ctpop.i32(i32)",
        "declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)",
        "declare i64 @llvm.vector.reduce.add.v32i64(<32 x i64>)",
        "declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)",
    ]
    return "\n".join(lines)
