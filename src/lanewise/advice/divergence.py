"""Machine code that warps run with some of their lanes: what branches and what loops are the cause of, and what the
launch would ask for if lanes that run together were in the same warps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from lanewise.advice.subject import Subject
from lanewise.model.demand import Demand
from lanewise.records import SourceLine
from lanewise.sass.costs import AccessCost

_LANES = 32
_PART = 0.75  # share of lanes up to which a block counts as run by part of a warp
_FEWER = 0.15  # of the lanes that enter a loop, those that are missing on average


@dataclass(frozen=True, slots=True)
class SplitLine:
    """The line of source with the most divergent branches."""

    source: SourceLine | None
    branches: int
    divergent_branches: int


def blocks_of_branches(subject: Subject) -> frozenset[int]:
    """Blocks that part of a warp runs because of a branch."""
    return _partly_run(subject) - blocks_of_loops(subject)


def blocks_of_loops(subject: Subject) -> frozenset[int]:
    """Blocks of loops that more lanes enter than stay, and copies of them."""
    machine = subject.machine
    found: set[int] = set()
    for mask, head in machine.shape.loops:
        outside = [p for p in machine.blocks[head].predecessors if not mask >> p & 1]
        if any(_share(subject, p) >= _share(subject, head) + _FEWER for p in outside):
            found |= {block.index for block in machine.blocks if mask >> block.index & 1}
    lines = {(i.module, i.ptx_line) for b in found for i in machine.blocks[b].instructions if i.ptx_line is not None}
    found |= {b.index for b in machine.blocks if any((i.module, i.ptx_line) in lines for i in b.instructions)}
    return frozenset(found) & _partly_run(subject)


def split_line(subject: Subject, blocks: frozenset[int]) -> SplitLine | None:
    """None where no branch of the launch split a warp: lanes are idle for another reason."""
    lines = [line for line in subject.record.lines if line.divergent_branches]
    if not blocks or not lines:
        return None
    most = max(lines, key=lambda line: (line.divergent_branches, -line.line))
    return SplitLine(SourceLine(most.file, most.line), most.branches, most.divergent_branches)


def lanes_at_work(subject: Subject, blocks: frozenset[int]) -> float:
    """On average, over the instructions of these blocks."""
    ran = [(len(subject.machine.blocks[b].instructions), subject.costs.blocks[b]) for b in blocks]
    warps = sum(size * run.warps for size, run in ran)
    return sum(size * run.threads for size, run in ran) / warps if warps else 0.0


def gathered(subject: Subject, blocks: frozenset[int]) -> Demand:
    """With as many warps in these blocks as their lanes fill."""
    shares = {b: _share(subject, b) for b in blocks}
    runs = tuple(
        replace(run, warps=-(-run.threads // _LANES)) if index in blocks else run
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
    return run.threads / (_LANES * run.warps) if run.warps else 1.0
