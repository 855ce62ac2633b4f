"""Where lanes go, from literal addresses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from html_samples import CONFLICT, STORE

from lanewise.records import LaneSample, Space
from lanewise.report.html.charts import _corners, _together, occupancy_curves
from lanewise.report.lane_map import LaneMap, lane_map, ranges


def drawn(sample: LaneSample) -> LaneMap:
    made = lane_map(sample)
    assert made is not None
    return made


def test_a_strided_store_has_a_sector_for_each_lane() -> None:
    made = drawn(STORE)
    assert (made.actual, made.ideal, made.active, made.to_banks) == (32, 4, 32, False)
    assert [(target.used, target.lanes) for target in made.targets] == [(4, str(lane)) for lane in range(32)]
    assert made.alike == 4
    assert made.targets[1].name == "0x7f0000002000"
    assert made.links.count("M") == 32


def test_contiguous_lanes_fill_their_sectors() -> None:
    made = drawn(replace(STORE, lanes=tuple(4 * lane for lane in range(32))))
    assert [(target.used, target.lanes) for target in made.targets] == [
        (32, "0-7"), (32, "8-15"), (32, "16-23"), (32, "24-31"),
    ]  # fmt: skip


def test_a_lane_over_the_edge_of_a_sector_comes_to_both() -> None:
    made = drawn(replace(STORE, width_bits=128, lanes=(24, *[None] * 31)))
    assert [(target.used, target.lanes) for target in made.targets] == [(8, "0"), (8, "0")]


def test_lanes_that_meet_in_a_bank() -> None:
    made = drawn(CONFLICT)
    assert (made.actual, made.ideal) == (32, 1)
    assert [(target.name, target.used, target.lanes) for target in made.targets] == [("0", 32, "0-31")]


def test_lanes_that_take_no_part_are_not_drawn() -> None:
    made = drawn(replace(CONFLICT, lanes=(None, 4, None, 12, *[None] * 28)))
    assert made.active == 2
    assert made.on.count("M") == 2
    assert [target.lanes for target in made.targets] == ["1", "3"]


@pytest.mark.parametrize(
    "sample",
    [
        replace(STORE, space=Space.CONST),
        replace(STORE, lanes=(None,) * 32),
        replace(STORE, lanes=()),
        replace(STORE, width_bits=0),
    ],
)
def test_what_cannot_be_drawn_is_left_out(sample: LaneSample) -> None:
    assert lane_map(sample) is None


def test_ranges() -> None:
    assert ranges([3, 0, 1, 2, 9, 11, 10]) == "0-3, 9-11"


def test_curves_keep_their_corners() -> None:
    assert _corners([(1, 5), (2, 5), (3, 5), (4, 9)]) == ((1, 5), (3, 5), (4, 9))


def test_numbers_of_points_that_lie_on_each_other_stand_together() -> None:
    assert _together([(0, 0), (0.01, 0), (3, 0)], [1, 2, 3], (100, 100)) == ["", "1, 2", "3"]
    assert _together([(0, 0), (0.3, 0), (0.6, 0.1)], [1, 2, 3], (100, 100)) == ["", "", "1, 2, 3"]
    assert _together([(0, 0), (0.1, 0.2)], [1, 2], (100, 100)) == ["1", "2"]


def test_an_unknown_device_has_no_curves() -> None:
    from html_samples import advised

    launch = advised().launches[0]
    assert len(occupancy_curves(launch)) == 3
    assert occupancy_curves(replace(launch, device="my card")) == ()
    assert occupancy_curves(replace(launch, device="/etc/my.toml")) == ()
    assert occupancy_curves(replace(launch, resources=None)) == ()
