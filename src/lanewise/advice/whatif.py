"""The counts of a launch as a change would leave them; `Subject.retime` says what it would take then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from lanewise.advice.groups import Group, footprint
from lanewise.advice.subject import Subject
from lanewise.hardware import banks
from lanewise.hardware.coalescing import LINE_BYTES, SECTOR_BYTES, SECTORS_OF_LINE, WARP
from lanewise.model.caches import SITE_COLUMNS, SiteTraffic, Traffic
from lanewise.model.demand import Demand
from lanewise.records import AccessKind
from lanewise.sass.costs import AccessCost

_WIDEST = 16  # bytes of a lane in one access
_RANDOM_WAVEFRONTS = 3.53  # of 32 balls in 32 bins the fullest has so many on average


def coalesced(subject: Subject, changed: Iterable[Group], *, packed: bool) -> Demand:
    """What the launch would ask for if neighbouring lanes of these groups accessed neighbouring elements.

    `packed`: the data is laid out anew, so that bytes that nobody asks for are not moved; else the same bytes are
    accessed in another order, and DRAM moves as many.
    """
    chosen = list(changed)
    ids = {id(cost) for group in chosen for cost in group.costs}
    costs = tuple(_ideal(cost) if id(cost) in ids else cost for cost in subject.costs.accesses)
    sites = dict(subject.traffic.sites)
    written, filled = subject.traffic.written_sectors, subject.traffic.filled_sectors
    for group in chosen:
        share = group.sectors_ideal / group.sectors if group.sectors else 1.0
        touched = footprint(subject, group.sites)
        used = min(1.0, group.bytes_asked / touched) if packed and touched else 1.0
        # What one access brings to the L1 others find there, so the group is narrowed as a whole.
        followed = {index: sites[index] for index in sorted(group.sites & sites.keys())}
        before = _sum(followed.values())
        whole = _narrower(before, share, used)
        sites |= {index: whole.scaled(site.sectors / before.sectors) for index, site in followed.items()}
        if group.kind == AccessKind.STORE:
            all_stored = footprint(subject, _stores(subject))
            part = touched / all_stored if all_stored else 0.0
            written -= written * part * (1 - used)
            filled -= filled * part
    traffic = Traffic(sites, written, max(0.0, filled), subject.traffic.atomic_steps, subject.traffic.share)
    return subject.asked(costs=replace(subject.costs, accesses=costs), traffic=traffic)


def from_shared(subject: Subject, group: Group, size: int) -> Demand:
    """What the launch would ask for if the loads of a group found their data in shared memory, `size` bytes that each
    block copies from global memory, 16 bytes a lane.

    Lanes whose places have no order meet in banks as balls fall into bins.
    """
    ids = {id(cost) for cost in group.costs}
    kept = tuple(cost for cost in subject.costs.accesses if id(cost) not in ids)
    sites = {index: site for index, site in subject.traffic.sites.items() if index not in group.sites}
    asked = subject.asked(costs=replace(subject.costs, accesses=kept), traffic=replace(subject.traffic, sites=sites))
    rates, placed = subject.spec.rates, subject.placed
    blocks_bytes = size / placed.warps_per_block  # that a warp copies
    copies = blocks_bytes / (WARP * _WIDEST)
    own = sum(group_sites.dram_sectors for index, group_sites in subject.traffic.sites.items() if index in group.sites)
    # As instructions the loads are still among those of the LSU.
    looked_up = group.requests / placed.warps * (_RANDOM_WAVEFRONTS - 1) / rates.shared_wavefronts
    return replace(
        asked,
        l1_cycles=asked.l1_cycles + looked_up + 2 * copies * _WIDEST * WARP / rates.l1_bytes,
        l2_read_bytes=asked.l2_read_bytes + blocks_bytes,
        l2_lines=asked.l2_lines + blocks_bytes / LINE_BYTES,
        dram_bytes=asked.dram_bytes + own * SECTOR_BYTES / placed.warps,
        dram_cost=asked.dram_cost + own * SECTOR_BYTES / placed.warps,
        issue_cycles=asked.issue_cycles + 2 * copies,
        walk=replace(asked.walk, cycles=asked.walk.cycles + rates.l2_latency + rates.barrier_latency),
    )


def shared_wavefronts(stride: int | None, width_bits: int) -> float:
    """Wavefronts of a load from shared memory by 32 lanes `stride` bytes apart; of lanes in no order (None) as in
    `from_shared`."""
    if stride is None:
        return _RANDOM_WAVEFRONTS
    offsets = [lane * stride for lane in range(WARP)]
    return banks.wavefronts(offsets, (1 << WARP) - 1, width_bits // 8, AccessKind.LOAD)


def _stores(subject: Subject) -> frozenset[int]:
    return frozenset(site.index for site in subject.sites if site.kind == AccessKind.STORE)


def _ideal(cost: AccessCost) -> AccessCost:
    site = cost.site
    if site is not None:
        site = replace(site, sectors=site.sectors_ideal, wavefronts=site.wavefronts_ideal)
    return replace(cost, sectors=cost.sectors_ideal, site=site)


def _sum(sites: Collection[SiteTraffic]) -> SiteTraffic:
    return SiteTraffic(*(sum(getattr(site, column) for site in sites) for column in SITE_COLUMNS))


def _narrower(site: SiteTraffic, share: float, used: float) -> SiteTraffic:
    """Requests of `share` of the sectors; of the bytes that DRAM moved for them, `used` are still needed."""
    requests = site.from_l1 + site.from_l2 + site.from_dram
    sectors = site.sectors * share
    asked = min(site.sectors - site.l1_hits, sectors)
    below = asked / (site.sectors - site.l1_hits) if site.sectors > site.l1_hits else 1.0
    l2, dram = site.l2_sectors * below, site.dram_sectors * used
    far = min(requests, dram)
    middle = min(requests - far, max(0.0, asked - dram))
    return SiteTraffic(
        sectors=sectors,
        lines=min(site.lines, max(requests, sectors / SECTORS_OF_LINE)),
        l1_hits=sectors - asked,
        merged=site.merged * below,
        l2_sectors=l2,
        l2_hits=max(0.0, l2 - (site.l2_sectors - site.l2_hits) * used),
        dram_sectors=min(dram, l2),
        from_l1=requests - far - middle,
        from_l2=middle,
        from_dram=far,
    )
