"""`lanewise ladder`: the subjects, the rungs of one as a table, one rung in full, a plot."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.bench import why_not
from lanewise.cli import files
from lanewise.cli.ladder_table import WIDTH, claim_lines, table_lines
from lanewise.cli.progress import status_line
from lanewise.errors import LanewiseError, UnsupportedCode, UsageError
from lanewise.gpu.card import present
from lanewise.gpu.launcher import Launcher
from lanewise.hardware import device
from lanewise.hardware.device import DeviceSpec
from lanewise.ladder import Rung, Subject, load, subjects
from lanewise.ladder.plot import svg
from lanewise.report import text
from lanewise.report.table import table
from lanewise.report.terminal import report_text
from lanewise.request import DEFAULT_DEVICE
from lanewise.version import __version__

if TYPE_CHECKING:
    from lanewise.ladder.rows import Ask, Row

SCHEMA = 1


def ladder(
    subject: Annotated[str | None, typer.Argument(help="A subject; none lists them.")] = None,
    devices: Annotated[
        str, typer.Option("--device", metavar="NAME,...", help="Cards, separated by commas.")
    ] = DEFAULT_DEVICE,
    size: Annotated[
        str | None, typer.Option("--size", metavar="N | NAME=N,...", help="The problem: one number, or sizes by name.")
    ] = None,
    element: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="The type of the elements; claims are of the first.")
    ] = None,
    show: Annotated[
        str | None, typer.Option("--show", metavar="RUNG", help="One rung: source, what changed, the annotated report.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what the table shows as JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw the rungs' counts.")] = None,
    force: files.Force = False,
) -> None:
    """Show the ladder: for each technique of memory optimisation its kernels, counted, with their claims."""
    if (show is not None) + (plot is not None) + json > 1:
        raise UsageError("--show, --plot and --json do not go together", next_step="Choose one.")
    if plot is not None:
        files.check_writable(plot, force=force)
    specs = _specs(devices)
    if subject is None:
        if show is not None or size is not None or element is not None:
            raise UsageError("--show, --size and --type need a subject", next_step=f"subjects: {', '.join(subjects())}")
        chosen = [load(name) for name in subjects()]
        if plot is not None:
            _plot(plot, [(one, _rows(one, specs, {})) for one in chosen])
        elif json:
            typer.echo(_json({"subjects": [_overview(one) for one in chosen]}))
        else:
            for line in _subject_lines(chosen):
                typer.echo(line)
        return
    chosen_one = load(subject)
    problem = problem_of(chosen_one, size)
    kind = None if element is None else type_of(element, chosen_one.types, chosen_one.name)
    if show is not None:
        _show(chosen_one, chosen_one.rung(show), problem, specs, kind)
        return
    rows = _rows(chosen_one, specs, problem, kind)
    if plot is not None:
        _plot(plot, [(chosen_one, rows)])
        return
    measured = _measured(chosen_one, problem, kind)
    rows = [replace(row, measured_us=measured.times.get(row.rung)) for row in rows]
    if json:
        here = {"measured_on": measured.card, "not_measured": measured.why_not}
        typer.echo(_json({**_overview(chosen_one), **here, "rows": [_plain(row) for row in rows]}))
    else:
        for line in table_lines(chosen_one, rows, measured.card):
            typer.echo(line)
        if measured.why_not is not None:
            typer.echo("\n" + "\n".join(text.wrap(measured.why_not, WIDTH)))


def problem_of(subject: Subject, size: str | None) -> Mapping[str, int]:
    """`--size` as sizes by name: "1024" sets all that the subject scales with, "m=100,n=17" those it names."""
    if size is None:
        return {}
    try:
        if "=" not in size:
            problem = dict.fromkeys(subject.scales, int(size))
        else:
            problem = {name.strip(): int(value) for name, value in (part.split("=") for part in size.split(","))}
    except ValueError:
        problem = {"": -1}
    unknown = [name for name in problem if name not in subject.problem]
    if unknown or any(value < 0 for value in problem.values()):
        known = ", ".join(f"{name} = {value}" for name, value in subject.problem.items())
        raise UsageError(
            f"--size {size} is no problem of {subject.name}",
            next_step=f"Give a whole number (for {', '.join(subject.scales)}) or names; sizes and defaults: {known}.",
        )
    return problem


def type_of(element: str | None, types: Sequence[str], whose: str) -> str:
    """The element type asked for; by default f32, or the first there is. UsageError for one that is not taken."""
    kind = element or ("f32" if "f32" in types else types[0])
    if kind not in types:
        raise UsageError(f"{whose} has no elements of type {kind}", next_step=f"types: {', '.join(types)}")
    return kind


def _specs(devices: str) -> list[DeviceSpec]:
    """The devices of `--device`, each once. UsageError for an unknown one."""
    return list({spec.key: spec for spec in (device.load(name.strip()) for name in devices.split(","))}.values())


def _rows(
    subject: Subject, specs: Sequence[DeviceSpec], problem: Mapping[str, int], element: str | None = None
) -> list[Row]:
    from lanewise.ladder.rows import Emulated

    runs = 0

    def told(ask: Ask) -> None:
        nonlocal runs
        runs += 1
        line(f"{subject.name}: {ask.rung} on {ask.device}, run {runs}")

    with status_line(sys.stderr) as line:
        rows = [row for spec in specs for row in Emulated(subject, spec, element).rows(problem, told=told)]
    if rows and all(row.refused is not None for row in rows):
        raise UsageError(f"no rung of {subject.name} runs here: {rows[0].refused}")
    return rows


@dataclass(frozen=True, slots=True)
class _Measured:
    """Microseconds by rung on this machine's card; None, and perhaps why, where nothing was measured."""

    card: str | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    why_not: str | None = None


def _measured(subject: Subject, problem: Mapping[str, int], element: str | None) -> _Measured:
    card = present()
    if card is None:
        return _Measured()
    reason = why_not()
    if reason is not None:
        return _Measured(why_not=f"not measured on {card.name}: {reason}")
    from lanewise.bench.measure import quick  # it needs torch

    try:
        return _Measured(card.name, quick(Launcher(card), subject, {**subject.problem, **problem}, element))
    except LanewiseError as error:  # the counts are there all the same
        return _Measured(why_not=f"not measured on {card.name}: {error.message}")


def _subject_lines(chosen: Sequence[Subject]) -> list[str]:
    rows = [("subject", "rungs", "", "top rung")]
    rows += [(one.name, str(len(one.rungs)), one.title, one.rungs[-1].name) for one in chosen]
    return [*table(rows, "lrll"), "", "next: lanewise ladder SUBJECT, then --show RUNG"]


def _show(
    subject: Subject, rung: Rung, problem: Mapping[str, int], specs: Sequence[DeviceSpec], element: str | None
) -> None:
    from lanewise.ladder.rows import Emulated

    for spec in specs:
        emulated = Emulated(subject, spec, element)
        row = emulated.row(rung, problem)
        typer.echo(f"{subject.name}/{rung.name}: {rung.title}\n")
        typer.echo(rung.source())
        for line in claim_lines(row):
            typer.echo(line)
        if row.refused is not None:
            raise UnsupportedCode(row.refused, ())
        _, outcome, _ = emulated.outcome(rung, row.problem)
        if outcome.result is not None:
            typer.echo(report_text(outcome.result, WIDTH))


def _overview(subject: Subject) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "title": subject.title,
        "about": subject.about,
        "types": list(subject.types),
        "problem": dict(subject.problem),
        "rungs": [
            {"rung": rung.name, "title": rung.title, "file": rung.file, "arch": rung.arch, "types": list(rung.types)}
            for rung in subject.rungs
        ],
    }


def _plain(row: Row) -> dict[str, Any]:
    plain = asdict(row)
    plain["counts"] = {name: plain["counts"][name] for name in sorted(plain["counts"])}
    return {**plain, "claim_holds": row.claim_holds}


def _json(document: Mapping[str, Any]) -> str:
    return json_module.dumps({"schema": SCHEMA, "lanewise": __version__, **document}, indent=1)


def _plot(path: Path, drawn: Sequence[tuple[Subject, Sequence[Row]]]) -> None:
    files.write(path, svg(drawn))
    typer.echo(f"wrote {path}")
