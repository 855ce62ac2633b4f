"""Races between kernels and copies of streams: `hosts/streams.cu`, whose cases say what races in them; and the order
itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanewise import session
from lanewise.checks.selection import Check
from lanewise.checks.streams import NON_BLOCKING, Ordering, Streams
from lanewise.records import Finding, RunResult
from lanewise.request import RunRequest

SOURCE = Path(__file__).parent / "hosts" / "streams.cu"
TEXT = SOURCE.read_text()
CASES = dict(re.findall(r'is\("(\w+)"\)\) \{(?:  // race: ([\w -]+))?$', TEXT, re.M))
LINES = {"fill": "if (i < n) a[i] = v + i", "add": "if (i < n) out[i] = in[i] + 1"}
OTHER_SIDES = {number for number, line in enumerate(TEXT.split("\n"), 1) if line.endswith("// the other side")}


def line_of(kernel: str) -> int:
    return TEXT[: TEXT.index(LINES[kernel])].count("\n") + 1


@pytest.fixture(scope="module")
def result() -> RunResult:
    request = RunRequest((SOURCE,), arguments=tuple(CASES), checks=(Check.RACE.value,))
    program, arch, notes = session.built(request)
    return session.run_built(request, program, arch, notes, ())[0]


def by_case(result: RunResult) -> dict[str, list[Finding]]:
    """The findings of launches, in the cases they belong to."""
    cases = iter(CASES)
    found: dict[str, list[Finding]] = {name: [] for name in CASES}
    name = next(cases)
    for launch in result.launches:
        found[name] += launch.findings
        if launch.kernel.startswith("next_case"):
            name = next(cases, "")
    return found


def test_there_are_cases_of_both_kinds() -> None:
    racy = sum(bool(lines) for lines in CASES.values())
    assert racy >= 9
    assert len(CASES) - racy >= 12


def test_kernels_that_nothing_orders(result: RunResult) -> None:
    for name, findings in by_case(result).items():
        pairs = {tuple(sorted(side.line or 0 for side in finding.sides)) for finding in findings}
        wanted = [pair.split("-") for pair in CASES[name].split() if not pair.endswith("copy")]
        if name != "set_by_default_beside":
            assert pairs == {tuple(sorted(map(line_of, pair))) for pair in wanted}, name


def test_who_it_was_is_told(result: RunResult) -> None:
    (finding,) = by_case(result)["halves_overlap"]
    now, before = finding.sides
    assert (now.block, now.thread) == ((0, 0, 0), (0, 0, 0))
    assert (before.block, before.thread) == ((500 // 128, 0, 0), (500 % 128, 0, 0))
    assert any(sentence.startswith("byte 2,000 of allocation") for sentence in finding.evidence)


def test_copies_that_nothing_orders(result: RunResult) -> None:
    findings = [*result.findings, *by_case(result)["set_by_default_beside"]]
    assert {side.line for finding in findings for side in finding.sides} == {line_of("fill"), *OTHER_SIDES}
    assert len(findings) == len(OTHER_SIDES)


def test_what_atomics_may_order_is_said(result: RunResult) -> None:
    assert result.check is not None
    (sentence,) = result.check.unchecked
    assert "kernel publish and kernel take" in sentence


def issue(streams: Streams, stream: int, flags: int = 0) -> int:
    streams.take(Ordering.WORK, 0, stream, flags, 0, ())
    issued = streams.issued(0)
    assert issued is not None
    return issued.before


def test_two_streams_know_nothing_of_each_other() -> None:
    streams = Streams()
    assert [issue(streams, 1), issue(streams, 2), issue(streams, 1), issue(streams, 3, NON_BLOCKING)] == [0, 0, 1, 0]
    assert issue(streams, 0) == 0b0111  # the default stream waits for all but the last
    assert issue(streams, 2) == 0b10111
    streams.take(Ordering.RECORD, 0, 3, NON_BLOCKING, 7, ())
    streams.take(Ordering.WAIT, 0, 2, 0, 7, ())
    assert issue(streams, 2) == 0b111111
    streams.take(Ordering.SYNC_DEVICE, 0, 0, 0, 0, ())
    assert streams.begin_anew()
    assert issue(streams, 1) == 0


def test_nodes_of_a_graph_come_after_those_they_name() -> None:
    streams = Streams()
    issue(streams, 1)
    streams.take(Ordering.GRAPH, 0, 1, 0, 0, ())
    before = []
    for after in ((), (0,), (0,), (1, 2)):
        streams.take(Ordering.NODE, 0, 1, 0, 0, after)
        before.append(issue(streams, 1))
    streams.take(Ordering.GRAPH_END, 0, 1, 0, 0, ())
    assert before == [0b1, 0b11, 0b11, 0b1111]
    assert issue(streams, 1) == 0b11111
