"""Double precision on cards with few units for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.model.pipes import Pipe
from lanewise.records import Finding, Tried

NAME = "double_precision"
_FEW = 8  # times fewer units than for single precision, from which on they are few


def find(subject: Subject) -> Iterable[Finding]:
    rates = subject.spec.rates
    if not subject.demand.instructions.get(Pipe.FP64) or _FEW * rates.fp64_rate > rates.fma_rate:
        return
    single = replace(rates, fp64_rate=rates.fma_rate, fp64_latency=rates.fma_latency)
    other = replace(subject, spec=replace(subject.spec, rates=single))
    of_warp = subject.demand.instructions[Pipe.FP64]
    yield advice(
        NAME,
        subject.record,
        message=say(
            "double_precision.message",
            instructions=f"{of_warp:,.3g}",
            times=f"{rates.fma_rate / rates.fp64_rate:.3g}",
            device=subject.spec.name,
        ),
        change=say("double_precision.change"),
        next_step=say("double_precision.single"),
        price=say("double_precision.price"),
        after_us=other.retime(other.asked()),
        tried=Tried.ESTIMATED,
    )


RULE = Rule(
    name=NAME,
    title="Double precision on a card with few units for it",
    what="A kernel computes in double precision on a card that has many fewer units for it than for single precision.",
    why="Cards made for graphics have one unit for double precision to 32 or 64 for single. A constant without an `f` "
    "is enough to make an expression double.",
    before="y[i] = x[i] * 1.5;  // float times double",
    after="y[i] = x[i] * 1.5f;",
    find=find,
)
