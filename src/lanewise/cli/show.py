"""`lanewise show`: the report of a run that was kept as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.catalogue import catalogue
from lanewise.cli import files
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.run import Show, print_safely
from lanewise.report.terminal import print_report


def show(
    report: Annotated[Path, typer.Argument(metavar="OUT.json", help="What `lanewise run --json` wrote.")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page of HTML, and print nothing.")
    ] = None,
    show: Annotated[
        list[Show] | None, typer.Option("--show", help="Add to each kernel: sass, its machine instructions beside PTX.")
    ] = None,
    lang: LanguageOption = DEFAULT_LANGUAGE,
    force: files.Force = False,
) -> None:
    """Show the report of an earlier run from its JSON, on the terminal or as a page of HTML. Nothing is run.

    \b
      lanewise show out.json
      lanewise show --html report.html out.json
      lanewise show --lang zh out.json
    """
    words = catalogue(lang)
    if html is not None:
        files.check_writable(html, force=force)
    result = files.read_result(report)
    if html is None:
        print_safely(lambda: print_report(result, show=show or (), words=words))
        return
    from lanewise.report.html import to_html

    files.write(html, to_html(result, words))
