"""A kernel that multiplies what lies in shared memory, with several results a thread."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lanewise.advice.subject import Subject
from lanewise.hardware.occupancy import occupancy
from lanewise.model.demand import Demand
from lanewise.model.pipes import Pipe
from lanewise.model.placement import Placement
from lanewise.model.walk import BARRIER, LONG_SCOREBOARD
from lanewise.records import AccessKind, Space
from lanewise.sass.costs import AccessCost

_THREADS = 256  # of a block with several results a thread
MOST_REGISTERS = 255


@dataclass(frozen=True, slots=True)
class Blocked:
    """A thread with `rows` times `columns` results, where it had one."""

    rows: int
    columns: int
    time_us: float
    registers: int


def shared_loads(subject: Subject) -> list[AccessCost]:
    return [cost for cost in subject.costs.accesses if cost.requests and _is_shared_load(cost)]


def _is_shared_load(cost: AccessCost) -> bool:
    memory = cost.access.instruction.memory
    return cost.space == Space.SHARED and memory is not None and memory[1] == AccessKind.LOAD


def blocked(subject: Subject, rows: int, columns: int) -> Blocked | None:
    """None where no block of it fits an SM.

    Each operand that a thread loads serves `columns` or `rows` results; a block of 256 threads makes a larger tile, and
    reads less of global memory for each result."""
    resources, record = subject.record.resources, subject.record
    if resources is None:
        return None
    results = rows * columns
    threads = record.block[0] * record.block[1] * record.block[2]
    registers = min(MOST_REGISTERS, resources.registers + results + rows + columns)
    blocks = max(1, math.ceil(subject.placed.blocks * threads / (results * _THREADS)))
    fitting = occupancy(
        subject.spec,
        threads_per_block=_THREADS,
        registers_per_thread=registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=record.dynamic_shared_bytes,
    )
    shape = replace(
        record,
        grid=(blocks, 1, 1),
        block=(_THREADS, 1, 1),
        resources=replace(resources, registers=registers),
        occupancy=fitting,
    )
    placed = Placement.of(subject.spec, shape)
    if placed is None:
        return None
    farther = math.sqrt(threads / (results * _THREADS))  # global memory is read so many times as often in all
    asked = _asked(subject, placed.warps, rows, columns, farther)
    return Blocked(rows, columns, subject.retime(asked, placed), registers)


def _asked(subject: Subject, warps: int, rows: int, columns: int, farther: float) -> Demand:
    asked, rates = subject.demand, subject.spec.rates
    results = asked.warps / warps  # that a warp has in place of one
    loads = (rows + columns) / 2  # times as many from shared memory
    reads = farther * results
    own = shared_loads(subject)
    requests = sum(cost.requests for cost in own) / asked.warps
    waves = sum(cost.wavefronts or 0 for cost in own) / asked.warps
    of_loads = max(requests / rates.lsu_rate, waves / rates.shared_wavefronts)
    issued = {unit: count * (results if unit == Pipe.FMA else 1.0) for unit, count in asked.instructions.items()}
    issued[Pipe.LSU] = requests * loads + max(0.0, asked.instructions.get(Pipe.LSU, 0.0) - requests) * reads
    more = sum(issued.values()) - sum(asked.instructions.values())
    # A wider tile in as much shared memory is shallower: the block fetches and waits more often.
    waiting = sum(asked.walk.waits.get(reason, 0.0) for reason in (LONG_SCOREBOARD, BARRIER))
    cycles = asked.walk.cycles + more / _PARTITION_RATE + max(0.0, 1 / farther - 1) * waiting
    walked = replace(asked.walk, cycles=cycles)
    return replace(
        asked,
        warps=warps,
        walk=walked,
        instructions=issued,
        issue_cycles=asked.issue_cycles + more,
        l1_cycles=of_loads * loads + max(0.0, asked.l1_cycles - of_loads) * reads,
        l2_read_bytes=asked.l2_read_bytes * reads,
        l2_write_bytes=asked.l2_write_bytes * results,
        l2_lines=asked.l2_lines * reads,
        partial_sectors=asked.partial_sectors * results,
        dram_bytes=asked.dram_bytes * results,
        dram_cost=asked.dram_cost * results,
    )


_PARTITION_RATE = 1.0  # instructions a clock of one scheduler


def best(subject: Subject, shapes: Iterable[tuple[int, int]]) -> Blocked | None:
    made = [found for rows, columns in shapes if (found := blocked(subject, rows, columns)) is not None]
    return min(made, key=lambda found: found.time_us, default=None)
