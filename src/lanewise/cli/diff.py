"""`lanewise diff`: two JSON reports of one program, before and after a change."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.catalogue import catalogue
from lanewise.cli import files
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.run import print_safely
from lanewise.errors import ExitCode
from lanewise.records import Finding, LaunchRecord
from lanewise.report import fail_on as criteria
from lanewise.report import text
from lanewise.report.diff import Change, KernelDiff, RunDiff
from lanewise.report.diff import diff as differences
from lanewise.report.diff_lines import diff_lines
from lanewise.report.terminal import report_width
from lanewise.version import __version__

SCHEMA = 1  # of what --json writes


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
    lang: LanguageOption = DEFAULT_LANGUAGE,
    force: files.Force = False,
) -> None:
    """Show what got better or worse between two runs of a program, by kernel and by source line.

    \b
      lanewise diff before.json after.json
      lanewise diff --fail-on time:5% --fail-on findings before.json after.json
    """
    words = catalogue(lang)
    wanted = [criteria.parse(criterion) for criterion in fail_on or ()]
    if json is not None:
        files.check_writable(json, force=force)
    difference = differences(files.read_result(before), files.read_result(after))
    worse = criteria.failures(difference, wanted, words)
    if json is not None:
        english = criteria.failures(difference, wanted, catalogue())
        files.write(json, json_module.dumps(_document(difference, english), indent=1) + "\n")
    width = report_width()
    lines = diff_lines(difference, words, width)
    for sentence in worse:
        lines += text.wrap(f"--fail-on: {sentence}", width, rest="  ")
    print_safely(lambda: typer.echo("\n".join(lines)))
    if worse:
        raise typer.Exit(ExitCode.WORSE)


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
        "remarks": [catalogue().say(f"not_compared.{remark}") for remark in kernel.remarks],
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
