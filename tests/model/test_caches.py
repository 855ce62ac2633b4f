"""Caches on streams whose hits are known without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from lanewise.emulator.trace import KIND_SHIFT, LANES_SHIFT, LOAD, RECORD, SITE_SHIFT, STORE, Trace, thinned
from lanewise.model.caches import PAST, Caches, CacheShape, SiteTraffic, Traffic

SMALL = CacheShape(sm_count=4, l2_bytes=1 << 20, dram_bytes=64, slices=8, coalescing_sms=1, coalescing_turns=0)
Request = tuple[int, int, int, int, int]  # line, sectors, kind, order, warp


def trace(requests: Iterable[Request]) -> Trace:
    rows = [
        (line, sectors | kind << KIND_SHIFT | 31 << LANES_SHIFT | _site(line, kind) << SITE_SHIFT, order, warp)
        for line, sectors, kind, order, warp in requests
    ]
    return Trace(np.array(rows, RECORD), 0)


TABLE = 900_000  # lines from here on are asked for by a site of their own


def _site(line: int, kind: int) -> int:
    return 2 if line >= TABLE else kind


def follow(caches: Caches, requests: Iterable[Request] | Trace, blocks: int = 1, l1: int = 1 << 16) -> Traffic:
    made = requests if isinstance(requests, Trace) else trace(requests)
    return caches.launch(made, blocks=blocks, warps_per_block=1, blocks_per_sm=1, l1_bytes=l1, widths=[4, 4, 4])


def test_a_line_is_found_again_in_the_l1_and_its_other_sectors_are_not() -> None:
    found = follow(Caches(SMALL), [(7, 0b0001, LOAD, 0, 0), (7, 0b0011, LOAD, 1, 0)]).sites[LOAD]
    assert (found.sectors, found.l1_hits, found.l2_sectors) == (3, 1, 2)
    # DRAM is read by 64 bytes: the second sector came with the first.
    assert (found.l2_hits, found.dram_sectors) == (1, 2)
    # ... but both are waited for as long: it was on its way.
    assert (found.from_l1, found.from_l2, found.from_dram) == (0, 0, 2)


def test_what_came_from_dram_a_while_ago_is_found_in_the_l2() -> None:
    others = [(100 + n, 15, LOAD, 1 + n, 0) for n in range(8)]
    found = follow(Caches(SMALL), [(7, 0b0001, LOAD, 0, 0), *others, (7, 0b0010, LOAD, 9, 0)]).sites[LOAD]
    assert (found.from_l1, found.from_l2, found.from_dram) == (0, 1, 9)


def test_a_stream_larger_than_the_l1_is_not_found_again() -> None:
    lines = [(n % 1024, 15, LOAD, n, 0) for n in range(2048)]
    assert follow(Caches(SMALL), lines, l1=1 << 16).sites[LOAD].l1_hits == 0
    assert follow(Caches(SMALL), lines, l1=1 << 18).sites[LOAD].l1_hits == 4096


def test_the_l2_keeps_what_a_launch_leaves_until_it_is_flushed() -> None:
    caches = Caches(SMALL)
    lines = [(n, 15, LOAD, n, 0) for n in range(1000)]
    assert [follow(caches, lines).sites[LOAD].dram_sectors for _ in range(2)] == [4000, 0]
    caches.flush()
    assert follow(caches, lines).sites[LOAD].dram_sectors == 4000


def test_stores_are_written_back_when_they_are_replaced() -> None:
    caches = Caches(SMALL)
    stored = follow(caches, [(n, 15, STORE, n, 0) for n in range(4000)])
    assert stored.written_sectors < 160  # few sets are full by then
    later = follow(caches, [(TABLE // 2 + n, 15, LOAD, n, 0) for n in range(32_000)])
    assert stored.written_sectors + later.written_sectors == 16_000


def test_a_sector_written_in_part_is_read_first() -> None:
    """Four bytes of each sector: 32 lanes store to four sectors of a line, 8 lanes each; here one lane a sector."""
    rows = [(n, 1 | STORE << KIND_SHIFT | STORE << SITE_SHIFT, n, 0) for n in range(100)]
    found = follow(Caches(SMALL), Trace(np.array(rows, RECORD), 0))
    assert (found.written_sectors, found.filled_sectors) == (100, 100)


def test_stores_that_meet_within_a_sector_write_it_whole() -> None:
    """Runs of 128 bytes, each from 16 bytes into a sector on to 16 into another: 112 in a line, 16 in the next."""

    def record(line: int, sectors: int, words: int, order: int) -> tuple[int, int, int, int]:
        return line, sectors | STORE << KIND_SHIFT | words - 1 << LANES_SHIFT | STORE << SITE_SHIFT, order, 0

    runs = [r for n in range(100) for r in (record(n, 15, 28, n), record(n + 1, 1, 4, n))]
    found = follow(Caches(SMALL), Trace(np.array(runs, RECORD), 0))
    assert found.filled_sectors == 2  # where the first begins and the last ends


@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_every_block_runs(blocks: int) -> None:
    requests = [(1000 * b + n, 15, LOAD, n, b << 5) for b in range(blocks) for n in range(10)]
    assert follow(Caches(SMALL), requests, blocks=blocks).sites[LOAD].sectors == 40 * blocks


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_share_of_the_lines_tells_the_same_as_all_of_them(level: int) -> None:
    """A uniform kernel: each block reads its own lines twice and all share a table."""
    requests = [
        (line, 15, LOAD, order, b << 5)
        for b in range(64)
        for order, line in enumerate([*(5000 * b + n for n in range(200))] * 2 + list(range(TABLE, TABLE + 2000)))
    ]
    whole = trace(requests)
    shape = replace(SMALL, l2_bytes=1 << 23)
    exact, part = (follow(Caches(shape), t, blocks=64, l1=1 << 19) for t in (whole, thinned(whole, level)))
    assert part.share == 1 / 2**level
    for site in (LOAD, 2):
        a, b = exact.sites[site], part.sites[site]
        assert b.l1_hits / b.sectors == pytest.approx(a.l1_hits / a.sectors, abs=0.02)
        assert b.l2_hits / b.l2_sectors == pytest.approx(a.l2_hits / a.l2_sectors, abs=0.04)


def test_what_another_warp_has_just_asked_for_is_waited_for() -> None:
    """Two warps of two blocks on one SM: the second finds the line in the L1, but not yet its bytes."""
    at_once = [(7, 15, LOAD, 0, b << 5) for b in range(2)]
    found = follow_two(at_once)
    assert (found.l1_hits, found.from_l1, found.from_dram) == (4, 0, 2)
    later = [*at_once, (7, 15, LOAD, 40, 0)]
    assert follow_two(later).from_l1 == 1


def follow_two(requests: Iterable[Request]) -> SiteTraffic:
    made = trace(requests)
    shape = replace(SMALL, sm_count=1)
    found = Caches(shape).launch(
        made, blocks=2, warps_per_block=1, blocks_per_sm=2, l1_bytes=1 << 16, widths=[4, 4, 4]
    )  # fmt: skip
    return found.sites[LOAD]


def test_some_loads_go_past_the_l1() -> None:
    requests = trace([(7, 15, LOAD, 0, 0), (7, 15, LOAD, 40, 0)])
    found = Caches(SMALL).launch(
        requests, blocks=1, warps_per_block=1, blocks_per_sm=1, l1_bytes=1 << 16, widths=[PAST, 4, 4]
    )  # fmt: skip
    assert (found.sites[LOAD].l1_hits, found.sites[LOAD].l2_sectors, found.sites[LOAD].l2_hits) == (0, 8, 4)
