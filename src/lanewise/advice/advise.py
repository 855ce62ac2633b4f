"""From one launch, carried out and modelled, to what is worth changing in it."""

from __future__ import annotations

from dataclasses import replace

from lanewise.advice.rank import ranked
from lanewise.advice.registry import all_rules
from lanewise.advice.subject import Subject
from lanewise.records import LaunchRecord


def advise(subject: Subject) -> LaunchRecord:
    """The record with advice, the most worth first."""
    rules = all_rules()
    found = [finding for rule in rules if rule.find is not None for finding in rule.find(subject)]
    return replace(subject.record, advice=ranked(found, rules), advised=True)
