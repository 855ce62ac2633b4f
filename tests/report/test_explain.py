"""`lanewise explain`: where lanes went, and the arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest
import samples
from rich.cells import cell_len

from lanewise.catalogue import catalogue, languages
from lanewise.errors import UsageError
from lanewise.records import AccessKind, Finding, Gain, LaneSample, RunResult, Severity, SourceLine, Space, Tried
from lanewise.report.executed import as_executed
from lanewise.report.explain import explain_lines


def _result(sample: LaneSample) -> RunResult:
    gain = Gain(60.0, 15.0, Tried.REEVALUATED, "rows of 33 words")
    found = Finding("bank_conflict", Severity.NOTE, "", source=SourceLine(samples.PROGRAM, 11), gain=gain)
    run = samples.transposes()
    advised = replace(run.launches[1], advised=True, advice=(found,), samples=(sample,))
    return replace(run, launches=(run.launches[0], advised, run.launches[2]))


def _sample(space: Space, stride: int, base: int) -> LaneSample:
    lanes = (*(stride * lane for lane in range(31)), None)
    return LaneSample(samples.PROGRAM, 11, 52, space, AccessKind.LOAD, 32, base, lanes)


def test_lanes_of_shared_memory_are_given_as_banks_and_words() -> None:
    lines = explain_lines(_result(_sample(Space.SHARED, 128, 8)), "2.1", catalogue(), 100)
    assert "60.0 us - 15.0 us = 45.0 us saved of one launch, 75% of its time" in lines[-12]
    assert "32 bits as recorded (PTX line 52): 31 lanes, 31 words." in lines[-9]
    assert lines[-8] == "  It takes 31 wavefronts where 1 would do."
    assert lines[-6].split() == ["0", *(f"b2:w{2 + 32 * lane}" for lane in range(8))]
    assert lines[-3].split()[-1] == "-"
    assert lines[-1].split() == ["b2:31"]


def test_lanes_of_global_memory_are_given_as_sectors() -> None:
    lines = explain_lines(_result(_sample(Space.GLOBAL, 4, 4096 + 8)), "2.1", catalogue(), 100)
    assert "31 lanes, 5 sectors." in lines[-9]
    assert lines[-6].split() == ["0", "s0+8", "s0+12", "s0+16", "s0+20", "s0+24", "s0+28", "s1+0", "s1+4"]
    assert lines[-1].split() == ["s0:24", "s1:32", "s2:32", "s3:32", "s4:4"]


def test_an_unknown_finding_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no finding '1\.1'") as refused:
        explain_lines(_result(_sample(Space.GLOBAL, 4, 0)), "1.1", catalogue(), 100)
    assert refused.value.next_step == "Findings: 2.1."


def test_loads_that_the_machine_joins_are_shown_as_one_wide_load() -> None:
    """Four neighbouring words of each lane, of which PTX loads one: the machine's 128 bits, from their beginning."""
    sample = _sample(Space.SHARED, 16, 8)
    result = _result(sample)
    launch = result.launches[1]
    (wide,) = (replace(a, basis="sass", ptx_line=52, width_bits=128, space=Space.SHARED) for a in launch.accesses[-1:])
    launch = replace(launch, accesses=(*launch.accesses, replace(wide, kind=AccessKind.LOAD)))
    executed = as_executed(sample, launch)
    assert (executed.width_bits, executed.base) == (128, 0)
    assert executed.lanes == sample.lanes
    lines = explain_lines(replace(result, launches=(result.launches[0], launch)), "2.1", catalogue(), 100)
    assert "One load of 128 bits as recorded (PTX line 52): 31 lanes, 124 words." in " ".join(lines)
    assert as_executed(sample, result.launches[1]) is sample


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("language", languages())
def test_a_row_of_lanes_fits(width: int, language: str) -> None:
    for space in (Space.SHARED, Space.GLOBAL):
        sample = _sample(space, 1 << 17, 1 << 40)
        assert all(cell_len(n) <= width for n in explain_lines(_result(sample), "2.1", catalogue(language), width))
