"""Times of calls on the card, all of them in turn."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from lanewise.bench.work import Call

_SPIN_CYCLES = 300_000
_FLUSH_FLOATS = 64 << 20  # 256 MiB, several times the L2 cache
_BIMODAL = 0.1


@dataclass(frozen=True)
class Sample:
    """Microseconds: median, 10th and 90th percentile. `bimodal`: the middle half is wider than a tenth of it."""

    median: float
    low: float
    high: float
    bimodal: bool

    @staticmethod
    def of(times: list[float]) -> Sample:
        twentieths = statistics.quantiles(times, n=20)
        median = statistics.median(times)
        return Sample(median, twentieths[1], twentieths[17], (twentieths[14] - twentieths[4]) > _BIMODAL * median)


def time_together(calls: Mapping[str, Call], repeats: int, *, cold: bool = False) -> dict[str, Sample]:
    """Times all calls in turn, `repeats` rounds: what drifts, drifts for all of them.

    Each round has an order of its own, the same in every run: a call may pay for what the one before it left in the
    L2 cache to be written (docs/ladder/rows.md).

    A spin kernel runs before each measurement, so that the host has queued everything before the first event: no
    launch gap of the host's is measured. `cold`: other memory larger than the L2 cache is read before each call.
    """
    flush = torch.ones(_FLUSH_FLOATS, device="cuda") if cold else None
    for call in calls.values():
        call()
        call()
    torch.cuda.synchronize()
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in calls}
    shuffled = random.Random(0)
    for _ in range(repeats):
        for name in shuffled.sample(list(calls), len(calls)):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            if flush is not None:
                flush.sum()
            torch.cuda._sleep(_SPIN_CYCLES)
            start.record()
            calls[name]()
            end.record()
            events[name].append((start, end))
        torch.cuda.synchronize()
    return {name: Sample.of([1000 * start.elapsed_time(end) for start, end in pairs]) for name, pairs in events.items()}
