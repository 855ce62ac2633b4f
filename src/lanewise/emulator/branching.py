"""Control flow of one function: which lanes run next (thread frontiers), written as masks and branches.

`%act` holds the lanes that run, `%m.B` those that wait at block B. A jump merges the lanes that wait at its target and
clears their mask, so that a block need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lanewise.emulator.flow import BasicBlock, bit_indices, is_sync, of_whole_warp
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import BLOCK_COUNTERS, BLOCK_DIVERGENT, Warp
from lanewise.emulator.unit import Unit
from lanewise.emulator.values import ValueTranslator
from lanewise.ptx.syntax import (
    Function,
    Instruction,
    Symbol,
)

FEW_CANDIDATES = 3  # blocks to choose among that are written out at each jump


class After(NamedTuple):
    """What to do when no candidate has lanes: `release` the lanes parked at `blocks`, or do so if there are any, else
    leave the function."""

    release: bool
    blocks: tuple[int, ...]


LAST = After(False, (-1,))  # the last candidate has lanes if no other has


class BranchTranslator(ValueTranslator):
    """Jumps, splits, and lanes that park until the others have caught up."""

    def __init__(self, unit: Unit, function: Function) -> None:
        super().__init__(unit, function)
        self._dispatches = False  # some jump goes through `write_dispatch`

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

    def _pick(self, candidates: Sequence[int], after: After = LAST) -> None:
        """Go to the first candidate with lanes waiting that are not parked; none: what `after` says."""
        if len(candidates) > FEW_CANDIDATES:
            self._dispatches = True
            self.out.line("br label %Ldispatch")
            return
        for position, block in enumerate(candidates):
            if after is LAST and position == len(candidates) - 1:
                self._run(block, self._mask_of(block))
                return
            self._run_if_ready(block)
        if after.release:
            self._release(after.blocks)
        else:
            self._nobody_waits(after.blocks)

    def _run_if_ready(self, block: int) -> None:
        """Go to a block where lanes wait that are not parked there; code goes on where there are none."""
        out = self.out
        mask = ready = self._mask_of(block)
        if block in self.analysis.parkable:
            free = out.let(f"xor i32 {out.let('load i32, ptr %parked')}, -1")
            ready = out.let(f"and i32 {mask}, {free}")
        here, skip = out.fresh_label("pick"), out.fresh_label("skip")
        out.line(f"br i1 {out.let(f'icmp ne i32 {ready}, 0')}, label %{here}, label %{skip}")
        out.label(here)
        self._run(block, mask)
        out.label(skip)

    def write_dispatch(self) -> None:
        """The one place that picks among all blocks, for jumps with many candidates: written out at each of them, the
        code of a function would grow with the square of its blocks."""
        if not self._dispatches:
            return
        self.out.label("Ldispatch")
        for block in sorted(self.waits):
            self._run_if_ready(block)
        self._nobody_waits(tuple(sorted(self.analysis.parkable & self.waits)))

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
            self._pick(spins)
            out.label(none)
        out.line(f"store i32 {out.let('load i32, ptr %parked')}, ptr %released")
        out.line("store i32 0, ptr %parked")
        self._pick(blocks)

    def lanes_left(self) -> None:
        """The lanes that ran are gone: go on with those that wait, or leave the function."""
        waiting = self.analysis.waiting[self.block.index]
        self._pick(bit_indices(waiting.open), After(False, tuple(bit_indices(waiting.parked))))

    def _nobody_waits(self, parked: tuple[int, ...]) -> None:
        """No lane waits unless it is parked: release those, or leave the function."""
        if not parked:
            self.out.line("br label %Lleave")
            return
        some, none = self.out.fresh_label("parked"), self.out.fresh_label("none")
        held = self.out.let("load i32, ptr %parked")
        self.out.line(f"br i1 {self.out.let(f'icmp ne i32 {held}, 0')}, label %{some}, label %{none}")
        self.out.label(some)
        self._release(parked)
        self.out.label(none)
        self.out.line("br label %Lleave")

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
        self._pick(bit_indices(waiting.open), After(True, tuple(everyone)))
        out.label(go)

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
        self._pick([*earlier, target])

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
        if self._ends_thread(block.instructions[0]):
            self._note_exit(mask)

    def _ends_thread(self, instruction: Instruction) -> bool:
        """Whether lanes that run an exit or ret are gone for good. That a kernel's ret is an exit matters only to those
        who ask which threads are left."""
        return instruction.opcode == "exit" or (self.function.is_kernel and self.unit.events.sync)

    def _note_exit(self, mask: str) -> None:
        pointer = self.out.let(f"getelementptr i8, ptr %x, i64 {Warp.EXITED}")
        gone = self.out.let(f"or i32 {self.out.let(f'load i32, ptr {pointer}')}, {mask}")
        self.out.line(f"store i32 {gone}, ptr {pointer}")

    def _terminate(self, block: BasicBlock, last: Instruction) -> None:
        fall = block.falls_through
        if last.opcode in ("ret", "exit"):
            if last.guard is None:
                if self._ends_thread(last):
                    self._note_exit(self.active)
                self.lanes_left()
                return
            gone = self.mask(last)
            if self._ends_thread(last):
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
        self._pick(sorted({*bit_indices(waiting.open), *(block for block, _ in ways)}))

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

    def _awaited(self, instruction: Instruction, act: str) -> str:
        """The lanes (i32) that the lanes `act` wait for: those of the member mask, or all, that have not exited."""
        out = self.out
        exited = self.load_field(Warp.EXITED, "i32")
        alive = out.let(f"and i32 {self.load_field(Warp.MASK, 'i32')}, {out.let(f'xor i32 {exited}, -1')}")
        if (
            instruction.opcode == "call"
            or of_whole_warp(instruction)
            or (is_sync(instruction) and not instruction.has("warp"))
        ):
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
