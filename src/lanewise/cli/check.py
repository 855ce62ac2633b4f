"""`lanewise check`: build a program, run it, say what its kernels do wrong."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from lanewise.catalogue import catalogue
from lanewise.checks import selection
from lanewise.cli import files, run
from lanewise.cli.check_options import BuildOption, ConfigOption, SchedulesOption, refuse
from lanewise.cli.exit_codes import SIGNAL_BASE, check_status
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.progress import ProgressLine
from lanewise.report.check import all_findings
from lanewise.report.json import to_json
from lanewise.report.sarif import to_sarif
from lanewise.report.terminal import print_check, terminal_width
from lanewise.request import DEFAULT_DEVICE, Build, RunRequest


def check(
    context: typer.Context,
    checks: Annotated[
        str,
        typer.Option(
            "--checks", metavar="NAMES", help="Check only for these: bounds, race, uninitialised, barrier, leak."
        ),
    ] = "all",
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON too.")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF.")] = None,
    config: ConfigOption = None,
    build: BuildOption = Build.OPTIMISED,
    schedules: SchedulesOption = 1,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="The card to model; `lanewise devices` lists them.")
    ] = DEFAULT_DEVICE,
    arch: Annotated[
        str | None, typer.Option(metavar="SM", help="Compile for this architecture, such as sm_90, not the device's.")
    ] = None,
    max_instructions: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="End a launch after about N PTX instructions, counted per thread."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.001, help="End a launch after S seconds.")
    ] = None,
    lang: LanguageOption = DEFAULT_LANGUAGE,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing after the program.")] = False,
    force: files.Force = False,
) -> None:
    """Run a CUDA program on the CPU and say what it does wrong: accesses out of bounds, races in shared and global
    memory, uninitialised values, barriers that threads do not come to, memory that is never freed.

    Inputs and flags as of `lanewise run`. Arguments of the program come last, after --.

    \b
      lanewise check program.cu
      lanewise check --checks race --build both program.cu
      lanewise check --sarif out.sarif program.cu -- 1024
    """
    words = catalogue(lang)
    tokens, arguments = run.split_arguments(context.args)
    inputs, flags = run.split_inputs(tokens)
    for path in (json, sarif):
        if path is not None:
            files.check_writable(path, force=force)
    refuse(config, build, schedules, checks=True)
    line = ProgressLine(sys.stderr, width=terminal_width()) if sys.stderr.isatty() and not quiet else None
    request = RunRequest(
        inputs=inputs,
        flags=flags,
        arguments=arguments,
        device=device,
        arch=arch,
        max_instructions=max_instructions,
        max_seconds=max_seconds,
        progress=line,
        checks=selection.names(selection.parse(checks)),
        config=config,
        build=build,
        schedules=schedules,
    )
    try:
        with closing(line) if line is not None else nullcontext():
            result = run.execute(request)
    except KeyboardInterrupt:
        raise typer.Exit(SIGNAL_BASE + 2) from None
    if json is not None:
        files.write(json, to_json(result))
    if sarif is not None:
        files.write(sarif, to_sarif(result, all_findings(result)))
    if not quiet:
        run.print_safely(lambda: print_check(result, words=words))
    raise typer.Exit(check_status(result))
