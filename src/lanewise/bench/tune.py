"""Searches a rung's parameters on the card, over the values that its `search` field names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.bench.measure import check
from lanewise.bench.modelled import modelled, slow
from lanewise.bench.points import points, prune
from lanewise.bench.prepare import prepare
from lanewise.bench.timing import Sample, time_together
from lanewise.bench.work import poison
from lanewise.bench.works import WORKS
from lanewise.errors import EnvironmentProblem, LimitReached, UsageError
from lanewise.gpu.launcher import Launcher
from lanewise.hardware.capability import limits as limits_of
from lanewise.ladder import Rung, Subject


@dataclass(frozen=True, slots=True)
class Found:
    """`samples` by point and peer, fastest first. Points that were not measured: `dropped` ones could not win (how many
    by reason), `refused` ones were wrong, did not compile or were refused by the card. `unmodelled` ones have no
    modelled time and were measured."""

    samples: Mapping[str, Sample]
    peers: Sequence[str]
    dropped: Mapping[str, int]
    refused: int
    unmodelled: int


def search(
    launcher: Launcher,
    subject: Subject,
    rung: Rung,
    element: str,
    problem: Mapping[str, int],
    repeats: int,
    workers: int,
) -> Found:
    """Times of the points that may win, and of the peers. `workers`: processes that emulate.

    Raises UsageError where no point takes the problem.
    """
    work = WORKS[subject.name]
    sizes = {**subject.problem, **problem}
    card = launcher.card
    limits = limits_of(card.arch // 10, card.arch % 10)
    plans = points(subject, rung, element, sizes, card.sms, limits)
    if not plans:
        raise UsageError(
            f"{subject.name}/{rung.name}: no point of its search takes this problem", next_step="Take another --size."
        )
    launcher.load(plans.values(), skip_failing=True)
    built = {name: plan for name, plan in plans.items() if launcher.has(plan)}
    pruned = prune(built, launcher.resources, card.sms, limits)
    times = modelled(subject, rung, element, sizes, pruned.kept, pruned.held, card, workers)
    too_slow = slow(times)
    tensors = work.inputs(element, sizes)
    some = next(iter(plans.values()))
    outputs = {b.name: poison(b.type, b.count, host=some.pieces > 0) for b in some.buffers if b.role == "output"}
    calls = dict(work.peers(element, sizes, {**tensors, **outputs}))
    peers = tuple(calls)
    refused = len(plans) - len(built)
    for name, plan in pruned.kept.items():
        if name in too_slow:
            continue
        try:
            check(launcher, work, plan, sizes, tensors)
        except (AssertionError, EnvironmentProblem, LimitReached):
            refused += 1
            continue
        calls[name] = prepare(launcher, plan, {**tensors, **outputs})
    samples = time_together(calls, repeats)
    fastest = dict(sorted(samples.items(), key=lambda item: item[1].median))
    return Found(
        fastest,
        peers,
        Counter([*pruned.dropped.values(), *too_slow.values()]),
        refused,
        list(times.values()).count(None),
    )
