"""`lanewise ladder`: the subjects, the rungs of one as a table, one rung in full, a plot."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli.table import table
from lanewise.errors import UnsupportedCode, UsageError
from lanewise.gpu.card import present
from lanewise.gpu.launcher import Launcher
from lanewise.hardware import device
from lanewise.ladder import Rung, Subject, load, subjects
from lanewise.ladder.plot import amount, svg
from lanewise.ladder.rows import Emulated, Row
from lanewise.report import text
from lanewise.report.terminal import report_text
from lanewise.request import DEFAULT_DEVICE
from lanewise.version import __version__

SCHEMA = 1
WIDTH = 100


def ladder(
    subject: Annotated[str | None, typer.Argument(help="A subject; none lists them.")] = None,
    devices: Annotated[
        str, typer.Option("--device", metavar="NAME,...", help="Cards, separated by commas.")
    ] = DEFAULT_DEVICE,
    size: Annotated[
        str | None, typer.Option("--size", metavar="N | NAME=N,...", help="The problem: one number, or sizes by name.")
    ] = None,
    show: Annotated[
        str | None, typer.Option("--show", metavar="RUNG", help="One rung: source, what changed, the annotated report.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what the table shows as JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw the rungs' counts.")] = None,
) -> None:
    """Show the ladder: for each technique of memory optimisation its kernels, counted, with their claims."""
    if subject is None:
        if show is not None or size is not None:
            raise UsageError("--show and --size need a subject", next_step=f"subjects: {', '.join(subjects())}")
        chosen = [load(name) for name in subjects()]
        if plot is not None:
            _plot(plot, [(one, _rows(one, devices, {})) for one in chosen])
        elif json:
            typer.echo(_json({"subjects": [_overview(one) for one in chosen]}))
        else:
            for line in _subject_lines(chosen):
                typer.echo(line)
        return
    chosen_one = load(subject)
    problem = problem_of(chosen_one, size)
    if show is not None:
        _show(chosen_one, chosen_one.rung(show), problem, devices)
        return
    rows = _with_times(chosen_one, _rows(chosen_one, devices, problem), problem)
    if plot is not None:
        _plot(plot, [(chosen_one, rows)])
    elif json:
        typer.echo(_json({**_overview(chosen_one), "rows": [_plain(row) for row in rows]}))
    else:
        for line in _table_lines(chosen_one, rows):
            typer.echo(line)


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


def _rows(subject: Subject, devices: str, problem: Mapping[str, int]) -> list[Row]:
    specs = [device.load(name.strip()) for name in devices.split(",")]
    return [row for spec in specs for row in Emulated(subject, spec).rows(problem)]


def _with_times(subject: Subject, rows: list[Row], problem: Mapping[str, int]) -> list[Row]:
    """The rows with what this machine's card takes, where it has one (and torch, which times it)."""
    card = present()
    if card is None:
        return rows
    try:
        from lanewise.bench.measure import quick
    except ImportError:
        return rows
    times = quick(Launcher(card), subject, {**subject.problem, **problem})
    return [replace(row, measured_us=times.get(row.rung)) for row in rows]


def _subject_lines(chosen: Sequence[Subject]) -> list[str]:
    rows = [("subject", "rungs", "", "top rung")]
    rows += [(one.name, str(len(one.rungs)), one.title, one.rungs[-1].name) for one in chosen]
    return [*table(rows, "lrll"), "", "next: lanewise ladder SUBJECT, then --show RUNG"]


def _table_lines(subject: Subject, rows: Sequence[Row]) -> list[str]:
    lines = [f"{subject.name}: {subject.title}", *text.wrap(subject.about, WIDTH)]
    for name in dict.fromkeys(row.device for row in rows):
        mine = [row for row in rows if row.device == name]
        sizes = ", ".join(f"{size} {text.count(value)}" for size, value in mine[0].problem.items())
        lines += ["", f"counted for {device.load(name).name}; {sizes}", ""]
        ran = [row for row in mine if row.refused is None]
        cells = [_HEAD, *(_cells(row) for row in ran)]
        sides = "lrrrrrrrrrrl"
        if any(row.measured_us is not None for row in ran):
            measured = ["us here", *("-" if row.measured_us is None else f"{row.measured_us:.1f}" for row in ran)]
            cells = [(*cell, time) for cell, time in zip(cells, measured, strict=True)]
            sides += "r"
        lines += table(cells, sides)
        lines += ["", *text.wrap(_LEGEND, WIDTH)]
        lines += [f"{row.rung}: not here: {row.refused}" for row in mine if row.refused is not None]
        for row in mine:
            lines += _claim_lines(row)
    return lines


_HEAD = (
    "rung",
    "launches",
    "instr.",
    "global req.",
    "sectors",
    "a req.",
    "shared wavefr.",
    "div.",
    "regs",
    "occ.",
    "model us",
    "claim",
)


_LEGEND = (
    "instr.: machine instructions by warps. Requests, sectors, wavefronts and divergent branches (div.) as the PTX "
    "asks for them, loads, stores, atomics and textures together. regs, occ.: of the launch that does most. model us: "
    "modelled time of all launches, caches cold before the first."
)


def _cells(row: Row) -> tuple[str, ...]:
    requests, sectors = amount(row, "global", "requests"), amount(row, "global", "sectors")
    holds = {None: "-", True: "holds", False: "FAILS"}[row.claim_holds]
    return (
        row.rung,
        text.count(row.counts["launches"]),
        "-" if row.instructions is None else text.count(row.instructions),
        text.count(requests),
        text.count(sectors),
        text.per(sectors, requests),
        text.count(amount(row, "shared", "wavefronts")),
        text.count(row.counts["divergent_branches"]),
        "-" if row.registers is None else str(row.registers),
        "-" if row.occupancy is None else f"{row.occupancy:.0%}",
        "-" if row.time_us is None else f"{row.time_us:.1f}",
        holds if row.right else "WRONG RESULT",
    )


def _claim_lines(row: Row) -> list[str]:
    if row.refused is not None or row.claim is None:
        return []
    lines = ["", *text.wrap(f"{row.rung} against {row.against}: {row.claim}", WIDTH, rest="  ")]
    for change in row.checked:
        found = "nothing to compare with" if change.found is None else f"x {change.found:.4g}"
        verdict = "" if change.holds else f"  FAILS: claimed x {change.factor:.4g}"
        lines.append(f"  {change.metric.replace('_', ' ')} {found}{verdict}")
    return lines


def _show(subject: Subject, rung: Rung, problem: Mapping[str, int], devices: str) -> None:
    for name in devices.split(","):
        emulated = Emulated(subject, device.load(name.strip()))
        row = emulated.row(rung, problem)
        typer.echo(f"{subject.name}/{rung.name}: {rung.title}\n")
        typer.echo(rung.source())
        for line in _claim_lines(row):
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
    try:
        path.write_text(svg(drawn), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--plot {path}: {error.strerror}") from error
    typer.echo(f"wrote {path}")
