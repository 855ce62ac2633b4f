"""`lanewise compare`: a JSON report beside a profile of Nsight Compute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.catalogue import Catalogue, catalogue
from lanewise.cli import files
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.run import print_safely
from lanewise.records import LaunchRecord
from lanewise.report import text
from lanewise.report.compare import ComparedLaunch, Comparison, Row
from lanewise.report.compare import compare as match
from lanewise.report.profile import ProfiledLaunch, read_profile
from lanewise.report.table import table


def compare(
    report: Annotated[Path, typer.Argument(metavar="OUT.json", help="What `lanewise run --json` wrote.")],
    profile: Annotated[
        Path, typer.Argument(metavar="PROFILE", help="CSV of `ncu --csv`, the page raw or source, or an .ncu-rep file.")
    ],
    lang: LanguageOption = DEFAULT_LANGUAGE,
) -> None:
    """Show the counts of a report beside what Nsight Compute measured: ours, theirs, ratio, known difference."""
    words = catalogue(lang)
    result = files.read_result(report)
    lines = _lines(match(result.launches, read_profile(profile)), words)
    print_safely(lambda: typer.echo("\n".join(lines)))


def _lines(comparison: Comparison, words: Catalogue) -> list[str]:
    lines: list[str] = []
    for launch in comparison.launches:
        lines += [*_launch(launch, words), ""]
    rows = [row for launch in comparison.launches for row in launch.rows]
    rows += [row for launch in comparison.launches for _, values in launch.instructions for row in values]
    equal = sum(_ratio(row) == "1" for row in rows)
    launches = words.count(len(comparison.launches), "launch")
    lines.append(words.say("compare.summary", launches=launches, equal=str(equal), values=str(len(rows))))
    if any(_ratio(row) != "1" for row in rows):
        lines.append(words.say("compare.numbers"))
    for where, left in (("profile", comparison.only_ours), ("report", comparison.only_theirs)):
        if left:
            launches = words.count(len(left), "launch")
            lines.append(words.say(f"compare.not_in_{where}", launches=launches, kernel=_named(left[0])))
    return lines


def _launch(compared: ComparedLaunch, words: Catalogue) -> list[str]:
    launch = compared.launch
    head = f"{_named(launch)}  {words.say('facts.launch', number=str(launch.id))}"
    if not compared.rows:
        return [head, "  " + words.say("compare.no_metrics")]
    names = ("metric", "ours", "theirs", "ratio", "known")
    rows = [tuple(words.say(f"compare.{name}") for name in names), *map(_cells, compared.rows)]
    for name, values in compared.instructions:
        rows.append((text.clean(name), "", "", "", ""))
        rows += [_cells(row, "  ") for row in values]
    lines = [head, *(f"  {line}" for line in table(rows, "lrrrl"))]
    if compared.other_code:
        lines.append("  " + words.say("compare.other_code"))
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
