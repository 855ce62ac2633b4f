"""Constants: literals, and the arithmetic of constant expressions (PTX ISA 4.5)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from lanewise.ptx.lexer import Cursor, Token, shorten
from lanewise.ptx.syntax import Float

_MASK = (1 << 64) - 1


class Constant(NamedTuple):
    """A folded integer: 64 bits, signed (`.s64`) unless the expression is unsigned."""

    value: int
    unsigned: bool = False


def wrap(value: int, unsigned: bool) -> Constant:
    value &= _MASK
    return Constant(value if unsigned or value < 1 << 63 else value - (1 << 64), unsigned)


def parse_integer(cursor: Cursor, token: Token) -> Constant:
    """An integer literal; more than 64 bits is an error."""
    text = token.text.rstrip("U") if token.text[-1] == "U" else token.text
    if len(text) > 70:
        raise cursor.error(f"the number {shorten(text, 20)} has more than 64 bits", token)
    try:
        if text[:2] in ("0x", "0X"):
            value = int(text, 16)
        elif text[:2] in ("0b", "0B"):
            value = int(text, 2)
        else:
            value = int(text, 8) if text[0] == "0" else int(text)
    except ValueError:
        raise cursor.error(f"'{text}' is not an octal number (a leading 0 means octal)", token) from None
    if value > _MASK:
        raise cursor.error(f"the number {shorten(text, 20)} has more than 64 bits", token)
    return Constant(value, token.text[-1] == "U" or value >= 1 << 63)


def parse_float(text: str) -> Float:
    if text[1] in "fF":
        return Float(int(text[2:], 16), 32)
    if text[1] in "dD":
        return Float(int(text[2:], 16), 64)
    return float_of(float(text))


def float_of(value: float) -> Float:
    return Float(struct.unpack(">Q", struct.pack(">d", value))[0], 64)


def float_value(literal: Float) -> float:
    """The number that the bits of a literal stand for."""
    code = (">f", ">I") if literal.width == 32 else (">d", ">Q")
    value: float = struct.unpack(code[0], struct.pack(code[1], literal.bits))[0]
    return value


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


# Operators by binding strength, weakest first, as in C. Comparisons and logic give 0 or 1.
BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: int(bool(a) or bool(b))),
    "&&": (2, lambda a, b: int(bool(a) and bool(b))),
    "|": (3, lambda a, b: a | b),
    "^": (4, lambda a, b: a ^ b),
    "&": (5, lambda a, b: a & b),
    "==": (6, lambda a, b: int(a == b)),
    "!=": (6, lambda a, b: int(a != b)),
    "<": (7, lambda a, b: int(a < b)),
    "<=": (7, lambda a, b: int(a <= b)),
    ">": (7, lambda a, b: int(a > b)),
    ">=": (7, lambda a, b: int(a >= b)),
    "<<": (8, lambda a, b: a << b if 0 <= b < 64 else 0),
    ">>": (8, lambda a, b: a >> min(max(b, 0), 64)),
    "+": (9, lambda a, b: a + b),
    "-": (9, lambda a, b: a - b),
    "*": (10, lambda a, b: a * b),
    "/": (10, _divide),
    "%": (10, lambda a, b: a - b * _divide(a, b)),
}
SIGNED_RESULT = {"||", "&&", "==", "!=", "<", "<=", ">", ">="}
