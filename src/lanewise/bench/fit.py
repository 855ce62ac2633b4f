"""Which rungs a card takes at a problem. Needs no card and no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.errors import UsageError
from lanewise.gpu.card import Card
from lanewise.ladder import Plan, Rung, Subject, resolve


def fitting(
    subject: Subject, element: str, problem: Mapping[str, int], card: Card, names: Sequence[str] = ()
) -> dict[str, Plan]:
    """The plans of all rungs (of the named ones) that take this problem on this card."""
    plans = {}
    for rung in subject.rungs:
        if (names and rung.name not in names) or rung.arch > card.arch:
            continue
        try:
            plans[rung.name] = resolve(subject, rung, element, problem, sms=card.sms)
        except UsageError:
            continue
    return plans


def too_old(subject: Subject, card: Card) -> list[Rung]:
    """The rungs that need a newer card."""
    return [rung for rung in subject.rungs if rung.arch > card.arch]
