"""What a kernel counts beside its PTX, for the sake of the machine code made from it: plain data, asked for by line.

Two things cannot be told from the counts of PTX: what an access costs at another width (the compiler merges
neighbouring ones), and how a loop's trips split among the copies that unrolling made of its body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class CountRule(StrEnum):
    """How the wavefronts of an access to shared memory are counted (`hardware.banks`)."""

    LOAD = "load"
    STORE = "store"
    LANES = "lanes"  # atomics that serialise lanes
    WORDS = "words"  # atomics that count a word once, like loads
    SWAPS = "swaps"  # a loop of compare-and-swaps on global memory, one lane of each word a round
    EXCHANGE_LOAD = "exchange load"  # of a loop of loads and compare-and-swaps, one lane of each bank a round
    EXCHANGE_SWAP = "exchange swap"  # of the same loop


EXCHANGES = (CountRule.EXCHANGE_LOAD, CountRule.EXCHANGE_SWAP)


@dataclass(frozen=True, slots=True)
class Recount:
    """Count the access of one PTX line again as one of `width_bits`, its addresses aligned down to that width."""

    module: int
    ptx_line: int
    width_bits: int
    rule: CountRule


@dataclass(frozen=True, slots=True)
class TripStage:
    """A piece of machine code that runs `copies` trips of a loop at once, again and again where it `repeats`."""

    copies: int
    repeats: bool


@dataclass(frozen=True, slots=True)
class TripPlan:
    """A loop of PTX and the stages that its trips are spent in, first to last. `header` is the line of PTX of the
    first instruction of the block at which the loop is entered: each execution of that block is a trip. (Its number
    would depend on where lanes meet, which splits blocks.)"""

    module: int
    function: str
    header: int
    stages: tuple[TripStage, ...]
    accesses: tuple[Recount, ...] = ()  # of the body, to be counted copy by copy where its copies may cost differently


@dataclass(frozen=True, slots=True)
class CountingPlan:
    """Everything to count beside PTX in one kernel."""

    recounts: tuple[Recount, ...] = ()
    trips: tuple[TripPlan, ...] = ()
    trace: bool = False  # tell the lines of global and local memory that are accessed (`emulator.trace`)
    octets: bool = False  # count in each block groups of eight lanes that any lane is of: sectors of what is spilled

    def __bool__(self) -> bool:
        return bool(self.recounts or self.trips or self.trace or self.octets)


NOTHING = CountingPlan()


@dataclass(frozen=True, slots=True)
class StageRuns:
    """Executions of one stage by warps and by threads; the threads that came to it; the groups in which they left it,
    those that had run it equally often together."""

    warps: int
    threads: int
    arrived: int
    groups: int


def split_trips(trips: Sequence[int], stages: Sequence[TripStage]) -> list[StageRuns]:
    """What each stage did, for lanes that enter a loop together and make `trips` trips each. The definition of what
    kernels count."""
    left = list(trips)
    result = []
    for stage in stages:
        runs = [n // stage.copies for n in left]
        if not stage.repeats:
            runs = [min(run, 1) for run in runs]
        left = [n - run * stage.copies for n, run in zip(left, runs, strict=True)]
        came = [run for run in runs if run]
        result.append(StageRuns(max(came, default=0), sum(came), len(came), len(set(came))))
    return result
