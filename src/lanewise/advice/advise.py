"""From one launch, carried out and modelled, to what is worth changing in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lanewise.advice.history import History
from lanewise.advice.rank import ranked
from lanewise.advice.registry import all_rules
from lanewise.advice.subject import Subject
from lanewise.records import Finding, LaunchRecord


def advise_on(subject: Subject) -> LaunchRecord:
    """The record with advice, the most worth first."""
    rules = all_rules()
    found = [finding for rule in rules if rule.find is not None for finding in rule.find(subject)]
    return replace(subject.record, advice=ranked(found, rules), advised=True)


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
