"""Blocks that reduce a few elements each, where each thread could take many first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanewise.advice.groups import Group, groups
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.hardware.capability import WARP_SIZE
from lanewise.model.pipes import Pipe, pipe
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "short_reduction"
_FEWER = 32  # elements that are loaded for each that is stored
_FEW = 4  # loads of a thread
_OVER = 1.1  # times the ideal sectors
_WIDEST = 16  # bytes of a lane in one access
_UNDER_WAY = 4  # loads of a thread that an unrolled loop starts before it uses the first
_LOOP = 3  # instructions of a round beside its loads: counter, comparison, branch


def find(subject: Subject) -> Iterable[Finding]:
    placed = subject.placed
    every = groups(subject, Space.GLOBAL)
    loads = [group for group in every if group.kind == AccessKind.LOAD]
    stored = sum(_lanes(group) for group in every if group.kind != AccessKind.LOAD)
    if placed.most_blocks <= placed.blocks_per_sm or not subject.demand.barriers or not all(map(_is_plain, loads)):
        return
    each = sum(group.requests for group in loads) / placed.warps
    if not loads or not stored or sum(map(_lanes, loads)) < _FEWER * stored or each > _FEW:
        return
    first = max(loads, key=lambda group: group.requests)
    resident = placed.busy_sms * placed.blocks_per_sm
    yield advice(
        NAME,
        subject.record,
        message=say(
            "short_reduction.message",
            elements=f"{sum(map(_lanes, loads)) / placed.blocks:,.0f}",
            threads=str(placed.warps_per_block * WARP_SIZE),
        ),
        evidence=[say("short_reduction.blocks", blocks=f"{placed.blocks:,}", resident=f"{resident:,}")],
        change=say("short_reduction.change", elements=f"{each * placed.blocks / resident:,.0f}"),
        next_step=say("short_reduction.next_step", blocks=f"{resident:,}"),
        price=say("short_reduction.price"),
        after_us=_longer(subject, loads, resident),
        tried=Tried.ESTIMATED,
        rung="reduce grid_stride",
        source=first.source,
        ptx_line=first.ptx_line,
    )


def _lanes(group: Group) -> int:
    return sum(cost.threads_on for cost in group.costs)


def _is_plain(group: Group) -> bool:
    """Side by side, as few sectors as can be."""
    return group.pattern == Pattern.CONTIGUOUS and group.sectors <= _OVER * group.sectors_ideal


def _longer(subject: Subject, loads: Sequence[Group], resident: int) -> float:
    """With as many blocks as fit at once, each thread in a loop over its share, 16 bytes a load: what a block does
    once it has its elements is done by so many fewer."""
    own, placed, rates = subject.demand, subject.placed, subject.spec.rates
    rounds = placed.blocks / resident
    width = max(group.width_bytes for group in loads)
    requests = sum(group.requests for group in loads) / placed.warps
    wide = requests * rounds * width / _WIDEST  # loads of a warp then
    issued = dict(own.instructions)
    work = _work_on_elements(subject, loads)
    for unit, count in work.items():
        issued[unit] = issued.get(unit, 0.0) + count * (rounds - 1)
    issued[Pipe.LSU] = issued.get(Pipe.LSU, 0.0) + wide - requests
    issued[Pipe.ALU] = issued.get(Pipe.ALU, 0.0) + _LOOP * wide / _UNDER_WAY
    extra = sum(issued.values()) - sum(own.instructions.values())
    turns = max(0.0, math.ceil(wide / _UNDER_WAY) - 1)
    bytes_more = requests * WARP_SIZE * width * (rounds - 1)
    asked = replace(
        own,
        warps=resident * placed.warps_per_block,
        walk=replace(own.walk, cycles=own.walk.cycles + extra + turns * own.longest),
        instructions=issued,
        issue_cycles=own.issue_cycles + extra,
        l1_cycles=own.l1_cycles + bytes_more / rates.l1_bytes,
        l2_read_bytes=own.l2_read_bytes * rounds,
        l2_lines=own.l2_lines * rounds,
        dram_bytes=own.dram_bytes * rounds,
        dram_cost=own.dram_cost * rounds,
    )
    fewer = replace(placed, blocks=resident, most_blocks=placed.blocks_per_sm)
    return subject.retime(asked, fewer)


def _work_on_elements(subject: Subject, loads: Sequence[Group]) -> dict[Pipe, float]:
    """Arithmetic of a warp between its loads and the first time that its lanes meet, and one addition an element."""
    offsets = [cost.access.instruction.offset for group in loads for cost in group.costs]
    ran = [
        (instruction, run.warps / subject.placed.warps)
        for block, run in zip(subject.machine.blocks, subject.costs.blocks, strict=True)
        for instruction in block.instructions
        if instruction.offset > max(offsets)
    ]
    found = {Pipe.FMA: sum(group.requests for group in loads) / subject.placed.warps}
    for instruction, times in ran:
        unit = pipe(instruction)
        if unit in (Pipe.LSU, Pipe.BARRIER):
            break
        if unit in (Pipe.FMA, Pipe.XU, Pipe.FP64, Pipe.HALF, Pipe.CONVERT):
            found[unit] = found.get(unit, 0.0) + times
    return found


RULE = Rule(
    name=NAME,
    title="Short reductions",
    what="Each block loads an element or a few a thread, combines them, and stores one result; there are many more "
    "blocks than run at once.",
    why="Combining the values of a block takes barriers and shuffles in which most threads wait, and starting a block "
    "takes time. A thread that goes through the data in steps of the whole grid adds in its own register at the rate "
    "of memory, and what a block does together is done once for all of that.",
    before="float sum = i < n ? x[i] : 0;  // one element a thread\nsum = block_sum(sum);",
    after="float sum = 0;\n"
    "for (; i < n; i += gridDim.x * blockDim.x) sum += x[i];  // as many blocks as the card holds at once\n"
    "sum = block_sum(sum);",
    rung="reduce grid_stride",
    find=find,
)
