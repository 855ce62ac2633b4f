"""A result as JSON, schema 1: `to_json` writes it, `from_json` reads it back. The schema is `schema-1.json`.

The text is a function of the result alone: keys in the order of the schema, no times, one access or line record a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.resources import files
from typing import Any

from lanewise.errors import UsageError
from lanewise.records import Finding, KernelResources, LaunchRecord, Occupancy, RunResult
from lanewise.report.decode import Malformed, decode
from lanewise.version import __version__

SCHEMA = 1
# The fields of ptxas are fields of the launch in JSON, null where they are not known.
_RESOURCES = tuple(field.name for field in fields(KernelResources))


def to_json(result: RunResult) -> str:
    """The result as ASCII JSON text that ends with a newline. The same result gives the same bytes."""
    document = {"schema": SCHEMA, "lanewise": __version__, **_plain(result)}
    return "".join(_pretty(document, "")) + "\n"


def from_json(text: str, *, name: str = "the report") -> RunResult:
    """The result that `to_json` wrote; `name` is the file's name for messages.

    Raises UsageError where the text is not JSON, not a report, of a newer schema, or not as the schema says.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON: {error}", next_step=_WRITE_IT) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if type(schema) is not int or "lanewise" not in document:
        raise UsageError(f"{name} is not a report of Lanewise: it has no `schema` and `lanewise`", next_step=_WRITE_IT)
    if schema != SCHEMA:
        raise UsageError(
            f"{name} has schema {schema}, written by Lanewise {document['lanewise']}; this is {__version__}, which "
            f"reads schema {SCHEMA}",
            next_step="Read it with that version, or write the report anew with this one.",
        )
    try:
        return decode(RunResult, {**document, "launches": _nest_resources(document.get("launches"))})
    except Malformed as error:
        raise UsageError(f"{name} is not as schema {SCHEMA} says: {error}", next_step=_WRITE_IT) from error


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `to_json` writes."""
    loaded: dict[str, Any] = json.loads(files("lanewise.report").joinpath(f"schema-{SCHEMA}.json").read_text("utf-8"))
    return loaded


_WRITE_IT = "Write it with `lanewise run --json FILE program.cu`."


def _plain(value: object) -> Any:
    """Records to dicts, tuples to lists, enums to their values."""
    if isinstance(value, LaunchRecord):
        return _plain_launch(value)
    if is_dataclass(value):
        plain = {
            field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.compare
        }  # wall times are not
        if isinstance(value, Occupancy):
            plain["fraction"] = value.fraction
        if isinstance(value, Finding):
            plain |= {"file": value.file, "line": value.line}
        return plain
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: value[key] for key in sorted(value)}
    return value


def _plain_launch(launch: LaunchRecord) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for field in fields(launch):
        if field.name == "resources":
            plain |= {name: getattr(launch.resources, name, None) for name in _RESOURCES}
        elif field.compare:
            plain[field.name] = _plain(getattr(launch, field.name))
    return plain


def _nest_resources(launches: object) -> object:
    if not isinstance(launches, list):
        return launches
    nested = []
    for launch in launches:
        if isinstance(launch, dict):
            resources = {name: launch.get(name) for name in _RESOURCES if name in launch}
            unknown = all(value is None for value in resources.values())
            launch = {**launch, "resources": None if unknown else resources}
        nested.append(launch)
    return nested


# Lists whose elements stand on a line each, and the objects that hold them.
_ROWS = {"launches", "accesses", "lines", "findings", "unsupported", "notes", "advice", "samples", "code"}


def _pretty(document: dict[str, Any], indent: str) -> Iterator[str]:
    inner = indent + "  "
    yield "{"
    for position, (key, value) in enumerate(document.items()):
        yield f"{',' if position else ''}\n{inner}{json.dumps(key)}: "
        if key == "sources" or (key in _ROWS and value):
            yield from _block(value, inner)
        else:
            yield json.dumps(value)
    yield f"\n{indent}}}"


def _block(value: Any, indent: str) -> Iterator[str]:
    inner = indent + "  "
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield opening
    entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for position, (key, item) in enumerate(entries):
        yield f"{',' if position else ''}\n{inner}" + ("" if key is None else f"{json.dumps(key)}: ")
        if isinstance(item, dict) and "accesses" in item:
            yield from _pretty(item, inner)
        else:
            yield json.dumps(item)
    yield f"\n{indent}{closing}" if value else closing
