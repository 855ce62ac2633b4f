"""Lanes side by side whose first one does not start a sector."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.groups import Group, groups
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced
from lanewise.hardware.coalescing import SECTOR_BYTES, WARP
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "misaligned_access"
_OVER = 1.1  # times the ideal from which on sectors are cut


def find(subject: Subject) -> Iterable[Finding]:
    """All of a launch together: arrays that are read and written with one index are shifted alike."""
    off = [
        group
        for group in groups(subject, Space.GLOBAL)
        if group.pattern == Pattern.CONTIGUOUS
        and group.kind != AccessKind.ATOMIC
        and group.lanes > WARP / 2
        and min(group.sectors, _moved(subject, group)) >= _OVER * group.sectors_ideal
    ]
    if not off:
        return
    worst = max(off, key=lambda group: group.sectors - group.sectors_ideal)
    arrays = dict.fromkeys(group.array for group in off if group.array is not None)
    yield advice(
        NAME,
        subject.record,
        message=say(
            "misaligned_access.message",
            kind=f"@kind.{worst.kind.value}",
            sectors=f"{worst.sectors / worst.requests:.3g}",
            ideal=f"{worst.sectors_ideal / worst.requests:.3g}",
        ),
        evidence=[say("misaligned_access.arrays", arrays=", ".join(f"`{name}`" for name in arrays))] if arrays else [],
        change=say("misaligned_access.change"),
        next_step=say("misaligned_access.next_step", sector=str(SECTOR_BYTES)),
        price=say("misaligned_access.price"),
        after_us=subject.retime(coalesced(subject, off, packed=False)),
        tried=Tried.ESTIMATED,
        rung="access contiguous",
        source=worst.source,
        ptx_line=worst.ptx_line,
    )


def _moved(subject: Subject, group: Group) -> float:
    """Distinct sectors of its requests: an asynchronous copy counts some twice, wherever its lanes start."""
    return sum(subject.traffic.sites[index].sectors for index in group.sites & subject.traffic.sites.keys())


RULE = Rule(
    name=NAME,
    title="Misaligned access",
    what="The lanes of a warp access neighbouring elements, but the first of them does not start a sector of 32 bytes.",
    why="The access then reaches into one sector more: 5 instead of 4 for 4-byte elements, 2 instead of 1 for single "
    "bytes. Loads often find it in a cache; a store writes two sectors in part.",
    before="out[i + 1] = in[i + 1];  // a row of 33 floats, a header of 4 bytes, ...",
    after="out[i] = in[i];  // rows padded to a multiple of 32 bytes; the first warp takes the odd ones",
    rung="access contiguous",
    find=find,
)
