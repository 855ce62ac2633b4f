"""Modelled times of the points of a search, and which points are too slow to win. Needs no card, no torch.

The emulator runs each point at a smaller problem of the same shape; its counts give the model's time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from lanewise.bench.points import blocks, fill
from lanewise.errors import LanewiseError, UsageError
from lanewise.gpu.card import Card
from lanewise.hardware import device
from lanewise.ladder import Plan, Rung, Subject, load, reference, resolve
from lanewise.ladder.emulate import run

#: Three times the model's mean error (docs/model-accuracy.md), for errors of two points may add up.
SLOWER = 1.5
_ROUNDS = 2  # of blocks that the smaller problem has for each point, where the whole one has as many
_LEAST_BYTES = 16 << 20  # of all buffers of the smaller problem
_HALVED = 512  # sizes from here on are halved

Times = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Request:
    """A point, so that another process can find it again."""

    subject: str
    rung: str
    element: str
    problem: Mapping[str, int]
    tried: Mapping[str, str]
    sms: int
    device: str


def modelled(
    subject: Subject,
    rung: Rung,
    element: str,
    problem: Mapping[str, int],
    plans: Mapping[str, Plan],
    held: Mapping[str, int],
    card: Card,
    workers: int,
) -> dict[str, float | None]:
    """Microseconds of each point at a smaller problem, as if rounds of blocks were as full as in the whole one.

    `held`: blocks that a multiprocessor holds, by point; None for a point that the emulator
    cannot run or has no times for, and for all where no device file has the card's name.
    """
    try:
        key = device.load(card.name).key
    except UsageError:
        return dict.fromkeys(plans)
    sms = card.sms
    tried = {name: {macro: plan.defines[macro] for macro in rung.search} for name, plan in plans.items()}

    def at(sizes: Mapping[str, int]) -> dict[str, Plan]:
        return {name: resolve(subject, rung, element, sizes, sms=sms, tried=values) for name, values in tried.items()}

    small = smaller(rung, problem, at, plans, held, sms)
    requests = [Request(subject.name, rung.name, element, small, values, sms, key) for values in tried.values()]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        times = dict(zip(tried, pool.map(time_of, requests), strict=True))
    there = at(small)
    return {
        name: None if time is None else time * fill(there[name], held[name] * sms) / fill(plans[name], held[name] * sms)
        for name, time in times.items()
    }


def slow(times: Times) -> dict[str, str]:
    """Points that cannot win, with the reason."""
    best = min((time for time in times.values() if time is not None), default=0.0)
    reason = f"modelled at more than {SLOWER} times the best"
    return {name: reason for name, time in times.items() if time is not None and time > SLOWER * best}


def smaller(
    rung: Rung,
    problem: Mapping[str, int],
    at: Callable[[Mapping[str, int]], Mapping[str, Plan]],
    plans: Mapping[str, Plan],
    held: Mapping[str, int],
    sms: int,
) -> dict[str, int]:
    """The problem with its sizes halved in turn, as long as each point still fills the card.

    What a size is a multiple of stays (its last seven bits do). Sizes that macros are fitted to are not halved, nor
    those that the inputs do not shrink with. `at`: the plans of all points at other sizes, or UsageError.
    """
    sizes = dict(problem)
    fitted = set(re.findall(r"[a-z_]+", " ".join(rung.fits)))
    names = [name for name in sizes if name not in fitted]
    while True:
        before = dict(sizes)
        for name in names:
            size = sizes[name]
            tried = {**sizes, name: size // 256 * 128 + size % 128}
            if size >= _HALVED and _enough(at, tried, sizes, plans, held, sms):
                sizes = tried
        if sizes == before:
            return sizes


def _enough(
    at: Callable[[Mapping[str, int]], Mapping[str, Plan]],
    tried: Mapping[str, int],
    sizes: Mapping[str, int],
    plans: Mapping[str, Plan],
    held: Mapping[str, int],
    sms: int,
) -> bool:
    try:
        there = at(tried)
    except UsageError:
        return False
    some = next(iter(there))
    read = [sum(b.bytes for b in at(now)[some].buffers if b.role == "input") for now in (tried, sizes)]
    if read[0] >= read[1] or sum(b.bytes for b in there[some].buffers if b.role != "scratch") < _LEAST_BYTES:
        return False
    return all(blocks(plan) >= min(blocks(plans[name]), _ROUNDS * sms * held[name]) for name, plan in there.items())


def time_of(request: Request) -> float | None:
    """Modelled microseconds of all launches of a point."""
    try:
        subject = load(request.subject)
        rung = subject.rung(request.rung)
        plan = resolve(subject, rung, request.element, request.problem, sms=request.sms, tried=request.tried)
        outcome = run(plan, reference.inputs(subject, plan, request.problem), device=request.device)
    except LanewiseError:
        return None  # it is measured: the card says what is wrong with it
    times = [launch.time_us for launch in outcome.launches]
    return sum(time for time in times if time is not None) if None not in times else None
