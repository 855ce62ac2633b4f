"""How often a block reads the same global data: what a tile in shared memory would save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lanewise.advice.groups import Group, records_of, sectors_of
from lanewise.advice.subject import Subject
from lanewise.emulator.trace import LANES_SHIFT, SITE_SHIFT
from lanewise.hardware.coalescing import SECTORS_OF_LINE
from lanewise.model.caches import SiteTraffic
from lanewise.model.demand import Demand
from lanewise.model.pipes import Pipe
from lanewise.model.placement import Placement
from lanewise.records import Space
from lanewise.sass.costs import AccessCost

VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Reuse:
    """Sectors that a group's requests ask for, those that differ within each warp and within each block (summed over
    the warps and blocks), and the lines that more than one warp of a block reads, as a share."""

    asked: int
    of_warps: int
    of_blocks: int
    shared_lines: float

    @property
    def times(self) -> float:
        """That a block asks for a sector."""
        return self.asked / self.of_blocks if self.of_blocks else 1.0


def reuse(subject: Subject, group: Group) -> Reuse:
    """From the trace of lines; an estimate where a share of them was followed."""
    own = records_of(subject, group.sites)
    if not len(own):
        return Reuse(0, 0, 0, 0.0)
    # Block, line, warp of the block in one number. Each warp's records lie together, and often in order: a stable sort
    # makes use of that.
    warps = own["warp"].astype(np.uint64)
    keys = (warps >> 5 << 37) | (own["line"].astype(np.uint64) << 5) | (warps & 31)
    order = np.argsort(keys, kind="stable")
    keys, masks = keys[order], own["what"][order]
    of_warp = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    lines = keys >> 5
    of_block = np.flatnonzero(np.r_[True, lines[1:] != lines[:-1]])
    last = np.r_[of_block[1:], len(keys)] - 1
    several = keys[of_block] != keys[last]
    asked, warp, block = (
        sectors_of(found) << subject.trace.level
        for found in (masks, np.bitwise_or.reduceat(masks, of_warp), np.bitwise_or.reduceat(masks, of_block))
    )
    return Reuse(asked, warp, block, float(several.mean()))


def most_lanes(subject: Subject, group: Group) -> int:
    """Of atomics: the most lanes at one address of each line of each request, summed. 1 at least."""
    lanes = records_of(subject, group.sites)["what"] >> LANES_SHIFT & (1 << SITE_SHIFT - LANES_SHIFT) - 1
    return max(1, int(lanes.sum()) + len(lanes)) << subject.trace.level  # a record holds one less


def tiled(subject: Subject, found: list[tuple[Group, Reuse]], placed: Placement) -> Demand:
    """What the launch would ask for if each block brought every sector of these groups to shared memory once, and read
    it there: in as many requests as now, each of the wavefronts that its bytes take; elements that a lane reads one
    after the other come 16 bytes at a time."""
    costs: list[AccessCost] = []
    chosen = {id(cost): (group, again) for group, again in found for cost in group.costs}
    sites = dict(subject.traffic.sites)
    for cost in subject.costs.accesses:
        if id(cost) not in chosen:
            costs.append(cost)
            continue
        group, again = chosen[id(cost)]
        share = 1 / again.times
        brought = max(1, round((cost.sectors or 0) * share))  # by this copy, in sectors
        requests = max(1, brought // SECTORS_OF_LINE)
        site = cost.site
        filled = replace(cost, requests=requests, threads=32 * requests, threads_on=32 * requests, sectors=brought)
        if site is not None:
            filled = replace(filled, site=replace(site, requests=requests, wavefronts=requests, sectors=brought))
        kept = replace(
            filled, space=Space.SHARED, sectors=None, sectors_ideal=None, wavefronts=requests, wavefronts_ideal=requests
        )
        reads = max(1, cost.requests // at_once(group, again))
        waves = max(reads, (cost.sectors or 0) // (SECTORS_OF_LINE * at_once(group, again)))
        read = replace(kept, requests=reads, wavefronts=waves, wavefronts_ideal=waves)
        if site is not None:
            read = replace(read, site=replace(site, wavefronts=waves, requests_on=reads))
        costs += [filled, kept, read]  # the last says how long a warp waits
    for group, again in found:
        for index in group.sites & sites.keys():
            sites[index] = _once(sites[index], 1 / again.times)
    traffic = replace(subject.traffic, sites=sites)
    asked = subject.asked(costs=replace(subject.costs, accesses=tuple(costs)), traffic=traffic, placed=placed)
    saved = sum(cost.requests for cost in subject.costs.accesses) - sum(cost.requests for cost in costs)
    return fewer_requests(subject, asked, saved / asked.warps)


def without(subject: Subject, groups: Sequence[Group]) -> float:
    """Time of the launch if it did not make the accesses of these groups at all: no tile does better."""
    ids = {id(cost) for group in groups for cost in group.costs}
    sites = frozenset(index for group in groups for index in group.sites)
    costs = tuple(cost for cost in subject.costs.accesses if id(cost) not in ids)
    traffic = {index: site for index, site in subject.traffic.sites.items() if index not in sites}
    asked = subject.asked(costs=replace(subject.costs, accesses=costs), traffic=replace(subject.traffic, sites=traffic))
    return subject.retime(fewer_requests(subject, asked, sum(group.requests for group in groups) / asked.warps))


def at_once(group: Group, again: Reuse) -> int:
    """Elements that one load from shared memory can bring: those of a sector that each warp comes back for."""
    most = max(1, VECTOR_BYTES // group.width_bytes)
    return most if again.of_warps and again.asked >= most * again.of_warps else 1


def fewer_requests(subject: Subject, asked: Demand, saved: float) -> Demand:
    """Of one warp `saved` memory instructions less: `demand` takes those that no cost is of for shuffles."""
    issued = dict(asked.instructions)
    issued[Pipe.LSU] = issued.get(Pipe.LSU, 0.0) - saved
    others = max(0.0, saved) / subject.spec.rates.lsu_rate
    return replace(
        asked, instructions=issued, issue_cycles=asked.issue_cycles - saved, l1_cycles=asked.l1_cycles - others
    )


def _once(site: SiteTraffic, share: float) -> SiteTraffic:
    """The sectors that are left are first reads: those that the L1 does not have."""
    sectors = site.sectors * share
    missed = min(sectors, site.sectors - site.l1_hits)
    below = missed / (site.sectors - site.l1_hits) if site.sectors > site.l1_hits else 1.0
    requests = (site.from_l1 + site.from_l2 + site.from_dram) * share
    far = min(requests, site.from_dram)
    return replace(
        site,
        sectors=sectors,
        lines=max(requests, sectors / SECTORS_OF_LINE),
        l1_hits=sectors - missed,
        merged=site.merged * below,
        l2_sectors=site.l2_sectors * below,
        l2_hits=max(0.0, site.l2_sectors * below - (site.l2_sectors - site.l2_hits)),
        dram_sectors=min(site.dram_sectors, site.l2_sectors * below),
        from_l1=0.0,
        from_l2=max(0.0, requests - far),
        from_dram=far,
    )
