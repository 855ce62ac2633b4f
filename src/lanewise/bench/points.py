"""The points of a search, and which of them cannot win by what the compiler says of them. Needs no card, no torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lanewise.errors import UsageError
from lanewise.hardware.capability import Limits
from lanewise.hardware.occupancy import occupancy
from lanewise.ladder import Plan, Rung, Subject, resolve
from lanewise.ladder.plan import PlannedLaunch
from lanewise.records import KernelResources

_STATIC_SHARED = 1024  # bytes that a rung may have beside its dynamic shared memory, where they are not known yet
#: Bytes of local memory a thread beyond the least of all points: eight registers, each stored and loaded at least once.
_SPILLED = 32

Resources = Callable[[Plan], Mapping[str, KernelResources]]  # of a plan's kernels, by symbol


@dataclass(frozen=True, slots=True)
class Pruned:
    """`kept` are to be measured; `dropped` says of the others why they cannot win.

    `held`: blocks that a multiprocessor holds.
    """

    kept: dict[str, Plan]
    dropped: dict[str, str]
    held: dict[str, int]


def points(
    subject: Subject, rung: Rung, element: str, problem: Mapping[str, int], sms: int, limits: Limits
) -> dict[str, Plan]:
    """The points of the search that a multiprocessor can hold, by their parameters; the others are never built."""
    plans = {}
    for values in itertools.product(*rung.search.values()):
        tried = dict(zip(rung.search, values, strict=True))
        try:
            plan = resolve(subject, rung, element, problem, sms=sms, tried=tried)
        except UsageError:
            continue
        fits = (
            occupancy(
                limits,
                threads_per_block=_threads(launch),
                registers_per_thread=1,
                static_shared=_STATIC_SHARED,
                dynamic_shared=launch.shared_bytes,
            ).active_blocks
            for launch in plan.launches
        )
        if plan.launches and min(fits) >= _wanted(plan):
            plans[" ".join(f"{name}={plan.defines[name]}" for name in tried)] = plan
    return plans


def prune(plans: Mapping[str, Plan], resources: Resources, sms: int, limits: Limits) -> Pruned:
    """Drop what cannot win: points that do not fit, that spill much more than the best, that hold fewer blocks than
    they ask for (they are the point that asks for fewer), or that leave twice as many multiprocessors idle.
    """
    held = {name: _held(plan, resources(plan), limits) for name, plan in plans.items()}
    spilled = {name: max((r.local_bytes for r in resources(plan).values()), default=0) for name, plan in plans.items()}
    busy = {name: fill(plan, sms) for name, plan in plans.items()}
    able = [name for name in plans if held[name] >= 1]
    least = min((spilled[name] for name in able), default=0)
    busiest = max((busy[name] for name in able), default=0.0)
    kept, dropped = {}, {}
    for name, plan in plans.items():
        if held[name] < 1:
            dropped[name] = "does not fit a multiprocessor"
        elif spilled[name] > least + _SPILLED:
            dropped[name] = "spills registers"
        elif held[name] < _wanted(plan):
            dropped[name] = "holds fewer blocks than it asks for"
        elif 2 * busy[name] < busiest:
            dropped[name] = "leaves multiprocessors idle"
        else:
            kept[name] = plan
    return Pruned(kept, dropped, held)


def _wanted(plan: Plan) -> int:
    """Blocks a multiprocessor is to hold."""
    return int(plan.defines.get("BLOCKS_PER_SM", 1))


def _threads(launch: PlannedLaunch) -> int:
    return launch.block[0] * launch.block[1] * launch.block[2]


def _held(plan: Plan, resources: Mapping[str, KernelResources], limits: Limits) -> int:
    """Blocks that a multiprocessor holds, of the launch that it holds the fewest of."""
    return min(
        occupancy(
            limits,
            threads_per_block=_threads(launch),
            registers_per_thread=resources[launch.kernel].registers,
            static_shared=resources[launch.kernel].static_shared_bytes,
            dynamic_shared=launch.shared_bytes,
        ).active_blocks
        for launch in plan.launches
    )


def blocks(plan: Plan) -> int:
    """Blocks of the launch with the most threads."""
    main = max(plan.launches, key=lambda launch: _threads(launch) * _blocks(launch))
    return _blocks(main)


def _blocks(launch: PlannedLaunch) -> int:
    return launch.grid[0] * launch.grid[1] * launch.grid[2]


def fill(plan: Plan, places: int) -> float:
    """The share of `places` for blocks that are taken, over all rounds, were all blocks equally long."""
    return blocks(plan) / places / -(-blocks(plan) // places)
