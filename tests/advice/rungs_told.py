"""What each rung of the ladder is told: `python tests/advice/rungs_told.py` runs all of them with advice and writes
`docs/ladder/advice.md`, with the card's times of both rungs beside each pointer (about two minutes); with names of
subjects it renews those."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lanewise.advice.advise import advise_run
from lanewise.advice.history import History
from lanewise.errors import LanewiseError
from lanewise.ladder import catalog, reference
from lanewise.ladder.catalog import Rung, Subject
from lanewise.ladder.emulate import run
from lanewise.ladder.plan import resolve
from lanewise.records import Finding, LaunchRecord

DOCS = Path(__file__).parents[2] / "docs" / "ladder"
PAGE = DOCS / "advice.md"
# Large enough that an H200 is full, where the subject's own sizes are not.
SIZES: dict[str, dict[str, int]] = {
    "access": {"n": 1 << 22},
    "banks": {"rows": 1 << 18},
    "divergence": {"n": 1 << 20},
    "gemm": {"m": 1024, "n": 1024, "k": 256},
    "histogram": {"n": 1 << 22},
    "pointwise": {"n": 1 << 22},
    "readonly": {"n": 1 << 22},
    "reduce": {"n": 1 << 22},
    "scan": {"n": 1 << 22},
    "transpose": {"rows": 2048, "columns": 2048},
}
# A rung of its own purpose.
OF_RUNG: dict[tuple[str, str], dict[str, int]] = {
    ("layernorm", "long_rows"): {"rows": 264, "columns": 16384},
    ("softmax", "long_rows"): {"rows": 264, "columns": 16384},
}
_WORTH = 0.95  # of the time before


def told(subject: Subject, rung: Rung, sizes: Mapping[str, int]) -> tuple[float, list[Finding]]:
    """Modelled microseconds of all launches of a rung, and its findings with a gain, what saves most first; of each
    rule the one that saves most."""
    problem = {**subject.problem, **sizes}
    plan = resolve(subject, rung, rung.element, problem)
    outcome = run(plan, reference.inputs(subject, plan, problem), advise=True)
    launches = advise_run(History(list(outcome.launches)), [_alone(record) for record in outcome.launches])
    found = [finding for record in launches for finding in record.advice if finding.gain is not None]
    best: dict[str, Finding] = {}
    for finding in sorted(found, key=_saved, reverse=True):
        best.setdefault(finding.check, finding)
    return sum(record.time_us or 0.0 for record in launches), list(best.values())


def _alone(record: LaunchRecord) -> LaunchRecord:
    return replace(record, advised=True)


def _saved(finding: Finding) -> float:
    assert finding.gain is not None
    return finding.gain.before_us - finding.gain.after_us


def card(subject: str) -> dict[str, float]:
    """Microseconds of the rungs at the sizes of the first measured case."""
    measured = json.loads((DOCS / "measured.json").read_text(encoding="utf-8"))["subjects"]
    cases = measured[subject]["cases"] if subject in measured else []
    rows = cases[0]["rows"] if cases else []
    return {row["name"]: row["warm"]["microseconds"] for row in rows if not row["peer"] and row["warm"]}


def next_rung(subject: Subject, name: str, times: Mapping[str, float]) -> str | None:
    """The next one that is faster on the card; None where none is, or where this one was not measured."""
    later = [rung.name for rung in subject.rungs]
    later = later[later.index(name) + 1 :]
    return next((n for n in later if name in times and times.get(n, times[name]) < _WORTH * times[name]), None)


def _row(subject: Subject, rung: Rung, times: Mapping[str, float]) -> str:
    sizes = OF_RUNG.get((subject.name, rung.name), SIZES.get(subject.name, {}))
    try:
        time_us, found = told(subject, rung, sizes)
    except LanewiseError as error:
        return f"| {rung.name} | | {error.message} | | | |"
    said = "; ".join(_finding(finding) for finding in found[:3]) or "nothing"
    to = [f.rung.split()[1] for f in found if f.rung and f.rung.split()[0] == subject.name]
    points = next((name for name in to if name != rung.name), "")
    faster = f"{times[rung.name] / times[points]:.2f}x" if points in times and rung.name in times else ""
    follows = next_rung(subject, rung.name, times) or ""
    return f"| {rung.name} | {time_us:.1f} | {said} | {points} | {faster} | {follows} |"


def _finding(finding: Finding) -> str:
    assert finding.gain is not None
    before, after = finding.gain.before_us, finding.gain.after_us
    times = f"{before / after:.2f}x" if after else "its launch"
    return f"[{finding.check}](../rules/{finding.check}.md) {times}"


_HEAD = """\
# What the rungs are told

Each rung run with advice on an emulated H200: what its findings promise (the three that save most, the first of them
first; times of one launch), the rung that the first of them which stays in the subject points at, how much faster that
rung is on a card ([measured.md](measured.md), at its larger sizes), and the next rung that is faster there. Made by
`python tests/advice/rungs_told.py`; sizes are in that file.

A rung may be skipped: a finding names what saves most, and several steps may lie between. Some steps no rule tells: how
the fastest products are written (larger blocks of results, loads and arithmetic that overlap, the copy engine), one
pass in place of several over a row or an array (`online`, `look_back`), vectors in a kernel that looks up a table.
"""


def section(name: str) -> str:
    """The part of the page on a subject."""
    subject, times = catalog.load(name), card(name)
    lines = [f"## {name}\n\n", "| rung | modelled us | told | points at | on the card | next that is faster |\n"]
    lines.append("| --- | ---: | --- | --- | ---: | --- |\n")
    return "".join(lines + [_row(subject, rung, times) + "\n" for rung in subject.rungs])


def sections() -> dict[str, str]:
    """As committed."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.split("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def main(names: Sequence[str]) -> None:
    """The page anew, or these subjects of it."""
    known = {} if not names else sections()
    made = [section(name) if name in names or name not in known else known[name] for name in catalog.subjects()]
    PAGE.write_text("\n".join([_HEAD, *made]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
