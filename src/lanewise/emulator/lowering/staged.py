"""Accesses in unrolled loops, counted as machine code executes them: by stage and copy (`emulator.machine`).

One machine instruction of an unrolled body serves lanes at different trips of the loop, where these leave it at
different trips. So the addresses of a run, as many trips as the stage has copies, are kept; when the lanes that go on
have come to its end they are counted copy by copy, and what is left of lanes that left before is counted by the stages
that follow when all have left.

State of a loop, in one piece of the stack: trips of each lane that are not counted yet, the first of them (where stages
take them in turn), the stage; then for each access the addresses of each trip of a run, and masks of the lanes that
came to it and of those that were on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.emulator.ir import Emitter
from lanewise.emulator.kinds import Kind, Tag
from lanewise.emulator.layout import SITE_COUNTERS, staged_counters
from lanewise.emulator.lowering import charges
from lanewise.emulator.machine import Recount, TripPlan
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Address, Instruction, Register
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.unit import SiteInfo
    from lanewise.emulator.values import ValueTranslator

_PENDING, _START, _STAGE, _ACCESSES = 0, 128, 256, 320  # offsets into the state of a loop
_MASKS = 8  # bytes of a trip's two masks
_MOST_BYTES = 16384  # of the state of one loop


@dataclass(frozen=True, slots=True)
class _Noted:
    """An access that is kept: where its addresses lie in the state, and the function that counts them."""

    offset: int
    commit: str


class StagedAccesses:
    """The accesses of one unrolled loop. `body` are its blocks, `inner` those of loops within it."""

    def __init__(self, t: ValueTranslator, plan: TripPlan, body: range, inner: frozenset[int]) -> None:
        self.t, self.plan, self.body, self.inner = t, plan, body, inner
        self.slots = max(stage.copies for stage in plan.stages)
        self.known = {access.ptx_line: access for access in plan.accesses}
        self.step = -(-self.slots * (32 * 8 + _MASKS) // 64) * 64
        self.bytes = _ACCESSES + len(self.known) * self.step
        self.lines = self._worth_keeping()
        self.possible = bool(self.lines) and self.bytes <= _MOST_BYTES
        self.noted: dict[int, _Noted] = {}
        self.state = f"%stage.{body.start}"

    def _worth_keeping(self) -> frozenset[int]:
        """Lines of accesses whose copies PTX order may not tell apart: where lanes part in the loop, and where
        addresses follow no rule. The others' copies cost the same, or are told by the trips."""
        graph, kinds = self.t.analysis.graph, self.t.analysis.kinds
        splits = any(block in self.t.analysis.divergent for block in self.body)
        return frozenset(
            ins.line
            for block in self.body
            if block not in self.inner
            for ins in graph.blocks[block].instructions
            if ins.line in self.known and (splits or _base_kind(ins, kinds) == Tag.VARYING)
        )

    @property
    def name(self) -> str:
        return f"lw_stage_{self.t.unit.trip_rows[self.plan]}"

    def prologue(self) -> None:
        if self.possible:
            self.t.out.line(f"{self.state} = alloca [{self.bytes} x i8], align 64")
            self.t.out.line(f"call void @llvm.memset.p0.i64(ptr {self.state}, i8 0, i64 {self.bytes}, i1 false)")
            self.t.out.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")

    def trip(self) -> None:
        """At the header: a trip begins for the lanes that run."""
        if self.possible:
            self.t.out.line(f"call void @{self.name}_trip(ptr %cnt, ptr {self.state}, i32 {self.t.active})")

    def flush(self) -> None:
        """All lanes have left the loop."""
        if self.possible:
            self.t.out.line(f"call void @{self.name}_end(ptr %cnt, ptr {self.state})")

    def note(self, ins: Instruction, site: SiteInfo, address: Quantity) -> None:
        """Keep the addresses of an access of this trip, where PTX order may not tell what the machine's copies cost."""
        if not self.possible or ins.line not in self.lines:
            return
        wanted = self.known[ins.line]
        t, out = self.t, self.t.out
        if site.index not in self.noted:
            offset = _ACCESSES + len(self.noted) * self.step
            rows = t.unit.add_staged(site, wanted, self.plan)
            commit = f"lw_staged_{rows}"
            first = t.unit.site_base + rows * SITE_COUNTERS
            out.define(commit, _commit_function(out, commit, first, self.slots, site.space, wanted))
            self.noted[site.index] = _Noted(offset, commit)
        vector = t.vector(address)
        if site.space != Space.GLOBAL:
            vector = out.let(f"zext <32 x i32> {vector} to <32 x i64>")
        if wanted.width_bits > 8:
            vector = out.let(f"and <32 x i64> {vector}, splat (i64 {-(wanted.width_bits // 8)})")
        out.define("lw_stage_note", _NOTE)
        place = out.let(f"getelementptr i8, ptr {self.state}, i64 {self.noted[site.index].offset}")
        out.line(
            f"call void @lw_stage_note(ptr {self.state}, ptr {place}, i32 {self.slots}, <32 x i64> {vector}, "
            f"i32 {t.active}, i32 {t.mask(ins)})"
        )

    def finish(self) -> None:
        """Define what `trip` and `flush` call: now it is known which accesses are kept."""
        if self.possible:
            self.t.out.define(self.name, _stage_functions(self.name, self.plan, list(self.noted.values()), self.slots))


def _base_kind(ins: Instruction, kinds: Mapping[str, Kind]) -> Tag | None:
    for operand in ins.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Register):
            kind = kinds.get(operand.base.name)
            return None if kind is None else kind.tag
    return None


# Stores the addresses and masks of the lanes that run in the slot of their trip.
_NOTE = """
define internal void @lw_stage_note(ptr %state, ptr %p, i32 %slots, <32 x i64> %a, i32 %active, i32 %on) nounwind {
entry:
  %first = call i32 @llvm.cttz.i32(i32 %active, i1 true)
  %pp = getelementptr i32, ptr %state, i32 %first
  %pending = load i32, ptr %pp
  %j = sub i32 %pending, 1
  %in = icmp ult i32 %j, %slots
  br i1 %in, label %keep, label %out
keep:
  %sp = getelementptr <32 x i64>, ptr %p, i32 %j
  %old = load <32 x i64>, ptr %sp, align 64
  %lanes = bitcast i32 %active to <32 x i1>
  %new = select <32 x i1> %lanes, <32 x i64> %a, <32 x i64> %old
  store <32 x i64> %new, ptr %sp, align 64
  %mp0 = getelementptr <32 x i64>, ptr %p, i32 %slots
  %mp = getelementptr i64, ptr %mp0, i32 %j
  %came = load i32, ptr %mp
  %came1 = or i32 %came, %active
  store i32 %came1, ptr %mp
  %op = getelementptr i32, ptr %mp, i32 1
  %ons = load i32, ptr %op
  %ons1 = or i32 %ons, %on
  store i32 %ons1, ptr %op
  br label %out
out:
  ret void
}
declare i32 @llvm.cttz.i32(i32, i1)
"""


def _commit_function(out: Emitter, name: str, first: int, slots: int, space: Space, wanted: Recount) -> str:
    """Counts the next `copies` trips of `lanes`, one copy each, at the sites from `row` on."""
    addresses, narrow = "%a", ""
    if space != Space.GLOBAL:
        addresses, narrow = "%narrow", "  %narrow = trunc <32 x i64> %a to <32 x i32>\n"
    cost = narrow + f"  {charges.call(out, space, wanted.rule, '%c', addresses, '%on1', wanted.width_bits // 8)}\n"
    requests, threads = staged_counters(space)
    return f"""
define internal void @{name}(ptr %cnt, ptr %p, i32 %lanes, i32 %row, i32 %copies, ptr %start) noinline nounwind {{
entry:
  %box = alloca <32 x i64>, align 64
  store <32 x i64> zeroinitializer, ptr %box, align 64
  %masks = getelementptr <32 x i64>, ptr %p, i32 {slots}
  br label %copy
copy:
  %j = phi i32 [ 0, %entry ], [ %j1, %next ]
  br label %lane
lane:
  %rest = phi i32 [ %lanes, %copy ], [ %rest1, %lane ]
  %came = phi i32 [ 0, %copy ], [ %came1, %lane ]
  %on = phi i32 [ 0, %copy ], [ %on1, %lane ]
  %l = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %sp = getelementptr i32, ptr %start, i32 %l
  %s = load i32, ptr %sp
  %i = add i32 %s, %j
  %row0 = shl i32 %i, 5
  %e = add i32 %row0, %l
  %ap = getelementptr i64, ptr %p, i32 %e
  %av = load i64, ptr %ap
  %bp = getelementptr i64, ptr %box, i32 %l
  store i64 %av, ptr %bp
  %bit = shl i32 1, %l
  %keep = xor i32 %bit, -1
  %mp = getelementptr i64, ptr %masks, i32 %i
  %m = load i32, ptr %mp
  %mb = and i32 %m, %bit
  %mk = and i32 %m, %keep
  store i32 %mk, ptr %mp
  %came1 = or i32 %came, %mb
  %op = getelementptr i32, ptr %mp, i32 1
  %o = load i32, ptr %op
  %ob = and i32 %o, %bit
  %ok = and i32 %o, %keep
  store i32 %ok, ptr %op
  %on1 = or i32 %on, %ob
  %less = sub i32 %rest, 1
  %rest1 = and i32 %rest, %less
  %last = icmp eq i32 %rest1, 0
  br i1 %last, label %count, label %lane
count:
  %none = icmp eq i32 %came1, 0
  br i1 %none, label %next, label %some
some:
  %at = add i32 %row, %j
  %index0 = mul i32 %at, {SITE_COUNTERS}
  %index = add i32 %index0, {first}
  %c = getelementptr i64, ptr %cnt, i32 %index
  %rp = getelementptr i64, ptr %c, i64 {requests}
  %r = load i64, ptr %rp
  %r1 = add i64 %r, 1
  store i64 %r1, ptr %rp
  %threads = call i32 @llvm.ctpop.i32(i32 %came1)
  %threads64 = zext i32 %threads to i64
  %tp = getelementptr i64, ptr %c, i64 {threads}
  %t = load i64, ptr %tp
  %t1 = add i64 %t, %threads64
  store i64 %t1, ptr %tp
  %a = load <32 x i64>, ptr %box, align 64
{cost}  br label %next
next:
  %j1 = add i32 %j, 1
  %more = icmp ult i32 %j1, %copies
  br i1 %more, label %copy, label %out
out:
  ret void
}}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
"""


def _stage_functions(name: str, plan: TripPlan, accesses: Sequence[_Noted], slots: int) -> str:
    """`NAME_trip` counts a run when its trips are done, `NAME_end` what lanes have left, by the stages in turn."""
    count = len(plan.stages)
    copies = ", ".join(f"i32 {stage.copies}" for stage in plan.stages)
    rows = ", ".join(f"i32 {sum(s.copies for s in plan.stages[:k])}" for k in range(count))
    again = ", ".join(f"i8 {int(stage.repeats)}" for stage in plan.stages)
    calls = "".join(
        f"  %p{n} = getelementptr i8, ptr %state, i64 {noted.offset}\n"
        f"  call void @{noted.commit}(ptr %cnt, ptr %p{n}, i32 %lanes, i32 %row, i32 %copies, ptr %start)\n"
        for n, noted in enumerate(accesses)
    )
    return f"""
@{name}_copies = internal constant [{count} x i32] [{copies}]
@{name}_rows = internal constant [{count} x i32] [{rows}]
@{name}_again = internal constant [{count} x i8] [{again}]
define internal void @{name}_commit(ptr %cnt, ptr %state, i32 %lanes, i32 %stage) noinline nounwind {{
entry:
  %start = getelementptr i8, ptr %state, i64 {_START}
  %cp = getelementptr i32, ptr @{name}_copies, i32 %stage
  %copies = load i32, ptr %cp
  %rp = getelementptr i32, ptr @{name}_rows, i32 %stage
  %row = load i32, ptr %rp
{calls}  ret void
}}
define internal void @{name}_trip(ptr %cnt, ptr %state, i32 %active) noinline nounwind {{
entry:
  %stp = getelementptr i8, ptr %state, i64 {_STAGE}
  %stage = load i32, ptr %stp
  %over = icmp uge i32 %stage, {count}
  br i1 %over, label %begin, label %look
look:
  %cp = getelementptr i32, ptr @{name}_copies, i32 %stage
  %copies = load i32, ptr %cp
  %c1 = insertelement <32 x i32> poison, i32 %copies, i32 0
  %cv = shufflevector <32 x i32> %c1, <32 x i32> poison, <32 x i32> zeroinitializer
  %pending = load <32 x i32>, ptr %state, align 64
  %done = icmp eq <32 x i32> %pending, %cv
  %lanes = bitcast <32 x i1> %done to i32
  %onward = and i32 %lanes, %active
  %any = icmp ne i32 %onward, 0
  br i1 %any, label %commit, label %begin
commit:
  call void @{name}_commit(ptr %cnt, ptr %state, i32 %lanes, i32 %stage)
  %left = select <32 x i1> %done, <32 x i32> zeroinitializer, <32 x i32> %pending
  store <32 x i32> %left, ptr %state, align 64
  %gp = getelementptr i8, ptr @{name}_again, i32 %stage
  %againb = load i8, ptr %gp
  %again = icmp ne i8 %againb, 0
  %next = add i32 %stage, 1
  %stage1 = select i1 %again, i32 %stage, i32 %next
  store i32 %stage1, ptr %stp
  br label %begin
begin:
  %now = load <32 x i32>, ptr %state, align 64
  %av = bitcast i32 %active to <32 x i1>
  %one = zext <32 x i1> %av to <32 x i32>
  %now1 = add <32 x i32> %now, %one
  store <32 x i32> %now1, ptr %state, align 64
  ret void
}}
define internal void @{name}_end(ptr %cnt, ptr %state) noinline nounwind {{
entry:
  %stp = getelementptr i8, ptr %state, i64 {_STAGE}
  %start = getelementptr i8, ptr %state, i64 {_START}
  %first = load i32, ptr %stp
  br label %stages
stages:
  %stage = phi i32 [ %first, %entry ], [ %stage1, %onward ]
  %over = icmp uge i32 %stage, {count}
  br i1 %over, label %clear, label %look
look:
  %cp = getelementptr i32, ptr @{name}_copies, i32 %stage
  %copies = load i32, ptr %cp
  %c1 = insertelement <32 x i32> poison, i32 %copies, i32 0
  %cv = shufflevector <32 x i32> %c1, <32 x i32> poison, <32 x i32> zeroinitializer
  %gp = getelementptr i8, ptr @{name}_again, i32 %stage
  %againb = load i8, ptr %gp
  %again = icmp ne i8 %againb, 0
  br label %run
run:
  %pending = load <32 x i32>, ptr %state, align 64
  %enough = icmp uge <32 x i32> %pending, %cv
  %lanes = bitcast <32 x i1> %enough to i32
  %any = icmp ne i32 %lanes, 0
  br i1 %any, label %commit, label %onward
commit:
  call void @{name}_commit(ptr %cnt, ptr %state, i32 %lanes, i32 %stage)
  %took = select <32 x i1> %enough, <32 x i32> %cv, <32 x i32> zeroinitializer
  %left = sub <32 x i32> %pending, %took
  store <32 x i32> %left, ptr %state, align 64
  %starts = load <32 x i32>, ptr %start, align 64
  %starts1 = add <32 x i32> %starts, %took
  store <32 x i32> %starts1, ptr %start, align 64
  br i1 %again, label %run, label %onward
onward:
  %stage1 = add i32 %stage, 1
  br label %stages
clear:
  store <32 x i32> zeroinitializer, ptr %state, align 64
  store <32 x i32> zeroinitializer, ptr %start, align 64
  store i32 0, ptr %stp
  ret void
}}
"""
