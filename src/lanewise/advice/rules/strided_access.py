"""Lanes that lie a constant distance apart, wider than an element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanewise.advice import names
from lanewise.advice.groups import Group, footprint, groups
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.structs import structs
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "strided_access"
_WASTED = 1.5  # times the ideal from which on an access counts as strided
_WHOLE = 0.75  # share of the sectors' bytes from which on they are all used, if by other lanes or at other times
_TILE = 32
_ELSEWHERE = 0.25  # share of the sectors from which on accesses that lie well count: another order would spoil them


def find(subject: Subject) -> Iterable[Finding]:
    of_structs = frozenset(index for found in structs(subject) for index in found.group.sites)
    every = groups(subject, Space.GLOBAL)
    strided = [group for group in every if _is_strided(group) and not group.sites & of_structs]
    packed = {id(group): _touched(subject, group) for group in strided}
    again = [group for group in strided if group.bytes_asked >= _WHOLE * packed[id(group)]]
    for group in strided:
        if group not in again:
            yield _pack(subject, group, packed[id(group)])
    well = sum(group.sectors_ideal for group in every if group.pattern == Pattern.CONTIGUOUS)
    if again and well < _ELSEWHERE * sum(group.sectors_ideal for group in again):
        yield _reorder(subject, again)
    else:
        yield from (_tile(subject, group) for group in again)


def _is_strided(group: Group) -> bool:
    stride = group.stride_bytes
    far = stride is not None and abs(stride) > group.width_bytes
    return far and group.kind != AccessKind.ATOMIC and group.sectors >= _WASTED * group.sectors_ideal


def _touched(subject: Subject, group: Group) -> int:
    return footprint(subject, group.sites)


def _reorder(subject: Subject, members: Sequence[Group]) -> Finding:
    """All accesses are strided alike: threads can take the elements in another order."""
    worst = max(members, key=lambda group: group.sectors)
    return advice(
        NAME,
        subject.record,
        message=_message(subject, worst),
        evidence=[_sectors(worst), say("strided_access.used_by_others")],
        change=say("strided_access.reorder_change"),
        next_step=say("strided_access.reorder"),
        after_us=subject.retime(coalesced(subject, members, packed=False)),
        tried=Tried.ESTIMATED,
        rung="access contiguous",
        source=worst.source,
        ptx_line=worst.ptx_line,
    )


def _tile(subject: Subject, group: Group) -> Finding:
    """Every byte of the sectors is used, and other accesses lie well: only a tile lets both be side by side."""
    pitch = (_TILE + 1) * group.width_bytes
    return advice(
        NAME,
        subject.record,
        message=_message(subject, group),
        evidence=[_sectors(group), say("strided_access.used_by_others")],
        change=say("strided_access.tile_change"),
        next_step=say("strided_access.tile", columns=str(_TILE + 1), rows=str(_TILE)),
        price=say("strided_access.tile_price", bytes=f"{_TILE * pitch:,}"),
        after_us=subject.retime(coalesced(subject, [group], packed=False)),
        tried=Tried.ESTIMATED,
        rung="transpose padded",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _pack(subject: Subject, group: Group, touched: int) -> Finding:
    """Nobody uses the bytes between: they must not lie there."""
    return advice(
        NAME,
        subject.record,
        message=_message(subject, group),
        evidence=[_sectors(group), say("strided_access.unused", used=f"{group.bytes_asked:,}", moved=f"{touched:,}")],
        change=say("strided_access.pack_change"),
        next_step=say("strided_access.pack", between=f"{abs(group.stride_bytes or 0) - group.width_bytes:,}"),
        after_us=subject.retime(coalesced(subject, [group], packed=True)),
        tried=Tried.ESTIMATED,
        rung="access contiguous",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _sectors(group: Group) -> Sentence:
    return say(
        "strided_access.sectors",
        sectors=f"{group.sectors / group.requests:.3g}",
        ideal=f"{group.sectors_ideal / group.requests:.3g}",
        sector=str(SECTOR_BYTES),
    )


def _message(subject: Subject, group: Group) -> Sentence:
    """Names the variable that differs across lanes where the source says it plainly."""
    kind, stride = f"@kind.{group.kind.value}", f"{abs(group.stride_bytes or 0):,}"
    if group.array is None:
        return say("strided_access.message", kind=kind, stride=stride)
    variable = names.lane_variable(group.source, subject.sources, group.array, subject.record.block)
    if variable is None:
        return say("strided_access.message_array", kind=kind, stride=stride, array=group.array)
    return say("strided_access.message_variable", kind=kind, stride=stride, array=group.array, variable=variable)


RULE = Rule(
    name=NAME,
    title="Strided access",
    what="Neighbouring lanes of a warp access elements of global memory that lie a constant distance apart, wider "
    "than an element.",
    why="Memory moves in sectors of 32 bytes. A warp whose lanes lie side by side needs four of them for 4-byte "
    "elements; one whose lanes lie 32 bytes or more apart needs 32, and uses an eighth of each.",
    before="out[x * height + y] = in[y * width + x];  // neighbouring x: height elements apart",
    after="tile[threadIdx.y][threadIdx.x] = in[y * width + x];\n"
    "__syncthreads();\n"
    "out[out_y * height + out_x] = tile[threadIdx.x][threadIdx.y];  // neighbouring out_x: side by side",
    rung="transpose padded",
    find=find,
)
