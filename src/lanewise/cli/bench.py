"""`lanewise bench` and `lanewise tune`: rungs of the ladder timed on this machine's card, beside their peers."""

from __future__ import annotations

import importlib
import json as json_module
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from lanewise.bench import why_not
from lanewise.bench.fit import barred
from lanewise.cli.ladder import problem_of, type_of
from lanewise.errors import EnvironmentProblem, ExitCode, LanewiseError, UsageError
from lanewise.gpu.card import find
from lanewise.gpu.launcher import Launcher
from lanewise.ladder import Subject, load, subjects
from lanewise.report.table import table

_WORKERS = 16


def bench(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[SUBJECT]...", help="Subjects; none means all.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="N | NAME=N,...", help="This problem instead of the usual ones.")
    ] = None,
    element: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="With --size: the type of the elements.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=10, help="Timings of each rung.")] = 30,
    check_only: Annotated[bool, typer.Option("--check", help="Check results at awkward sizes; time nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write measured.md and .json there.")
    ] = None,
) -> None:
    """Time the ladder on a GPU: rungs and what a user would call instead, in turn, each result checked first."""
    names = chosen or list(subjects())
    loaded = [load(name) for name in names]
    if size is not None and len(loaded) != 1:
        raise UsageError("--size needs one subject", next_step=f"subjects: {', '.join(subjects())}")
    if element is not None and size is None:
        raise UsageError("--type needs --size", next_step="Say which problem: --size N.")
    problem = problem_of(loaded[0], size)
    kind = type_of(element, loaded[0].types, loaded[0].name)
    launcher = Launcher(find(), _WORKERS)
    measure, works, state, tables = _room("measure"), _room("works"), _room("state"), _room("table")
    measured: dict[str, Any] = {}
    wrong: list[str] = []
    failed: list[LanewiseError] = []
    for subject in loaded:
        card = state.this_card()
        for name, reason in barred(subject, launcher.card).items():
            _say(f"{subject.name}/{name} {reason}: not on {launcher.card.name}", json)
        wrong += measure.check_awkward(launcher, subject)
        if check_only:
            continue
        cases = works.WORKS[subject.name].cases
        if size is not None:
            cases = [_room("work").Case(kind, problem)]
        results = []
        for result in measure.bench(launcher, subject, cases, repeats):
            if isinstance(result, LanewiseError):
                failed.append(result)
                typer.echo(f"{subject.name}: {result.message}", err=True)
                continue
            wrong += result.wrong
            results.append(result)
            _say("\n".join(_lines(subject, tables, result)), json)
        measured[subject.name] = tables.subject({**card, "after": state.clocks()}, repeats, results)
        if out is not None:
            tables.write(out, measured)
    if failed and not any(one["cases"] for one in measured.values()):
        raise failed[0]
    if json:
        typer.echo(json_module.dumps({**tables.document(measured), "wrong": wrong}, indent=1))
    for message in wrong:
        typer.echo(f"WRONG {message}", err=True)
    if wrong:
        raise typer.Exit(ExitCode.FAULT)


def tune(
    subject: Annotated[str, typer.Argument(help="A subject.")],
    rung: Annotated[str, typer.Argument(help="One of its rungs that has a search.")],
    size: Annotated[str | None, typer.Option("--size", metavar="N | NAME=N,...", help="The problem.")] = None,
    element: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="The type of the elements.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=10, help="Timings of each point.")] = 15,
    show: Annotated[int, typer.Option("--show", metavar="N", min=1, help="How many of the best points.")] = 8,
) -> None:
    """Search a rung's parameters on a GPU; the best go into its subject's ladder.toml, as a define or a choice."""
    there = load(subject)
    chosen = there.rung(rung)
    if not chosen.search:
        searched = ", ".join(one.name for one in there.rungs if one.search) or "none"
        raise UsageError(f"{subject}/{rung} has nothing to search", next_step=f"rungs with a search: {searched}")
    problem = problem_of(there, size)
    kind = type_of(element, chosen.types, f"{subject}/{rung}")
    launcher = Launcher(find(), _WORKERS)
    found = _room("tune").search(launcher, there, chosen, kind, problem, repeats, _WORKERS)
    best = [name for name in found.samples if name not in found.peers]
    typer.echo(f"{subject}/{rung} {kind}: {len(best)} points measured, {found.refused} wrong or refused")
    if found.dropped:
        reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(found.dropped.items()))
        typer.echo(f"not measured, for they cannot win: {sum(found.dropped.values())} ({reasons})")
    if found.unmodelled:
        typer.echo(f"measured without a modelled time: {found.unmodelled}")
    rows = [("us", "10 to 90 %", "")]
    for name in (*found.peers, *best[:show]):
        sample = found.samples[name]
        rows.append((f"{sample.median:.1f}", f"{sample.low:.1f} to {sample.high:.1f}", name))
    for line in table(rows, "rll"):
        typer.echo(line)


def _room(name: str) -> ModuleType:
    """A module of `lanewise.bench`, which needs torch."""
    reason = why_not()
    if reason is not None:
        raise EnvironmentProblem(reason, next_step="pip install torch, with CUDA 13")
    return importlib.import_module(f"lanewise.bench.{name}")


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(line)


def _lines(subject: Subject, tables: ModuleType, result: Any) -> Sequence[str]:
    case = tables.plain(result)
    return [f"{subject.name} {tables.title(case)}", *(f"  {line}" for line in table(tables.rows(case), "lrlrrrr")), ""]
