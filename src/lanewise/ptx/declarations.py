"""Declarations of variables, registers and parameters (PTX ISA 5.4)."""

from __future__ import annotations

import re

from lanewise.ptx.initialisers import (
    Declarator,
    Nested,
    Prefix,
    flatten,
    parse_initialiser,
    whole_number,
    wrapped,
)
from lanewise.ptx.lexer import Cursor, Source
from lanewise.ptx.operands import OperandParser
from lanewise.ptx.scopes import Scope
from lanewise.ptx.syntax import RegisterDeclaration, Variable
from lanewise.records import Param

SPACES = (".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared", ".tex")
LINKAGES = (".visible", ".extern", ".weak", ".common")
_DECLARABLE = frozenset(
    ("pred", *(f"{kind}{bits}" for kind in "bsu" for bits in (8, 16, 32, 64)), "b128", "f16", "f16x2", "f32", "f64")
) | {"texref", "samplerref", "surfref"}  # fmt: skip
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
MAX_ELEMENTS = 1 << 48
_PLAIN_INITIALISER = re.compile(r"=\s*\{([\s\d,]*)\}\s*\Z", re.ASCII)
_OCTAL = re.compile(r"\b0\d", re.ASCII)


def parse_attribute(cursor: Cursor, scope: Scope, prefix: Prefix | None = None) -> None:
    """`.attribute(.managed, .unified(a, b))`, after its keyword."""
    cursor.expect("(", "after .attribute")
    while True:
        if cursor.accept(".managed"):
            if prefix is not None:
                prefix.managed = True
        elif cursor.accept(".unified"):
            if cursor.at("("):
                OperandParser(cursor, scope).operand_list()
        else:
            raise cursor.unexpected("expected the attribute .managed or .unified")
        if not cursor.accept(","):
            break
    cursor.expect(")", "after the attribute")


def parse_prefix(cursor: Cursor, scope: Scope) -> Prefix:
    """Space, type, alignment and attributes, at a state space keyword."""
    if not cursor.at(*SPACES):
        raise cursor.unexpected("expected a state space such as .global or .reg")
    prefix = Prefix(cursor.next().text[1:])
    if prefix.space == "const" and cursor.accept("["):
        whole_number(cursor, scope, "the number of the constant bank")
        cursor.expect("]", "after the constant bank")
    while cursor.token.kind == "dot":
        word = cursor.token.text
        if word == ".align":
            cursor.next()
            start = cursor.token
            alignment = whole_number(cursor, scope, "an alignment", 1)
            if alignment & (alignment - 1):
                raise cursor.error("an alignment must be a power of two", start)
            if not prefix.pointer:
                prefix.alignment = alignment
            continue
        if word[1:] in _DECLARABLE:
            if prefix.type:
                raise cursor.error(f"a declaration has one type, but here are .{prefix.type} and {word}")
            prefix.type = word[1:]
        elif word in _VECTORS:
            prefix.vector = _VECTORS[word]
        elif word == ".attribute":
            cursor.next()
            parse_attribute(cursor, scope, prefix)
            continue
        elif word == ".ptr":
            prefix.pointer = True
        elif not (prefix.pointer and word in (".const", ".global", ".local", ".shared", ".generic")):
            raise cursor.error(f"'{word}' does not belong in a declaration")
        cursor.next()
    if not prefix.type:
        if prefix.space != "tex":
            raise cursor.unexpected("expected a type such as .b32")
        prefix.type = "u32"
    return prefix


def _declarator(cursor: Cursor, scope: Scope, prefix: Prefix) -> Declarator:
    token = cursor.token
    found = Declarator(cursor.identifier("a name"), token.offset)
    if cursor.accept("<"):
        found.family = whole_number(cursor, scope, "the size of the family", 1)
        cursor.expect(">", "after the size of the family")
    while cursor.accept("["):
        found.dimensions.append(0 if cursor.at("]") else whole_number(cursor, scope, "the size of the array"))
        cursor.expect("]", "after the size of the array")
    if cursor.accept("="):
        found.initial = parse_initialiser(cursor, scope, prefix, found)
    return found


def parse_declaration(source: Source, start: int, end: int, scope: Scope) -> tuple[str, Prefix, list[Declarator]]:
    """One declaration statement (without its `;`): linkage, prefix and names."""
    plain = _PLAIN_INITIALISER.search(source.code, start, end)
    octal = plain is not None and _OCTAL.search(source.code, plain.start(1), plain.end(1))
    quick = plain is not None and not octal and plain.end(1) - plain.start(1) > 64
    cursor = Cursor(source, start, plain.start() if quick and plain else end)
    linkage = cursor.next().text[1:] if cursor.at(*LINKAGES) else ""
    prefix = parse_prefix(cursor, scope)
    names = [_declarator(cursor, scope, prefix)]
    while cursor.accept(","):
        names.append(_declarator(cursor, scope, prefix))
    cursor.done()
    if quick and plain is not None:
        try:
            values: list[Nested] = [wrapped(int(word), prefix) for word in plain[1].split(",") if word.strip()]
        except ValueError:
            raise source.error("a value of this initialiser is not a number", plain.start(1)) from None
        names[-1].initial = flatten(cursor, values, names[-1], prefix)
    return linkage, prefix, names


# --- what a declaration becomes
def element_count(source: Source, declarator: Declarator) -> int:
    count = 1
    for size in declarator.dimensions:
        count *= size
        if count > MAX_ELEMENTS:
            raise source.error(f"'{declarator.name}' has more elements than any memory holds", declarator.offset)
    return count


def make_variables(
    source: Source, linkage: str, prefix: Prefix, declarator: Declarator, name: str | None = None
) -> list[Variable]:
    """The variables of one declarator: one, or the members of a family `x<3>`."""
    if declarator.family is not None:
        source.spend(declarator.family, declarator.offset)
    if prefix.type == "pred":
        raise source.error("a predicate can only be a register", declarator.offset)
    base = name or declarator.name
    names = [base] if declarator.family is None else [f"{base}{index}" for index in range(declarator.family)]
    return [
        Variable(
            name=each,
            space=prefix.space,
            type=prefix.type,
            count=element_count(source, declarator),
            vector=prefix.vector,
            alignment=max(prefix.alignment, prefix.natural_alignment),
            linkage=linkage,
            initial=tuple(declarator.initial),
            line=source.line(declarator.offset),
            managed=prefix.managed,
        )
        for each in names
    ]


def make_register(prefix: Prefix, declarator: Declarator) -> RegisterDeclaration:
    return RegisterDeclaration(declarator.name, prefix.type, prefix.vector, declarator.family)


def parse_parameters(cursor: Cursor, scope: Scope) -> list[tuple[Prefix, Declarator]]:
    """`(.param .u64 a, .param .align 8 .b8 b[16])`; an empty list of parentheses too."""
    cursor.expect("(", "to open the parameter list")
    found: list[tuple[Prefix, Declarator]] = []
    while not cursor.at(")"):
        prefix = parse_prefix(cursor, scope)
        if prefix.space not in ("param", "reg"):
            raise cursor.error(f"a parameter is in the space .param or .reg, not .{prefix.space}")
        found.append((prefix, _declarator(cursor, scope, prefix)))
        if not cursor.accept(","):
            break
    cursor.expect(")", "to close the parameter list")
    return found


def lay_out(source: Source, parameters: list[tuple[Prefix, Declarator]]) -> tuple[Param, ...]:
    """Offsets as PTX lays parameters out: in order, each at the next multiple of its alignment (PTX ISA 7.1)."""
    laid: list[Param] = []
    offset = 0
    for prefix, declarator in parameters:
        alignment = max(prefix.alignment, prefix.natural_alignment)
        size = max(prefix.bits // 8, 1) * element_count(source, declarator)
        offset = -(-offset // alignment) * alignment
        laid.append(Param(declarator.name, prefix.type, offset, size, alignment, prefix.pointer))
        offset += size
    return tuple(laid)
