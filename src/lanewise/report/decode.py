"""Plain JSON values to records, by the records' own type hints; what does not fit is named by its path."""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

DEEPEST = 64  # nested records: far more than any chain of inlining


class Malformed(Exception):
    """A value is not what its place asks for; the text says where and what."""


def decode(record: type[T], value: object) -> T:
    """`value` (of `json.loads`) as a `record`. Keys that the record does not know are skipped. Raises Malformed."""
    decoded: T = _decode(record, value, "", 0)
    return decoded


@cache
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)


def _decode(kind: Any, value: object, path: str, depth: int) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(kind):
            return None
        (kind,) = (member for member in get_args(kind) if member is not type(None))
        return _decode(kind, value, path, depth)
    if is_dataclass(kind):
        return _decode_record(kind, value, path, depth)
    if origin is tuple:
        return _decode_tuple(get_args(kind), value, path, depth)
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise _wrong(path, "an object of texts", value)
        return dict(value)
    if issubclass(kind, Enum):
        if value not in [member.value for member in kind]:
            raise _wrong(path, " or ".join(f'"{member.value}"' for member in kind), value)
        return kind(value)
    if kind is float and type(value) is int:  # JSON knows one kind of number
        return float(value)
    # bool is an int in Python, not in JSON.
    if type(value) is not kind:
        named = {int: "an integer", str: "a text", bool: "true or false", float: "a number"}
        raise _wrong(path, named[kind], value)
    return value


def _decode_record(record: Any, value: object, path: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise _wrong(path, "an object", value)
    if depth > DEEPEST:
        raise Malformed(f"{path}: nested more than {DEEPEST} deep")
    hints = _hints(record)
    arguments = {}
    for field in fields(record):
        if not field.compare:
            continue
        below = f"{path}.{field.name}" if path else field.name
        if field.name in value:
            arguments[field.name] = _decode(hints[field.name], value[field.name], below, depth + 1)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise Malformed(f"{below} is missing")
    return record(**arguments)


def _decode_tuple(members: tuple[Any, ...], value: object, path: str, depth: int) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _wrong(path, "a list", value)
    if len(members) == 2 and members[1] is Ellipsis:
        members = members[:1] * len(value)
    elif len(members) != len(value):
        raise _wrong(path, f"a list of {len(members)}", value)
    return tuple(
        _decode(member, item, f"{path}[{position}]", depth)
        for position, (member, item) in enumerate(zip(members, value, strict=True))
    )


def _wrong(path: str, wanted: str, value: object) -> Malformed:
    shown = repr(value)
    return Malformed(
        f"{path or 'the document'} must be {wanted}, not {shown if len(shown) <= 40 else shown[:37] + '...'}"
    )
