"""One warp alone on the device: how long it takes through its machine code, and what it waits for.

Instructions are issued in order, each when the registers it reads and writes are there; results come after the latency
of the unit. Blocks count as often as a warp runs them on average; what a block leaves unfinished is waited for in the
block after it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from lanewise.model import tensor
from lanewise.model.pipes import Pipe, passes, pipe, registers
from lanewise.model.ports import port_cycles
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.listing import SassInstruction, never_runs

# What a warp waits for, in the profiler's words (Nsight Compute, "Warp Stall Reasons").
LONG_SCOREBOARD = "long scoreboard"  # global or local memory
SHORT_SCOREBOARD = "short scoreboard"  # shared memory, shuffles, special functions
WAIT = "wait"  # an instruction of fixed latency
BARRIER = "barrier"
BRANCH = "branch resolving"
CONSTANT = "IMC miss"
_PASSES = 3  # over the blocks: what loops carry from one trip to the next is settled by then


@dataclass(frozen=True, slots=True)
class Walk:
    """Cycles of one warp from its first to its last instruction; `waits` are the cycles by reason; `issued` the
    instructions; `far` how often it waits for global or local memory."""

    cycles: float
    issued: float
    waits: Mapping[str, float]
    far: float = 0.0


@dataclass(slots=True)
class _State:
    """Registers that are still to come: cycles from now, and what is waited for."""

    pending: dict[str, tuple[float, str]] = field(default_factory=dict)


def walk(
    blocks: Sequence[MachineBlock],
    runs: Sequence[float],
    latency: Mapping[Pipe, float],
    memory: Mapping[int, tuple[float, str]],
    issue: Mapping[Pipe, float],
    intervals: Mapping[int, float] | None = None,
) -> Walk:
    """`runs[b]` is how often a warp executes a block; `latency` of each unit's results; `memory[offset]` the latency
    and reason of the memory instructions; `issue` the cycles after which a unit takes the next instruction, of single
    ones `intervals[offset]`."""
    states: dict[int, _State] = {}
    times: dict[int, tuple[float, dict[str, float], int]] = {}
    order = [block for block in blocks if runs[block.index] > 0]
    plans = {block.index: _plan(block, latency, memory, issue, intervals or {}) for block in order}
    for _ in range(_PASSES):
        for block in order:
            before = max((p for p in block.predecessors if p in states), key=lambda p: (runs[p], -p), default=None)
            entry = states[before].pending if before is not None else {}
            times[block.index] = _run(plans[block.index], dict(entry), states, block.index)
    total, issued, often = 0.0, 0.0, 0.0
    waits: dict[str, float] = defaultdict(float)
    for block in order:
        cycles, reasons, far = times[block.index]
        often += runs[block.index] * far
        total += runs[block.index] * cycles
        issued += runs[block.index] * len(plans[block.index])
        for reason, waited in reasons.items():
            waits[reason] += runs[block.index] * waited
    return Walk(total, issued, dict(waits), often)


class Copies(Enum):
    """What an instruction does to the asynchronous copies of its warp (PTX ISA, "cp.async")."""

    ISSUE = "issue"
    COMMIT = "commit"  # those since the last one are a group


@dataclass(frozen=True, slots=True)
class _Step:
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    after: float  # until its results are there
    reason: str
    pipe: Pipe
    interval: float  # until its unit takes another
    stops: float  # until the warp goes on
    issued: float = 1.0  # until it may issue its next, with what the register file takes
    copies: Copies | None = None


def _plan(
    block: MachineBlock,
    latency: Mapping[Pipe, float],
    memory: Mapping[int, tuple[float, str]],
    issue: Mapping[Pipe, float],
    intervals: Mapping[int, float],
) -> list[_Step]:
    steps = []
    for instruction, cycles in zip(block.instructions, port_cycles(block.instructions), strict=True):
        if never_runs(instruction):
            continue
        step = replace(_step(instruction, latency, memory, issue), issued=float(cycles))
        interval = intervals.get(instruction.offset)
        if interval is not None:
            step = replace(step, interval=interval)
        steps.append(_of_copies(instruction, _of_a_group(instruction, step)))
    return steps


_OPEN = "LDGSTS"  # in place of registers: copies that are of no group yet, ...
_GROUPS = 8  # ... and so many groups, the latest first; what is older is with the last


def _group(number: int) -> str:
    return f"{_OPEN}.{min(number, _GROUPS - 1)}"


def _of_copies(instruction: SassInstruction, step: _Step) -> _Step:
    """Nobody waits for an asynchronous copy but who waits for its group."""
    if instruction.name == _OPEN:
        return replace(step, copies=Copies.ISSUE)
    if instruction.name == "LDGDEPBAR":
        return replace(step, copies=Copies.COMMIT)
    left = _LEFT.search(instruction.operands) if instruction.opcode == "DEPBAR.LE" else None
    if left is None:
        return step
    return replace(step, reads=tuple(_group(n) for n in range(min(int(left[1], 16), _GROUPS), _GROUPS)))


def _note_copies(step: _Step, start: float, pending: dict[str, tuple[float, str]]) -> None:
    """Keep the asynchronous copies of a warp: each group is there when the last of its copies is."""
    if step.copies is Copies.ISSUE:
        pending[_OPEN] = max(pending.get(_OPEN, (0.0, "")), (start + step.after, step.reason))
        return
    for number in reversed(range(_GROUPS)):
        moved = pending.pop(_group(number), None)
        if moved is not None:
            pending[_group(number + 1)] = max(pending.get(_group(number + 1), moved), moved)
    latest = pending.pop(_OPEN, None)
    if latest is not None:
        pending[_group(0)] = latest


_LEFT = re.compile(r"SB0, 0x([0-9a-f]+)")
_QUEUE = "GMMA"  # in place of registers: what a warpgroup has queued for the tensor cores


def _of_a_group(instruction: SassInstruction, step: _Step) -> _Step:
    """Matrix instructions of a warpgroup are queued, and add to one sum without waiting for each other; the warps wait
    where nothing may be left in the queue."""
    if tensor.group(instruction):
        return replace(step, reads=(), writes=(_QUEUE,), after=step.interval + step.after)
    if instruction.opcode.startswith("WARPGROUP.DEPBAR") and instruction.operands.endswith("0x0"):
        return replace(step, reads=(_QUEUE,), writes=())
    return step


_STOPS = frozenset(("BRA", "BAR", "BSYNC", "CALL", "RET"))
_REASONS = {Pipe.LSU: SHORT_SCOREBOARD, Pipe.XU: SHORT_SCOREBOARD, Pipe.CONVERT: SHORT_SCOREBOARD,
            Pipe.CONSTANT: SHORT_SCOREBOARD, Pipe.CONTROL: BRANCH, Pipe.BARRIER: BARRIER}  # fmt: skip


def _step(
    instruction: SassInstruction,
    latency: Mapping[Pipe, float],
    memory: Mapping[int, tuple[float, str]],
    issue: Mapping[Pipe, float],
) -> _Step:
    unit = pipe(instruction)
    named = registers(instruction)
    after, reason = memory.get(instruction.offset, (latency.get(unit, 0.0), _REASONS.get(unit, WAIT)))
    stops = latency[unit] if instruction.name in _STOPS else 0.0
    return _Step(named.reads, named.writes, after, reason, unit, issue.get(unit, 1.0) * passes(instruction), stops)


def _run(
    steps: Sequence[_Step], pending: dict[str, tuple[float, str]], states: dict[int, _State], index: int
) -> tuple[float, dict[str, float], int]:
    now, far = 0.0, 0
    free: dict[Pipe, float] = {}
    reasons: dict[str, float] = defaultdict(float)
    for step in steps:
        start, reason = now, ""
        for name in (*step.reads, *(name for name in step.writes if name != _QUEUE)):
            ready = pending.get(name)
            if ready is not None and ready[0] > start:
                start, reason = ready
        unit_free = free.get(step.pipe, 0.0)
        if unit_free > start:
            start, reason = unit_free, "math pipe throttle"
        if reason:
            reasons[reason] += start - now
            far += reason == LONG_SCOREBOARD
        for name in step.writes:
            pending[name] = (start + step.after, step.reason)
        if step.copies is not None:
            _note_copies(step, start, pending)
        free[step.pipe] = start + step.interval
        now = start + step.issued
        if step.stops:
            reasons[step.reason] += step.stops
            now += step.stops
    states[index] = _State({name: (at - now, why) for name, (at, why) in pending.items() if at > now})
    return now, dict(reasons), far
