"""`lanewise explain`: where lanes went, and the arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest
import samples

from lanewise.catalogue import catalogue
from lanewise.errors import UsageError
from lanewise.records import AccessKind, Finding, Gain, LaneSample, RunResult, Severity, SourceLine, Space, Tried
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
    assert "60.0 us - 15.0 us = 45.0 us saved of one launch, 75% of its time" in lines[-7]
    assert "31 lanes touch 31 words" in lines[-5]
    assert lines[-4].split() == ["0", *(f"b2:w{2 + 32 * lane}" for lane in range(8))]
    assert lines[-1].split()[-1] == "-"


def test_lanes_of_global_memory_are_given_as_sectors() -> None:
    lines = explain_lines(_result(_sample(Space.GLOBAL, 4, 4096 + 8)), "2.1", catalogue(), 100)
    assert "31 lanes touch 5 sectors" in lines[-5]
    assert lines[-4].split() == ["0", "s0+8", "s0+12", "s0+16", "s0+20", "s0+24", "s0+28", "s1+0", "s1+4"]


def test_an_unknown_finding_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no finding '1\.1'") as refused:
        explain_lines(_result(_sample(Space.GLOBAL, 4, 0)), "1.1", catalogue(), 100)
    assert refused.value.next_step == "Findings: 2.1."
