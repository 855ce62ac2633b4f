"""Counts for the sake of machine code (`emulator.machine`): accesses at another width, trips of unrolled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import (
    BLOCK_COUNTERS,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    SITE_ON,
    SITE_REQUESTS_ON,
    SITE_SECTORS_IDEAL,
    STAGE_ARRIVED,
    WINDOW_BYTES,
)
from lanewise.emulator.lowering import charges, exchange, lane_pattern, one_address
from lanewise.emulator.lowering.staged import StagedAccesses
from lanewise.emulator.machine import CountRule, Recount, TripStage
from lanewise.emulator.quantity import Quantity
from lanewise.hardware import banks
from lanewise.ptx.syntax import Instruction
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.flow import FlowGraph
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo
    from lanewise.emulator.values import ValueTranslator


def recount(
    t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, update: exchange.Update | None = None
) -> None:
    """Count an access again the way the machine instruction that carries its line is charged, where that differs.
    `update`: what an atomic is about to do."""
    if not site.generic:
        t.trips.note(ins, site, address)
    for wanted in t.unit.recounts.get((site.module, ins.line), ()):
        if wanted.rule == CountRule.EXCHANGE_SWAP:
            continue  # counted with its load
        if wanted.rule == CountRule.EXCHANGE_LOAD:
            exchange.count(t, ins, site, address, wanted, update)
        elif site.generic:
            _outside_windows(t, ins, site, address, wanted)
        elif site.space in (Space.GLOBAL, Space.SHARED, Space.LOCAL):
            _recount(t, ins, site, address, wanted)


def _outside_windows(
    t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, wanted: Recount
) -> None:
    """A generic atomic on lanes of global memory: words of 32 bits that hold what it changes."""
    extra = t.unit.add_recount(site, wanted)
    counters, _ = t.site_pointers(extra)
    out = t.out
    bytes_ = wanted.width_bits // 8
    vector = t.vector(address)
    mask = t.mask(ins)
    for window in (SHARED_WINDOW, LOCAL_WINDOW):
        offsets = out.let(f"sub <32 x i64> {vector}, splat (i64 {window})")
        outside = out.let(f"icmp uge <32 x i64> {offsets}, splat (i64 {WINDOW_BYTES})")
        mask = out.let(f"and i32 {out.let(f'bitcast <32 x i1> {outside} to i32')}, {mask}")
    aligned = out.let(f"and <32 x i64> {vector}, splat (i64 {-bytes_})")
    if wanted.rule == CountRule.SWAPS:
        out.define("lw_count_swaps", _SWAPS)
        out.line(f"call void @lw_count_swaps(ptr {counters}, <32 x i64> {aligned}, i32 {mask})")
    else:
        out.line(charges.call(out, Space.GLOBAL, wanted.rule, counters, aligned, mask, bytes_))


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
    if wanted.rule in _STATIC and _by_closed_form(t, ins, extra, address, bytes_, wanted):
        return
    vector = t.vector(address)
    element = "i64" if site.space == Space.GLOBAL else "i32"
    aligned = t.out.let(f"and <32 x {element}> {vector}, splat ({element} {-bytes_})")
    counters, _ = t.site_pointers(extra)
    mask = t.mask(ins)
    t.out.line(charges.call(t.out, site.space, wanted.rule, counters, aligned, mask, bytes_))


def _broadcast(t: FunctionTranslator, extra: SiteInfo, address: Quantity, bytes_: int) -> None:
    """One address for all lanes: the cost is known, but for a 128-bit load of part of the lanes."""
    low = t.out.let(f"and i32 {address.text}, {-bytes_}")
    one_address.charge(t, Space.SHARED, q.uniform(low, "i32"), bytes_, extra)


_STATIC = {CountRule.LOAD: AccessKind.LOAD, CountRule.STORE: AccessKind.STORE, CountRule.WORDS: AccessKind.LOAD}


def _by_closed_form(
    t: FunctionTranslator, ins: Instruction, extra: SiteInfo, address: Quantity, bytes_: int, wanted: Recount
) -> bool:
    """Lanes at constant distances from an aligned base cost what is known now; a warp that is not whole, or a base that
    is not aligned, is counted lane by lane. False where the distances are not constant."""
    made = lane_pattern.plan(address) if extra.space == Space.SHARED else None
    if made is None or made.pattern or ins.guard is not None or address.tag != Tag.AFFINE:
        return False
    out = t.out
    kind = _STATIC[wanted.rule]
    lowest = min(made.relative)
    offsets = [(relative - lowest) // bytes_ * bytes_ for relative in made.relative]
    extra.on_from_block = True
    extra.static_wavefronts = banks.wavefronts(offsets, lane_pattern.FULL, bytes_, kind)
    extra.static_wavefronts_ideal = banks.wavefronts_ideal(offsets, lane_pattern.FULL, bytes_, kind)
    first = out.let(f"add i32 {address.text}, {lowest}")
    aligned = out.let(f"icmp eq i32 {out.let(f'and i32 {first}, {bytes_ - 1}')}, 0")
    known = out.let(f"and i1 {aligned}, {t.edge_here('full')}")
    some, done = out.fresh_label("some"), out.fresh_label("done")
    out.line(f"br i1 {known}, label %{done}, label %{some}, !prof !2")
    out.label(some)
    counters, _ = t.site_pointers(extra)
    off = f"i64 {extra.static_wavefronts}, i64 {extra.static_wavefronts_ideal}"
    out.line(f"call void @lw_undo_static(ptr {counters}, {off})")
    low = out.let(f"and <32 x i32> {t.vector(address)}, splat (i32 {-bytes_})")
    flag = "true" if kind == AccessKind.LOAD else "false"
    out.line(f"call void @lw_count_shared(ptr {counters}, <32 x i32> {low}, i32 {t.active}, i32 {bytes_}, i1 {flag})")
    out.line(f"br label %{done}")
    out.label(done)
    return True


# A loop of compare-and-swaps on words of global memory: each round goes for all lanes that wait, and the lowest lane of
# each word is done. Counts sectors and their ideal, the rounds, the lanes of all.
_SWAPS = f"""
define internal void @lw_count_swaps(ptr %c, <32 x i64> %a, i32 %m) noinline nounwind {{
entry:
  %box = alloca <32 x i64>, align 64
  store <32 x i64> %a, ptr %box, align 64
  %some = icmp ne i32 %m, 0
  br i1 %some, label %round, label %out
round:
  %left = phi i32 [ %m, %entry ], [ %losers, %next ]
  %s = call i32 @lw_sectors(<32 x i64> %a, i32 %left, i32 4)
  %s64 = zext i32 %s to i64
  %on = call i32 @llvm.ctpop.i32(i32 %left)
  %on64 = zext i32 %on to i64
  %up = add i64 %on64, 7
  %full = lshr i64 %up, 3
  %fewer = icmp ult i64 %full, %s64
  %least = select i1 %fewer, i64 %full, i64 %s64
  %os = load i64, ptr %c
  %ns = add i64 %os, %s64
  store i64 %ns, ptr %c
  %ci = getelementptr i64, ptr %c, i64 {SITE_SECTORS_IDEAL}
  %oi = load i64, ptr %ci
  %ni = add i64 %oi, %least
  store i64 %ni, ptr %ci
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
  %i = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %ap = getelementptr i64, ptr %box, i32 %i
  %word = load i64, ptr %ap
  %w1 = insertelement <32 x i64> poison, i64 %word, i32 0
  %wv = shufflevector <32 x i64> %w1, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %a, %wv
  %samem = bitcast <32 x i1> %same to i32
  %mine = and i32 %samem, %rest
  %one = shl i32 1, %i
  %others = xor i32 %mine, %one
  %lost2 = or i32 %lost, %others
  %keep = xor i32 %mine, -1
  %rest2 = and i32 %rest, %keep
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

    def __init__(self, t: ValueTranslator) -> None:
        self.t = t
        module = t.unit.program.module_of(t.function)
        graph = t.analysis.graph
        heads = {graph.blocks[head].instructions[0].line: head for _, head in sorted(graph.back_edges)}
        self.plans = {
            heads[plan.header]: plan
            for plan in t.unit.plan.trips
            if plan.module == module and plan.function == t.function.name
        }
        self.bodies = {
            header: range(header, max(source for source, head in graph.back_edges if head == header) + 1)
            for header in self.plans
        }
        self.staged = {
            header: StagedAccesses(t, plan, self.bodies[header], self._inner(graph, header))
            for header, plan in self.plans.items()
        }

    def _inner(self, graph: FlowGraph, header: int) -> frozenset[int]:
        """Blocks of the loops within a loop."""
        ends: dict[int, int] = {}
        for source, head in graph.back_edges:
            ends[head] = max(source, ends.get(head, source))
        body = self.bodies[header]
        return frozenset(
            b for head, last in ends.items() if head in body and head != header for b in range(head, last + 1)
        )

    def note(self, ins: Instruction, site: SiteInfo, address: Quantity) -> None:
        """An access is made: of the unrolled loops that hold its block the innermost may keep it."""
        for staged in self.staged.values():
            if self.t.block.index in staged.body:
                staged.note(ins, site, address)

    @property
    def frame_bytes(self) -> int:
        """Bytes of native stack that the state of the loops takes."""
        return sum(128 + staged.bytes for staged in self.staged.values() if staged.possible)

    def finish(self) -> None:
        """Define what was called, when the whole function is translated."""
        for staged in self.staged.values():
            staged.finish()

    def prologue(self) -> None:
        for header in self.plans:
            self.t.out.line(f"%trips.{header} = alloca <32 x i32>, align 64")
            self.t.out.line(f"store <32 x i32> zeroinitializer, ptr %trips.{header}, align 64")
            self.staged[header].prologue()

    def count(self, block: int) -> None:
        """At the start of a loop's header: one trip more for every lane that runs."""
        if block in self.plans:
            out = self.t.out
            old = out.let(f"load <32 x i32>, ptr %trips.{block}, align 64")
            one = out.let(f"zext <32 x i1> {self.t.active_lanes} to <32 x i32>")
            out.line(f"store <32 x i32> {out.let(f'add <32 x i32> {old}, {one}')}, ptr %trips.{block}, align 64")
            self.staged[block].trip()

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
        self.staged[header].flush()


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
            f"  %wlong{k} = zext i32 %w{k} to i64",
            f"  %v{k} = insertelement <2 x i64> poison, i64 %wlong{k}, i32 0",
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
            f"  %glong{k} = zext i32 %groups{k} to i64",
            f"  %clong{k} = zext i32 %came{k} to i64",
            f"  %y{k} = insertelement <2 x i64> poison, i64 %clong{k}, i32 0",
            f"  %z{k} = insertelement <2 x i64> %y{k}, i64 %glong{k}, i32 1",
            f"  %place{k} = getelementptr i64, ptr %p{k}, i64 {STAGE_ARRIVED}",
            f"  %old{k} = load <2 x i64>, ptr %place{k}, align 16",
            f"  %sum{k} = add <2 x i64> %old{k}, %z{k}",
            f"  store <2 x i64> %sum{k}, ptr %place{k}, align 16",
        ]
    lines += ["  br label %out", "out:", "  ret void", "}"]
    lines += [
        "declare i32 @llvm.ctpop.i32(i32)",
        "declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)",
        "declare i64 @llvm.vector.reduce.add.v32i64(<32 x i64>)",
        "declare <32 x i32> @llvm.umin.v32i32(<32 x i32>, <32 x i32>)",
    ]
    return "\n".join(lines)
