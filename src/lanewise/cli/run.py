"""`lanewise run`: build a program, run it, report what its kernels did to the memory system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lanewise.catalogue import Catalogue, catalogue
from lanewise.checks import selection
from lanewise.cli import files, last_run
from lanewise.cli.check_options import BuildOption, ConfigOption, SchedulesOption, refuse
from lanewise.cli.exit_codes import SIGNAL_BASE, exit_status
from lanewise.cli.language import DEFAULT_LANGUAGE, LanguageOption
from lanewise.cli.progress import ProgressLine
from lanewise.errors import UsageError
from lanewise.hardware import device as devices
from lanewise.records import RunResult
from lanewise.report.json import to_json
from lanewise.report.terminal import print_report, report_width, terminal_width
from lanewise.request import DEFAULT_DEVICE, Build, RunRequest
from lanewise.toolchain import flags as nvcc_flags

SEPARATOR = "--"


class Show(StrEnum):
    """What `--show` may add to the report."""

    SASS = "sass"


def run(
    context: typer.Context,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON too.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page of HTML too.")
    ] = None,
    force: files.Force = False,
    device: Annotated[
        str,
        typer.Option(metavar="NAME", help="The card to model, or several with commas; `lanewise devices` lists them."),
    ] = DEFAULT_DEVICE,
    arch: Annotated[
        str | None, typer.Option(metavar="SM", help="Compile for this architecture, such as sm_90, not the device's.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Report kernels whose name contains this, or matches it with * and ?."),
    ] = None,
    launches: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Report at most N launches of each kernel.")
    ] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Empty the caches before each launch.")] = False,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic", help="Run blocks in one order: floating-point atomics give the same sums each time."
        ),
    ] = False,
    max_instructions: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="End a launch after about N PTX instructions, counted per thread."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.001, help="End a launch after S seconds.")
    ] = None,
    show: Annotated[
        list[Show] | None, typer.Option("--show", help="Add to each kernel: sass, its machine instructions beside PTX.")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="NAMES",
            help="Check too, for all or for some of bounds,race,uninitialised,barrier,leak (see check).",
        ),
    ] = None,
    config: ConfigOption = None,
    build: BuildOption = Build.OPTIMISED,
    schedules: SchedulesOption = 1,
    advice: Annotated[
        bool, typer.Option("--advice/--no-advice", help="Say what to change, tried where it can be.")
    ] = True,
    lang: LanguageOption = DEFAULT_LANGUAGE,
    quiet: Annotated[bool, typer.Option("--quiet", "--no-report", help="Print nothing after the program.")] = False,
) -> None:
    """Run a CUDA program on the CPU and report, line by line, what it does to the GPU's memory system.

    Name sources (objects and libraries too) or one executable that is linked with the shared CUDA runtime. Any option
    that is not listed here goes to nvcc: -I, -D, -O3, -std=c++17, -rdc=true, -l, -L, -Xcompiler and so on. Arguments of
    the program come last, after --.

    \b
      lanewise run program.cu
      lanewise run --json out.json -I include -DN=4 main.cu kernel.cu -- 1024 16
      lanewise run --html report.html program.cu
      lanewise run --device rtx4090 ./a.out
      lanewise run --device rtx4090d,a100,h200 program.cu
    """
    words = catalogue(lang)
    names = [name.strip() for name in device.split(",")]
    tokens, arguments = split_arguments(context.args)
    inputs, flags = split_inputs(tokens)
    outputs = [(path, render) for path, render in ((json, to_json), (html, _html_in(words))) if path is not None]
    if json is not None and json == html:
        raise UsageError(f"{json} is named for two reports", next_step="Give each a file of its own.")
    keys = [devices.load(name).key for name in names] if len(names) > 1 else []
    for path, _ in outputs:
        for written in [_of_device(path, key) for key in keys] or [path]:
            files.check_writable(written, force=force)
    refuse(config, build, schedules, checks=check is not None)
    line = ProgressLine(sys.stderr, width=terminal_width()) if sys.stderr.isatty() and not quiet else None
    request = RunRequest(
        inputs=inputs,
        flags=flags,
        arguments=arguments,
        device=names[0],
        arch=arch,
        kernel=kernel,
        launches=launches,
        cold=cold,
        deterministic=deterministic,
        max_instructions=max_instructions,
        max_seconds=max_seconds,
        advice=advice,
        progress=line,
        checks=() if check is None else selection.names(selection.parse(check)),
        config=config,
        build=build,
        schedules=schedules,
    )
    try:
        with closing(line) if line is not None else nullcontext():
            if len(names) > 1:
                raise typer.Exit(_on_several(request, names, outputs, words, quiet=quiet))
            result = execute(request)
    except KeyboardInterrupt:
        raise typer.Exit(SIGNAL_BASE + 2) from None
    for path, render in outputs:
        files.write(path, render(result))
    last_run.save(result)
    if not quiet:
        print_safely(lambda: print_report(result, show=show or (), words=words))
    raise typer.Exit(exit_status(result))


def print_safely(print_it: Callable[[], None]) -> None:
    """Print a report to a reader that may have read enough (`| head`)."""
    try:
        print_it()
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


Output = tuple[Path, Callable[[RunResult], str]]  # a file, and what is written to it


def _html_in(words: Catalogue) -> Callable[[RunResult], str]:
    def render(result: RunResult) -> str:
        """Loaded late: templates and plots are not needed otherwise."""
        from lanewise.report.html import to_html

        return to_html(result, words)

    return render


def _of_device(path: Path, key: str) -> Path:
    """Of several devices each has a file: the device's name stands in front of the ending."""
    return path.with_suffix(f".{key}{path.suffix}")


def _on_several(
    request: RunRequest, names: Sequence[str], outputs: Sequence[Output], words: Catalogue, *, quiet: bool
) -> int:
    """A table of devices, and files of each. The first's exit status."""
    from lanewise.report.side_by_side import side_by_side
    from lanewise.side_by_side import run_on

    columns = run_on(request, names)
    for path, render in outputs:
        for column in columns:
            files.write(_of_device(path, column.spec.key), render(column.result))
    if not quiet:
        shared = [column.shared_with for column in columns]
        rows = side_by_side([column.result for column in columns], shared, words, report_width())
        print_safely(lambda: typer.echo("\n".join(rows)))
    return exit_status(columns[0].result)


def execute(request: RunRequest) -> RunResult:
    """Loaded late, because `lanewise run --help` needs no emulator."""
    from lanewise.session import run_program

    result: RunResult = run_program(request)
    return result


def protect_program_arguments(command_line: Sequence[str]) -> list[str]:
    """Doubles the first `--`: the option parser takes one away, the other says where the program's arguments start.
    A bare `--check` of `run` is for everything."""
    words = list(command_line)
    end = words.index(SEPARATOR) if SEPARATOR in words else len(words)
    if next((word for word in words if not word.startswith("-")), "") == "run":
        words[:end] = ["--check=all" if word == "--check" else word for word in words[:end]]
    if SEPARATOR in words:
        words.insert(words.index(SEPARATOR), SEPARATOR)
    return words


def split_inputs(tokens: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Input files and nvcc's flags, each in order. Raises UsageError without inputs or for one that is no file."""
    inputs: list[Path] = []
    flags: list[str] = []
    for flag, _, words in nvcc_flags.split(tokens):
        if flag.startswith("-"):
            flags += words
        elif not Path(flag).is_file():
            what = "a directory" if Path(flag).is_dir() else "no file"
            raise UsageError(
                f"{flag} is {what}",
                next_step="Name sources or one executable; arguments of the program come after --.",
            )
        else:
            inputs.append(Path(flag))
    if not inputs:
        raise UsageError("no program to run", next_step="Name one: lanewise run program.cu, or lanewise run ./a.out.")
    return tuple(inputs), tuple(flags)


def split_arguments(tokens: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    if SEPARATOR not in tokens:
        return list(tokens), ()
    at = tokens.index(SEPARATOR)
    return list(tokens[:at]), tuple(tokens[at + 1 :])
