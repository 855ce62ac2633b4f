"""Which rungs a card takes at a problem. Needs no card and no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.errors import UsageError
from lanewise.gpu.card import Card
from lanewise.hardware.capability import limits
from lanewise.ladder import Plan, Subject, resolve


def fitting(
    subject: Subject, element: str, problem: Mapping[str, int], card: Card, names: Sequence[str] = ()
) -> dict[str, Plan]:
    """The plans of all rungs (of the named ones) that take this problem on this card."""
    plans, sm_threads = {}, limits(*divmod(card.arch, 10)).max_threads_per_sm
    for rung in subject.rungs:
        if (names and rung.name not in names) or rung.barred(card.arch):
            continue
        try:
            plan = resolve(subject, rung, element, problem, sms=card.sms, sm_threads=sm_threads)
        except UsageError:
            continue
        if plan.shared_bytes <= card.shared_bytes:
            plans[rung.name] = plan
    return plans


def barred(subject: Subject, card: Card) -> dict[str, str]:
    """The rungs that this card's architecture cannot run, and why."""
    reasons = {rung.name: rung.barred(card.arch) for rung in subject.rungs}
    return {name: reason for name, reason in reasons.items() if reason}
