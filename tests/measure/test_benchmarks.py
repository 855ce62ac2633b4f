"""The arithmetic of micro-benchmarks, on clocks that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lanewise.measure.benchmarks import mma_clocks, vacancy

Numbers = npt.NDArray[Any]


def blocks(sms: int, resident: int, rounds: int, empty: int, *, late: int = 0) -> tuple[Numbers, Numbers, Numbers]:
    """SM, start and end of blocks in places that stay empty for `empty` clocks between two of them; every SM's clock
    has a start of its own, and places are first filled `late` clocks one after the other."""
    sm, begun, ended = [], [], []
    random = np.random.default_rng(7)
    for number in range(sms):
        for place in range(resident):
            now = 10**9 * number + late * place
            for _ in range(rounds):
                stay = int(8000 + random.integers(4096))
                sm.append(number)
                begun.append(now)
                ended.append(now + stay)
                now += stay + empty
    order = random.permutation(len(sm))
    return np.array(sm)[order], np.array(begun)[order], np.array(ended)[order]


@pytest.mark.parametrize(("resident", "late"), [(1, 0), (8, 0), (8, 500), (32, 40)])
def test_a_place_is_empty_as_long_as_it_is(resident: int, late: int) -> None:
    assert vacancy(*blocks(5, resident, 8, 480, late=late), resident) == 480


def test_sms_with_unequal_shares_and_none_to_replace() -> None:
    """An SM whose blocks all fit at once tells nothing; another has two rounds."""
    sm, begun, ended = np.array([0, 0, 1, 1, 1]), np.array([0, 5, 0, 9, 1300]), np.array([1000, 1005, 1000, 1009, 2000])
    assert vacancy(sm, begun, ended, 2) == 300


def test_what_a_matrix_instruction_takes_beside_its_operations() -> None:
    """4096 operations at 1024 a clock and core are 4 clocks; at 6 clocks 2 are left, at 4 none."""
    assert mma_clocks(4 * 4096 / 6, 4 * 1024) == pytest.approx(2)
    assert mma_clocks(4 * 1024, 4 * 1000) == 0
