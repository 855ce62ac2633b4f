"""One PTX function to LLVM IR: registers, masks, the walk over blocks. Instructions are lowered by `lowering/`.

Registers are allocas that LLVM's mem2reg turns into SSA values. `%act` holds the lanes that run; `%m.B` the lanes that
wait at block B. A jump merges the lanes waiting at its target and clears their mask, so that a block need not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from lanewise.emulator import quantity as q
from lanewise.emulator import shared_groups
from lanewise.emulator.analysis import CARRY, Analysis, analyse, spec_of, written_and_read
from lanewise.emulator.flow import BasicBlock, bit_indices, is_sync
from lanewise.emulator.ir import Elementwise, Emitter, Value, bits_of
from lanewise.emulator.kinds import UNIFORM, VARYING, Kind, LaneShape, Tag, narrowed, transfer, wrap
from lanewise.emulator.layout import BLOCK_COUNTERS, BLOCK_DIVERGENT, SITE_COUNTERS, Launch, Warp, Worker
from lanewise.emulator.lowering import resolve, shared
from lanewise.emulator.lowering.recount import TripCounters
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.shared_groups import SharedGroup
from lanewise.emulator.unit import SiteInfo, Unit
from lanewise.ptx import function_register_type
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Address,
    Float,
    Function,
    Instruction,
    Integer,
    Negated,
    Operand,
    PairOperand,
    Register,
    Sink,
    Special,
    SubWord,
    Symbol,
    VectorOperand,
)
from lanewise.records import AccessKind, Space

PARAMETERS = "ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, ptr %params"


def element_of(ptx_type: str) -> str:
    """The LLVM integer that holds a register of a PTX type."""
    return "i1" if ptx_type == "pred" else f"i{max(8, TYPE_BITS[ptx_type])}"


class FunctionTranslator:
    """Translates one function of a `Unit` for its lane shape."""

    def __init__(self, unit: Unit, function: Function) -> None:
        self.unit = unit
        self.function = function
        self.shape: LaneShape = unit.shape
        self.analysis: Analysis = analyse(function, unit.shape, partial(unit.reach, function))
        self.out = Emitter()
        self.out.definitions = unit.definitions
        self.out.declarations = unit.declarations
        self.e1 = Elementwise(self.out, 1)
        self.e32 = Elementwise(self.out, 32)
        self.first_block = unit.add_blocks(function, self.analysis.graph)
        self.block: BasicBlock = self.analysis.graph.blocks[0]
        self.current = Instruction("", (), ())
        self.active = ""  # text of the i32 mask of the lanes that run
        self.active_lanes = ""  # the same as <32 x i1>
        self.groups: dict[int, SharedGroup] = {}
        self.checked: bool | None = None  # which of two translations of a block this is; None: there is only one
        self.trips = TripCounters(self)
        self._edges: dict[str, str] = {}  # per block: values derived from the active mask
        waits = {f for w in self.analysis.waiting for f in bit_indices(w.anywhere)}
        for b in self.analysis.divergent:
            waits.update(self.analysis.graph.blocks[b].successors)
        self.waits = waits | self.analysis.parkable

    # ------------------------------------------------------------------ the whole function
    def translate(self) -> str:
        """The text of `define internal i32 @name(...)`; the result is the mask of lanes that came back."""
        name = self.unit.llvm_name(self.function.name)
        self._prologue()
        for block in self.analysis.graph.blocks:
            self._block(block)
        self.out.label("Lleave")
        self.trips.leave()
        exited = self.load_field(Warp.EXITED, "i32")
        alive = self.out.let(f"xor i32 {exited}, -1")
        back = self.out.let(f"and i32 %mask, {alive}")
        self.out.line(f"ret i32 {back}")
        body = "\n".join(self.out.lines)
        return f"define internal i32 @{name}({PARAMETERS}, i32 %mask, i32 %frame) #0 {{\nentry:\n{body}\n}}\n"

    def _prologue(self) -> None:
        out = self.out
        out.line("%act = alloca i32")
        out.line("store i32 %mask, ptr %act")
        for b in sorted(self.waits):
            out.line(f"%m.{b} = alloca i32")
            out.line(f"store i32 0, ptr %m.{b}")
        if self.analysis.parkable:
            for name in ("parked", "released"):
                out.line(f"%{name} = alloca i32")
                out.line(f"store i32 0, ptr %{name}")
        for name, kind in sorted(self.analysis.kinds.items()):
            for part, kind_type in self._parts(name, kind):
                out.line(f"{part} = alloca {kind_type}")
                out.line(f"store {kind_type} {'false' if kind_type == 'i1' else 'zeroinitializer'}, ptr {part}")
        self.trips.prologue()
        out.line("%scratch = alloca [8 x <32 x i64>], align 64")
        out.line("%callers = alloca i32")
        out.line("%launchp = getelementptr i8, ptr %w, i64 0")
        out.line("%launch = load ptr, ptr %launchp")
        out.line(f"%limitp = getelementptr i8, ptr %launch, i64 {Launch.SHARED_BYTES}")
        out.line("%limit = load i64, ptr %limitp")
        self.fuel = f"i8, ptr %w, i64 {Worker.FUEL}"
        out.line("br label %B0")

    def register_element(self, name: str) -> str:
        if name == CARRY:
            return "i1"
        ptx_type = function_register_type(self.function, name)
        assert ptx_type is not None, name
        return element_of(ptx_type)

    def _parts(self, name: str, kind: Kind) -> list[tuple[str, str]]:
        """Names and types of the allocas of a register; run-time strides have their own."""
        element = self.register_element(name)
        safe = self._safe(name)
        if kind.tag == Tag.VARYING:
            return [(f"%R.{safe}", f"<32 x {element}>")]
        if kind.tag == Tag.UNIFORM:
            return [(f"%R.{safe}", element)]
        if kind.tag == Tag.AFFINE:
            parts = [(f"%R.{safe}", "i32")]
            return [*parts, (f"%R.{safe}.f", "i32")] if kind.pattern else parts
        parts = [(f"%R.{safe}", "i64")]
        for number, term in enumerate(kind.terms):
            parts.append((f"%R.{safe}.b{number}", "i32"))
            if term.pattern:
                parts.append((f"%R.{safe}.f{number}", "i32"))
            if term.scale is None:
                parts.append((f"%R.{safe}.c{number}", "i64"))
        return parts

    @staticmethod
    def _safe(name: str) -> str:
        return name.lstrip("%").replace("$", "_S_").replace("%", "_P_")

    # ------------------------------------------------------------------ blocks
    def _block(self, block: BasicBlock) -> None:
        out = self.out
        self.block = block
        self.groups = shared_groups.find(block, self.analysis.kinds.get, lambda ins: written_and_read(ins)[0])
        out.label(f"B{block.index}")
        waiting = self.analysis.waiting[block.index]
        if block.index in self.analysis.parkable and waiting.anywhere:
            self._park(block)
        self.reload_active()
        self.trips.count(block.index)
        counter = (self.first_block + block.index) * BLOCK_COUNTERS
        pointer = out.let(f"getelementptr i64, ptr %cnt, i64 {counter}")
        old = out.let(f"load <2 x i64>, ptr {pointer}, align 16")
        lanes = self.edge("count64")
        pair = out.let(f"insertelement <2 x i64> <i64 1, i64 0>, i64 {lanes}, i32 1")
        out.line(f"store <2 x i64> {out.let(f'add <2 x i64> {old}, {pair}')}, ptr {pointer}, align 16")
        if any(target == block.index for _, target in self.analysis.graph.back_edges):
            self._burn_fuel()
        if block.index in self.analysis.spins:
            self.call_out("lw_yield")
        early = {id(g): g for g in self.groups.values() if g.early}.values()
        if sum(group.members for group in early) < 2:
            self._body(block)
            return
        for group in early:
            shared.check(self, group)
        holds = "true"
        for group in early:
            holds = out.let(f"and i1 {holds}, {group.flag}")
        fast, slow = out.fresh_label("checked"), out.fresh_label("unchecked")
        out.line(f"br i1 {holds}, label %{fast}, label %{slow}, !prof !2")
        edges, active, lanes = dict(self._edges), self.active, self.active_lanes
        for self.checked, label in ((True, fast), (False, slow)):
            self._edges, self.active, self.active_lanes = dict(edges), active, lanes
            for group in self.groups.values():
                if not group.early:
                    group.flag = ""
            out.label(label)
            self._body(block)
        self.checked = None

    def _body(self, block: BasicBlock) -> None:
        for instruction in block.instructions:
            if instruction.opcode in ("bra", "brx", "ret", "exit"):
                self._terminate(block, instruction)
                return
            self.instruction(instruction)
        assert block.falls_through is not None
        self.jump(block.falls_through)

    def reload_active(self) -> None:
        """Read the active mask anew: at a block's start, and after a call that lanes may not come back from."""
        self._edges = {}
        self.active = self.out.let("load i32, ptr %act")
        self.active_lanes = self.out.let(f"bitcast i32 {self.active} to <32 x i1>")

    def edge(self, name: str) -> str:
        """A value derived from the active mask, emitted once a block: first, last (i32 lanes), count64 (i64: lanes on),

        whole (i1: no gap between first and last), full (i1: all 32)."""
        if name in self._edges:
            return self._edges[name]
        out = self.out
        if name == "first":
            out.declare("declare i32 @llvm.cttz.i32(i32, i1)")
            text = out.let(f"call i32 @llvm.cttz.i32(i32 {self.active}, i1 true)")
        elif name == "last":
            out.declare("declare i32 @llvm.ctlz.i32(i32, i1)")
            lead = out.let(f"call i32 @llvm.ctlz.i32(i32 {self.active}, i1 true)")
            text = out.let(f"sub i32 31, {lead}")
        elif name == "count64":
            out.declare("declare i32 @llvm.ctpop.i32(i32)")
            text = out.let(f"zext i32 {out.let(f'call i32 @llvm.ctpop.i32(i32 {self.active})')} to i64")
        elif name == "whole":
            low = out.let(f"lshr i32 {self.active}, {self.edge('first')}")
            carry = out.let(f"add i32 {low}, 1")
            text = out.let(f"icmp eq i32 {out.let(f'and i32 {low}, {carry}')}, 0")
        else:
            text = out.let(f"icmp eq i32 {self.active}, -1")
        self._edges[name] = text
        return text

    def edge_here(self, name: str) -> str:
        """As `edge`, for code that does not dominate the rest of the block: not remembered unless it was already."""
        known = dict(self._edges)
        text = self.edge(name)
        self._edges = known
        return text

    def _burn_fuel(self) -> None:
        out = self.out
        pointer = out.let(f"getelementptr {self.fuel}")
        left = out.let(f"add i64 {out.let(f'load i64, ptr {pointer}')}, -1")
        out.line(f"store i64 {left}, ptr {pointer}")
        empty, go = out.fresh_label("tick"), out.fresh_label("go")
        out.line(f"br i1 {out.let(f'icmp slt i64 {left}, 0')}, label %{empty}, label %{go}, !prof !1")
        out.label(empty)
        out.line("call void @lw_tick(ptr %x, ptr %w)")
        out.line(f"br label %{go}")
        out.label(go)

    def call_out(self, function: str, extra: str = "") -> None:
        """Call a function during which other warps may run: every pointer the kernel keeps is handed to it."""
        self.out.line(f"call void @{function}(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared{extra})")

    # ------------------------------------------------------------------ control flow
    def _mask_of(self, block: int) -> str:
        return self.out.let(f"load i32, ptr %m.{block}")

    def _add_waiting(self, block: int, mask: str) -> None:
        merged = self.out.let(f"or i32 {self._mask_of(block)}, {mask}")
        self.out.line(f"store i32 {merged}, ptr %m.{block}")

    def _run(self, block: int, mask: str) -> None:
        """Make `mask` the active lanes and go to `block`, whose waiting lanes are in it already."""
        if block in self.waits:
            self.out.line(f"store i32 0, ptr %m.{block}")
        self.out.line(f"store i32 {mask}, ptr %act")
        self.out.line(f"br label %B{block}")

    def _pick(self, candidates: Sequence[int], otherwise: Callable[[], None] | None) -> None:
        """Go to the first candidate with lanes waiting that are not parked; none: `otherwise` (None: the last one)."""
        out = self.out
        parked = out.let("xor i32 " + out.let("load i32, ptr %parked") + ", -1") if self.analysis.parkable else None
        for position, block in enumerate(candidates):
            mask = self._mask_of(block)
            ready = out.let(f"and i32 {mask}, {parked}") if parked and block in self.analysis.parkable else mask
            if otherwise is None and position == len(candidates) - 1:
                self._run(block, mask)
                return
            here, after = out.fresh_label("pick"), out.fresh_label("skip")
            out.line(f"br i1 {out.let(f'icmp ne i32 {ready}, 0')}, label %{here}, label %{after}")
            out.label(here)
            self._run(block, mask)
            out.label(after)
        assert otherwise is not None
        otherwise()

    def _release(self, blocks: Sequence[int]) -> None:
        """All lanes that are left have parked: let those that spin go on, or all where none does."""
        out = self.out
        spins = [block for block in blocks if block in self.analysis.spins]
        if spins and len(spins) < len(blocks):
            parked = out.let("load i32, ptr %parked")
            spinning = "0"
            for block in spins:
                spinning = out.let(f"or i32 {spinning}, {self._mask_of(block)}")
            spinning = out.let(f"and i32 {spinning}, {parked}")
            some, none = out.fresh_label("spin"), out.fresh_label("all")
            out.line(f"br i1 {out.let(f'icmp ne i32 {spinning}, 0')}, label %{some}, label %{none}")
            out.label(some)
            out.line(f"store i32 {spinning}, ptr %released")
            out.line(f"store i32 {out.let(f'xor i32 {parked}, {spinning}')}, ptr %parked")
            self._pick(spins, None)
            out.label(none)
        out.line(f"store i32 {out.let('load i32, ptr %parked')}, ptr %released")
        out.line("store i32 0, ptr %parked")
        self._pick(blocks, None)

    def lanes_left(self) -> None:
        """The lanes that ran are gone: go on with those that wait, or leave the function."""
        waiting = self.analysis.waiting[self.block.index]

        def none_open() -> None:
            if not waiting.parked:
                self.out.line("br label %Lleave")
                return
            some, none = self.out.fresh_label("parked"), self.out.fresh_label("none")
            held = self.out.let("load i32, ptr %parked")
            self.out.line(f"br i1 {self.out.let(f'icmp ne i32 {held}, 0')}, label %{some}, label %{none}")
            self.out.label(some)
            self._release(bit_indices(waiting.parked))
            self.out.label(none)
            self.out.line("br label %Lleave")

        self._pick(bit_indices(waiting.open), none_open)

    def _park(self, block: BasicBlock) -> None:
        """At a synchronisation point or spin: give way while other lanes of the warp can run. A point where all lanes
        that it waits for have met is passed at once."""
        out = self.out
        waiting = self.analysis.waiting[block.index]
        act = out.let("load i32, ptr %act")
        if waiting.parked >> block.index & 1:
            act = out.let(f"or i32 {act}, {self._mask_of(block.index)}")
            out.line(f"store i32 0, ptr %m.{block.index}")
            out.line(f"store i32 {act}, ptr %act")
        rest = out.let(f"xor i32 {act}, -1")
        released = out.let("load i32, ptr %released")
        held = out.let(f"and i32 {act}, {out.let(f'xor i32 {released}, -1')}")
        out.line(f"store i32 {out.let(f'and i32 {released}, {rest}')}, ptr %released")
        parked = out.let(f"and i32 {out.let('load i32, ptr %parked')}, {rest}")
        out.line(f"store i32 {parked}, ptr %parked")
        others = parked
        for f in bit_indices(waiting.open):
            others = out.let(f"or i32 {others}, {self._mask_of(f)}")
        go_on = out.let(f"or i1 {out.let(f'icmp eq i32 {others}, 0')}, {out.let(f'icmp eq i32 {held}, 0')}")
        if block.is_sync:
            missing = out.let(f"and i32 {self._awaited(block.instructions[0], act)}, {rest}")
            go_on = out.let(f"or i1 {go_on}, {out.let(f'icmp eq i32 {missing}, 0')}")
        park, go = out.fresh_label("park"), out.fresh_label("go")
        out.line(f"br i1 {go_on}, label %{go}, label %{park}")
        out.label(park)
        self._add_waiting(block.index, act)
        out.line(f"store i32 {out.let(f'or i32 {parked}, {act}')}, ptr %parked")
        everyone = sorted({*bit_indices(waiting.parked), block.index})
        self._pick(bit_indices(waiting.open), lambda: self._release(everyone))
        out.label(go)

    def _awaited(self, instruction: Instruction, act: str) -> str:
        """The lanes (i32) that the lanes `act` wait for: those of the member mask, or all, that have not exited."""
        out = self.out
        exited = self.load_field(Warp.EXITED, "i32")
        alive = out.let(f"and i32 {self.load_field(Warp.MASK, 'i32')}, {out.let(f'xor i32 {exited}, -1')}")
        if instruction.opcode == "call" or (is_sync(instruction) and not instruction.has("warp")):
            return alive
        members = self.operand(instruction.operands[-1], "b32")
        text = members.text
        if members.tag != Tag.UNIFORM:
            mine = out.let(
                f"select <32 x i1> {out.let(f'bitcast i32 {act} to <32 x i1>')}, <32 x i32> {self.vector(members)}, "
                "<32 x i32> zeroinitializer"
            )
            out.declare("declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)")
            text = out.let(f"call i32 @llvm.vector.reduce.or.v32i32(<32 x i32> {mine})")
        return out.let(f"and i32 {alive}, {text}")

    def jump(self, target: int) -> None:
        """All active lanes go to `target`; earlier blocks with waiting lanes run first."""
        waiting = self.analysis.waiting[self.block.index]
        self.trips.enter(self.block.index, target)
        if self.analysis.graph.blocks[target].only_returns:
            self._leave_to(target, self.active)
            self.lanes_left()
            return
        if not waiting.open >> target & 1 and not waiting.open & ((1 << target) - 1):
            self.out.line(f"store i32 {self.active}, ptr %act")
            self.out.line(f"br label %B{target}")
            return
        earlier = [f for f in bit_indices(waiting.open) if f < target]
        if target not in self.waits:
            self.waits.add(target)
            raise AssertionError("a block that lanes wait at was not foreseen")
        self._add_waiting(target, self.active)
        self._pick([*earlier, target], None)

    def _leave_to(self, target: int, mask: str) -> None:
        """Lanes that jump to a block that only returns: they count as having run it and are gone."""
        out = self.out
        block = self.analysis.graph.blocks[target]
        pointer = out.let(f"getelementptr i64, ptr %cnt, i64 {(self.first_block + target) * BLOCK_COUNTERS}")
        lanes = out.let(f"zext i32 {out.let(f'call i32 @llvm.ctpop.i32(i32 {mask})')} to i64")
        out.declare("declare i32 @llvm.ctpop.i32(i32)")
        some = out.let(f"zext i1 {out.let(f'icmp ne i32 {mask}, 0')} to i64")
        pair = out.let(f"insertelement <2 x i64> poison, i64 {some}, i32 0")
        pair = out.let(f"insertelement <2 x i64> {pair}, i64 {lanes}, i32 1")
        old = out.let(f"load <2 x i64>, ptr {pointer}, align 16")
        out.line(f"store <2 x i64> {out.let(f'add <2 x i64> {old}, {pair}')}, ptr {pointer}, align 16")
        if block.instructions[0].opcode == "exit":
            self._note_exit(mask)

    def _note_exit(self, mask: str) -> None:
        pointer = self.out.let(f"getelementptr i8, ptr %x, i64 {Warp.EXITED}")
        gone = self.out.let(f"or i32 {self.out.let(f'load i32, ptr {pointer}')}, {mask}")
        self.out.line(f"store i32 {gone}, ptr {pointer}")

    def _terminate(self, block: BasicBlock, last: Instruction) -> None:
        fall = block.falls_through
        if last.opcode in ("ret", "exit"):
            if last.guard is None:
                if last.opcode == "exit":
                    self._note_exit(self.active)
                self.lanes_left()
                return
            gone = self.mask(last)
            if last.opcode == "exit":
                self._note_exit(gone)
            self._keep_rest(gone, fall)
            return
        if last.opcode == "brx":
            self._indexed(last)
            return
        target = self.analysis.graph.labels[self._label(last)]
        if last.guard is None:
            self.jump(target)
            return
        assert fall is not None
        guard = self.operand(last.guard.register, "pred")
        if guard.tag == Tag.UNIFORM:
            self._uniform_branch(guard.text, last.guard.negated, target, fall)
            return
        taken = self.mask(last)
        rest = self.out.let(f"xor i32 {taken}, {self.active}")
        self._count_divergence(taken, rest)
        blocks = self.analysis.graph.blocks
        if target == fall:
            self.jump(target)
        elif blocks[target].only_returns:
            self._leave_to(target, taken)
            self._keep_rest(taken, fall)
        elif blocks[fall].only_returns:
            self._leave_to(fall, rest)
            self._keep_rest(rest, target)
        else:
            self._split([(target, taken), (fall, rest)])

    def _count_divergence(self, taken: str, rest: str) -> None:
        out = self.out
        both = out.let(f"icmp ne i32 {taken}, 0")
        both = out.let(f"and i1 {both}, {out.let(f'icmp ne i32 {rest}, 0')}")
        index = (self.first_block + self.block.index) * BLOCK_COUNTERS + BLOCK_DIVERGENT
        self.bump(f"i64 {index}", out.let(f"zext i1 {both} to i64"))

    def bump(self, index: str, amount: str) -> None:
        """Add an i64 to a counter of this launch."""
        pointer = self.out.let(f"getelementptr i64, ptr %cnt, {index}")
        total = self.out.let(f"add i64 {self.out.let(f'load i64, ptr {pointer}')}, {amount}")
        self.out.line(f"store i64 {total}, ptr {pointer}")

    def _keep_rest(self, gone: str, target: int | None) -> None:
        """Some active lanes are gone; the rest goes to `target`."""
        out = self.out
        rest = out.let(f"and i32 {self.active}, {out.let(f'xor i32 {gone}, -1')}")
        some, none = out.fresh_label("rest"), out.fresh_label("none")
        out.line(f"br i1 {out.let(f'icmp ne i32 {rest}, 0')}, label %{some}, label %{none}")
        out.label(none)
        self.lanes_left()
        out.label(some)
        assert target is not None
        self.active = rest
        self.jump(target)

    def _uniform_branch(self, condition: str, negated: bool, target: int, fall: int) -> None:
        out = self.out
        yes, no = out.fresh_label("then"), out.fresh_label("else")
        first, second = (no, yes) if negated else (yes, no)
        out.line(f"br i1 {condition}, label %{first}, label %{second}")
        out.label(yes)
        self.jump(target)
        out.label(no)
        self.jump(fall)

    def _split(self, ways: Sequence[tuple[int, str]]) -> None:
        """Lanes go different ways: the earliest block with lanes runs, the others wait."""
        waiting = self.analysis.waiting[self.block.index]
        for block, mask in ways:
            self.trips.enter(self.block.index, block)
            self._add_waiting(block, mask)
        self._pick(sorted({*bit_indices(waiting.open), *(block for block, _ in ways)}), None)

    def _indexed(self, last: Instruction) -> None:
        """brx.idx: one mask for each target of the table."""
        out = self.out
        table = last.operands[-1]
        assert isinstance(table, Symbol)
        targets = [self.analysis.graph.labels[name] for name in self.function.branch_targets[table.name]]
        index = self.operand(last.operands[0], "u32")
        if index.tag == Tag.UNIFORM and last.guard is None:
            labels = [out.fresh_label("case") for _ in targets]
            cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels))
            out.line(f"switch i32 {index.text}, label %{labels[-1]} [ {cases} ]")
            for label, target in zip(labels, targets, strict=True):
                out.label(label)
                self.jump(target)
            return
        vector = self.vector(index)
        on = self.mask(last)
        ways: dict[int, str] = {}
        if self.block.falls_through is not None:
            ways[self.block.falls_through] = out.let(f"xor i32 {self.active}, {on}")
        for number, target in enumerate(targets):
            same = out.let(f"icmp eq <32 x i32> {vector}, splat (i32 {number})")
            mask = out.let(f"and i32 {out.let(f'bitcast <32 x i1> {same} to i32')}, {on}")
            ways[target] = out.let(f"or i32 {ways[target]}, {mask}") if target in ways else mask
        for target, mask in list(ways.items()):
            if self.analysis.graph.blocks[target].only_returns:
                self._leave_to(target, mask)
                del ways[target]
        if not ways:
            self.lanes_left()
            return
        rest = "0"
        for mask in ways.values():
            rest = out.let(f"or i32 {rest}, {mask}")
        some, none = out.fresh_label("rest"), out.fresh_label("none")
        out.line(f"br i1 {out.let(f'icmp ne i32 {rest}, 0')}, label %{some}, label %{none}")
        out.label(none)
        self.lanes_left()
        out.label(some)
        self._split(list(ways.items()))

    def _label(self, instruction: Instruction) -> str:
        target = instruction.operands[-1]
        assert isinstance(target, Symbol)
        return target.name

    # ------------------------------------------------------------------ operands
    def field_pointer(self, base: str, offset: int) -> str:
        return self.out.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load_field(self, offset: int, element: str, base: str = "%x") -> str:
        """A field of the warp's context (or of another structure)."""
        return self.out.let(f"load {element}, ptr {self.field_pointer(base, offset)}")

    def read(self, name: str) -> Quantity:
        """The value of a register."""
        kind = self.analysis.kinds[name]
        element = self.register_element(name)
        loaded = {
            part.removeprefix(f"%R.{self._safe(name)}"): self.out.let(f"load {part_type}, ptr {part}")
            for part, part_type in self._parts(name, kind)
        }
        if kind.tag != Tag.EXTENDED:
            return Quantity(kind, element, loaded[""], loaded.get(".f", "0"))
        terms = tuple(
            q.Part(loaded[f".b{n}"], loaded.get(f".f{n}", "0"), loaded.get(f".c{n}", str(term.scale)))
            for n, term in enumerate(kind.terms)
        )
        return Quantity(kind, element, "0", outer=loaded[""], parts=terms)

    def operand(self, operand: Operand, ptx_type: str) -> Quantity:
        """An operand as a quantity of the width of `ptx_type` (registers wider than it are cut)."""
        element = element_of(ptx_type)
        match operand:
            case Register(name):
                got = self.read(name)
                return self._fit(got, element, signed=ptx_type.startswith("s"))
            case Integer(number):
                bits = 1 if element == "i1" else int(element[1:])
                if element == "i1":
                    return q.uniform("true" if number & 1 else "false", "i1")
                if ptx_type in ("f32", "f64") and number == 0:
                    return q.uniform("0", element)
                number &= (1 << bits) - 1
                return q.uniform(str(number - (1 << bits) if number >> (bits - 1) else number), element)
            case Float(bits, width):
                return q.uniform(str(_float_bits(bits, width, int(element[1:]))), element)
            case Special(name):
                return self._fit(self.unit.special_registers(self, name), element, signed=False)
            case Symbol(name, offset):
                return q.uniform(self.unit.symbol(self, name, offset, element), element)
            case Negated(inner, "!"):
                got = self.operand(inner, ptx_type)
                if got.tag == Tag.UNIFORM:
                    return q.uniform(
                        self.out.let(f"xor {element} {got.text}, {'true' if element == 'i1' else -1}"), element
                    )
                ones = "splat (i1 true)" if element == "i1" else f"splat ({element} -1)"
                return q.varying(self.out.let(f"xor <32 x {element}> {self.vector(got)}, {ones}"), element)
            case Negated(inner, "-"):  # vmad: the lowering itself negates
                return self.operand(inner, ptx_type)
            case SubWord(register, _):  # video instructions: the lowering picks the part
                return self.operand(register, ptx_type)
            case Sink():
                return q.uniform("0" if element != "i1" else "false", element)
            case _:
                raise AssertionError(f"operand {operand!r} of PTX line where a value is needed")

    def _fit(self, got: Quantity, element: str, *, signed: bool) -> Quantity:
        """A register's value in the width an instruction reads."""
        if got.type == element:
            return got
        if got.tag == Tag.EXTENDED and element == "i32" and len(got.parts) == 1:
            low = narrowed(got.kind)
            if low.tag == Tag.AFFINE:
                return replace(q.narrow(self.out, got), kind=low)
        e = self.e1 if got.tag == Tag.UNIFORM else self.e32
        text = got.text if got.tag in (Tag.UNIFORM, Tag.VARYING) else self.vector(got)
        fitted = e.resize(Value(text, got.type), element, signed=signed)
        return Quantity(UNIFORM if got.tag == Tag.UNIFORM else VARYING, element, fitted.text)

    def vector(self, quantity: Quantity) -> str:
        return q.expand(self.out, quantity)

    def scalar_value(self, quantity: Quantity) -> Value:
        assert quantity.tag == Tag.UNIFORM
        return Value(quantity.text, quantity.type)

    def mask(self, instruction: Instruction) -> str:
        """The lanes an instruction acts on: active, and its guard holds (i32 text)."""
        if instruction.guard is None:
            return self.active
        guard = self.operand(instruction.guard.register, "pred")
        if guard.tag == Tag.UNIFORM:
            on, off = ("0", self.active) if instruction.guard.negated else (self.active, "0")
            return self.out.let(f"select i1 {guard.text}, i32 {on}, i32 {off}")
        bits = self.out.let(f"bitcast <32 x i1> {guard.text} to i32")
        if instruction.guard.negated:
            bits = self.out.let(f"xor i32 {bits}, -1")
        return self.out.let(f"and i32 {bits}, {self.active}")

    # ------------------------------------------------------------------ results
    def write(self, operand: Operand, value: Quantity, instruction: Instruction, *, signed: bool = False) -> None:
        """Store a result in a destination register, for the lanes the instruction acts on."""
        if isinstance(operand, Sink):
            return
        if isinstance(operand, SubWord):
            operand = operand.register
        assert isinstance(operand, Register), operand
        self.write_register(operand.name, value, instruction, signed=signed)

    def write_register(self, name: str, value: Quantity, instruction: Instruction, *, signed: bool = False) -> None:
        element = self.register_element(name)
        kind = self.analysis.kinds[name]
        if value.type != element:
            value = self._fit(value, element, signed=signed)
        parts = self._parts(name, kind)
        if kind.tag == Tag.VARYING:
            text = self.vector(value)
            part, part_type = parts[0]
            lanes = self._blend_mask(name, instruction)
            if lanes is not None:
                old = self.out.let(f"load {part_type}, ptr {part}")
                text = self.out.let(f"select <32 x i1> {lanes}, {part_type} {text}, {part_type} {old}")
            self.out.line(f"store {part_type} {text}, ptr {part}")
            return
        texts = {"": value.text, ".f": value.factor}
        if kind.tag == Tag.EXTENDED:
            texts = {"": value.outer}
            for number, term_part in enumerate(value.parts):
                texts[f".b{number}"] = term_part.base
                texts[f".f{number}"] = term_part.factor
                texts[f".c{number}"] = term_part.scale
        for part, part_type in parts:
            text = texts[part.removeprefix(f"%R.{self._safe(name)}")]
            if instruction.guard is not None:
                guard = self.operand(instruction.guard.register, "pred")
                old = self.out.let(f"load {part_type}, ptr {part}")
                a, b = (old, text) if instruction.guard.negated else (text, old)
                text = self.out.let(f"select i1 {guard.text}, {part_type} {a}, {part_type} {b}")
            self.out.line(f"store {part_type} {text}, ptr {part}")

    def _blend_mask(self, name: str, instruction: Instruction) -> str | None:
        """Lanes (<32 x i1>) that take the new value of a varying register; None where no other lane needs the old."""
        if instruction.guard is not None:
            return self.out.let(f"bitcast i32 {self.mask(instruction)} to <32 x i1>")
        if name in self.analysis.keeps[self.block.index]:
            return self.active_lanes
        return None

    # ------------------------------------------------------------------ instructions
    def instruction(self, instruction: Instruction) -> None:
        """Lower one instruction that does not end a block."""
        self.current = instruction
        spec = spec_of(instruction)
        assert spec.lowering is not None
        if spec.lowering.startswith("move."):
            self._move(instruction, spec.lowering)
            return
        if not spec.elementwise:
            resolve(spec.lowering)(self, instruction)
            return
        types = spec.operand_types(instruction)
        first = spec.destinations
        sources = [
            self.operand(operand, ptx_type)
            for operand, ptx_type in zip(instruction.operands[first:], types[first:], strict=True)
        ]
        form = self._form(spec.lowering, instruction, sources)
        destination = instruction.operands[0]
        if form is not None:
            self.write(destination, form, instruction)
            return
        carries = instruction.opcode in ("addc", "subc", "madc")
        if carries:
            sources.append(self.read(CARRY))
        scalar = all(source.tag == Tag.UNIFORM for source in sources)
        e = self.e1 if scalar else self.e32
        kind = UNIFORM if scalar else VARYING
        arguments = [Value(s.text if scalar else self.vector(s), s.type) for s in sources]
        result = resolve(spec.lowering)(e, instruction, *arguments)
        results = result if isinstance(result, tuple) and not isinstance(result, Value) else (result,)
        quantities = [Quantity(kind, value.type, value.text) for value in results]
        signed = types[0].startswith("s")
        if isinstance(destination, PairOperand):
            for target, quantity in zip((destination.first, destination.second), quantities, strict=False):
                self.write(target, quantity, instruction)
            return
        self.write(destination, quantities[0], instruction, signed=signed)
        if instruction.has("cc"):
            self.write_register(CARRY, quantities[1], instruction)

    def _move(self, ins: Instruction, lowering: str) -> None:
        """mov: a copy keeps its form; vectors in braces are packed and unpacked."""
        destination, source = ins.operands
        if isinstance(source, VectorOperand):
            parts = [self.operand(part, f"b{TYPE_BITS[ins.type] // len(source.elements)}") for part in source.elements]
        else:
            parts = [self.operand(source, ins.type)]
        if not isinstance(source, VectorOperand) and not isinstance(destination, VectorOperand):
            self.write(destination, parts[0], ins)
            return
        scalar = all(part.tag == Tag.UNIFORM for part in parts)
        e, kind = (self.e1, UNIFORM) if scalar else (self.e32, VARYING)
        values = [Value(part.text if scalar else self.vector(part), part.type) for part in parts]
        if isinstance(destination, VectorOperand):
            results = resolve(lowering)(e, ins, values[0], len(destination.elements))
            for target, value in zip(destination.elements, results, strict=True):
                self.write(target, Quantity(kind, value.type, value.text), ins)
            return
        packed = resolve(lowering)(e, ins, *values)
        self.write(destination, Quantity(kind, packed.type, packed.text), ins)

    def _form(self, lowering: str, ins: Instruction, sources: list[Quantity]) -> Quantity | None:
        """The result as an affine or extended form, where `kinds.transfer` says it has one."""
        kind = transfer(lowering, ins, [source.kind for source in sources])
        if kind is None or kind.tag == Tag.VARYING or all(s.tag == Tag.UNIFORM for s in sources):
            return None
        out = self.out
        a = sources[0]
        match lowering:
            case "integer.add":
                result = q.add(out, a, sources[1])
            case "integer.sub":
                result = q.add(out, a, sources[1], "sub")
            case "integer.mul" | "integer.mad":
                result = self._product(ins, sources)
            case "logic.shl":
                factor = str(wrap(1 << int(sources[1].text), bits_of(a.type)))
                result = q.multiply(out, a, q.uniform(factor, a.type))
            case "logic.and_":
                result = replace(a, text=out.let(f"and i32 {a.text}, {sources[1].text}"))
            case "logic.or_":
                result = a
            case "logic.shr":
                if kind.most == 0:
                    result = q.uniform("0", "i32")
                else:
                    opcode = "ashr" if ins.type.startswith("s") else "lshr"
                    result = replace(a, text=out.let(f"{opcode} i32 {a.text}, {sources[1].text}"))
            case "convert.cvt":
                to, source = ins.types
                if TYPE_BITS[to] > TYPE_BITS[source]:
                    result = q.widen(a, source.startswith("s"))
                else:
                    result = q.narrow(out, a) if a.tag == Tag.EXTENDED and TYPE_BITS[to] == 32 else a
            case _:
                raise AssertionError(lowering)
        if kind.tag == Tag.UNIFORM and result.type == "i64":
            return Quantity(kind, "i64", result.outer)
        return replace(result, kind=kind)

    def _product(self, ins: Instruction, sources: list[Quantity]) -> Quantity:
        a, b = sources[0], sources[1]
        if b.tag != Tag.UNIFORM:
            a, b = b, a
        signed = ins.type == "s32"
        if a.tag == Tag.UNIFORM:
            width = "i64" if ins.has("wide") else a.type
            x, y = (self.e1.resize(Value(s.text, s.type), width, signed=signed) for s in (a, b))
            product = q.uniform(self.e1.op("mul", x, y).text, width)
        elif ins.has("wide"):
            if q.is_literal(b.text):
                text = str(int(b.text) if signed else int(b.text) & 0xFFFFFFFF)
            else:
                text = self.out.let(f"{'sext' if signed else 'zext'} i32 {b.text} to i64")
            product = q.multiply(self.out, q.widen(a, signed), q.uniform(text, "i64"))
        else:
            product = q.multiply(self.out, a, b)
        if ins.opcode != "mad":
            return product
        return q.add(self.out, product, sources[2])

    # ------------------------------------------------------------------ sites
    def new_site(
        self, instruction: Instruction, space: Space, kind: AccessKind, width_bits: int, array: str | None = None
    ) -> SiteInfo:
        """Register a memory instruction with the unit; `site.counter` is the index of its first counter."""
        return self.unit.add_site(
            self.function, instruction, self.first_block + self.block.index, space, kind, width_bits, array
        )

    def fault_site(self) -> int:
        """Number of the instruction at hand for messages; not a memory site."""
        return self.unit.add_place(self.function, self.current)

    def site_pointers(self, site: SiteInfo) -> tuple[str, str]:
        """Pointers to the counters and to the bounds cache of a site."""
        counters = self.out.let(f"getelementptr i64, ptr %cnt, i64 {self.unit.site_base + site.index * SITE_COUNTERS}")
        cache = self.out.let(f"getelementptr i64, ptr %cache, i64 {2 * site.index}")
        return counters, cache


def _float_bits(bits: int, width: int, wanted: int) -> int:
    """The bits of a float literal in the width of the register."""
    import struct

    if width == wanted:
        return bits - (1 << width) if bits >> (width - 1) else bits
    number = (
        struct.unpack(">d", bits.to_bytes(8, "big"))[0]
        if width == 64
        else struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    )
    packed = {16: ">e", 32: ">f", 64: ">d"}[wanted]
    result = int.from_bytes(struct.pack(packed, number), "big")
    return result - (1 << wanted) if result >> (wanted - 1) else result


_ = (Address, VectorOperand)
