"""Neighbouring elements that lanes access one at a time, where one access could take several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanewise.advice.groups import Group, groups
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.hardware.coalescing import WARP
from lanewise.model.pipes import Pipe
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "narrow_access"
_WIDEST = 16  # bytes of a lane in one access
_MOVING = (Pipe.LSU, Pipe.UNIFORM, Pipe.CONTROL, Pipe.BARRIER, Pipe.CONSTANT)  # once for all elements of an access
_INTEGER = (Pipe.ALU, Pipe.IMAD)
_BUSY = 0.6  # share of the time that a unit of arithmetic works, from which on a kernel computes rather than moves
_WORK = 12  # instructions for each access of a kernel that does little but move
_ADDRESS = 4  # integer instructions that make the address of an access; what is more is work on the element


def find(subject: Subject) -> Iterable[Finding]:
    """Kernels that go through arrays element by element: what threads share is left to other rules."""
    every = groups(subject, *Space)
    moving = [group for group in every if group.pattern != Pattern.BROADCAST]
    placed = subject.placed
    if placed.most_blocks <= placed.blocks_per_sm:  # all threads are under way at once anyway
        return
    if not moving or subject.demand.barriers or not all(map(_is_plain, moving)):
        return
    if max(subject.busy(unit) for unit in ("issue", *subject.demand.instructions)) >= _BUSY:
        return
    wide = {group.width_bytes for group in moving}
    requests = {group.requests / len(group.costs) for group in moving}
    if len(wide) != 1 or max(requests) > 1.1 * min(requests):
        return
    (width,) = wide
    times = _WIDEST // width
    if times < 2:
        return
    computes = subject.demand.walk.issued * placed.warps > _WORK * sum(group.requests for group in moving)
    if computes and all(group.kind == AccessKind.STORE for group in moving):
        return  # what it stores does not come from memory
    first = max(moving, key=lambda group: group.kind == AccessKind.LOAD)
    yield advice(
        NAME,
        subject.record,
        message=say("narrow_access.message", width=str(width)),
        change=say("narrow_access.change", times=str(times)),
        next_step=say("narrow_access.next_step", times=str(times)),
        price=say("narrow_access.price", times=str(times)),
        after_us=_vectorised(subject, moving, times),
        tried=Tried.ESTIMATED,
        rung="pointwise vectorised" if computes else "access float4",
        source=first.source,
        ptx_line=first.ptx_line,
    )


def _is_plain(group: Group) -> bool:
    """Side by side, at the ideal, without other lanes' data."""
    ideal = group.sectors == group.sectors_ideal and group.lanes > 0.9 * WARP
    plain = group.space == Space.GLOBAL and group.kind != AccessKind.ATOMIC
    return plain and ideal and group.pattern == Pattern.CONTIGUOUS


def _vectorised(subject: Subject, moving: Sequence[Group], times: int) -> float:
    """A warp handles `times` the elements with as many instructions, but for the arithmetic of each element; there are
    so many fewer blocks, or where threads go round a loop, so many fewer rounds."""
    own, placed = subject.demand, subject.placed
    rounds = max(group.requests / len(group.costs) for group in moving) / placed.warps
    accesses = sum(group.requests for group in moving) / placed.warps
    integer = sum(own.instructions.get(unit, 0.0) for unit in _INTEGER)
    of_elements = max(0.0, 1 - _ADDRESS * accesses / integer) if integer else 0.0
    shares = {unit: 0.0 if unit in _MOVING else of_elements if unit in _INTEGER else 1.0 for unit in own.instructions}
    instructions = {unit: count * (1 + (times - 1) * shares[unit]) for unit, count in own.instructions.items()}
    bytes_moved = sum(group.bytes_asked for group in moving) / placed.warps * times
    wider = max(0.0, bytes_moved / subject.spec.rates.l1_bytes - accesses / subject.spec.rates.lsu_rate)
    asked = replace(
        own.several(times, instructions),
        l1_cycles=own.l1_cycles + wider,
        constant_cycles=own.constant_cycles * times,
    )
    if rounds >= times:
        share = 1 / times
        return subject.retime(
            replace(
                asked,
                instructions={unit: count * share for unit, count in instructions.items()},
                issue_cycles=asked.issue_cycles * share,
                walk=replace(asked.walk, cycles=asked.walk.cycles * share),
                l1_cycles=asked.l1_cycles * share,
                constant_cycles=own.constant_cycles,
                l2_read_bytes=own.l2_read_bytes,
                l2_write_bytes=own.l2_write_bytes,
                l2_lines=own.l2_lines,
                partial_sectors=own.partial_sectors,
                dram_bytes=own.dram_bytes,
                dram_cost=own.dram_cost,
            )
        )
    blocks = -(-placed.blocks // times)
    sms = subject.spec.values.sm_count
    fewer = replace(placed, blocks=blocks, busy_sms=min(sms, blocks), most_blocks=-(-blocks // sms))
    return subject.retime(replace(asked, warps=fewer.warps), fewer)


RULE = Rule(
    name=NAME,
    title="Narrow access",
    what="Each lane of a kernel that goes through arrays element by element moves one element of 1 to 8 bytes at a "
    "time.",
    why="An access may move 16 bytes a lane. With a quarter of the instructions for the same bytes, more of them are "
    "under way at once, and fewer blocks have to be started.",
    before="if (i < n) y[i] = 2.0f * x[i];",
    after="if (i < n / 4) {\n    float4 v = ((const float4*)x)[i];\n    v.x *= 2.0f;  // and y, z, w\n"
    "    ((float4*)y)[i] = v;\n}\n// and the last n % 4 elements one by one",
    rung="access float4",
    find=find,
)
