"""Lanes that go anywhere in an array, by an index that is data."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lanewise.advice import names
from lanewise.advice.groups import Group, footprint, groups
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced, from_shared
from lanewise.hardware.occupancy import occupancy
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "scattered_gather"
_WASTED = 2  # times the ideal


def find(subject: Subject) -> Iterable[Finding]:
    for group in groups(subject, Space.GLOBAL):
        if group.pattern != Pattern.SCATTERED or group.kind == AccessKind.ATOMIC:
            continue
        if group.sectors < _WASTED * group.sectors_ideal or _is_regular(group):
            continue
        touched = footprint(subject, group.sites)
        if group.kind == AccessKind.LOAD and _fits(subject, touched):
            yield _table(subject, group, touched)
        else:
            yield _sort(subject, group, touched)


def _is_regular(group: Group) -> bool:
    """Whether several lanes share a sector, as many in each request: so are the pieces of a matrix that lanes hold, and
    not what an index of the data leads to."""
    return all((c.sectors or 0) % c.requests == 0 and (c.sectors or 0) < c.threads_on for c in group.costs)


def _fits(subject: Subject, touched: int) -> bool:
    """Whether a copy of the data in shared memory costs no resident block."""
    record = subject.record
    if record.resources is None or record.occupancy is None or touched == 0:
        return False
    fitting = occupancy(
        subject.spec,
        threads_per_block=math.prod(record.block),
        registers_per_thread=record.resources.registers,
        static_shared=record.resources.static_shared_bytes,
        dynamic_shared=record.dynamic_shared_bytes + touched,
    )
    return fitting.active_blocks == record.occupancy.active_blocks


def _table(subject: Subject, group: Group, touched: int) -> Finding:
    return advice(
        NAME,
        subject.record,
        message=_message(subject, group),
        evidence=[_sectors(group), say("scattered_gather.small", bytes=f"{touched:,}")],
        change=say("scattered_gather.table_change"),
        next_step=say("scattered_gather.table"),
        price=say("scattered_gather.table_price", bytes=f"{touched:,}"),
        after_us=subject.retime(from_shared(subject, group, touched)),
        tried=Tried.ESTIMATED,
        rung="readonly each_its_own",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _sort(subject: Subject, group: Group, touched: int) -> Finding:
    used = say("scattered_gather.used", asked=f"{group.bytes_asked:,}", moved=f"{group.sectors * 32:,}")
    return advice(
        NAME,
        subject.record,
        message=_message(subject, group),
        evidence=[_sectors(group), used],
        change=say("scattered_gather.sort_change"),
        next_step=say("scattered_gather.sort"),
        price=say("scattered_gather.sort_price"),
        after_us=subject.retime(coalesced(subject, [group], packed=group.bytes_asked < touched)),
        tried=Tried.ESTIMATED,
        rung="access contiguous",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _sectors(group: Group) -> Sentence:
    return say(
        "scattered_gather.sectors",
        sectors=f"{group.sectors / group.requests:.3g}",
        ideal=f"{group.sectors_ideal / group.requests:.3g}",
    )


def _message(subject: Subject, group: Group) -> Sentence:
    kind = f"@kind.{group.kind.value}"
    if group.array is None:
        return say("scattered_gather.message", kind=kind)
    index = names.subscript(group.source, subject.sources, group.array)
    if index is None or "[" not in index:
        return say("scattered_gather.message_array", kind=kind, array=group.array)
    return say("scattered_gather.message_index", kind=kind, array=group.array, index=index)


RULE = Rule(
    name=NAME,
    title="Scattered access",
    what="The lanes of a warp access places of an array that have no order: the index is data.",
    why="Nearly every lane touches a sector of its own and uses 4 of its 32 bytes; stores that fill a part of a sector "
    "cost a read as well.",
    before="out[i] = table[index[i]];  // index in the order of the input",
    after="out[i] = table[index[i]];  // the same, with index sorted; or the table, where it is small, in __shared__",
    rung="access contiguous",
    find=find,
)
