"""The command `lanewise`: its commands, and how errors become a message and an exit code."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from lanewise.cli import bench, check, compare, devices, diff, explain, ladder, occupancy, run, show
from lanewise.cli import doctor as doctor_command
from lanewise.cli.exit_codes import SIGNAL_BASE
from lanewise.cli.messages import print_bug, print_error
from lanewise.errors import ExitCode, LanewiseError
from lanewise.version import __version__

HELP = {"help_option_names": ["--help", "-h"]}

app = typer.Typer(
    name="lanewise",
    help="See what a CUDA program does to the GPU's memory system, line by line, on a machine with no GPU.",
    epilog="Exit codes: the program's own for run; 80 a kernel faulted, 81 compile error, 82 unsupported code, 83 "
    "something missing on this machine, 84 a limit was reached, 85 a bug in Lanewise, 86 text that is not PTX, "
    "87 a check found something, 88 nothing was checked, 89 diff --fail-on: something got worse.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lanewise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback when Lanewise itself fails.")] = False,
) -> None:
    """Options in front of the command; `main` reads --debug from the arguments, because it acts on failures."""


app.command(
    "run",
    short_help="Run a program and report, line by line.",
    options_metavar="[OPTIONS] FILE... [-- ARGUMENTS]",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]},
)(run.run)

app.command(
    "check",
    short_help="Run a program and say what it does wrong.",
    options_metavar="[OPTIONS] FILE... [-- ARGUMENTS]",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]},
)(check.check)

for name, command, short in (
    ("show", show.show, "Show the report of an earlier run."),
    ("explain", explain.explain, "Explain a finding: lanes and arithmetic."),
    ("diff", diff.diff, "Show what a change made better or worse."),
    ("compare", compare.compare, "Show counts beside those of Nsight Compute."),
    ("occupancy", occupancy.occupancy, "Compute the occupancy of a launch."),
    ("devices", devices.devices, "List the cards that --device takes."),
    ("ladder", ladder.ladder, "Show techniques as sequences of kernels."),
    ("bench", bench.bench, "Time the ladder on a GPU."),
    ("tune", bench.tune, "Search a rung's parameters on a GPU."),
):
    app.command(name, short_help=short, context_settings=HELP)(command)


@app.command(short_help="Say what is missing on this machine.", context_settings=HELP)
def doctor(json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False) -> None:
    """Say what is there and what is missing on this machine, why, and who can fix it."""
    raise typer.Exit(doctor_command.doctor(json))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: the process's) and returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a source's characters must not end the report
    debug = "--debug" in arguments[: next((i for i, word in enumerate(arguments) if word[:1] != "-"), None)]
    try:
        app(args=run.protect_program_arguments(arguments), prog_name="lanewise")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.OK
    except LanewiseError as error:
        if debug:
            traceback.print_exception(error)
        print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return SIGNAL_BASE + 2
    except Exception as error:
        print_bug(error, debug=debug)
        return ExitCode.INTERNAL
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
