"""Machine code that warps run with some of their lanes: what branches and what loops are the cause of, and what the
launch would ask for if lanes that run together were in the same warps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count

from lanewise.advice.subject import Subject
from lanewise.hardware.coalescing import WARP
from lanewise.model.demand import Demand
from lanewise.model.pipes import Pipe, pipe
from lanewise.model.walk import BRANCH, Walk
from lanewise.ptx.syntax import Instruction
from lanewise.records import SourceLine
from lanewise.sass.costs import AccessCost

_WITH_OTHERS = (Pipe.LSU, Pipe.BARRIER, Pipe.TENSOR, Pipe.TEXTURE)
_PART = 0.75  # share of lanes up to which a block counts as run by part of a warp
_FEWER = 0.15  # of the lanes that enter a loop, those that are missing on average


@dataclass(frozen=True, slots=True)
class SplitLine:
    """The line of source with the most divergent branches."""

    source: SourceLine | None
    branches: int
    divergent_branches: int


def blocks_of_branches(subject: Subject) -> Mapping[int, float]:
    """Blocks that part of a warp runs because of a branch, with the share of lanes that it lets through. Of an uneven
    loop it is the share that enters. What one lane does for its warp or block is left out: it has no others to be
    with."""
    entered, runs = _uneven(subject), subject.costs.blocks
    waiting = _waiting(subject)
    several = [
        block
        for block in sorted(_partly_run(subject))
        if runs[block].threads > runs[block].warps and not waiting >> block & 1
    ]
    shares = {block: entered.get(block, _share(subject, block)) for block in several}
    return {block: share for block, share in shares.items() if share < _PART}


def blocks_of_loops(subject: Subject) -> Mapping[int, float]:
    """Blocks of loops that more lanes enter than stay, and copies of them, with the share of those that entered."""
    partly, entered = _partly_run(subject), _uneven(subject)
    return {block: min(1.0, _share(subject, block) / entered[block]) for block in sorted(entered) if block in partly}


def _uneven(subject: Subject) -> dict[int, float]:
    """Of each block of an uneven loop, and of its copies, the share of lanes that enter (the outermost of) the loop."""
    machine = subject.machine
    found: dict[int, float] = {}
    for mask, head in machine.shape.loops:
        if mask & _waiting(subject) == mask:
            continue
        outside = [_share(subject, p) for p in machine.blocks[head].predecessors if not mask >> p & 1]
        if outside and max(outside) >= _share(subject, head) + _FEWER:
            for index in (block.index for block in machine.blocks if mask >> block.index & 1):
                found[index] = max(found.get(index, 0.0), *outside)
    lines = {
        (i.module, i.ptx_line): entered
        for index, entered in found.items()
        for i in machine.blocks[index].instructions
        if i.ptx_line is not None
    }
    for block in machine.blocks:
        copied = [lines[key] for i in block.instructions if (key := (i.module, i.ptx_line)) in lines]
        if copied:
            found.setdefault(block.index, max(copied))
    return found


def _waiting(subject: Subject) -> int:
    """Blocks of loops that read what other blocks write, a bit for each: their trips hang on those."""
    machine = subject.machine
    found = 0
    for mask, _ in machine.shape.loops:
        inside = (i for block in machine.blocks if mask >> block.index & 1 for i in block.instructions)
        if any(".STRONG" in i.opcode and i.memory is not None for i in inside):
            found |= mask
    return found


def computes(subject: Subject, blocks: Collection[int]) -> bool:
    """Whether blocks touch nothing but registers: all lanes could run them, and some of them drop what comes of it."""
    inside = [i for index in blocks for i in subject.machine.blocks[index].instructions]
    return all(i.memory is None and pipe(i) not in _WITH_OTHERS for i in inside)


def without_branches(subject: Subject, blocks: Collection[int]) -> Demand:
    """With loops of so many trips for all lanes, unrolled: a select in place of the counter, and no branch."""
    asked, runs = subject.demand, subject.costs.blocks
    branches = sum(
        runs[index].warps
        for index in blocks
        for i in subject.machine.blocks[index].instructions
        if pipe(i) == Pipe.CONTROL
    )
    each, every = branches / asked.warps, asked.instructions.get(Pipe.CONTROL, 0.0)
    waits = dict(asked.walk.waits)
    saved = waits.get(BRANCH, 0.0) * min(1.0, each / every) if every else 0.0
    waits[BRANCH] = waits.get(BRANCH, 0.0) - saved
    walked = Walk(max(1.0, asked.walk.cycles - saved - each), asked.walk.issued - each, waits)
    issued = {**asked.instructions, Pipe.CONTROL: every - each}
    return replace(asked, walk=walked, instructions=issued, issue_cycles=asked.issue_cycles - each)


def trips(subject: Subject, blocks: Collection[int]) -> float:
    """That a warp makes through the busiest of these blocks, on average."""
    return max((subject.costs.blocks[index].warps for index in blocks), default=0) / subject.placed.warps


def reached(subject: Subject, blocks: Collection[int]) -> Mapping[int, float]:
    """The share of the lanes of a warp that run each block."""
    return {block: _share(subject, block) for block in blocks}


def split_line(subject: Subject, shares: Mapping[int, float]) -> SplitLine | None:
    """The one with most divergent branches of those that let such shares of lanes through to blocks, or else of all.
    None where no branch of the launch split a warp: lanes are idle for another reason."""
    lines = [line for line in subject.record.lines if line.divergent_branches]
    if not shares or not lines:
        return None
    before = _lines_before(subject, shares)
    lines = [line for line in lines if (line.file, line.line) in before] or lines
    most = max(lines, key=lambda line: (line.divergent_branches, -line.line))
    return SplitLine(SourceLine(most.file, most.line), most.branches, most.divergent_branches)


def _lines_before(subject: Subject, shares: Mapping[int, float]) -> set[tuple[str, int]]:
    """Lines of the branches that lead to the blocks and from which fewer lanes go there than came."""
    machine = subject.machine
    ends = {
        machine.blocks[p].instructions[-1].ptx_line
        for b, share in shares.items()
        for p in machine.blocks[b].predecessors
        if machine.blocks[p].instructions and _share(subject, p) >= share + _FEWER
    }
    branches = (s for s in subject.function.body if isinstance(s, Instruction) and s.line in ends)
    places = (s.source.shown for s in branches if s.source is not None)
    return {(place.file, place.line) for place in places}


def lanes_at_work(subject: Subject, blocks: Collection[int]) -> float:
    """On average, over the instructions of these blocks."""
    ran = [(len(subject.machine.blocks[b].instructions), subject.costs.blocks[b]) for b in blocks]
    warps = sum(size * run.warps for size, run in ran)
    return sum(size * run.threads for size, run in ran) / warps if warps else 0.0


def gathered(subject: Subject, shares: Mapping[int, float]) -> Demand:
    """With these shares of the warps in blocks, because the lanes of the others fill them up."""
    runs = tuple(
        replace(run, warps=math.ceil(run.warps * shares[index])) if index in shares else run
        for index, run in zip(count(), subject.costs.blocks)
    )
    accesses = tuple(
        _fewer(cost, shares[cost.access.block]) if cost.access.block in shares else cost
        for cost in subject.costs.accesses
    )
    return subject.asked(costs=replace(subject.costs, blocks=runs, accesses=accesses))


def _fewer(cost: AccessCost, share: float) -> AccessCost:
    """The same lanes in fewer requests, which take no more wavefronts each."""
    site = cost.site
    requests = max(1, round(cost.requests * share))
    waves = None if cost.wavefronts is None else max(requests, round(cost.wavefronts * share))
    if site is not None:
        site = replace(site, requests_on=max(1, round(site.requests_on * share)))
    return replace(cost, requests=requests, wavefronts=waves, site=site)


def _partly_run(subject: Subject) -> frozenset[int]:
    return frozenset(
        index for index, run in enumerate(subject.costs.blocks) if run.warps and _share(subject, index) < _PART
    )


def _share(subject: Subject, block: int) -> float:
    """Of the lanes that were there when warps ran a block."""
    run = subject.costs.blocks[block]
    return run.threads / (WARP * run.warps) if run.warps else 1.0
