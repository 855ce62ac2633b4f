"""Many launches that do little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from lanewise.advice.history import History
from lanewise.advice.rule import Rule, advice, say
from lanewise.hardware import device as devices
from lanewise.records import Finding, LaunchRecord, Tried

NAME = "tiny_launches"
_MANY = 10


def find_in_run(history: History) -> Iterable[tuple[int, Finding]]:
    for launches in _in_a_row(history.launches):
        first, times = launches[0], [launch.time_us for launch in launches if launch.time_us is not None]
        if len(times) < _MANY or first.time_us is None:
            continue
        overhead = devices.load(first.device).rates.launch_us
        if any(time - overhead > overhead for time in times):
            continue  # it has more to do than to start
        spared = overhead * (1 - 1 / len(times))
        yield (
            first.id,
            advice(
                NAME,
                first,
                message=say("tiny_launches.message", launches=f"{len(times):,}", overhead=f"{overhead:.3g}"),
                evidence=[say("tiny_launches.all", all=f"{sum(times):,.0f}", start=f"{overhead * len(times):,.0f}")],
                change=say("tiny_launches.change"),
                next_step=say("tiny_launches.fuse"),
                price=say("tiny_launches.price"),
                after_us=first.time_us - spared,
                tried=Tried.ESTIMATED,
                rung="launch persistent",
            ),
        )


def _in_a_row(launches: Iterable[LaunchRecord]) -> Iterator[list[LaunchRecord]]:
    """Launches of one kernel in one shape that follow each other."""
    for _, group in groupby(launches, key=lambda launch: (launch.symbol, launch.grid, launch.block, launch.stream)):
        yield list(group)


RULE = Rule(
    name=NAME,
    title="Many tiny launches",
    what="A kernel is launched many times in a row, and starting it takes as long as what it does.",
    why="Each launch costs its start, and the card drains and fills again between two that depend on each other.",
    before="for (int step = 0; step < 1000; step++) advance<<<4, 256>>>(state);",
    after="advance_all<<<4, 256>>>(state, 1000);  // the loop in the kernel, or the launches in a CUDA graph",
    rung="launch persistent",
    find_in_run=find_in_run,
)
