"""Loops whose lanes make different numbers of trips."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.divergence import (
    blocks_of_loops,
    computes,
    gathered,
    lanes_at_work,
    reached,
    split_line,
    trips,
    without_branches,
)
from lanewise.advice.rank import WORTH
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.records import Finding, Tried

NAME = "uneven_loops"
_SHORT = 64  # trips that can be unrolled


def find(subject: Subject) -> Iterable[Finding]:
    blocks = blocks_of_loops(subject)
    line = split_line(subject, reached(subject, blocks))
    if not blocks or line is None:
        return
    predicated = subject.retime(without_branches(subject, blocks))
    all_the_way = (
        computes(subject, blocks)
        and trips(subject, blocks) <= _SHORT
        and subject.time_us - predicated >= WORTH * subject.time_us
    )
    yield advice(
        NAME,
        subject.record,
        message=say("uneven_loops.message"),
        evidence=[say("uneven_loops.lanes", lanes=f"{lanes_at_work(subject, blocks):.3g}")],
        change=say("uneven_loops.select_change" if all_the_way else "uneven_loops.change"),
        next_step=say("uneven_loops.select" if all_the_way else "uneven_loops.arrange"),
        price=say("uneven_loops.select_price" if all_the_way else "uneven_loops.price"),
        after_us=predicated if all_the_way else subject.retime(gathered(subject, blocks)),
        tried=Tried.ESTIMATED,
        rung="divergence predicated" if all_the_way else "divergence by_warp",
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
    rung="divergence predicated",
    find=find,
)
