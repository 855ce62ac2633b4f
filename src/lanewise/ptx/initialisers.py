"""The parts of a declaration, and its initial values (PTX ISA 5.4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from lanewise.ptx.constants import Constant
from lanewise.ptx.lexer import Cursor
from lanewise.ptx.operands import Based, OperandParser
from lanewise.ptx.scopes import Scope
from lanewise.ptx.syntax import TYPE_BITS, Float, InitialValue, Symbol, SymbolPart

_OPAQUE = ("texref", "samplerref", "surfref")
_MAX_NESTING = 16

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


def whole_number(cursor: Cursor, scope: Scope, what: str, least: int = 0) -> int:
    token = cursor.token
    value = OperandParser(cursor, scope).expression(7)  # binds tighter than '>', which closes `<N>`
    if not isinstance(value, Constant) or value.value < least:
        raise cursor.error(f"expected {what}: a whole number, {least} or more", token)
    return value.value


def wrapped(value: int, prefix: Prefix) -> int:
    return value & ((1 << max(TYPE_BITS[prefix.type], 8)) - 1)


def parse_initialiser(cursor: Cursor, scope: Scope, prefix: Prefix, declarator: Declarator) -> list[InitialValue]:
    if prefix.type in _OPAQUE:
        _opaque_initialiser(cursor)
        return []
    value = _value(cursor, scope, prefix, 0)
    return flatten(cursor, value if isinstance(value, list) else [value], declarator, prefix)


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
        return wrapped(value.value, prefix)
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
        offset += sign * whole_number(cursor, scope, "an offset")
    return SymbolPart(name, offset, generic)


def flatten(cursor: Cursor, values: list[Nested], declarator: Declarator, prefix: Prefix) -> list[InitialValue]:
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
