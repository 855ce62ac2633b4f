"""One PTX function to LLVM IR: the walk over its blocks. Instructions are lowered by `lowering/`."""

from __future__ import annotations

from lanewise.emulator import shared_groups
from lanewise.emulator.analysis import CARRY, spec_of, written_and_read
from lanewise.emulator.branching import BranchTranslator
from lanewise.emulator.flow import BasicBlock
from lanewise.emulator.forms import form
from lanewise.emulator.ir import Value
from lanewise.emulator.kinds import UNIFORM, VARYING, Tag
from lanewise.emulator.layout import BLOCK_COUNTERS, BLOCK_OCTETS, SITE_COUNTERS, Fault, Launch, Warp, Worker
from lanewise.emulator.lowering import events, resolve, shared
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import STACK_MARGIN, SiteInfo
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Instruction,
    PairOperand,
    VectorOperand,
)
from lanewise.records import AccessKind, Space

STRAIGHT = 256  # instructions without a branch; LLVM takes more than linear time for a block
PARAMETERS = "ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, ptr %params"


class FunctionTranslator(BranchTranslator):
    """Translates one function of a `Unit` for its lane shape."""

    def translate(self) -> str:
        """The text of `define internal i32 @name(...)`; the result is the mask of lanes that came back."""
        name = self.unit.llvm_name(self.function.name)
        self._prologue()
        for block in self.analysis.graph.blocks:
            self._block(block)
        self.write_dispatch()
        self.out.label("Lleave")
        self.trips.leave()
        self.trips.finish()
        exited = self.load_field(Warp.EXITED, "i32")
        alive = self.out.let(f"xor i32 {exited}, -1")
        back = self.out.let(f"and i32 %mask, {alive}")
        self.out.line(f"ret i32 {back}")
        if self._room_bytes:
            self.out.lines.insert(self._room_place, f"  %room = alloca [{self._room_bytes} x i8], align 64")
        body = "\n".join(self.out.lines)
        return f"define internal i32 @{name}({PARAMETERS}, i32 %mask, i32 %frame) #0 {{\nentry:\n{body}\n}}\n"

    def _prologue(self) -> None:
        out = self.out
        self._room_place, self._room_bytes = len(out.lines), 0
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
        events.prologue(self)
        self.defined.prologue()
        self.fuel = f"i8, ptr %w, i64 {Worker.FUEL}"
        self._check_stack()

    def _check_stack(self) -> None:
        """Deep calls and large frames end in a fault before the native stack runs over."""
        out = self.out
        out.declare("declare ptr @llvm.stacksave.p0()")
        here = out.let(f"ptrtoint ptr {out.let('call ptr @llvm.stacksave.p0()')} to i64")
        used = out.let(f"sub i64 {self.load_field(Warp.STACK_TOP, 'i64')}, {here}")
        room = self.load_field(Launch.STACK_BYTES, "i64", "%launch")
        fits = out.let(f"icmp ult i64 {out.let(f'add i64 {used}, {STACK_MARGIN}')}, {room}")
        out.line(f"br i1 {fits}, label %B0, label %Lstack, !prof !2")
        out.label("Lstack")
        nothing = Instruction("ret", (), (), line=self.function.line)
        first = next((s for s in self.function.body if isinstance(s, Instruction)), nothing)
        site = self.unit.add_place(self.function, first)
        out.line(f"call void @lw_fault(ptr %x, ptr %w, i32 {site}, i32 {Fault.STACK}, i32 %mask, i32 0)")
        out.line("unreachable")

    def _count_octets(self, counter: int) -> None:
        out = self.out
        some = self.active
        for step in (4, 2, 1):
            some = out.let(f"or i32 {some}, {out.let(f'lshr i32 {some}, {step}')}")
        out.declare("declare i32 @llvm.ctpop.i32(i32)")
        octets = out.let(f"call i32 @llvm.ctpop.i32(i32 {out.let(f'and i32 {some}, 16843009')})")
        place = out.let(f"getelementptr i64, ptr %cnt, i64 {counter + BLOCK_OCTETS}")
        sum_ = out.let(f"add i64 {out.let(f'load i64, ptr {place}')}, {out.let(f'zext i32 {octets} to i64')}")
        out.line(f"store i64 {sum_}, ptr {place}")

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
        if self.unit.plan.octets:
            self._count_octets(counter)
        if any(target == block.index for _, target in self.analysis.graph.back_edges):
            self.burn_fuel()
        if block.index in self.analysis.yields:
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
        for number, instruction in enumerate(block.instructions, start=1):
            if number % STRAIGHT == 0:
                self.burn_fuel()
            if instruction.opcode in ("bra", "brx", "ret", "exit"):
                self.current = instruction
                self.defined.begin(instruction)
                self._terminate(block, instruction)
                return
            self.instruction(instruction)
        assert block.falls_through is not None
        self.jump(block.falls_through)

    def burn_fuel(self) -> None:
        """At what may go on for ever or nearly so: back edges and calls."""
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

    def instruction(self, instruction: Instruction) -> None:
        """Lower one instruction that does not end a block."""
        self.current = instruction
        self.defined.begin(instruction)
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
        made = form(self.out, spec.lowering, instruction, sources)
        destination = instruction.operands[0]
        if made is not None:
            self.write(destination, made, instruction)
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
        if isinstance(source, VectorOperand) and isinstance(destination, VectorOperand):
            copied = [self.operand(part, ins.type) for part in source.elements]  # all are read before one is written
            for target, value in zip(destination.elements, copied, strict=True):
                self.write(target, value, ins)
            return
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

    def new_site(
        self, instruction: Instruction, space: Space, kind: AccessKind, width_bits: int, array: str | None = None
    ) -> SiteInfo:
        """Register a memory instruction with the unit; `site.counter` is the index of its first counter."""
        return self.unit.add_site(
            self.function, instruction, self.first_block + self.block.index, space, kind, width_bits, array
        )

    def room(self, size: int) -> str:
        """A pointer to native stack of at least `size` bytes, at a multiple of 64, for the instruction at hand."""
        self._room_bytes = max(self._room_bytes, size)
        return "%room"

    def fault_site(self) -> int:
        """Number of the instruction at hand for messages; not a memory site."""
        return self.unit.add_place(self.function, self.current)

    def site_pointers(self, site: SiteInfo) -> tuple[str, str]:
        """Pointers to the counters and to the bounds cache of a site."""
        counters = self.out.let(f"getelementptr i64, ptr %cnt, i64 {self.unit.site_base + site.index * SITE_COUNTERS}")
        cache = self.out.let(f"getelementptr i64, ptr %cache, i64 {2 * site.index}")
        return counters, cache
