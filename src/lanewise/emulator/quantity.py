"""Values on their way through the translator: scalars, affine and extended forms, vectors, and arithmetic on the forms.

The functions here emit code for exactly the results that `kinds.transfer` calls affine or extended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanewise.emulator.ir import Emitter, Value, bits_of
from lanewise.emulator.kinds import UNIFORM, VARYING, Kind, LaneShape, Tag, wrap


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its kind. `text` is the scalar, the affine base (i32), or the vector; `outer` and `scale` (i64) are
    of the extended form; strides are texts of i32 values. `type` is the element type of the value as a whole."""

    kind: Kind
    type: str
    text: str
    sx: str = "0"
    sy: str = "0"
    scale: str = "1"
    outer: str = "0"

    @property
    def tag(self) -> Tag:
        return self.kind.tag


def uniform(text: str, element: str) -> Quantity:
    return Quantity(UNIFORM, element, text)


def varying(text: str, element: str) -> Quantity:
    return Quantity(VARYING, element, text)


def is_literal(text: str) -> bool:
    return not text.startswith("%")


def _fold(out: Emitter, opcode: str, element: str, a: str, b: str) -> str:
    """A scalar operation on two texts, folded when both are literals or one is neutral."""
    bits = bits_of(element)
    if is_literal(a) and is_literal(b):
        x, y = int(a), int(b)
        return str(wrap({"add": x + y, "sub": x - y, "mul": x * y}[opcode], bits))
    if opcode in ("add", "sub") and b == "0":
        return a
    if opcode == "add" and a == "0":
        return b
    if opcode == "mul" and "0" in (a, b):
        return "0"
    if opcode == "mul" and b == "1":
        return a
    if opcode == "mul" and a == "1":
        return b
    return out.let(f"{opcode} {element} {a}, {b}")


def add(out: Emitter, a: Quantity, b: Quantity, opcode: str = "add") -> Quantity | None:
    """a + b or a - b, where the result keeps a form; None where it does not."""
    if a.type == "i32":
        kind = Kind(Tag.AFFINE, _stride(a, b, "sx", opcode), _stride(a, b, "sy", opcode))
        return Quantity(
            kind,
            "i32",
            _fold(out, opcode, "i32", a.text, b.text),
            _fold(out, opcode, "i32", a.sx, b.sx),
            _fold(out, opcode, "i32", a.sy, b.sy),
        )
    if b.tag == Tag.UNIFORM:
        return replace(a, outer=_fold(out, opcode, "i64", a.outer, b.text))
    if a.tag == Tag.UNIFORM:
        scale = b.scale if opcode == "add" else _fold(out, "sub", "i64", "0", b.scale)
        kind = b.kind if opcode == "add" else b.kind._replace(scale=_negative(b.kind.scale))
        return replace(b, kind=kind, outer=_fold(out, opcode, "i64", a.text, b.outer), scale=scale)
    return None


def _negative(value: int | None) -> int | None:
    return None if value is None else wrap(-value, 64)


def _stride(a: Quantity, b: Quantity, name: str, opcode: str) -> int | None:
    x: int | None = getattr(a.kind, name)
    y: int | None = getattr(b.kind, name)
    if x is None or y is None:
        return None
    return wrap(x + y if opcode == "add" else x - y)


def multiply(out: Emitter, a: Quantity, factor: Quantity) -> Quantity | None:
    """a * factor, factor uniform: affine (32 bits) or extended (64 bits) as a is."""
    literal = int(factor.text) if is_literal(factor.text) else None
    if a.tag == Tag.AFFINE:
        kind = Kind(Tag.AFFINE, _scaled(a.kind.sx, literal, 32), _scaled(a.kind.sy, literal, 32))
        text, sx, sy = (_fold(out, "mul", "i32", part, factor.text) for part in (a.text, a.sx, a.sy))
        return Quantity(kind, "i32", text, sx, sy)
    if a.tag == Tag.EXTENDED:
        kind = a.kind._replace(scale=_scaled(a.kind.scale, literal, 64))
        return replace(
            a,
            kind=kind,
            outer=_fold(out, "mul", "i64", a.outer, factor.text),
            scale=_fold(out, "mul", "i64", a.scale, factor.text),
        )
    return None


def _scaled(stride: int | None, factor: int | None, bits: int) -> int | None:
    if stride == 0:
        return 0
    return None if stride is None or factor is None else wrap(stride * factor, bits)


def widen(a: Quantity, signed: bool) -> Quantity:
    """An affine value as extended, its widening kept symbolic."""
    return Quantity(Kind(Tag.EXTENDED, a.kind.sx, a.kind.sy, 1, signed), "i64", a.text, a.sx, a.sy)


def narrow(out: Emitter, a: Quantity) -> Quantity:
    """The low 32 bits of an extended value: affine again."""
    scale = str(wrap(int(a.scale))) if is_literal(a.scale) else out.let(f"trunc i64 {a.scale} to i32")
    outer = str(wrap(int(a.outer))) if is_literal(a.outer) else out.let(f"trunc i64 {a.outer} to i32")
    literal = int(scale) if is_literal(scale) else None
    kind = Kind(Tag.AFFINE, _scaled(a.kind.sx, literal, 32), _scaled(a.kind.sy, literal, 32))
    base = _fold(out, "add", "i32", outer, _fold(out, "mul", "i32", a.text, scale))
    return Quantity(kind, "i32", base, _fold(out, "mul", "i32", a.sx, scale), _fold(out, "mul", "i32", a.sy, scale))


def splat(out: Emitter, element: str, text: str, lanes: int = 32) -> str:
    """A scalar in every lane."""
    if is_literal(text):
        return f"splat ({element} {text})"
    first = out.let(f"insertelement <{lanes} x {element}> poison, {element} {text}, i32 0")
    zeros = f"<{lanes} x i32> zeroinitializer"
    return out.let(f"shufflevector <{lanes} x {element}> {first}, <{lanes} x {element}> poison, {zeros}")


def _times_lane(out: Emitter, stride: str, lanes: tuple[int, ...]) -> str | None:
    """stride * lane coordinate as an i32 vector text; None where it is zero."""
    if stride == "0" or not any(lanes):
        return None
    if is_literal(stride):
        return "<" + ", ".join(f"i32 {wrap(int(stride) * lane)}" for lane in lanes) + ">"
    coordinates = "<" + ", ".join(f"i32 {lane}" for lane in lanes) + ">"
    return out.let(f"mul <32 x i32> {splat(out, 'i32', stride)}, {coordinates}")


def expand(out: Emitter, a: Quantity, shape: LaneShape) -> str:
    """Any quantity as the text of a 32-lane vector."""
    if a.tag == Tag.VARYING:
        return a.text
    if a.tag == Tag.UNIFORM:
        return splat(out, a.type, a.text)
    vector = splat(out, "i32", a.text)
    for part in (_times_lane(out, a.sx, shape.x), _times_lane(out, a.sy, shape.y)):
        if part is not None:
            vector = out.let(f"add <32 x i32> {vector}, {part}")
    if a.tag == Tag.AFFINE:
        return vector
    wide = out.let(f"{'sext' if a.kind.signed else 'zext'} <32 x i32> {vector} to <32 x i64>")
    if a.scale != "1":
        wide = out.let(f"mul <32 x i64> {wide}, {splat(out, 'i64', a.scale)}")
    if a.outer != "0":
        wide = out.let(f"add <32 x i64> {wide}, {splat(out, 'i64', a.outer)}")
    return wide


def value(a: Quantity) -> Value:
    return Value(a.text, a.type)
