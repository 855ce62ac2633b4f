"""Lines that a sample of a launch has too few or too many accesses of.

Where one line of 2, 4, ... is followed, a stream of many lines is seen in proportion, but of a few lines that everybody
asks for, such as a table or one row, all or none may be followed. How many sectors a site asked for is counted exactly:
what the sample lacks of them, or has beyond them, is of such lines, and they are in the L1 (with loads that go past it,
in the L2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from lanewise.model.caches import SiteTraffic, Traffic

_NOTHING = SiteTraffic(*[0.0] * len(SiteTraffic.__dataclass_fields__))


def corrected(traffic: Traffic, asked: Mapping[int, tuple[int, int]], past: Collection[int]) -> Traffic:
    """`asked[site]` are the sectors and requests of loads as counted; those of `past` find nothing in the L1."""
    sites = dict(traffic.sites)
    for site, (sectors, requests) in asked.items():
        if sectors:
            sites[site] = _corrected(sites.get(site, _NOTHING), sectors, requests, past=site in past)
    return replace(traffic, sites=sites)


def _corrected(found: SiteTraffic, sectors: int, requests: int, *, past: bool) -> SiteTraffic:
    hits = found.l2_hits if past else found.l1_hits
    further = max(sectors - found.sectors, -hits)
    seen = found.from_l1 + found.from_l2 + found.from_dram
    a_sector = seen / found.sectors if found.sectors else requests / sectors
    lines = found.lines / found.sectors if found.sectors else requests / sectors
    found = replace(found, sectors=found.sectors + further, lines=found.lines + further * lines)
    if past:
        return replace(
            found,
            l2_sectors=found.l2_sectors + further,
            l2_hits=found.l2_hits + further,
            from_l2=max(0.0, found.from_l2 + further * a_sector),
        )
    return replace(found, l1_hits=found.l1_hits + further, from_l1=max(0.0, found.from_l1 + further * a_sector))
