"""Launches as Nsight Compute measured them: the CSV of its raw page or source page, and reports by its Python package.

The raw page has a row a launch, a column a metric, and a row of units below the header. Numbers have thousands
separated; units may be scaled (`Kbyte`), which rounds them.
"""

from __future__ import annotations

import csv
import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanewise.errors import EnvironmentProblem, UsageError
from lanewise.report import source_page
from lanewise.report.source_page import ProfiledInstruction

Dim3 = tuple[int, int, int]

_EXPORT = "Write it with `ncu --import FILE.ncu-rep --csv --page raw --print-units base`."
_SCALE = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_NAMES = ("Kernel Name", "Grid Size", "Block Size")


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """One launch: the kernel's name as the profiler printed it, its shape (None on a source page), values by metric
    name, in base units, and of a source page the instructions by their offset in bytes."""

    kernel: str
    grid: Dim3 | None
    block: Dim3 | None
    metrics: Mapping[str, float]
    instructions: Mapping[int, ProfiledInstruction] = field(default_factory=dict)


def read_profile(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches of a file, in its order. Raises UsageError for a file that is no such profile, EnvironmentProblem
    for a `.ncu-rep` where the package `ncu_report` cannot be imported."""
    if path.suffix == ".ncu-rep":
        launches = tuple(_from_report(path))
    else:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {error}", next_step=_EXPORT) from error
        launches = tuple(from_csv(text, str(path)))
    if not launches:
        raise UsageError(f"{path} has no launches", next_step=_EXPORT)
    return launches


def from_csv(text: str, name: str) -> Iterator[ProfiledLaunch]:
    """The launches of a raw page or a source page; messages of the profiler in front of it are skipped."""
    try:
        rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    except csv.Error as error:
        raise UsageError(f"{name} is not CSV: {error}", next_step=_EXPORT) from error
    if source_page.is_source_page(rows):
        try:
            for title, instructions in source_page.once(list(source_page.sections(rows))):
                yield ProfiledLaunch(title, None, None, source_page.totals(instructions), instructions)
        except ValueError as error:
            raise UsageError(f"{name} is no source page: {error}", next_step=_EXPORT) from error
        return
    start = next((n for n, row in enumerate(rows) if all(wanted in row for wanted in _NAMES)), None)
    if start is None:
        raise UsageError(
            f"{name} has no header with {', '.join(_NAMES)}: neither a raw page nor a source page of SASS",
            next_step=_EXPORT,
        )
    header = rows[start]
    if "Metric Name" in header:
        raise UsageError(f"{name} has a row a metric (the page `details`), not a row a launch", next_step=_EXPORT)
    rows = rows[start + 1 :]
    kernel, grid, block = (header.index(wanted) for wanted in _NAMES)
    units = [""] * len(header)
    if rows and len(rows[0]) == len(header) and not rows[0][kernel]:
        units = rows.pop(0)
    for number, row in enumerate(rows):
        if row[0].startswith("=="):
            continue
        if len(row) != len(header):
            raise UsageError(
                f"{name}: launch {number} has {len(row)} columns, the header {len(header)}", next_step=_EXPORT
            )
        cells = zip(header, row, units, strict=True)
        values = ((column, _number(cell, unit)) for column, cell, unit in cells if "_" in column)
        yield ProfiledLaunch(
            row[kernel],
            _dims(row[grid], name),
            _dims(row[block], name),
            {column: value for column, value in values if value is not None},
        )


def _number(cell: str, unit: str) -> float | None:
    """The value of a cell in its base unit; None for what is no number. Values of instances, in brackets, are left."""
    word = cell.partition(" (")[0].replace(",", "")
    if not re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", word):
        return None
    scaled = re.match(r"([KMGT])(?=[a-z])", unit)
    return float(word) * (_SCALE[scaled[1]] if scaled else 1)


def _dims(cell: str, name: str) -> Dim3:
    """`(391, 1, 1)` or `391,1,1`."""
    words = cell.strip("() ").split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() for word in words):
        raise UsageError(f"{name}: {cell!r} is not a grid or block of three numbers", next_step=_EXPORT)
    x, y, z = (int(word) for word in words)
    return x, y, z


def _from_report(path: Path) -> Iterator[ProfiledLaunch]:
    try:
        package: Any = importlib.import_module("ncu_report")
    except ImportError as error:
        raise EnvironmentProblem(
            f"{path} is read by the Python package ncu_report, which is not there",
            next_step="Run `pip install 'lanewise[ncu]'`, or name the profile as CSV. " + _EXPORT,
        ) from error
    if not path.is_file():
        raise UsageError(f"cannot read {path}: there is no such file")
    try:
        report = package.load_report(str(path))
    except Exception as error:  # the package names no exceptions
        raise UsageError(f"ncu_report cannot read {path}: {error}") from error
    for r in range(report.num_ranges()):
        for a in range(report.range_by_idx(r).num_actions()):
            action = report.range_by_idx(r).action_by_idx(a)
            values = {name: action.metric_by_name(name).value() for name in action.metric_names()}
            metrics = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
            instructions = _instructions(action, values)
            metrics |= source_page.totals(instructions)
            yield ProfiledLaunch(
                action.name(action.NameBase_DEMANGLED),
                _shape(metrics, "grid", path),
                _shape(metrics, "block", path),
                metrics,
                instructions,
            )


def _instructions(action: Any, names: Iterable[str]) -> dict[int, ProfiledInstruction]:
    """What a report holds of each machine instruction, by its offset from the first: metrics whose instances have
    addresses."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for name in names:
        if name in source_page.EXECUTED.values() or name.startswith("memory_"):
            metric = action.metric_by_name(name)
            addresses = metric.correlation_ids()
            for n in range(metric.num_instances()):
                found[addresses.as_uint64(n)][name] = float(metric.as_uint64(n))
    first = min(found, default=0)
    return {at - first: ProfiledInstruction(action.sass_by_pc(at).strip(), found[at]) for at in sorted(found)}


def _shape(metrics: Mapping[str, float], of: str, path: Path) -> Dim3:
    try:
        x, y, z = (int(metrics[f"launch__{of}_dim_{axis}"]) for axis in "xyz")
    except KeyError as error:
        raise UsageError(f"{path}: a launch has no metric {error}", next_step="Profile with `--set full`.") from error
    return x, y, z
