"""Time, bound and roofline as the terminal shows them."""

from __future__ import annotations

from dataclasses import replace

from samples import transposes

from lanewise.catalogue import catalogue
from lanewise.records import LaunchRecord, MemoryTraffic, Roof, Unit
from lanewise.report.fold import fold_launches
from lanewise.report.json import from_json, to_json
from lanewise.report.roofline import roofline_lines
from lanewise.report.timing import microseconds, timing_facts

ROOF = Roof(2400.0, 4430.0, 300.0, 66908.2, 3_000_000, 0.125, 3000.0, 5700.0)
MEMORY = MemoryTraffic(0.5, 0.25, 64_000_000, 32_000_000, 24 << 20, 0, 0.25)


def timed(launch: LaunchRecord, time_us: float) -> LaunchRecord:
    units = (Unit("DRAM", 18_000.0, 0.91), Unit("L2", 9_000.0, 0.45), Unit("issue", 10.0, 0.001))
    return replace(
        launch, time_us=time_us, bound="DRAM", stall="long scoreboard", units=units, roof=ROOF, memory=MEMORY,
        caches="warm",
    )  # fmt: skip


def test_the_lines_of_one_launch() -> None:
    (fold,) = fold_launches([timed(transposes().launches[0], 10.0)])
    time, bound, memory = timing_facts(fold, catalogue())
    assert time == "10.0 us modelled; 24 MB of DRAM / 10.0 us = 2.4 of 4.43 TB/s (54%)"
    assert bound == "bound by DRAM, stall: long scoreboard; busy: DRAM 91%, L2 45%"
    assert memory == (
        "L1 hits 50%, L2 hits 25%, DRAM 24 MB read, 0 B written, 1 of 4 cache lines followed; caches warm"
    )


def test_repeated_launches_show_the_last_and_the_first() -> None:
    launch = transposes().launches[0]
    (fold,) = fold_launches([timed(launch, 16.0), timed(replace(launch, id=9), 12.0)])
    assert timing_facts(fold, catalogue())[0].startswith("12.0 us modelled (last of 2 launches, first 16.0)")


def test_a_launch_without_a_time_says_nothing() -> None:
    (fold,) = fold_launches(transposes().launches[:1])
    assert timing_facts(fold, catalogue()) == []


def test_without_dram_and_arithmetic_the_l2_is_the_roof() -> None:
    launch = timed(transposes().launches[0], 10.0)
    (fold,) = fold_launches([replace(launch, roof=Roof(0.0, 4430.0, 0.0, 66908.2, 0, None, 2850.0, 5700.0))])
    assert timing_facts(fold, catalogue())[0] == "10.0 us modelled; 27.2 MB of L2 / 10.0 us = 2.85 of 5.7 TB/s (50%)"


def test_three_digits() -> None:
    assert [microseconds(t) for t in (0.854, 16.27, 4421.3)] == ["0.85", "16.3", "4,421"]


def test_json_holds_the_model_and_gives_it_back() -> None:
    result = replace(transposes(), launches=(timed(transposes().launches[0], 10.0),))
    assert from_json(to_json(result)) == result


def test_kernels_stand_under_the_roofs() -> None:
    launch = transposes().launches[0]
    compute = replace(timed(launch, 10.0), symbol="compute", kernel="compute()",
                      roof=Roof(100.0, 4430.0, 50000.0, 66908.2, 10**9, 500.0, 10.0, 5700.0))  # fmt: skip
    lines = [line.plain for line in roofline_lines(fold_launches([timed(launch, 10.0), compute]), catalogue(), 100)]
    plot = lines[1:11]
    where = {
        letter: next((n, row.index(letter, 12)) for n, row in enumerate(plot) if letter in row[12:]) for letter in "ab"
    }
    assert where["b"][0] < where["a"][0]
    assert where["b"][1] > where["a"][1]
    assert "/" in plot[4]
    assert "-" in plot[0]
    assert any(line.startswith("  b  compute: 500 a byte") for line in lines)
    assert lines[11].split() == ["0.1", "1", "10", "100", "1,000"]  # whole at the right edge too
    assert len(lines[11]) == 100
