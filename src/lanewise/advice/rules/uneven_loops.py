"""Loops whose lanes make different numbers of trips."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.divergence import blocks_of_loops, gathered, lanes_at_work, reached, split_line
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.records import Finding, Tried

NAME = "uneven_loops"


def find(subject: Subject) -> Iterable[Finding]:
    blocks = blocks_of_loops(subject)
    line = split_line(subject, reached(subject, blocks))
    if not blocks or line is None:
        return
    yield advice(
        NAME,
        subject.record,
        message=say("uneven_loops.message"),
        evidence=[say("uneven_loops.lanes", lanes=f"{lanes_at_work(subject, blocks):.3g}")],
        change=say("uneven_loops.change"),
        next_step=say("uneven_loops.arrange"),
        price=say("uneven_loops.price"),
        after_us=subject.retime(gathered(subject, blocks)),
        tried=Tried.ESTIMATED,
        rung="divergence by_warp",
        source=line.source,
    )


RULE = Rule(
    name=NAME,
    title="Loops of uneven trip counts",
    what="The lanes of a warp make different numbers of trips through a loop.",
    why="A warp stays in a loop for as long as its slowest lane; the others wait.",
    before="for (int k = 0; k < work[i]; k++) { ... }",
    after="int j = order[i];  // sorted by work: neighbours have about as much to do\n"
    "for (int k = 0; k < work[j]; k++) { ... }",
    rung="divergence by_warp",
    find=find,
)
