"""Branches that split warps."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.divergence import blocks_of_branches, computes, gathered, lanes_at_work, split_line
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.trees import tree
from lanewise.records import Finding, Tried

NAME = "lane_divergence"


def find(subject: Subject) -> Iterable[Finding]:
    blocks = blocks_of_branches(subject)
    line = split_line(subject, blocks)
    if not blocks or line is None:
        return
    steps = tree(subject)
    if steps is not None and any(
        steps.holds(subject, i) for block in blocks for i in subject.machine.blocks[block].instructions
    ):
        return  # its few lanes have no others to be with
    alone = computes(subject, blocks)
    yield advice(
        NAME,
        subject.record,
        message=say("lane_divergence.message", divergent=f"{line.divergent_branches:,}", all=f"{line.branches:,}"),
        evidence=[say("lane_divergence.lanes", lanes=f"{lanes_at_work(subject, blocks):.3g}")],
        change=say("lane_divergence.change"),
        next_step=say("lane_divergence.merge" if alone else "lane_divergence.arrange"),
        price=say("lane_divergence.price"),
        after_us=subject.retime(gathered(subject, blocks)),
        tried=Tried.ESTIMATED,
        rung="divergence predicated" if alone else "divergence by_warp",
        source=line.source,
    )


RULE = Rule(
    name=NAME,
    title="Divergence by lane",
    what="A branch sends lanes of one warp different ways, where whole warps could go one way each.",
    why="A warp has one instruction at a time: both ways run, one after the other, and the lanes of the other idle.",
    before="if (threadIdx.x % 2 == 0) { ... } else { ... }",
    after="if (threadIdx.x / 32 % 2 == 0) { ... } else { ... }",
    rung="divergence predicated",
    find=find,
)
