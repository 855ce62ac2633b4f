"""Values on their way through the translator: scalars, affine and extended forms, vectors, and arithmetic on the forms.

The functions here emit code for exactly the results that `kinds.transfer` calls uniform, affine or extended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from lanewise.emulator.ir import Emitter, bits_of
from lanewise.emulator.kinds import UNIFORM, VARYING, Kind, Lanes, Tag, Term, literal_kind, wrap


class Part(NamedTuple):
    """Texts of one term of an extended value: base and factor are i32, scale is i64."""

    base: str
    factor: str
    scale: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its kind. `text` is the scalar, the affine base (i32), or the vector; `factor` (i32) multiplies an
    affine value's pattern; `outer` (i64) and `parts` are of the extended form. `type`: the whole's element type."""

    kind: Kind
    type: str
    text: str
    factor: str = "0"
    outer: str = "0"
    parts: tuple[Part, ...] = ()

    @property
    def tag(self) -> Tag:
        return self.kind.tag


def uniform(text: str, element: str) -> Quantity:
    if is_literal(text) and element == "i32":
        return Quantity(literal_kind(int(text)), element, text)
    return Quantity(UNIFORM, element, text)


def varying(text: str, element: str) -> Quantity:
    return Quantity(VARYING, element, text)


def is_literal(text: str) -> bool:
    return not text.startswith("%")


def fold(out: Emitter, opcode: str, element: str, a: str, b: str) -> str:
    """A scalar operation on two texts, folded when both are literals or one is neutral."""
    if is_literal(a) and is_literal(b):
        x, y = int(a), int(b)
        return str(wrap({"add": x + y, "sub": x - y, "mul": x * y}[opcode], bits_of(element)))
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


def add(out: Emitter, a: Quantity, b: Quantity, opcode: str = "add") -> Quantity:
    """a + b or a - b of scalars and forms of one width; the kind is the caller's to set."""
    if a.type == "i32":
        return replace(
            a, text=fold(out, opcode, "i32", a.text, b.text), factor=fold(out, opcode, "i32", a.factor, b.factor)
        )
    mine = a.text if a.tag == Tag.UNIFORM else a.outer
    its = b.text if b.tag == Tag.UNIFORM else b.outer
    parts = b.parts
    if opcode == "sub":
        parts = tuple(part._replace(scale=fold(out, "sub", "i64", "0", part.scale)) for part in parts)
    return Quantity(a.kind, "i64", "0", outer=fold(out, opcode, "i64", mine, its), parts=a.parts + parts)


def multiply(out: Emitter, a: Quantity, factor: Quantity) -> Quantity:
    """a * factor, factor uniform: affine (32 bits) or extended (64 bits) as a is; the kind is the caller's to set."""
    if a.tag == Tag.AFFINE:
        text = fold(out, "mul", "i32", a.text, factor.text)
        if is_literal(factor.text):
            return replace(a, text=text, factor=fold(out, "mul", "i32", a.factor, factor.text))
        pattern = fold(out, "mul", "i32", a.factor, factor.text) if a.kind.pattern else factor.text
        return replace(a, text=text, factor=pattern)
    return replace(
        a,
        outer=fold(out, "mul", "i64", a.outer, factor.text),
        parts=tuple(part._replace(scale=fold(out, "mul", "i64", part.scale, factor.text)) for part in a.parts),
    )


def widen(a: Quantity, signed: bool) -> Quantity:
    """An affine value as extended, its widening kept symbolic."""
    kind = Kind(Tag.EXTENDED, terms=(Term(signed, 1, a.kind.offsets, a.kind.pattern),))
    return Quantity(kind, "i64", "0", parts=(Part(a.text, a.factor, "1"),))


def narrow(out: Emitter, a: Quantity) -> Quantity:
    """The low 32 bits of an extended value with one term: affine again; the kind is the caller's to set."""
    (term,), (part,) = a.kind.terms, a.parts
    scale = str(wrap(int(part.scale))) if is_literal(part.scale) else out.let(f"trunc i64 {part.scale} to i32")
    outer = str(wrap(int(a.outer))) if is_literal(a.outer) else out.let(f"trunc i64 {a.outer} to i32")
    inner = Quantity(Kind(Tag.AFFINE, term.offsets, term.pattern), "i32", part.base, part.factor)
    scaled = multiply(out, inner, Quantity(UNIFORM, "i32", scale))
    return replace(scaled, text=fold(out, "add", "i32", outer, scaled.text))


def splat(out: Emitter, element: str, text: str, lanes: int = 32) -> str:
    """A scalar in every lane."""
    if is_literal(text):
        return f"splat ({element} {text})"
    first = out.let(f"insertelement <{lanes} x {element}> poison, {element} {text}, i32 0")
    zeros = f"<{lanes} x i32> zeroinitializer"
    return out.let(f"shufflevector <{lanes} x {element}> {first}, <{lanes} x {element}> poison, {zeros}")


def lane_constants(element: str, values: Lanes) -> str:
    return "<" + ", ".join(f"{element} {value}" for value in values) + ">"


def expand_affine(out: Emitter, base: str, offsets: Lanes, factor: str, pattern: Lanes) -> str:
    """base + offsets + factor * pattern as a vector of 32 i32."""
    vector = splat(out, "i32", base)
    if offsets:
        vector = out.let(f"add <32 x i32> {vector}, {lane_constants('i32', offsets)}")
    if pattern:
        product = out.let(f"mul <32 x i32> {splat(out, 'i32', factor)}, {lane_constants('i32', pattern)}")
        vector = out.let(f"add <32 x i32> {vector}, {product}")
    return vector


def expand(out: Emitter, a: Quantity) -> str:
    """Any quantity as the text of a 32-lane vector."""
    if a.tag == Tag.VARYING:
        return a.text
    if a.tag == Tag.UNIFORM:
        return splat(out, a.type, a.text)
    if a.tag == Tag.AFFINE:
        return expand_affine(out, a.text, a.kind.offsets, a.factor, a.kind.pattern)
    total = splat(out, "i64", a.outer)
    for term, part in zip(a.kind.terms, a.parts, strict=True):
        inner = expand_affine(out, part.base, term.offsets, part.factor, term.pattern)
        wide = out.let(f"{'sext' if term.signed else 'zext'} <32 x i32> {inner} to <32 x i64>")
        if part.scale != "1":
            wide = out.let(f"mul <32 x i64> {wide}, {splat(out, 'i64', part.scale)}")
        total = out.let(f"add <32 x i64> {total}, {wide}")
    return total
