"""Queues: the two ends that are exact, and what lies between."""

from __future__ import annotations

import pytest

from lanewise.model.network import Station, solve


def test_one_warp_waits_for_nobody() -> None:
    found = solve([Station("a", 10), Station("b", 30, shared_by=1)], 100, 1)
    assert found.cycles == pytest.approx(140, rel=0.01)


@pytest.mark.parametrize("shared_by", [1, 4, 528])
def test_many_warps_run_at_the_pace_of_the_busiest_unit(shared_by: int) -> None:
    stations = [Station("slow", 20, shared_by), Station("fast", 5, shared_by)]
    found = solve(stations, 50, 200)
    assert found.cycles == pytest.approx(200 * 20 * shared_by, rel=0.02)
    assert found.busy["slow"] == pytest.approx(1, rel=0.02)
    assert found.busy["fast"] == pytest.approx(0.25, rel=0.05)


def test_the_time_is_never_below_either_bound_and_grows_with_customers() -> None:
    stations = [Station("a", 8, 4), Station("b", 6)]
    times = [solve(stations, 300, n).cycles for n in (1, 2, 4, 8, 12, 16, 32)]
    assert times == sorted(times)
    for n, time in zip((1, 2, 4, 8, 12, 16, 32), times, strict=True):
        assert time >= 0.99 * max(314, 32 * n)
