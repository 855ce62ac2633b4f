"""`lanewise compare`: a JSON report beside a profile of Nsight Compute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli import files
from lanewise.cli.table import table
from lanewise.records import LaunchRecord
from lanewise.report import text
from lanewise.report.compare import ComparedLaunch, Comparison, Row
from lanewise.report.compare import compare as match
from lanewise.report.profile import ProfiledLaunch, read_profile


def compare(
    report: Annotated[Path, typer.Argument(metavar="OUT.json", help="What `lanewise run --json` wrote.")],
    profile: Annotated[
        Path, typer.Argument(metavar="PROFILE", help="CSV of `ncu --csv`, the page raw or source, or an .ncu-rep file.")
    ],
) -> None:
    """Show the counts of a report beside what Nsight Compute measured: ours, theirs, ratio, known difference."""
    result = files.read_result(report)
    for line in _lines(match(result.launches, read_profile(profile))):
        typer.echo(line)


def _lines(comparison: Comparison) -> list[str]:
    lines: list[str] = []
    for launch in comparison.launches:
        lines += [*_launch(launch), ""]
    rows = [row for launch in comparison.launches for row in launch.rows]
    rows += [row for launch in comparison.launches for _, values in launch.instructions for row in values]
    equal = sum(_ratio(row) == "1" for row in rows)
    lines.append(f"{text.plural(len(comparison.launches), 'launch')}: {equal} of {len(rows)} values equal.")
    if any(_ratio(row) != "1" for row in rows):
        lines.append("D numbers: docs/departures.md; M numbers: docs/machine-code.md; -: no known difference.")
    for where, left in (("profile", comparison.only_ours), ("report", comparison.only_theirs)):
        if left:
            lines.append(f"Not in the {where}: {text.plural(len(left), 'launch')}, the first {_named(left[0])}.")
    return lines


def _launch(compared: ComparedLaunch) -> list[str]:
    launch = compared.launch
    head = f"{_named(launch)}  launch {launch.id}"
    if not compared.rows:
        return [head, "  the profile has none of the metrics of this launch"]
    rows = [("metric", "ours", "theirs", "ratio", "known difference"), *map(_cells, compared.rows)]
    for name, values in compared.instructions:
        rows.append((text.clean(name), "", "", "", ""))
        rows += [_cells(row, "  ") for row in values]
    lines = [head, *(f"  {line}" for line in table(rows, "lrrrl"))]
    if compared.other_code:
        lines.append("  the profile shows other machine code (D25): single instructions are not compared")
    return lines


def _cells(row: Row, indent: str = "") -> tuple[str, ...]:
    ratio = _ratio(row)
    known = "" if ratio == "1" else ", ".join(row.departures) or "-"
    return (indent + row.metric, _value(row.ours), _value(row.theirs), ratio, known)


def _named(launch: LaunchRecord | ProfiledLaunch) -> str:
    return f"{text.kernel_name(launch.kernel)}" + (
        f"  <<<{text.dims(launch.grid)}, {text.dims(launch.block)}>>>" if launch.grid and launch.block else ""
    )


def _value(value: float | None) -> str:
    if value is None:
        return "-"
    return text.count(int(value)) if value == int(value) else f"{value:,.2f}"


def _ratio(row: Row) -> str:
    """`1` only where both are equal."""
    ratio = row.ratio
    if ratio is None:
        return "-"
    return "1" if abs(ratio - 1) <= 1e-9 else f"{ratio:.4g}" if f"{ratio:.4g}" != "1" else "~1"
