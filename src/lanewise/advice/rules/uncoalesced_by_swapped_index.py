"""The index that varies across lanes is not the one that runs through memory: x and y of the block are exchanged."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.change import swapped_launch
from lanewise.advice.groups import Group, groups
from lanewise.advice.names import lane_variable
from lanewise.advice.rank import WORTH
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.sampling import lane_sample, worst
from lanewise.advice.shapes import dims
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import coalesced
from lanewise.records import Finding, LaneSample, LaunchRecord, Space, Tried

NAME = "uncoalesced_by_swapped_index"
_LANE = "threadIdx.x"
_WASTED = 2  # times the ideal from which an access counts
_LEFT = 0.5  # of the excess: where more is left, other accesses have taken the place of these


def find(subject: Subject) -> Iterable[Finding]:
    grid, block = subject.tries.grid, subject.tries.block
    wasteful = [g for g in groups(subject, Space.GLOBAL) if g.sectors >= _WASTED * g.sectors_ideal]
    if block[0] == 1 or block[1] == 1 or not wasteful:
        return
    if subject.time_us - subject.retime(coalesced(subject, wasteful, packed=False)) < WORTH * subject.time_us:
        return
    change = swapped_launch(grid, block)
    outcome = subject.tries.rerun(change)
    if outcome.record is None or outcome.time_us is None:
        return
    if _excess(outcome.record) > _LEFT * _excess(subject.record):
        return
    group = max(wasteful, key=lambda g: g.sectors - g.sectors_ideal)
    yield advice(
        NAME,
        subject.record,
        message=_message(subject, group),
        evidence=[
            say(
                "uncoalesced_by_swapped_index.sectors",
                sectors=f"{group.sectors / group.requests:.3g}",
                ideal=f"{group.sectors_ideal / group.requests:.3g}",
                before=f"{_sectors(subject.record):,}",
                after=f"{_sectors(outcome.record):,}",
            )
        ],
        change=say("uncoalesced_by_swapped_index.change"),
        next_step=say("uncoalesced_by_swapped_index.swap", grid=dims(change.grid), block=dims(change.block)),
        after_us=outcome.time_us,
        tried=Tried.RERUN,
        rung="gemm coalesced",
        source=group.source,
        ptx_line=group.ptx_line,
        samples=_samples(subject, group),
    )


def _message(subject: Subject, group: Group) -> Sentence:
    """Names the index that varies across lanes, and how far apart it puts them."""
    index = lane_variable(group.source, subject.sources, group.array, subject.record.block)
    values = {
        "kind": f"@kind.{group.kind.value}",
        "array": "@uncoalesced_by_swapped_index.memory" if group.array is None else f"`{group.array}`",
        "index": _LANE if index in (None, _LANE) else f"`{index}` ({_LANE})",
    }
    stride = group.stride_bytes
    if stride is None:
        return say("uncoalesced_by_swapped_index.message_scattered", **values)
    return say("uncoalesced_by_swapped_index.message", stride=f"{abs(stride):,}", **values)


def _sectors(record: LaunchRecord) -> int:
    return sum(a.sectors or 0 for a in record.accesses if a.basis == "sass" and a.space == Space.GLOBAL)


def _excess(record: LaunchRecord) -> int:
    """Sectors of global memory beyond the ideal."""
    ideal = sum(a.sectors_ideal or 0 for a in record.accesses if a.basis == "sass" and a.space == Space.GLOBAL)
    return _sectors(record) - ideal


def _samples(subject: Subject, group: Group) -> tuple[LaneSample, ...]:
    lines = {cost.site.site.ptx_line for cost in group.costs if cost.site is not None}
    made = [r for r in subject.tries.requests() if subject.sites[r.site].ptx_line in lines]
    shown = worst(made, lambda r: len({a // 32 for a in r.addresses}))
    return () if shown is None else (lane_sample(shown, subject.sites[shown.site]),)


RULE = Rule(
    name=NAME,
    title="Uncoalesced by a swapped index",
    what="Neighbouring lanes of a warp differ in threadIdx.x. Where x is used for the index that steps over rows, and "
    "y for the one that runs along them, each lane of a warp is in another row.",
    why="Lanes side by side in memory share sectors: 32 floats are 4 sectors of 32 bytes. Lanes in 32 rows ask for 32 "
    "sectors and use 4 bytes of each. Exchanging x and y leaves every thread's work as it is, and puts other threads "
    "together in a warp. The exchanged kernel was run: its results are the same.",
    before="int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "C[row * n + col] = ...;  // 32 lanes, 32 rows",
    after="int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "C[row * n + col] = ...;  // 32 lanes, one row",
    rung="gemm coalesced",
    find=find,
    instead_of=("strided_access",),
)
