"""Registers, operands and masks of one function while it is translated.

Registers are allocas that LLVM's mem2reg turns into SSA values; forms keep each of their scalars in one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lanewise.emulator import quantity as q
from lanewise.emulator.analysis import CARRY, Analysis, analyse
from lanewise.emulator.flow import BasicBlock, bit_indices
from lanewise.emulator.ir import Elementwise, Emitter, Value, bits_of
from lanewise.emulator.kinds import UNIFORM, VARYING, Kind, LaneShape, Tag, narrowed
from lanewise.emulator.lowering.definedness import Definedness
from lanewise.emulator.lowering.recount import TripCounters
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.shared_groups import SharedGroup
from lanewise.emulator.unit import Unit
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
    Register,
    Sink,
    Special,
    SubWord,
    Symbol,
    VectorOperand,
)


def element_of(ptx_type: str) -> str:
    """The LLVM integer that holds a register of a PTX type."""
    return "i1" if ptx_type == "pred" else f"i{max(8, TYPE_BITS[ptx_type])}"


class ValueTranslator:
    """What lowerings read and write: operands, registers, the lanes that run."""

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
        self.defined = Definedness(self)
        self._edges: dict[str, str] = {}  # per block: values derived from the active mask
        waits = {f for w in self.analysis.waiting for f in bit_indices(w.anywhere)}
        for b in self.analysis.divergent:
            waits.update(self.analysis.graph.blocks[b].successors)
        self.waits = waits | self.analysis.parkable

    @property
    def frame_bytes(self) -> int:
        """Bytes of native stack that the function's registers take if all of them stay in memory."""
        sizes = (
            bits_of(part_type.removeprefix("<32 x ").removesuffix(">")) * (32 if part_type.startswith("<") else 1)
            for name, kind in self.analysis.kinds.items()
            for _, part_type in self._parts(name, kind)
        )
        return sum(max(8, bits // 8) for bits in sizes) + self.trips.frame_bytes

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
            self.defined.write(name, lanes)
            return
        if self.defined.wanted:  # other lanes have the same value, whether they run or not
            on = (
                None
                if instruction.guard is None
                else self.out.let(f"bitcast i32 {self.mask(instruction)} to <32 x i1>")
            )
            self.defined.write(name, on)
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

    def bump(self, index: str, amount: str) -> None:
        """Add an i64 to a counter of this launch."""
        pointer = self.out.let(f"getelementptr i64, ptr %cnt, {index}")
        total = self.out.let(f"add i64 {self.out.let(f'load i64, ptr {pointer}')}, {amount}")
        self.out.line(f"store i64 {total}, ptr {pointer}")

    def call_out(self, function: str, extra: str = "") -> None:
        """Call a function during which other warps may run: every pointer the kernel keeps is handed to it."""
        self.out.line(f"call void @{function}(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared{extra})")


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
