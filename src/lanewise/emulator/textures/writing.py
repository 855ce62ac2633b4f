"""What the helper functions of textures are written with: vectors of 32 lanes, scalars, fields of the record."""

from __future__ import annotations

from typing import NamedTuple

from lanewise.emulator.ir import Elementwise, Emitter, Value

VECTOR = "<32 x i32>"
WIDE = "<32 x i64>"


class Function(NamedTuple):
    """A helper function while it is written: its lines, vector and scalar arithmetic. Its record is `%d`."""

    out: Emitter
    e: Elementwise
    s: Elementwise

    @classmethod
    def begin(cls, emitter: Emitter) -> Function:
        """A function of the module that `emitter` writes to."""
        out = Emitter()
        out.definitions, out.declarations = emitter.definitions, emitter.declarations
        return cls(out, Elementwise(out, 32), Elementwise(out, 1))

    def finish(self, header: str) -> str:
        """The text: `header` is its type, name and parameters."""
        return f"define internal {header} noinline nounwind {{\nentry:\n" + "\n".join(self.out.lines) + "\n}\n"

    def field(self, offset: int, element: str = "i32") -> Value:
        """A field of the record, a scalar."""
        pointer = self.out.let(f"getelementptr i8, ptr %d, i64 {offset}")
        return Value(self.out.let(f"load {element}, ptr {pointer}"), element)

    def variable(self) -> str:
        """A place for an i32, made as the function begins: made later it would move the stack each time, by less than
        the alignment that vectors need."""
        place = self.out.let("alloca i32")
        self.out.lines.insert(0, self.out.lines.pop())
        return place

    def flag(self, offset: int) -> Value:
        return self.s.icmp("ne", self.field(offset), self.s.const("i32", 0))

    def splat(self, value: Value) -> Value:
        kind = f"<32 x {value.type}>"
        one = self.out.let(f"insertelement {kind} poison, {value.type} {value.text}, i32 0")
        return Value(self.out.let(f"shufflevector {kind} {one}, {kind} poison, {VECTOR} zeroinitializer"), value.type)

    def wide(self, offset: int, element: str = "i32") -> Value:
        """A field of the record in every lane."""
        return self.splat(self.field(offset, element))

    def choose(self, condition: Value, a: Value, b: Value) -> Value:
        """One of two vectors by a scalar condition."""
        kind = self.e.shape(a.type)
        return Value(self.out.let(f"select i1 {condition.text}, {kind} {a.text}, {kind} {b.text}"), a.type)

    def mask(self, lanes: Value) -> str:
        """A vector of i1 as a mask."""
        return self.out.let(f"bitcast <32 x i1> {lanes.text} to i32")

    def saturate(self, value: Value) -> Value:
        """Double to i32, saturating; NaN is 0."""
        name = "llvm.fptosi.sat.v32i32.v32f64"
        self.out.declare(f"declare {VECTOR} @{name}(<32 x double>)")
        return Value(self.out.let(f"call {VECTOR} @{name}(<32 x double> {value.text})"), "i32")

    def sum(self, values: list[Value], opcode: str = "add") -> Value:
        total = values[0]
        for value in values[1:]:
            total = self.e.op(opcode, total, value)
        return total
