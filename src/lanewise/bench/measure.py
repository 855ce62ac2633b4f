"""Checks rungs on the card against float64 references, then times them in turn with their peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from lanewise.bench.fit import fitting
from lanewise.bench.prepare import prepare
from lanewise.bench.timing import Sample, time_together
from lanewise.bench.work import Call, Case, Problem, Tensors, Work, poison
from lanewise.bench.works import WORKS
from lanewise.errors import LanewiseError, LimitReached, UsageError
from lanewise.gpu.launcher import Launcher
from lanewise.ladder import Plan, Subject

_L2_TIMES = 3  # data of more than so many L2 caches is read from memory anyway: cold is not timed apart


@dataclass(frozen=True)
class Timed:
    """A rung or a peer: warm and (for data that the L2 might hold) cold times, the error against float64."""

    name: str
    peer: bool
    warm: Sample
    cold: Sample | None
    rate: float
    of_roof: float | None  # None where this sample or the roof's is bimodal
    error: float | None


@dataclass(frozen=True)
class Result:
    """A case: `moved` as the work counts it; `wrong` are results that were not right, and not timed."""

    element: str
    problem: Problem
    moved: int
    unit: str
    rows: Sequence[Timed]
    wrong: Sequence[str] = field(default_factory=tuple)


def check(launcher: Launcher, work: Work, plan: Plan, problem: Problem, tensors: Tensors) -> float:
    """The worst error of two runs on poisoned memory. Raises AssertionError with the rung and the problem."""
    outputs = {
        b.name: poison(b.type, b.count, host=plan.pieces > 0 and b.role == "output")
        for b in plan.buffers
        if b.role != "input"
    }
    run = prepare(launcher, plan, {**tensors, **outputs})
    worst = 0.0
    try:
        for _ in range(2):  # the second on what the first left: nothing may depend on fresh memory
            run()
            torch.cuda.synchronize()
            worst = max(worst, work.check(plan.element, problem, {**tensors, **outputs}))
    except AssertionError as wrong:
        raise AssertionError(f"{plan.rung.subject}/{plan.rung.name} {plan.element} {dict(problem)}: {wrong}") from wrong
    return worst


def check_awkward(launcher: Launcher, subject: Subject) -> Iterator[str]:
    """What is wrong at sizes of one, primes, none, a little over a tile."""
    work = WORKS[subject.name]
    for problem in work.awkward:
        for element in subject.types:
            tensors = work.inputs(element, _whole(subject, problem))
            for plan in fitting(subject, element, problem, launcher.card).values():
                try:
                    check(launcher, work, plan, _whole(subject, problem), tensors)
                except AssertionError as error:
                    yield str(error)


def time_case(launcher: Launcher, subject: Subject, case: Case, repeats: int) -> Result:
    """Check and time the rungs of a case and its peers. Raises LimitReached where the card's memory is too small."""
    work = WORKS[subject.name]
    problem = _whole(subject, case.problem)
    try:
        return _time_case(launcher, subject, work, Case(case.element, problem, case.rungs), repeats)
    except torch.cuda.OutOfMemoryError as error:
        raise LimitReached(
            f"out of device memory: {subject.name} {case.element} {dict(problem)}",
            next_step="Take a smaller problem with --size, or free memory on the card.",
        ) from error
    finally:
        torch.cuda.empty_cache()


def _time_case(launcher: Launcher, subject: Subject, work: Work, case: Case, repeats: int) -> Result:
    plans = fitting(subject, case.element, case.problem, launcher.card, case.rungs)
    if not any(plan.launches for plan in plans.values()):
        raise UsageError(
            f"{subject.name} {case.element} {dict(case.problem)}: no rung launches anything, there is nothing to time",
            next_step="Take a larger --size.",
        )
    tensors = work.inputs(case.element, case.problem)
    outputs = {
        b.name: poison(b.type, b.count, host=plan.pieces > 0)
        for plan in plans.values()
        for b in plan.buffers
        if b.role == "output"
    }
    calls = dict(work.peers(case.element, case.problem, {**tensors, **outputs}))
    peers = list(calls)
    errors = {
        name: off
        for name, call in calls.items()
        if (off := _error_of_peer(work, case, call, {**tensors, **outputs}, next(iter(outputs)))) is not None
    }
    wrong = []
    for name, plan in plans.items():
        try:
            errors[name] = check(launcher, work, plan, case.problem, tensors)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        calls[name] = prepare(launcher, plan, {**tensors, **outputs})
    warm = time_together(calls, repeats)
    held = sum(tensor.numel() * tensor.element_size() for tensor in (*tensors.values(), *outputs.values()))
    l2_bytes = torch.cuda.get_device_properties(launcher.card.index).L2_cache_size
    cold = time_together(calls, repeats, cold=True) if held < _L2_TIMES * l2_bytes else {}
    moved = work.moved(case.element, case.problem)
    roof = min((warm[peer] for peer in peers if peer.startswith(work.roof)), key=lambda s: s.median, default=None)
    rows = [
        Timed(
            name,
            name in peers,
            sample,
            cold.get(name),
            moved / sample.median / work.scale,
            None if roof is None or roof.bimodal or sample.bimodal else roof.median / sample.median,
            errors.get(name),
        )
        for name, sample in warm.items()
    ]
    return Result(case.element, case.problem, moved, work.unit, rows, wrong)


def _error_of_peer(work: Work, case: Case, call: Call, tensors: Tensors, output: str) -> float | None:
    """The peer's own error, of what it wrote to the output or gave back; None where it computes something else."""
    target = tensors[output]
    target.fill_(float("nan") if target.dtype.is_floating_point else -1)
    given = call()
    torch.cuda.synchronize()
    if hasattr(given, "__dlpack__"):
        values = torch.from_dlpack(given).flatten()
        if values.numel() != target.numel():
            return None
        target.copy_(values)
    try:
        return work.check(case.element, case.problem, tensors)
    except AssertionError:
        return None


def _whole(subject: Subject, problem: Mapping[str, int]) -> dict[str, int]:
    return {**subject.problem, **problem}


def bench(
    launcher: Launcher, subject: Subject, cases: Sequence[Case], repeats: int
) -> Iterator[Result | LanewiseError]:
    """Each case's result, or why it could not be had."""
    plans = [
        plan
        for case in cases
        for plan in fitting(subject, case.element, case.problem, launcher.card, case.rungs).values()
    ]
    launcher.load(plans)
    for case in cases:
        try:
            yield time_case(launcher, subject, case, repeats)
        except LanewiseError as error:
            yield error


def quick(
    launcher: Launcher, subject: Subject, problem: Problem, element: str | None = None, repeats: int = 10
) -> dict[str, float]:
    """Median microseconds of each rung that this card runs at one problem, with elements of a type or its own, warm."""
    times: dict[str, float] = {}
    for kind in (element,) if element else dict.fromkeys(rung.element for rung in subject.rungs):
        names = tuple(rung.name for rung in subject.rungs if (kind in rung.types if element else rung.element == kind))
        result = time_case(launcher, subject, Case(kind, problem, names), repeats)
        times |= {row.name: round(row.warm.median, 2) for row in result.rows if not row.peer}
    return times
