"""A rung at one problem: the macros to compile it with, the buffers it needs, its launches in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lanewise.errors import UsageError
from lanewise.ladder.catalog import SUMS, TYPES, Buffer, Rung, Subject, TensorMap
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


#: CUtensorMapDataType by element type.
MAP_TYPES = {"u8": 0, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}


@dataclass(frozen=True, slots=True)
class PlannedMap:
    """A tensor map over a buffer of `type`: extents and box in elements, innermost first; `swizzle` in bytes or 0."""

    name: str
    buffer: str
    type: str
    extents: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int

    @property
    def pitches(self) -> tuple[int, ...]:
        """Bytes from one index to the next of all dimensions but the innermost."""
        pitches = [TYPES[self.type][1]]
        for extent in self.extents[:-1]:
            pitches.append(pitches[-1] * extent)
        return tuple(pitches[1:])


@dataclass(frozen=True, slots=True)
class PlannedTexture:
    """A texture object over a copy of an f32 buffer, rows x columns."""

    name: str
    buffer: str
    rows: int
    columns: int


#: What parameters of these types hold.
_RANGES = {"i32": range(-(1 << 31), 1 << 31), "u32": range(1 << 32)}


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """`arguments`: ("buffer", name), ("map", name), ("texture", name) or (type, value)."""

    kernel: str
    grid: Extent
    block: Extent
    shared_bytes: int
    arguments: tuple[tuple[str, str | int | float], ...]
    piece: int = 0  # of the plan's pieces


@dataclass(frozen=True, slots=True)
class Plan:
    """`pieces` and `streams`: of the copies between host and device; 0 where all data is on the device. `paced`: as of
    the subject."""

    rung: Rung
    element: str
    defines: Mapping[str, str]
    buffers: tuple[PlannedBuffer, ...]
    maps: tuple[PlannedMap, ...]
    textures: tuple[PlannedTexture, ...]
    launches: tuple[PlannedLaunch, ...]
    pieces: int = 0
    streams: int = 0
    paced: bool = False

    @property
    def shared_bytes(self) -> int:
        """The most dynamic shared memory that one of its launches asks for."""
        return max((launch.shared_bytes for launch in self.launches), default=0)


def resolve(
    subject: Subject,
    rung: Rung,
    element: str,
    problem: Mapping[str, int],
    *,
    sms: int = 132,
    sm_threads: int = 2048,
    tried: Mapping[str, int | str] | None = None,
) -> Plan:
    """The plan of `rung` for elements of type `element`, the sizes `problem` and a card of `sms` multiprocessors that
    hold `sm_threads` threads each.

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
    names = {**_names(subject, element, problem, sms), "sm_threads": sm_threads}
    for need in rung.needs:
        if not evaluate(need, names):
            known = ", ".join(f"{name} = {names[name]:,}" for name in re.findall(r"\w+", need) if name in names)
            raise UsageError(
                f"ladder {subject.name}/{rung.name}: needs {need} ({known})", next_step="take a lower rung"
            )
    defines: dict[str, str] = {"Element": TYPES[element][0], "Sum": SUMS.get(element, TYPES[element][0])}
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
    types = {buffer.name: buffer.type for buffer in buffers}
    maps = tuple(_map(entry, types, names) for entry in rung.maps)
    textures = tuple(
        PlannedTexture(entry.name, entry.buffer, evaluate(entry.height, names), evaluate(entry.width, names))
        for entry in rung.textures
    )
    kinds = dict.fromkeys(types, "buffer") | {entry.name: "map" for entry in maps}
    kinds |= {entry.name: "texture" for entry in textures}
    launches = []
    for launch in rung.launches:
        for i in range(evaluate(launch.repeat, names)):
            here = {**names, "i": i}
            grid = _extent(launch.grid, here)
            if 0 in grid:
                continue
            arguments = tuple(_argument(text, kinds, here) for text in launch.arguments)
            block = _extent(launch.block, here)
            shared = evaluate(launch.shared, here)
            launches.append(PlannedLaunch(launch.kernel, grid, block, shared, arguments, piece=i))
    pieces, streams = (evaluate(rung.host.pieces, names), evaluate(rung.host.streams, names)) if rung.host else (0, 0)
    return Plan(rung, element, defines, buffers, maps, textures, tuple(launches), pieces, streams, subject.paced)


def _names(subject: Subject, element: str, problem: Mapping[str, int], sms: int) -> dict[str, int]:
    """What expressions may speak of before the rung's own defines; `is_bf16` is 1 where elements are bf16."""
    types = {f"is_{known}": int(known == element) for known in TYPES}
    return {**subject.problem, **problem, "size": TYPES[element][1], "sms": sms, **types}


def choose(
    subject: Subject,
    element: str,
    problem: Mapping[str, int],
    *,
    sms: int,
    arch: int,
    shared_bytes: int,
    alignment: int,
) -> Plan:
    """The plan of the first of the subject's best rungs that takes the problem on a card.

    `arch`: of the card, 90 for 9.0; `shared_bytes`: the most dynamic shared memory a block may have there;
    `alignment`: the largest power of two that divides all addresses of the buffers.
    Raises UsageError with what each rung needs where none fits.
    """
    names = _names(subject, element, problem, sms)
    reasons: list[str] = []
    for best in subject.best:
        rung = subject.rung(best.rung)
        needed = rung.alignment or TYPES[element][1]
        if best.when and not evaluate(best.when, names):
            continue
        if barred := rung.barred(arch):
            reasons.append(f"{rung.name} {barred}")
        elif alignment % needed:
            reasons.append(f"{rung.name} needs addresses at multiples of {needed} bytes")
        else:
            try:
                plan = resolve(subject, rung, element, problem, sms=sms)
            except UsageError as error:
                reasons.append(error.message.removeprefix("ladder "))
                continue
            if plan.shared_bytes <= shared_bytes:
                return plan
            reasons.append(f"{rung.name} needs {plan.shared_bytes} bytes of shared memory")
    raise UsageError(f"{subject.name} of {element}: no rung takes this", next_step="; ".join(reasons))


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


def _map(entry: TensorMap, types: Mapping[str, str], names: Mapping[str, int]) -> PlannedMap:
    extents = tuple(evaluate(extent, names) for extent in entry.extents)
    box = tuple(evaluate(extent, names) for extent in entry.box)
    return PlannedMap(entry.name, entry.buffer, types[entry.buffer], extents, box, entry.swizzle)


def _argument(text: str, kinds: Mapping[str, str], names: Mapping[str, int]) -> tuple[str, str | int | float]:
    """The name of a buffer, map or texture with its kind, `i32 rows` and `f32 0.5` as a value of that type."""
    if " if " in text:
        one, condition, other = re.split(r" if | else ", text)
        text = one if evaluate(condition, names) else other
    kind, _, expression = text.partition(" ")
    if kind == "f32" and expression:
        return kind, float(expression)
    if expression:
        value = evaluate(expression, names)
        if kind in _RANGES and value not in _RANGES[kind]:
            raise UsageError(f"ladder: {expression} = {value:,} does not fit the kernel's parameter of type {kind}")
        return kind, value
    if text in kinds:
        return kinds[text], text
    raise UsageError(f"ladder: argument {text!r} has no buffer, map or texture; a value is 'type expression'")
