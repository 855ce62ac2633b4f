"""Samples that followed none, or all, of the few lines that everybody asks for."""

from __future__ import annotations

from lanewise.model.caches import SiteTraffic, Traffic
from lanewise.model.few_lines import corrected

STREAM = SiteTraffic(sectors=4000, lines=1000, l1_hits=0, merged=0, l2_sectors=4000, l2_hits=0, dram_sectors=4000,
                     from_l1=0, from_l2=0, from_dram=1000)  # fmt: skip


def found(site: SiteTraffic | None, sectors: int, requests: int, *, past: bool = False) -> SiteTraffic:
    traffic = Traffic({} if site is None else {3: site}, 0, 0, 0, 0.5)
    return corrected(traffic, {3: (sectors, requests)}, [3] if past else []).sites[3]


def test_a_site_of_which_nothing_was_followed_finds_all_in_the_l1() -> None:
    """A table of four lines, 1000 requests of one sector each."""
    made = found(None, 1000, 1000)
    assert (made.sectors, made.lines, made.l1_hits, made.from_l1) == (1000, 1000, 1000, 1000)
    assert (made.l2_sectors, made.dram_sectors) == (0, 0)


def test_a_stream_that_is_seen_in_proportion_stays() -> None:
    assert found(STREAM, 4000, 1000) == STREAM


def test_what_a_sample_lacks_is_in_the_l1_and_what_it_has_beyond_was() -> None:
    more = found(STREAM, 6000, 1500)
    assert (more.sectors, more.l1_hits, more.from_l1, more.lines, more.dram_sectors) == (6000, 2000, 500, 1500, 4000)
    hot = SiteTraffic(sectors=9000, lines=2250, l1_hits=5000, merged=0, l2_sectors=4000, l2_hits=0, dram_sectors=4000,
                      from_l1=1250, from_l2=0, from_dram=1000)  # fmt: skip
    fewer = found(hot, 6000, 1500)
    assert (fewer.sectors, fewer.l1_hits, fewer.from_l1, fewer.l2_sectors) == (6000, 2000, 500, 4000)
    assert found(hot, 1000, 250).l1_hits == 0  # never less than nothing


def test_past_the_l1_they_are_in_the_l2() -> None:
    made = found(STREAM, 5000, 1250, past=True)
    assert (made.l1_hits, made.l2_sectors, made.l2_hits, made.from_l2, made.from_dram) == (0, 5000, 1000, 250, 1000)
