"""A result beside what Nsight Compute measured, launch by launch and metric by metric.

Which metric a field stands for is read from the schema of the JSON report (`metric`), as the page of metrics is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.demangle import demangle
from lanewise.errors import UsageError
from lanewise.records import Access, LaunchRecord
from lanewise.report import text
from lanewise.report.json import schema
from lanewise.report.profile import ProfiledLaunch
from lanewise.report.source_page import ProfiledInstruction, opcode

#: Numbered departures (docs/departures.md, docs/machine-code.md) that can make a field differ, by field.
DEPARTURES: dict[str, tuple[str, ...]] = {
    "registers": ("D25",),
    "static_shared_bytes": ("D25",),
    "instructions": ("M1", "M6", "M7", "M8", "M9", "M10", "D25"),
    "thread_instructions": ("M1", "M6", "M8", "M9", "D25"),
    "sectors": ("M2", "M5", "M8", "M10", "D25"),
    "sectors_ideal": ("M2", "M8", "M10", "D25"),
    "wavefronts": ("M2", "M8", "M9", "M10", "D25"),
    "wavefronts_ideal": ("M2", "M8", "M9", "M10", "D25"),
    "active_blocks": ("D25",),
    "active_warps": ("D25",),
}
INSTRUCTION_BYTES = 16
_PTX_ONLY = "D21"  # counts of machine code that is not known
_CUT_SHORT = "D14"  # the launch faulted


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one launch: the sum or value of each side, and departures that may explain a difference. `ours` is
    None where the machine code was not known."""

    metric: str
    ours: float | None
    theirs: float
    departures: tuple[str, ...]

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; 1 where both are zero, None where there is none."""
        if self.ours is None or (self.theirs == 0 and self.ours):
            return None
        return self.ours / self.theirs if self.theirs else 1.0


@dataclass(frozen=True, slots=True)
class ComparedLaunch:
    """`rows` are of the launch; `instructions` has those of each memory instruction, by its offset and text, where the
    profile is a source page. `other_code` where that page shows other machine code than was counted."""

    launch: LaunchRecord
    rows: tuple[Row, ...]
    instructions: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    other_code: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """`only_ours` and `only_theirs` are launches without a partner."""

    launches: tuple[ComparedLaunch, ...]
    only_ours: tuple[LaunchRecord, ...]
    only_theirs: tuple[ProfiledLaunch, ...]


def compare(ours: Sequence[LaunchRecord], theirs: Sequence[ProfiledLaunch]) -> Comparison:
    """Launches of one kernel name, grid and block are partners in their order. A source page shows no grid and block:
    there names alone decide.

    Raises UsageError where no launch has a partner, or the profile has none of the metrics.
    """
    waiting: dict[object, list[ProfiledLaunch]] = defaultdict(list)
    for profiled in theirs:
        waiting[base_name(profiled.kernel), profiled.grid, profiled.block].append(profiled)
    pairs: list[ComparedLaunch] = []
    only_ours = []
    for launch in ours:
        name = base_name(launch.kernel)
        partners = waiting[name, launch.grid, launch.block] or waiting[name, None, None]
        if partners:
            pairs.append(_beside(launch, partners.pop(0)))
        else:
            only_ours.append(launch)
    left = {id(profiled) for partners in waiting.values() for profiled in partners}
    only_theirs = tuple(profiled for profiled in theirs if id(profiled) in left)
    if not pairs:
        raise UsageError(
            f"no launch of the report is in the profile: the report has {_named(ours)}, the profile {_named(theirs)}",
            next_step="Kernel name, grid and block have to be the same: profile the program with the same arguments.",
        )
    if not any(pair.rows for pair in pairs):
        raise UsageError(
            "the profile has none of the metrics that the report counts",
            next_step="Profile with `--set full`, or with `--section SourceCounters --section LaunchStats`.",
        )
    return Comparison(tuple(pairs), tuple(only_ours), only_theirs)


def base_name(kernel: str) -> str:
    """`hist` of `void lib::hist<(int)64>(const int *)`, of `hist` and of `_ZN3lib4histILi64EEEvPKi`."""
    name, kept, depth = text.kernel_name(demangle(kernel)), "", 0
    for character in name:
        depth += character == "<"
        kept += character if depth == 0 else ""
        depth -= character == ">"
    return kept.split("::")[-1].split(" ")[-1] or name


def _named(launches: Sequence[LaunchRecord] | Sequence[ProfiledLaunch]) -> str:
    shapes = dict.fromkeys(f"{base_name(x.kernel)} of grid {x.grid}, block {x.block}" for x in launches)
    names = list(shapes)
    return "; ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "") if names else "none"


def _beside(launch: LaunchRecord, profiled: ProfiledLaunch) -> ComparedLaunch:
    rows = tuple(_rows(launch, profiled))
    ours: dict[int, list[Access]] = defaultdict(list)
    for access in launch.accesses:
        if access.sass_offset is not None:
            ours[access.sass_offset].append(access)
    if not profiled.instructions or not ours:
        return ComparedLaunch(launch, rows)
    theirs = _aligned(ours, profiled.instructions)
    if theirs is None:
        return ComparedLaunch(launch, rows, other_code=True)
    instructions = (
        (f"{at:#06x} {theirs[at].text}", tuple(_instruction_rows(found, theirs[at])))
        for at, found in sorted(ours.items())
    )
    return ComparedLaunch(launch, rows, tuple(instructions))


def _aligned(
    ours: Mapping[int, Sequence[Access]], theirs: Mapping[int, ProfiledInstruction]
) -> dict[int, ProfiledInstruction] | None:
    """Their instructions by the offset from the kernel's first: functions that it calls may lie before it. None where
    it is other machine code."""
    for start in sorted(at for at in theirs if at - INSTRUCTION_BYTES not in theirs):
        moved = {at - start: instruction for at, instruction in theirs.items()}
        if all(at in moved and moved[at].opcode == opcode(found[0].sass or "") for at, found in ours.items()):
            return moved
    return None


def _instruction_rows(accesses: Sequence[Access], instruction: ProfiledInstruction) -> Iterator[Row]:
    """Values of one machine instruction. Records of one instruction share its executions; their costs are summed."""
    for field, described in schema()["$defs"]["access"]["properties"].items():
        for metric, remark in _named_metrics(described):
            theirs = instruction.metrics.get(metric)
            values = [getattr(a, field) for a in accesses]
            if theirs is None or None in values or not _counts_for(metric, remark, accesses[0].space):
                continue
            ours = sum(values) if metric.startswith("memory_") else max(values)
            departures = DEPARTURES.get(field, ("M1", "M4", "M6", "M7", "M8", "M9", "M10", "D25"))
            yield Row(metric, ours, theirs, () if ours == theirs else (*departures, "M3"))


def _counts_for(metric: str, remark: str, space: str) -> bool:
    return not metric.startswith("memory_") or space == _space(metric, remark)


def _space(metric: str, remark: str) -> str:
    """The space of memory that a metric counts."""
    named = re.search(r"space `(\w+)`", remark)
    return named[1] if named else re.sub(r".*_(global|shared)(_ideal)?$", r"\1", metric)


def _rows(launch: LaunchRecord, profiled: ProfiledLaunch) -> Iterator[Row]:
    """Rows of the metrics that the profile has, in the order of the schema."""
    for record, field, metric, remark in _metrics():
        theirs = _theirs(metric, profiled)
        if theirs is None:
            continue
        departures = DEPARTURES.get(field, ())
        ours = _ours(launch, record, field, metric, remark)
        if ours is None:
            departures = (_PTX_ONLY,)
        elif not launch.completed and record != "occupancy":
            departures = (_CUT_SHORT, *departures)
        same = ours is not None and abs(ours - theirs) <= 1e-9 * max(abs(ours), abs(theirs))
        yield Row(metric, ours, theirs, () if same else departures)


def _metrics() -> Iterator[tuple[str, str, str, str]]:
    """(record, field, metric, remark) of all that can be compared by launch: of accesses those that count memory."""
    definitions: dict[str, Any] = schema()["$defs"]
    for record in ("launch", "access", "occupancy"):
        for field, described in definitions[record]["properties"].items():
            for metric, remark in _named_metrics(described):
                if record != "access" or metric.startswith("memory_"):
                    yield record, field, metric, remark


def _named_metrics(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(metric, remark) of a field's description in the schema."""
    for part in described.get("metric", "").split(";"):
        found = re.match(r"\s*([\w*]+)(.*)", part)
        if found:
            yield found[1], found[2]


def _theirs(metric: str, profiled: ProfiledLaunch) -> float | None:
    if metric.endswith("*"):
        return min((v for name, v in profiled.metrics.items() if name.startswith(metric[:-1])), default=None)
    # The source page's name, or the counter of the same events by its unit (`--metrics smsp__inst_executed.sum`).
    names = (metric, f"smsp__{metric}.sum", f"sm__{metric}.sum")
    return next((profiled.metrics[name] for name in names if name in profiled.metrics), None)


def _ours(launch: LaunchRecord, record: str, field: str, metric: str, remark: str) -> float | None:
    if record == "access":
        if launch.instructions is None:
            return None
        space = _space(metric, remark)
        return sum(getattr(a, field) or 0 for a in launch.accesses if a.basis == "sass" and a.space == space)
    if record == "occupancy":
        occupancy = launch.occupancy
        if occupancy is None:
            return None
        resident = float(getattr(occupancy, field))
        return 100 * resident / occupancy.max_warps if "share of" in remark else resident
    holder = launch if hasattr(launch, field) else launch.resources
    value: float | None = getattr(holder, field, None)
    least = re.search(r"never below (\d+)", remark)
    return max(value, int(least[1])) if least and value is not None else value
