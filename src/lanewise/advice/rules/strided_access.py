"""Lanes that lie a constant distance apart, wider than an element."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.groups import SECTOR, Group, footprint, groups
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced
from lanewise.records import AccessKind, Finding, Space, Tried

NAME = "strided_access"
_WASTED = 2  # times the ideal from which an access counts as strided
_WHOLE = 0.75  # share of the sectors' bytes from which on they are all used, if by other lanes and times
_TILE = 32


def find(subject: Subject) -> Iterable[Finding]:
    for group in groups(subject, Space.GLOBAL):
        stride = group.stride_bytes
        if group.kind == AccessKind.ATOMIC or stride is None or abs(stride) <= group.width_bytes:
            continue
        if group.sectors < _WASTED * group.sectors_ideal:
            continue
        touched = footprint(subject, group.sites)
        if touched and group.bytes_asked >= _WHOLE * touched:
            yield _tile(subject, group, stride)
        else:
            yield _pack(subject, group, stride, touched)


def _tile(subject: Subject, group: Group, stride: int) -> Finding:
    """Every byte of the sectors is used, by lanes of other warps: the order of lanes is wrong, not the layout."""
    pitch = (_TILE + 1) * group.width_bytes
    return advice(
        NAME,
        subject.record,
        message=_message(group, stride),
        evidence=[say("strided_access.used_by_others")],
        change=say("strided_access.tile_change"),
        next_step=say("strided_access.tile", columns=str(_TILE + 1), rows=str(_TILE)),
        price=say("strided_access.tile_price", bytes=f"{_TILE * pitch:,}"),
        after_us=subject.retime(coalesced(subject, [group], packed=False)),
        tried=Tried.ESTIMATED,
        rung="transpose padded",
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _pack(subject: Subject, group: Group, stride: int, touched: int) -> Finding:
    """Nobody uses the bytes between: they must not lie there."""
    return advice(
        NAME,
        subject.record,
        message=_message(group, stride),
        evidence=[say("strided_access.unused", used=f"{group.bytes_asked:,}", moved=f"{touched:,}")],
        change=say("strided_access.pack_change"),
        next_step=say("strided_access.pack", between=f"{abs(stride) - group.width_bytes:,}"),
        after_us=subject.retime(coalesced(subject, [group], packed=True)),
        tried=Tried.ESTIMATED,
        source=group.source,
        ptx_line=group.ptx_line,
    )


def _message(group: Group, stride: int) -> Sentence:
    values = {
        "kind": f"@kind.{group.kind.value}",
        "stride": f"{abs(stride):,}",
        "sectors": f"{group.sectors / group.requests:.3g}",
        "ideal": f"{group.sectors_ideal / group.requests:.3g}",
        "sector": str(SECTOR),
    }
    if group.array is None:
        return say("strided_access.message", **values)
    return say("strided_access.message_array", array=group.array, **values)


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
