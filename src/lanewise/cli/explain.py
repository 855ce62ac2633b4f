"""`lanewise explain`: one finding of the last run, with its lanes and its arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.catalogue import catalogue
from lanewise.cli import files, last_run
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.run import print_safely
from lanewise.report.explain import explain_lines
from lanewise.report.terminal import report_width


def explain(
    finding: Annotated[str, typer.Argument(metavar="FINDING", help="Its number in the report, such as 2.1.")],
    report: Annotated[
        Path | None, typer.Argument(metavar="[OUT.json]", help="What `lanewise run --json` wrote; else the last run.")
    ] = None,
    lang: LanguageOption = DEFAULT_LANGUAGE,
) -> None:
    """Explain a finding: its evidence, what it is worth, and where the lanes of a recorded request went."""
    words = catalogue(lang)
    result = last_run.load() if report is None else files.read_result(report)
    lines = explain_lines(result, finding, words, report_width())
    print_safely(lambda: typer.echo("\n".join(lines)))
