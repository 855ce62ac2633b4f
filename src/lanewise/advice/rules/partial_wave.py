"""Blocks that do not fill the SMs: too few of them, or a last round of a few."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.shapes import best_shape, dims, shapes, threads
from lanewise.advice.subject import Subject
from lanewise.records import Finding, Tried

NAME = "partial_wave"
_FULL = 0.9  # share of the SMs' time that is used, from which on there is nothing to say
_ROUNDS = 8  # a last round in part does not count behind so many


def find(subject: Subject) -> Iterable[Finding]:
    where = subject.placed
    sms = subject.spec.values.sm_count
    if subject.record.cluster is not None or where.most_blocks > _ROUNDS * where.blocks_per_sm:
        return
    used = where.blocks / (sms * where.most_blocks)
    if used >= _FULL:
        return
    smaller = [
        c for c in shapes(subject.tries.grid, subject.tries.block) if threads(c.block) < threads(subject.tries.block)
    ]
    best = best_shape(subject, smaller)
    if best is None:
        return
    blocks = best.change.grid[0] * best.change.grid[1] * best.change.grid[2]
    yield advice(
        NAME,
        subject.record,
        message=_message(subject, used),
        change=say("partial_wave.change", block=dims(best.change.block), before=dims(subject.tries.block)),
        next_step=say(
            "partial_wave.smaller", grid=dims(best.change.grid), block=dims(best.change.block), blocks=f"{blocks:,}"
        ),
        after_us=best.time_us,
        tried=Tried.RERUN,
    )


def _message(subject: Subject, used: float) -> Sentence:
    where, sms = subject.placed, subject.spec.values.sm_count
    values = {"blocks": f"{where.blocks:,}", "sms": str(sms)}
    if where.blocks < sms:
        return say("partial_wave.few", idle=str(sms - where.blocks), **values)
    return say("partial_wave.uneven", most=str(where.most_blocks), idle=f"{100 * (1 - used):.0f}", **values)


RULE = Rule(
    name=NAME,
    title="Partial waves and small grids",
    what="A launch has fewer blocks than the device has SMs, or its last blocks leave most SMs idle.",
    why="A block runs on one SM. 64 blocks of 1024 threads leave 68 of 132 SMs without work; 256 blocks of 256 threads "
    "keep them all busy with the same threads. With few blocks an SM, one block more or less is a large share of the "
    "time. The other shape was run: its results are the same.",
    before="kernel<<<64, 1024>>>(...);",
    after="kernel<<<256, 256>>>(...);",
    find=find,
    instead_of=("occupancy_limit",),
)
