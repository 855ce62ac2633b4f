"""Sizes as data: integer expressions of a subject's TOML file, such as `cdiv(rows, TILE)`, over named values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from lanewise.errors import UsageError

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def cdiv(dividend: int, divisor: int) -> int:
    """The quotient rounded up: how many pieces of `divisor` cover `dividend`."""
    return -(-dividend // divisor)


def where(condition: int, then: int, otherwise: int) -> int:
    """`then` where the condition is not 0."""
    return then if condition else otherwise


_FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": cdiv, "gcd": math.gcd, "min": min, "max": max, "where": where}


def evaluate(expression: str, names: Mapping[str, int]) -> int:
    """The value of an integer expression: + - * // %, comparisons (1 or 0), and/or, cdiv, gcd, min, max, where.

    Raises UsageError for anything else, for an unknown name and for a division by zero.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
        return _value(tree, names)
    except (SyntaxError, ZeroDivisionError) as error:
        raise UsageError(f"ladder: cannot evaluate {expression!r}: {error}") from error
    except KeyError as error:
        known = ", ".join(sorted(names))
        raise UsageError(f"ladder: unknown name {error.args[0]!r} in {expression!r}; known: {known}") from error


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return int(_COMPARE[type(op)](_value(left, names), _value(right, names)))
        case ast.BoolOp(op=op, values=values):
            decided = all if isinstance(op, ast.And) else any
            return int(decided(_value(value, names) for value in values))
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _FUNCTIONS:
            return _FUNCTIONS[function](*(_value(argument, names) for argument in arguments))
    raise SyntaxError(f"not an integer expression: {ast.unparse(node)}")
