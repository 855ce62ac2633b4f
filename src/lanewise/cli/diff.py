"""`lanewise diff`: two JSON reports of one program, before and after a change."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli import files
from lanewise.cli.run import print_safely
from lanewise.cli.table import table
from lanewise.errors import ExitCode
from lanewise.records import Finding, LaunchRecord
from lanewise.report import fail_on as criteria
from lanewise.report import text
from lanewise.report.diff import MORE_IS_BETTER, UNITS, Change, KernelDiff, LineDiff, RunDiff
from lanewise.report.diff import diff as differences
from lanewise.report.excerpt import basename
from lanewise.report.facts import shape
from lanewise.version import __version__

SCHEMA = 1  # of what --json writes
_TEXT_WIDTH = 60  # columns of a source line


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE.json", help="What `lanewise run --json` wrote.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER.json", help="The same, after the change.")],
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT[:N%]",
            help="Exit with 89 where this got worse in any kernel, by more than N % where given: "
            + ", ".join(name.replace("_", "-") for name in criteria.CRITERIA)
            + ". May be repeated.",
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the differences as JSON too.")
    ] = None,
    force: files.Force = False,
) -> None:
    """Show what got better or worse between two runs of a program, by kernel and by source line.

    \b
      lanewise diff before.json after.json
      lanewise diff --fail-on time:5% --fail-on findings before.json after.json
    """
    wanted = [criteria.parse(words) for words in fail_on or ()]
    if json is not None:
        files.check_writable(json, force=force)
    difference = differences(files.read_result(before), files.read_result(after))
    worse = criteria.failures(difference, wanted)
    if json is not None:
        files.write(json, json_module.dumps(_document(difference, worse), indent=1) + "\n")
    lines = [*_lines(difference), *(f"--fail-on: {text.clean(sentence)}" for sentence in worse)]
    print_safely(lambda: typer.echo("\n".join(lines)))
    if worse:
        raise typer.Exit(ExitCode.WORSE)


def _lines(difference: RunDiff) -> list[str]:
    lines: list[str] = []
    for kernel in difference.kernels:
        lines += [*_kernel(kernel), ""]
    lines += _findings(difference.came, difference.went, "")
    for where, left in (("before", difference.only_before), ("after", difference.only_after)):
        names = list(dict.fromkeys(_named(launch) for launch in left))
        lines += [f"Only {where}: {name}" for name in names]
    lines.append(_summary(difference))
    return lines


def _summary(difference: RunDiff) -> str:
    same = sum(not _differs(kernel) for kernel in difference.kernels)
    return f"{text.plural(len(difference.kernels), 'kernel')} compared, {text.count(same)} without a difference."


def _differs(kernel: KernelDiff) -> bool:
    return bool(
        any(change.before != change.after for change in kernel.changes)
        or kernel.lines
        or kernel.came
        or kernel.went
        or len(kernel.before) != len(kernel.after)
        or _named(kernel.before[0]) != _named(kernel.after[0])
    )


def _kernel(kernel: KernelDiff) -> list[str]:
    old, new = kernel.before, kernel.after
    named = [f"{_named(side[0])}  {text.plural(len(side), 'launch')}" for side in (old, new)]
    lines = [named[1]] if named[0] == named[1] else [named[1], f"  before: {named[0]}"]
    changed = [change for change in kernel.changes if change.before != change.after]
    if not changed and not kernel.lines:
        lines.append("  no value differs")
    rows: list[tuple[str, ...]] = [("value", "before", "after", "change", "", "")] if changed or kernel.lines else []
    rows += [_cells(change, _label(change.name, kernel.basis), UNITS[change.name]) for change in changed]
    heads = {}  # of source lines, by the row that they stand before: a long one must not widen the table
    for line in kernel.lines:
        heads[len(rows)] = _line_head(line)
        rows += [_cells(change, "  " + _label(change.name, "ptx"), "") for change in line.changes]
    for position, row in enumerate(table(rows, "lrrrll") if rows else ()):
        lines += [f"  {heads[position]}"] if position in heads else []
        lines.append(f"  {row}")
    lines += _findings(kernel.came, kernel.went, "  ")
    return [*lines, *(f"  note: {remark}" for remark in kernel.remarks)]


def _label(name: str, basis: str) -> str:
    label = name.replace("_", " ")
    return f"PTX {label}" if name == "instructions" and basis == "ptx" else label


def _line_head(line: LineDiff) -> str:
    if line.before is None:
        number = f"{line.after} (new)"
    elif line.after is None:
        number = f"{line.before} (gone)"
    else:
        number = str(line.after) if line.before == line.after else f"{line.after} (was {line.before})"
    words = text.clean(line.text)
    shown = words if len(words) <= _TEXT_WIDTH else f"{words[: _TEXT_WIDTH - 3]}..."
    return f"{text.clean(basename(line.file))}:{number}  {shown}".rstrip()


def _cells(change: Change, label: str, unit: str) -> tuple[str, ...]:
    worse = change.worse_by
    if worse is None:
        return (label, _value(change.before), _value(change.after), "", "", unit)
    signed = -worse if change.name in MORE_IS_BETTER else worse
    digits = 0 if abs(worse) >= 1 else 1
    share = "" if abs(worse) == float("inf") else f"{100 * signed:+,.{digits}f} %"
    return (label, _value(change.before), _value(change.after), share, "worse" if worse > 0 else "better", unit)


def _value(value: float | None) -> str:
    if value is None:
        return "-"
    return text.count(int(value)) if value == int(value) else f"{value:,.2f}"


def _findings(came: tuple[Finding, ...], went: tuple[Finding, ...], indent: str) -> list[str]:
    return [
        f"{indent}{word}: {text.clean(finding.check)}{_at(finding)}: {text.clean(finding.message)}"
        for word, found in (("new", came), ("gone", went))
        for finding in found
    ]


def _at(finding: Finding) -> str:
    return "" if finding.file is None else f" at {text.clean(basename(finding.file))}:{finding.line}"


def _named(launch: LaunchRecord) -> str:
    return f"{text.kernel_name(launch.kernel)}  {shape(launch)}"


def _document(difference: RunDiff, worse: list[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "lanewise": __version__,
        "kernels": [_plain_kernel(kernel) for kernel in difference.kernels],
        "only_before": [_plain_launch(launch) for launch in difference.only_before],
        "only_after": [_plain_launch(launch) for launch in difference.only_after],
        "came": [_plain_finding(finding) for finding in difference.came],
        "went": [_plain_finding(finding) for finding in difference.went],
        "worse": worse,
    }


def _plain_kernel(kernel: KernelDiff) -> dict[str, Any]:
    return {
        "before": {**_plain_launch(kernel.before[0]), "launches": len(kernel.before)},
        "after": {**_plain_launch(kernel.after[0]), "launches": len(kernel.after)},
        "basis": kernel.basis,
        "values": _plain_changes(kernel.changes),
        "lines": [
            {
                "file": line.file,
                "before": line.before,
                "after": line.after,
                "text": line.text,
                "values": _plain_changes(line.changes),
            }
            for line in kernel.lines
        ],
        "came": [_plain_finding(finding) for finding in kernel.came],
        "went": [_plain_finding(finding) for finding in kernel.went],
        "remarks": list(kernel.remarks),
    }


def _plain_changes(changes: tuple[Change, ...]) -> dict[str, list[float | None]]:
    """[before, after] by name."""
    return {change.name: [change.before, change.after] for change in changes}


def _plain_launch(launch: LaunchRecord) -> dict[str, Any]:
    return {"kernel": launch.kernel, "grid": launch.grid, "block": launch.block}


def _plain_finding(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
    }
