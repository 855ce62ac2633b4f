"""Values of a block that are combined step by step in shared memory, at distances that double: sums and scans.

Told by the addresses of a few warps, not by the source: the distance between the words that a lane adds doubles or
halves from step to step, however the loop is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lanewise.advice.sampling import Request
from lanewise.advice.subject import Subject
from lanewise.advice.tries import SharedArray
from lanewise.hardware.coalescing import WARP
from lanewise.model.demand import Demand, demand
from lanewise.model.pipes import Pipe
from lanewise.records import AccessKind, Pattern, SourceLine, Space
from lanewise.sass.listing import SassInstruction

_STEPS = 4  # distances in a row, each about twice or half of the one before, that make a tree
_TWICE = (1.9, 2.15)  # padding puts some distances a little off
_LEVELS = 5  # of 32 lanes
_OF_BLOCK = 1.5  # words read behind the last step, and results stored, of a block that has more than a sum: a scan


@dataclass(frozen=True, slots=True)
class Tree:
    """`steps`: barriers of a warp within; `lines` of PTX from behind its first barrier to its last; `scan`: every
    thread gets a result, not only one."""

    array: str
    module: int
    lines: tuple[int, int]
    steps: float
    scan: bool
    source: SourceLine | None
    ptx_line: int  # of the last access of a step

    def holds(self, subject: Subject, instruction: SassInstruction) -> bool:
        of_module = instruction.module == subject.machine.suffix(self.module)
        line = instruction.ptx_line
        return of_module and line is not None and self.lines[0] < line <= self.lines[1]


def tree(subject: Subject) -> Tree | None:
    """The tree that takes the most steps; None where there is none."""
    if "tree" not in subject.remembered:
        arrays = subject.tries.arrays() if subject.demand.barriers >= _STEPS else ()
        trees = [made for array in arrays if (made := _tree(subject, array)) is not None]
        subject.remembered["tree"] = max(trees, key=lambda made: made.steps, default=None)
    found: Tree | None = subject.remembered["tree"]
    return found


def _tree(subject: Subject, array: SharedArray) -> Tree | None:
    requests = [r for r in subject.tries.requests() if _is_of(subject, r, array)]
    loads = [r for r in requests if subject.sites[r.site].kind == AccessKind.LOAD]
    if not any(_doubles(_of_lane(loads, block, warp, lane)) for block, warp, lane in _watched(loads)):
        return None
    sites = {r.site for r in requests}
    module = subject.sites[min(sites)].module
    span = [subject.sites[index].ptx_line for index in sites]
    ran = zip(subject.machine.blocks, subject.costs.blocks, strict=True)
    barriers = [
        (i.ptx_line, run.warps)
        for block, run in ran
        for i in block.instructions
        if i.name == "BAR" and i.ptx_line is not None and i.module == subject.machine.suffix(module)
    ]
    within = [(line, warps) for line, warps in barriers if min(span) <= line]
    if not within:
        return None
    first, last = min(line for line, _ in within), max(line for line, _ in within)
    in_loop = sum(warps for line, warps in within if line != first)
    steps = (in_loop or sum(warps for _, warps in within)) / subject.demand.warps
    start = first if in_loop else first - 1
    stored = [subject.sites[i] for i in sites if subject.sites[i].kind == AccessKind.STORE]
    in_steps = [s for s in stored if start < s.ptx_line <= last]
    # Up a tree and down again at the most: a sort, which goes up again and again, is another matter.
    most = 2 * (math.log2(WARP * subject.placed.warps_per_block) + 2)
    if not _STEPS <= steps <= most or not in_steps:
        return None
    behind = [
        cost.threads_on
        for cost in subject.costs.accesses
        if cost.site is not None
        and cost.site.site.index in sites
        and cost.site.site.ptx_line > last
        and cost.site.pattern != Pattern.BROADCAST
    ]
    results = sum(
        cost.threads_on
        for cost in subject.costs.accesses
        if cost.space == Space.GLOBAL and cost.site is not None and cost.site.site.kind == AccessKind.STORE
    )
    scan = min(max(behind, default=0), results) > _OF_BLOCK * subject.placed.blocks
    place = max(in_steps, key=lambda s: s.ptx_line)
    return Tree(array.name, module, (start, last), steps, scan, place.source, place.ptx_line)


def _is_of(subject: Subject, request: Request, array: SharedArray) -> bool:
    first = request.addresses[(request.mask & -request.mask).bit_length() - 1]
    return subject.sites[request.site].space == Space.SHARED and array.start <= first < array.start + array.size


def _watched(loads: Sequence[Request]) -> Iterable[tuple[int, int, int]]:
    """Lanes that take part to the end: the first of a block in a sum, the last in a scan."""
    for block in sorted({r.block for r in loads})[:1]:
        warps = [r.warp for r in loads if r.block == block]
        yield block, min(warps), 0
        yield block, max(warps), 31


def _of_lane(loads: Sequence[Request], block: int, warp: int, lane: int) -> list[int]:
    return [r.addresses[lane] for r in loads if (r.block, r.warp) == (block, warp) and r.mask >> lane & 1]


def _doubles(addresses: Sequence[int]) -> bool:
    """Whether the distances between the words that a lane reads grow or shrink by two: between all of them, or between
    the two of each step."""
    distances = [abs(b - a) for a, b in pairwise(addresses)]
    return any(_run(some) >= _STEPS for some in (distances, distances[::2], distances[1::2]))


def _run(distances: Sequence[int]) -> int:
    """The most distances in a row, each about twice or half of the one before; repeated ones count once."""
    once = [d for n, d in enumerate(distances) if d and (n == 0 or d != distances[n - 1])]
    longest = length = 1 if once else 0
    growing: bool | None = None
    for a, b in pairwise(once):
        fits = _TWICE[0] <= max(a, b) / min(a, b) <= _TWICE[1]
        length = (length + 1 if growing == (b > a) else 2) if fits else 1
        growing = b > a if fits else None
        longest = max(longest, length)
    return longest


# ---------------------------------------------------------------------- without it
def with_shuffles(subject: Subject, found: Tree) -> Demand:
    """What the launch would ask for with the steps of the tree in registers: a warp combines its values by shuffles,
    one word of each goes through shared memory, and the first warp combines those."""
    blocks = tuple(
        replace(block, instructions=tuple(i for i in block.instructions if not found.holds(subject, i)))
        for block in subject.machine.blocks
    )
    kept = tuple(c for c in subject.costs.accesses if not found.holds(subject, c.access.instruction))
    asked = demand(
        replace(subject.machine, blocks=blocks),
        replace(subject.costs, accesses=kept),
        subject.sites,
        subject.traffic,
        subject.counted,
        subject.placed,
        subject.spec,
    )
    rates = subject.spec.rates
    each = 1 + 1 / subject.placed.warps_per_block  # times that a warp goes through the levels
    shuffles, sums = _LEVELS * each, _LEVELS * each * (2 if found.scan else 1)
    further = 1 if found.scan else 0  # a barrier, and the sum before it that each warp adds
    waited = 2 * _LEVELS * (rates.shuffle_latency + rates.fma_latency) + further * rates.barrier_latency
    issued = dict(asked.instructions)
    added = {Pipe.LSU: shuffles + further, Pipe.FMA: sums + further, Pipe.BARRIER: further}
    for unit, count in added.items():
        issued[unit] = issued.get(unit, 0.0) + count
    walked = replace(asked.walk, cycles=asked.walk.cycles + waited, issued=asked.walk.issued + sum(added.values()))
    return replace(
        asked,
        walk=walked,
        instructions=issued,
        issue_cycles=asked.issue_cycles + sum(added.values()),
        barriers=asked.barriers + further,
        l1_cycles=asked.l1_cycles + (shuffles + further) / rates.lsu_rate,
    )
