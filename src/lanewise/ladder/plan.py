"""A rung at one problem: the macros to compile it with, the buffers it needs, its launches in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lanewise.errors import UsageError
from lanewise.ladder.catalog import TYPES, Buffer, Rung, Subject
from lanewise.ladder.expressions import evaluate

Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """`count` elements of `type`; `zero` as in the catalogue."""

    name: str
    type: str
    count: int
    role: str
    zero: str

    @property
    def bytes(self) -> int:
        return self.count * TYPES[self.type][1]


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """`arguments`: ("buffer", name) or (type, value)."""

    kernel: str
    grid: Extent
    block: Extent
    shared_bytes: int
    arguments: tuple[tuple[str, str | int | float], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    rung: Rung
    element: str
    defines: Mapping[str, str]
    buffers: tuple[PlannedBuffer, ...]
    launches: tuple[PlannedLaunch, ...]


def resolve(
    subject: Subject,
    rung: Rung,
    element: str,
    problem: Mapping[str, int],
    *,
    sms: int = 132,
    tried: Mapping[str, int | str] | None = None,
) -> Plan:
    """The plan of `rung` for elements of type `element`, the sizes `problem` and a card of `sms` multiprocessors.

    `tried` replaces defines, as a search does. Raises UsageError for an unknown size, a type the rung does not take,
    or a need of the rung that does not hold.
    """
    unknown = problem.keys() - subject.problem.keys()
    if unknown:
        known = ", ".join(subject.problem)
        raise UsageError(f"ladder {subject.name}: no size {', '.join(sorted(unknown))}", next_step=f"sizes: {known}")
    if element not in rung.types:
        takes = ", ".join(rung.types)
        raise UsageError(f"ladder {subject.name}/{rung.name}: elements of type {element}: it takes {takes}")
    names = {**subject.problem, **problem, "size": TYPES[element][1], "sms": sms}
    for need in rung.needs:
        if not evaluate(need, names):
            raise UsageError(f"ladder {subject.name}/{rung.name}: needs {need}", next_step="take a lower rung")
    defines: dict[str, str] = {"Element": TYPES[element][0]}
    for name, expression in {**rung.defines, **_choice(subject, rung, names), **(tried or {})}.items():
        names[name] = evaluate(str(expression), names)
        defines[name] = str(names[name])
    for limit in rung.fits:
        if not evaluate(limit, names):
            chosen = ", ".join(f"{name} = {value}" for name, value in defines.items())
            raise UsageError(f"ladder {subject.name}/{rung.name}: {chosen}: needs {limit}")
    for name, expression in rung.values.items():
        names[name] = evaluate(expression, names)
    buffers = tuple(_buffer(buffer, element, names) for buffer in (*subject.buffers, *rung.scratch))
    launches = []
    for launch in rung.launches:
        grid = _extent(launch.grid, names)
        if 0 in grid:
            continue
        arguments = tuple(_argument(text, buffers, names) for text in launch.arguments)
        block = _extent(launch.block, names)
        launches.append(PlannedLaunch(launch.kernel, grid, block, evaluate(launch.shared, names), arguments))
    return Plan(rung, element, defines, buffers, tuple(launches))


def _choice(subject: Subject, rung: Rung, names: Mapping[str, int]) -> Mapping[str, str]:
    if not rung.choices:
        return {}
    for choice in rung.choices:
        if evaluate(choice.when, names):
            return choice.defines
    conditions = "; ".join(choice.when for choice in rung.choices)
    raise UsageError(f"ladder {subject.name}/{rung.name}: needs one of: {conditions}", next_step="take a lower rung")


def _buffer(buffer: Buffer, element: str, names: Mapping[str, int]) -> PlannedBuffer:
    kind = element if buffer.type == "element" else buffer.type
    return PlannedBuffer(buffer.name, kind, evaluate(buffer.count, names), buffer.role, buffer.zero)


def _extent(expressions: tuple[str, ...], names: Mapping[str, int]) -> Extent:
    x, y, z = (*(evaluate(expression, names) for expression in expressions), 1, 1)[:3]
    return x, y, z


def _argument(text: str, buffers: tuple[PlannedBuffer, ...], names: Mapping[str, int]) -> tuple[str, str | int | float]:
    """A buffer's name as it is, `i32 rows` and `f32 0.5` as a value of that type."""
    kind, _, expression = text.partition(" ")
    if kind == "f32" and expression:
        return kind, float(expression)
    if expression:
        return kind, evaluate(expression, names)
    if any(buffer.name == text for buffer in buffers):
        return "buffer", text
    raise UsageError(f"ladder: argument {text!r} is no buffer; a value is written 'type expression'")
