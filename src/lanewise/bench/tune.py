"""Searches a rung's parameters on the card, over the values that its `search` field names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from lanewise.bench.measure import check
from lanewise.bench.prepare import prepare
from lanewise.bench.timing import Sample, time_together
from lanewise.bench.work import Problem, poison
from lanewise.bench.works import WORKS
from lanewise.errors import EnvironmentProblem, LimitReached, UsageError
from lanewise.gpu.launcher import Launcher
from lanewise.ladder import Plan, Rung, Subject, resolve

_SM_SHARED_BYTES = 228 * 1024  # compute capability 9.0, of which each block takes 1 KiB for the system
_SM_THREADS, _BLOCK_THREADS = 2048, 1024


def points(subject: Subject, rung: Rung, element: str, problem: Problem, sms: int) -> dict[str, Plan]:
    """The points of the search that a multiprocessor can hold, by their parameters; the others are never built."""
    plans = {}
    for values in itertools.product(*rung.search.values()):
        tried = dict(zip(rung.search, values, strict=True))
        try:
            plan = resolve(subject, rung, element, problem, sms=sms, tried=tried)
        except UsageError:
            continue
        if not plan.launches:
            continue
        threads = max(launch.block[0] * launch.block[1] for launch in plan.launches)
        resident = int(plan.defines.get("BLOCKS_PER_SM", 1))
        shared = max(launch.shared_bytes for launch in plan.launches)
        held = threads * resident <= _SM_THREADS and resident * (shared + 2048) <= _SM_SHARED_BYTES
        if threads <= _BLOCK_THREADS and held:
            plans[" ".join(f"{name}={plan.defines[name]}" for name in tried)] = plan
    return plans


def search(
    launcher: Launcher, subject: Subject, rung: Rung, element: str, problem: Mapping[str, int], repeats: int
) -> tuple[dict[str, Sample], Sequence[str], int]:
    """Times by point and peer, fastest first; which are peers; how many points were wrong or refused by the card."""
    work = WORKS[subject.name]
    sizes = {**subject.problem, **problem}
    plans = points(subject, rung, element, sizes, launcher.card.sms)
    if not plans:
        raise UsageError(f"{subject.name}/{rung.name}: nothing to search", next_step="`search` in its ladder.toml")
    launcher.load(plans.values(), skip_failing=True)
    tensors = work.inputs(element, sizes)
    some = next(iter(plans.values()))
    outputs = {b.name: poison(b.type, b.count, host=some.pieces > 0) for b in some.buffers if b.role == "output"}
    calls = dict(work.peers(element, sizes, {**tensors, **outputs}))
    peers = tuple(calls)
    refused = 0
    for name, plan in plans.items():
        if not launcher.has(plan):
            refused += 1
            continue
        try:
            check(launcher, work, plan, sizes, tensors)
        except (AssertionError, EnvironmentProblem, LimitReached):
            refused += 1
            continue
        calls[name] = prepare(launcher, plan, {**tensors, **outputs})
    samples = time_together(calls, repeats)
    return dict(sorted(samples.items(), key=lambda item: item[1].median)), peers, refused
