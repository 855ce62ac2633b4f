"""Text of LLVM IR, written a line at a time: names, types, constants, and the shape of a value.

A PTX register holds one value a lane. Where all lanes agree it is one scalar (`lanes == 1`), else a vector of 32. The
arithmetic of an instruction is written once, for both shapes: `Elementwise` turns an element type into the type of the
shape at hand.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

WARP = 32

FLOAT_TYPES = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_INTRINSIC_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


class Value(NamedTuple):
    """An LLVM value: its text (`%t5`, `7`, `splat (i32 7)`) and its *element* type (`i32`, `float`)."""

    text: str
    type: str


def bits_of(element: str) -> int:
    """Width in bits of an element type."""
    return FLOAT_TYPES[element] if element in FLOAT_TYPES else int(element[1:])


def float_literal(value: float, element: str) -> str:
    """LLVM text of a float constant of `half`, `float` or `double` (exact, as hexadecimal bits)."""
    if element == "half":
        return f"0xH{struct.unpack('>H', struct.pack('>e', value))[0]:04X}"
    if element == "float":
        value = struct.unpack(">f", struct.pack(">f", value))[0]
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


class Emitter:
    """Collects the lines of one function and the declarations it needs. `fresh` names are unique in the function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.definitions: dict[str, str] = {}  # whole helper functions of the LLVM module, by name
        self._next = 0

    def fresh(self, prefix: str = "t") -> str:
        self._next += 1
        return f"%{prefix}{self._next}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, expression: str) -> str:
        """Emit `%new = expression` and return `%new`."""
        name = self.fresh()
        self.lines.append(f"  {name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh_label(self, prefix: str = "L") -> str:
        return self.fresh(prefix)[1:]

    def declare(self, text: str) -> None:
        self.declarations.add(text)

    def define(self, name: str, text: str) -> None:
        """Add a helper function (`define internal ... @name(...) {...}`) to the module, once."""
        self.definitions.setdefault(name, text)


class Elementwise:
    """Emits arithmetic on values of one shape: `lanes` 1 (scalar) or 32 (vector).

    Every method takes and returns `Value`s whose `type` is the element type; texts are of the shape's type. Registers
    come in as integers (i16, i32, i64, i128; predicates i1): use `as_float` and `as_int` for bits as floats.
    """

    def __init__(self, emitter: Emitter, lanes: int) -> None:
        self.out = emitter
        self.lanes = lanes

    # --- types and constants
    def shape(self, element: str) -> str:
        """The LLVM type of this shape: `i32` or `<32 x i32>`."""
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def const(self, element: str, value: int | float | bool) -> Value:
        """A constant in every lane. Floats are given as Python floats."""
        if element in FLOAT_TYPES:
            if element == "bfloat":
                top = struct.unpack(">I", struct.pack(">f", float(value)))[0] >> 16
                text = f"0xR{top:04X}"
            else:
                text = float_literal(float(value), element)
        elif element == "i1":
            text = "true" if value else "false"
        else:
            width = int(element[1:])
            number = int(value) & ((1 << width) - 1)
            text = str(number - (1 << width) if number >> (width - 1) else number)
        return Value(text if self.lanes == 1 else f"splat ({element} {text})", element)

    # --- operations
    def op(self, opcode: str, a: Value, b: Value) -> Value:
        """A binary LLVM instruction: add, sub, mul, and, or, xor, shl, lshr, ashr, fadd, fsub, fmul, fdiv, ...

        `udiv`, `sdiv`, `urem`, `srem` trap on zero in *any* lane, active or not: guard the divisor. Shifts by the width
        or more are poison: clamp first.
        """
        return Value(self.out.let(f"{opcode} {self.shape(a.type)} {a.text}, {b.text}"), a.type)

    def unary(self, opcode: str, a: Value) -> Value:
        """`fneg`, `freeze`."""
        return Value(self.out.let(f"{opcode} {self.shape(a.type)} {a.text}"), a.type)

    def icmp(self, condition: str, a: Value, b: Value) -> Value:
        return Value(self.out.let(f"icmp {condition} {self.shape(a.type)} {a.text}, {b.text}"), "i1")

    def fcmp(self, condition: str, a: Value, b: Value) -> Value:
        return Value(self.out.let(f"fcmp {condition} {self.shape(a.type)} {a.text}, {b.text}"), "i1")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        text = (
            f"select {self.shape('i1')} {condition.text}, {self.shape(a.type)} {a.text}, {self.shape(b.type)} {b.text}"
        )
        return Value(self.out.let(text), a.type)

    def cast(self, opcode: str, a: Value, element: str) -> Value:
        """zext, sext, trunc, sitofp, uitofp, fptrunc, fpext, bitcast to another element type (same type: no code)."""
        if a.type == element:
            return a
        return Value(self.out.let(f"{opcode} {self.shape(a.type)} {a.text} to {self.shape(element)}"), element)

    def resize(self, a: Value, element: str, *, signed: bool = False) -> Value:
        """An integer made wider (sign or zero extended) or narrower."""
        if bits_of(element) == bits_of(a.type):
            return a
        return self.cast("trunc" if bits_of(element) < bits_of(a.type) else ("sext" if signed else "zext"), a, element)

    def as_float(self, a: Value, element: str) -> Value:
        """The bits of an integer as half, bfloat, float or double."""
        return self.cast("bitcast", a, element)

    def as_int(self, a: Value) -> Value:
        """The bits of a float as an integer of its width."""
        return self.cast("bitcast", a, f"i{bits_of(a.type)}")

    def intrinsic(self, name: str, *args: Value, extra: Sequence[str] = (), result: str | None = None) -> Value:
        """Call `llvm.NAME.<suffix of the first argument>`, e.g. intrinsic("fma", a, b, c), intrinsic("ctlz", x,
        extra=("i1 false",))."""
        element = args[0].type
        suffix = ("" if self.lanes == 1 else f"v{self.lanes}") + _INTRINSIC_SUFFIX.get(element, element)
        returns = self.shape(result or element)
        texts = [f"{self.shape(arg.type)} {arg.text}" for arg in args] + list(extra)
        types = [self.shape(arg.type) for arg in args] + [item.split()[0] for item in extra]
        self.out.declare(f"declare {returns} @llvm.{name}.{suffix}({', '.join(types)})")
        return Value(self.out.let(f"call {returns} @llvm.{name}.{suffix}({', '.join(texts)})"), result or element)

    def call(self, name: str, result: str, *args: Value) -> Value:
        """Call a helper function added by `Emitter.define`."""
        texts = ", ".join(f"{self.shape(arg.type)} {arg.text}" for arg in args)
        return Value(self.out.let(f"call {self.shape(result)} @{name}({texts})"), result)

    # --- short forms
    def not_(self, a: Value) -> Value:
        return self.op("xor", a, self.const(a.type, -1 if a.type != "i1" else True))

    def is_nan(self, a: Value) -> Value:
        return self.fcmp("uno", a, a)
