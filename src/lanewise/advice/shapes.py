"""The same threads in blocks of another shape: which there are, what the model expects of each, and which holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lanewise.advice.change import Change
from lanewise.advice.rank import WORTH
from lanewise.advice.subject import Subject
from lanewise.emulator.launch import Dim
from lanewise.hardware.capability import WARP_SIZE
from lanewise.hardware.occupancy import occupancy
from lanewise.model.placement import Placement
from lanewise.records import LaunchRecord, Occupancy

_THREADS = (64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024)
_TRIED = 2  # shapes that are run, of those that the model expects most of


@dataclass(frozen=True, slots=True)
class Tried:
    """A launch in another shape that was run and left the same results."""

    change: Change
    record: LaunchRecord
    time_us: float


def shapes(grid: Dim, block: Dim) -> list[Change]:
    """Launches with as many threads in each dimension, in whole warps, rows of a block as long as they are or, where a
    block has one row, cut or joined."""
    found = []
    for threads in _THREADS:
        if block[1] == block[2] == 1:
            other: Dim = (threads, 1, 1)
        elif threads % (block[0] * block[2]) == 0:
            other = (block[0], threads // (block[0] * block[2]), block[2])
        else:
            continue
        extents = [(g * b, o) for g, b, o in zip(grid, block, other, strict=True)]
        if other != block and all(whole % part == 0 for whole, part in extents):
            x, y, z = (whole // part for whole, part in extents)
            found.append(Change((x, y, z), other))
    return found


def occupied(subject: Subject, block: Dim, *, registers: int | None = None) -> Occupancy:
    """How many blocks of a shape an SM would hold."""
    resources = subject.record.resources
    assert resources is not None
    return occupancy(
        subject.spec,
        threads_per_block=block[0] * block[1] * block[2],
        registers_per_thread=resources.registers if registers is None else registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=subject.record.dynamic_shared_bytes,
    )


def placed(subject: Subject, change: Change) -> Placement | None:
    """Where the blocks of a changed launch go; None where they do not fit."""
    found = occupied(subject, change.block)
    return Placement.of(subject.spec, replace(subject.record, grid=change.grid, block=change.block, occupancy=found))


def expected_us(subject: Subject, where: Placement) -> float:
    """Modelled time if warps did what they do, placed otherwise."""
    return subject.retime(subject.asked(placed=where), where)


def best_shape(subject: Subject, changes: Iterable[Change]) -> Tried | None:
    """The fastest of the shapes that the model expects most of and that were run with the same results; None where
    none is worth it."""
    if not subject.tries.asks_for_block:
        return None
    most = (1 - WORTH) * subject.time_us
    expected = [(expected_us(subject, where), n, c) for n, c in enumerate(changes) if (where := placed(subject, c))]
    promising = sorted(item for item in expected if item[0] <= most)
    found = []
    for _, _, change in promising[:_TRIED]:
        outcome = subject.tries.rerun(change)
        if outcome.record is not None and outcome.time_us is not None and outcome.time_us <= most:
            found.append(Tried(change, outcome.record, outcome.time_us))
    return min(found, key=lambda tried: tried.time_us, default=None)


def threads(block: Dim) -> int:
    return block[0] * block[1] * block[2]


def warps(block: Dim) -> int:
    return -(-threads(block) // WARP_SIZE)


def dims(extents: Dim) -> str:
    """`256`, or `32 x 8`, as a launch is written."""
    size = max((n for n in (1, 2, 3) if extents[n - 1] > 1), default=1)
    return " x ".join(f"{n:,}" for n in extents[:size])
