"""Lanes that read different constants: the constant cache serves one address at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice import names
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import shared_wavefronts
from lanewise.emulator.counts import SiteCounts
from lanewise.records import Finding, Space, Tried

NAME = "divergent_constant"


def find(subject: Subject) -> Iterable[Finding]:
    lines: dict[object, list[SiteCounts]] = {}
    for counted in subject.counted:
        site = counted.site
        if site.space == Space.CONST and counted.requests and counted.wavefronts:
            place = (site.source.outermost.file, site.source.outermost.line) if site.source else site.ptx_line
            lines.setdefault((place, site.array), []).append(counted)
    for members in lines.values():
        site = members[0].site
        requests, further = sum(c.requests for c in members), sum(c.wavefronts for c in members)
        array = names.array(subject.function, subject.sources, site)
        yield advice(
            NAME,
            subject.record,
            message=_message(array),
            evidence=[say("divergent_constant.evidence", addresses=f"{1 + further / requests:.3g}")],
            change=say("divergent_constant.change"),
            next_step=say("divergent_constant.next_step"),
            price=say("divergent_constant.price"),
            after_us=_in_shared(subject, members),
            tried=Tried.ESTIMATED,
            rung="readonly each_its_own",
            source=site.source,
            ptx_line=site.ptx_line,
        )


def _message(array: str | None) -> Sentence:
    if array is None:
        return say("divergent_constant.message")
    return say("divergent_constant.message_array", array=array)


def _in_shared(subject: Subject, members: list[SiteCounts]) -> float:
    """The further addresses are gone; each request goes to the banks of shared memory instead."""
    moved = {id(counted) for counted in members}
    left = [
        replace(counted, wavefronts=0, wavefronts_ideal=0) if id(counted) in moved else counted
        for counted in subject.counted
    ]
    asked = subject.asked(counted=left)
    waves = sum(c.requests * shared_wavefronts(c.stride, c.site.width_bits) for c in members)
    per_warp = waves / subject.placed.warps / subject.spec.rates.shared_wavefronts
    return subject.retime(replace(asked, l1_cycles=asked.l1_cycles + per_warp))


RULE = Rule(
    name=NAME,
    title="Divergent constant index",
    what="The lanes of a warp read different elements of a __constant__ array in one access.",
    why="Constant memory sends one address to all lanes of a warp at a time. 32 different ones take 32 turns, some 80 "
    "times as long as one on an H200.",
    before="sum += coef[(k + threadIdx.x) & 1023];  // coef is __constant__",
    after="__shared__ float table[1024];  // copied from coef, or from global memory, once for each block\n"
    "sum += table[(k + threadIdx.x) & 1023];",
    rung="readonly each_its_own",
    find=find,
)
