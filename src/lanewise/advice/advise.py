"""From one launch, carried out and modelled, to what is worth changing in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lanewise.advice.history import History
from lanewise.advice.rank import ranked
from lanewise.advice.registry import all_rules
from lanewise.advice.sampling import samples
from lanewise.advice.subject import Subject
from lanewise.records import Finding, LaneSample, LaunchRecord


def advise_on(subject: Subject) -> LaunchRecord:
    """The record with advice, the most worth first."""
    rules = all_rules()
    found = [finding for rule in rules if rule.find is not None for finding in rule.find(subject)]
    advice = ranked(found, rules)
    shown = samples(subject.tries.requests(), subject.sites) if advice else ()
    return replace(
        subject.record, advice=tuple(_with_samples(f, shown) for f in advice), advised=True, samples=_one_a_line(shown)
    )


def _one_a_line(shown: Sequence[LaneSample]) -> tuple[LaneSample, ...]:
    """The first of the accesses of one kind that a line makes: unrolling has made many of one."""
    found: dict[object, LaneSample] = {}
    for s in shown:
        place = s.ptx_line if s.line is None else (s.file, s.line)
        found.setdefault((place, s.space, s.kind, s.width_bits, s.array), s)
    return tuple(found.values())


def _with_samples(finding: Finding, shown: Sequence[LaneSample]) -> Finding:
    """The finding with the requests of its line of PTX, where its rule chose none."""
    if finding.samples or finding.ptx_line is None:
        return finding
    return replace(finding, samples=tuple(sample for sample in shown if sample.ptx_line == finding.ptx_line))


def advise_run(history: History, records: Sequence[LaunchRecord]) -> list[LaunchRecord]:
    """The records of a program that has ended, with what only all launches together show."""
    rules = all_rules()
    found: dict[int, list[Finding]] = {}
    for rule in rules:
        for number, finding in rule.find_in_run(history) if rule.find_in_run is not None else ():
            found.setdefault(number, []).append(finding)
    return [
        replace(record, advice=ranked((*record.advice, *found[record.id]), rules)) if record.id in found else record
        for record in records
    ]
