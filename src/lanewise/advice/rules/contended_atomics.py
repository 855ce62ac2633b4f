"""Atomics that meet at few addresses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice.groups import Group, footprint, groups
from lanewise.advice.reuse import most_lanes, reuse
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.whatif import shared_wavefronts
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.model.demand import Demand
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried
from lanewise.sass.costs import AccessCost

NAME = "contended_atomics"
_BUSY = 0.2  # share of the time that the units for atomics work
_SELDOM = 0.5  # atomics on global memory left, as a share, from which on a copy for each block saves too little
_ROOM = 48 << 10  # bytes of shared memory that every kernel may have


def find(subject: Subject) -> Iterable[Finding]:
    busy = subject.busy("atomics")
    if busy < _BUSY:
        return
    for group in groups(subject, Space.GLOBAL):
        if group.kind != AccessKind.ATOMIC or not group.sites:
            continue
        touched = reuse(subject, group).of_blocks * SECTOR_BYTES
        kept = _kept_blocks(subject, group, touched)
        of_blocks = min(touched, footprint(subject, group.sites) * kept)
        lanes = sum(cost.threads_on for cost in group.costs)
        share = of_blocks / group.width_bytes / lanes if lanes else 1.0
        if of_blocks / kept > _ROOM or share >= _SELDOM:
            continue
        message = say("contended_atomics.message")
        if group.array is not None:
            message = say("contended_atomics.message_array", array=group.array)
        yield advice(
            NAME,
            subject.record,
            message=message,
            evidence=[
                say("contended_atomics.lanes", lanes=f"{lanes:,}", bytes=f"{of_blocks // kept:,}", busy=f"{busy:.0%}")
            ],
            change=say("contended_atomics.change"),
            next_step=say(
                "contended_atomics.own" if kept == subject.placed.blocks else "contended_atomics.own_of_fewer"
            ),
            price=say("contended_atomics.price", bytes=f"{of_blocks // kept:,}"),
            after_us=subject.retime(_privatised(subject, group, share, of_blocks)),
            tried=Tried.ESTIMATED,
            rung="histogram shared",
            source=group.source,
            ptx_line=group.ptx_line,
        )


def _meeting(cost: AccessCost) -> float:
    """Wavefronts of a request on shared memory: lanes that go to words of their own meet in banks."""
    if cost.site is None or cost.site.pattern == Pattern.BROADCAST:
        return 1.0
    return max(1.0, shared_wavefronts(cost.site.stride, cost.access.instruction.width_bits))


def _kept_blocks(subject: Subject, group: Group, touched: int) -> int:
    """As many blocks as there are, or where those have few atomics for each of their words as many as run at once."""
    placed = subject.placed
    lanes = sum(cost.threads_on for cost in group.costs)
    if touched < _SELDOM * lanes * group.width_bytes:
        return placed.blocks
    return min(placed.blocks, placed.busy_sms * placed.blocks_per_sm)


def _privatised(subject: Subject, group: Group, share: float, of_blocks: int) -> Demand:
    """Every lane's atomic on shared memory, where lanes of one address go one after the other; then one of each block
    for each word on global memory, `of_blocks` bytes in all."""
    chosen = {id(cost) for cost in group.costs}
    costs = []
    for cost in subject.costs.accesses:
        if id(cost) not in chosen or cost.site is None:
            costs.append(cost)
            continue
        few = max(1, round(cost.requests * share))
        own = replace(
            cost, requests=few, threads=32 * few, threads_on=32 * few, sectors=round((cost.sectors or 0) * share)
        )
        passes = max(cost.site.wavefronts, round(cost.requests * _meeting(cost)))
        shared = replace(
            cost,
            space=Space.SHARED,
            sectors=None,
            sectors_ideal=None,
            wavefronts=passes,
            wavefronts_ideal=cost.requests,
        )
        costs += [own, replace(shared, site=replace(cost.site, wavefronts=passes, requests_on=cost.requests))]
    sites = dict(subject.traffic.sites)
    for index in group.sites & sites.keys():
        site = sites[index]
        sites[index] = replace(site.scaled(share), dram_sectors=site.dram_sectors)
    # In order of address, all lanes that go to one sector are one step.
    steps = subject.traffic.atomic_steps * min(1.0, of_blocks / SECTOR_BYTES / most_lanes(subject, group))
    traffic = replace(subject.traffic, sites=sites, atomic_steps=steps)
    return subject.asked(costs=replace(subject.costs, accesses=tuple(costs)), traffic=traffic)


RULE = Rule(
    name=NAME,
    title="Contended atomics",
    what="Many threads of a block change few words of global memory by atomics.",
    why="Atomics on one address go one after the other, in one place of the L2 for the whole card. Those on shared "
    "memory wait for the block's own only.",
    before="atomicAdd(&bins[key], 1);",
    after="atomicAdd(&own[key], 1);  // __shared__ int own[BINS], zero at first\n"
    "__syncthreads();\n"
    "for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&bins[i], own[i]);",
    rung="histogram shared",
    find=find,
)
