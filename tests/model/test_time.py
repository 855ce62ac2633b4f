"""How rounds of blocks differ from warps that are anywhere in their code."""

from __future__ import annotations

import pytest

from lanewise.model.network import Solution, Station, solve
from lanewise.model.time import _in_line, _in_step


def solution(cycles: float, **busy: float) -> Solution:
    return Solution(cycles, {name.replace("_", " "): share for name, share in busy.items()}, {})


@pytest.mark.parametrize(("stages", "further"), [(1, 200), (2, 0), (0, 200)])
def test_warps_that_begin_together_wait_first_and_compute_then(stages: float, further: float) -> None:
    """500 cycles of DRAM, 400 of issue, after 300 until the first bytes are there: 1200 in place of 1000, where they
    are one stage; of two the first half of the one falls beside nothing: 300 + 500 + 200."""
    first = solution(1000, DRAM=0.5, L2=0.2, issue=0.4, FMA=0.3, block_launch=0.9)
    assert _in_step(first, 300, stages) == pytest.approx(further)


def test_sums_of_all_warps_stand_in_line_at_the_end() -> None:
    """400 cycles of atomics after 900 of everything else, where a network hides half of them."""
    last, without = solution(1100, atomics=400 / 1100), solution(900)
    assert _in_line(last, without, 1) == pytest.approx(200)
    assert _in_line(last, without, 4) == 0  # the last of four
    assert _in_line(last, without, 0.125) == pytest.approx(200)  # one warp of a block


def test_units_that_work_side_by_side_take_one_warp_no_longer_than_the_longer() -> None:
    stations = [Station("issue", 90), Station("FMA", 60)]
    assert solve(stations, 0, 1, 90 / 150).cycles == pytest.approx(90, rel=0.01)
    assert solve(stations, 0, 50, 90 / 150).cycles == pytest.approx(50 * 90, rel=0.02)
