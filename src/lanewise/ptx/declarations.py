"""Declarations of variables, registers and parameters, with their initialisers (PTX ISA 5.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lanewise.ptx.lexer import Cursor, Source
from lanewise.ptx.operands import Based, Constant, OperandParser
from lanewise.ptx.scopes import Scope
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Float,
    InitialValue,
    RegisterDeclaration,
    Symbol,
    SymbolPart,
    Variable,
)
from lanewise.records import Param

SPACES = (".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared", ".tex")
LINKAGES = (".visible", ".extern", ".weak", ".common")
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
_OPAQUE = ("texref", "samplerref", "surfref")
_MAX_NESTING = 16
MAX_ELEMENTS = 1 << 48
_PLAIN_INITIALISER = re.compile(r"=\s*\{([\s\d,]*)\}\s*\Z", re.ASCII)
_OCTAL = re.compile(r"\b0\d", re.ASCII)

Nested = InitialValue | list["Nested"]


@dataclass(slots=True)
class Prefix:
    """What stands before the name: `.global .align 8 .v2 .f32`."""

    space: str
    type: str = ""
    vector: int = 1
    alignment: int = 0
    managed: bool = False
    pointer: bool = False

    @property
    def bits(self) -> int:
        return TYPE_BITS[self.type] * self.vector

    @property
    def natural_alignment(self) -> int:
        return max(1, self.bits // 8)


@dataclass(slots=True)
class Declarator:
    """One declared name: `x[2][3] = {...}`, `%r<5>`. `dimensions` holds 0 for `[]`."""

    name: str
    offset: int
    family: int | None = None
    dimensions: list[int] = field(default_factory=list)
    initial: list[InitialValue] = field(default_factory=list)


def _number(cursor: Cursor, scope: Scope, what: str, least: int = 0) -> int:
    token = cursor.token
    value = OperandParser(cursor, scope).expression(7)  # binds tighter than '>', which closes `<N>`
    if not isinstance(value, Constant) or value.value < least:
        raise cursor.error(f"expected {what}: a whole number, {least} or more", token)
    return value.value


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
        _number(cursor, scope, "the number of the constant bank")
        cursor.expect("]", "after the constant bank")
    while cursor.token.kind == "dot":
        word = cursor.token.text
        if word == ".align":
            cursor.next()
            start = cursor.token
            alignment = _number(cursor, scope, "an alignment", 1)
            if alignment & (alignment - 1):
                raise cursor.error("an alignment must be a power of two", start)
            if not prefix.pointer:
                prefix.alignment = alignment
            continue
        if word[1:] in TYPE_BITS:
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
        found.family = _number(cursor, scope, "the size of the family", 1)
        cursor.expect(">", "after the size of the family")
    while cursor.accept("["):
        found.dimensions.append(0 if cursor.at("]") else _number(cursor, scope, "the size of the array"))
        cursor.expect("]", "after the size of the array")
    if cursor.accept("="):
        found.initial = _initialiser(cursor, scope, prefix, found)
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
            values: list[Nested] = [_wrapped(int(word), prefix) for word in plain[1].split(",") if word.strip()]
        except ValueError:
            raise source.error("a value of this initialiser is not a number", plain.start(1)) from None
        names[-1].initial = _flatten(cursor, values, names[-1], prefix)
    return linkage, prefix, names


def _wrapped(value: int, prefix: Prefix) -> int:
    return value & ((1 << max(TYPE_BITS[prefix.type], 8)) - 1)


# --- initialisers
def _initialiser(cursor: Cursor, scope: Scope, prefix: Prefix, declarator: Declarator) -> list[InitialValue]:
    if prefix.type in _OPAQUE:
        _opaque_initialiser(cursor)
        return []
    value = _value(cursor, scope, prefix, 0)
    return _flatten(cursor, value if isinstance(value, list) else [value], declarator, prefix)


def _opaque_initialiser(cursor: Cursor) -> None:
    """`{ addr_mode_0 = wrap, filter_mode = linear }` of a sampler: read over, textures are not run."""
    cursor.expect("{", "to open the initialiser")
    while not cursor.at("}"):
        cursor.identifier("the name of a field")
        cursor.expect("=", "after the name of the field")
        if cursor.token.kind not in ("id", "int"):
            raise cursor.unexpected("expected a value")
        cursor.next()
        if not cursor.accept(","):
            break
    cursor.expect("}", "to close the initialiser")


def _value(cursor: Cursor, scope: Scope, prefix: Prefix, depth: int) -> Nested:
    if not cursor.accept("{"):
        return _scalar(cursor, scope, prefix)
    if depth >= _MAX_NESTING:
        raise cursor.error(f"this initialiser is nested more than {_MAX_NESTING} levels deep")
    values: list[Nested] = []
    while not cursor.at("}"):
        values.append(_value(cursor, scope, prefix, depth + 1))
        if not cursor.accept(","):
            break
    cursor.expect("}", "to close the initialiser")
    return values


def _scalar(cursor: Cursor, scope: Scope, prefix: Prefix) -> InitialValue:
    """A number, `symbol+8`, `generic(symbol)+8`, or one byte of either: `0xFF00(symbol)`."""
    following = cursor.tokens[cursor.index + 1 : cursor.index + 2]
    if cursor.token.kind == "int" and following and following[0].text == "(":
        token = cursor.token
        mask = OperandParser(cursor, scope).unary()
        assert isinstance(mask, Constant)
        byte = (mask.value & -mask.value).bit_length() - 1
        if byte < 0 or byte % 8 or mask.value >> byte != 0xFF:
            raise cursor.error("a mask selects one byte of an address: 0xFF, 0xFF00, ...", token)
        cursor.expect("(", "after the mask")
        if cursor.token.kind != "id":
            number = OperandParser(cursor, scope).expression()
            cursor.expect(")", "after the masked number")
            if not isinstance(number, Constant):
                raise cursor.error("a mask selects one byte of an address or a whole number", token)
            return (number.value >> byte) & 0xFF
        part = _symbol_part(cursor, scope)
        cursor.expect(")", "after the masked symbol")
        return SymbolPart(part.name, part.offset, part.generic, mask.value)
    if cursor.token.kind == "id":
        return _symbol_part(cursor, scope)
    token = cursor.token
    value = OperandParser(cursor, scope).expression()
    if isinstance(value, Float):
        return value
    if isinstance(value, Constant):
        return _wrapped(value.value, prefix)
    if isinstance(value, Based) and isinstance(value.base, Symbol):
        return SymbolPart(value.base.name, value.offset)
    raise cursor.error("an initial value is a constant or the address of a variable or function", token)


def _symbol_part(cursor: Cursor, scope: Scope) -> SymbolPart:
    generic = cursor.at("generic") and cursor.tokens[cursor.index + 1].text == "("
    if generic:
        cursor.index += 2
    token = cursor.token
    value = OperandParser(cursor, scope).expression()
    if generic:
        cursor.expect(")", "after the name")
    name, offset = "", 0
    if isinstance(value, Symbol):
        name = value.name
    elif isinstance(value, Based) and isinstance(value.base, Symbol):
        name, offset = value.base.name, value.offset
    else:
        raise cursor.error("expected the name of a variable or function, with an optional offset", token)
    while cursor.at("+", "-"):
        sign = -1 if cursor.next().text == "-" else 1
        offset += sign * _number(cursor, scope, "an offset")
    return SymbolPart(name, offset, generic)


def _flatten(cursor: Cursor, values: list[Nested], declarator: Declarator, prefix: Prefix) -> list[InitialValue]:
    """Values in memory order; a short inner list is filled with zeros. Gives `[]` its size."""
    shape = list(declarator.dimensions) + ([prefix.vector] if prefix.vector > 1 else [])
    flat = _flatten_level(cursor, values, shape or [1])
    per_first = 1
    for size in shape[1:]:
        per_first *= size
    if declarator.dimensions and declarator.dimensions[0] == 0:
        declarator.dimensions[0] = -(-len(flat) // max(per_first, 1))
    elif len(flat) > max(per_first * (shape[0] if shape else 1), 1):
        raise cursor.error(f"'{declarator.name}' is given {len(flat)} values but has room for fewer")
    return flat


def _flatten_level(cursor: Cursor, values: list[Nested], shape: list[int]) -> list[InitialValue]:
    inner = 1
    for size in shape[1:]:
        inner *= size
    flat: list[InitialValue] = []
    for value in values:
        if not isinstance(value, list):
            flat.append(value)
            continue
        if len(shape) < 2:
            raise cursor.error("this initialiser has more levels of braces than the variable has dimensions")
        if flat and len(flat) % inner:
            flat += [0] * (inner - len(flat) % inner)
        part = _flatten_level(cursor, value, shape[1:])
        if len(part) > inner:
            raise cursor.error("an inner list of this initialiser has more values than its dimension")
        flat += part
        if value is not values[-1]:
            cursor.source.spend(inner - len(part), cursor.token.offset)
            flat += [0] * (inner - len(part))
    return flat


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
