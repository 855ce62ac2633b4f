"""Warps that take turns at the units of a device, as a closed network of queues.

Approximate mean value analysis (Schweitzer's), with half a service less waiting for the customer found in service, as
services have a fixed length (Reiser and Lavenberg, JACM 1980; Reiser, 1981). Exact at both ends: one warp waits for
nobody, many warps run at the pace of the busiest unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROUNDS = 500
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Station:
    """A unit: cycles that one warp keeps it busy in all, and how many groups of warps share it."""

    name: str
    service: float
    shared_by: float = 1.0


@dataclass(frozen=True, slots=True)
class Solution:
    """`cycles` is the time from a warp's start to its end with `customers` of its group under way; `busy[name]` the
    share of time that a unit works; `waiting[name]` the cycles a warp spends at it."""

    cycles: float
    busy: dict[str, float]
    waiting: dict[str, float]


def solve(stations: Sequence[Station], delay: float, customers: float, apart: float = 1.0) -> Solution:
    """A group of `customers` warps; `delay` cycles of each warp pass without any unit. Units may work for one warp side
    by side: `apart` is the time that they take so, over the sum of their services."""
    customers = max(customers, 1e-9)
    active = [station for station in stations if station.service > 0]
    queues = [customers / (len(active) + 1)] * len(active)
    response, throughput = [0.0] * len(active), 0.0
    for _ in range(_ROUNDS):
        busy = [min(1.0, throughput * station.service * station.shared_by) for station in active]
        for n, station in enumerate(active):
            everybody = max(1.0, station.shared_by) * customers
            found = (everybody - 1) / customers * queues[n] if everybody > 1 else 0.0
            response[n] = station.service * (apart + max(0.0, found - busy[n] / 2))
        total = delay + sum(response)
        throughput = customers / total
        limit = min((1 / (s.service * s.shared_by) for s in active), default=throughput)
        throughput = min(throughput, limit)
        renewed = [throughput * r for r in response]
        change = max((abs(a - b) for a, b in zip(renewed, queues, strict=True)), default=0.0)
        queues = [(a + b) / 2 for a, b in zip(renewed, queues, strict=True)]
        if change < _CLOSE * customers:
            break
    cycles = customers / throughput if throughput else delay
    return Solution(
        cycles,
        {s.name: min(1.0, throughput * s.service * s.shared_by) for s in active},
        {s.name: r for s, r in zip(active, response, strict=True)},
    )
