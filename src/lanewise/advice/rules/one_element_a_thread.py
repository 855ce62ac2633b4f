"""Threads that move one element through shared memory, where each could have several loads under way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanewise.advice.groups import Group, groups
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.trees import tree
from lanewise.hardware.capability import WARP_SIZE
from lanewise.hardware.occupancy import occupancy
from lanewise.model.pipes import Pipe
from lanewise.model.placement import Placement
from lanewise.records import AccessKind, Finding, Pattern, Space, Tried

NAME = "one_element_a_thread"
_TIMES = 4  # elements a thread
_WIDEST = 16  # bytes of a lane in one access: several elements already
_NEAR = 1.1  # times the fewest requests, or sectors
_BUSY = 0.6  # share of the time that a unit of arithmetic works, from which on a kernel computes rather than moves
_SHARED = 0.5  # of the integer instructions, those that make addresses: several elements a thread share them
_ONCE = (Pipe.CONTROL, Pipe.BARRIER, Pipe.UNIFORM, Pipe.CONSTANT)
_INTEGER = (Pipe.ALU, Pipe.IMAD)
_REGISTERS = 2  # more of them for each further element


def find(subject: Subject) -> Iterable[Finding]:
    placed, asked = subject.placed, subject.demand
    moving = [group for group in groups(subject, Space.GLOBAL) if group.pattern != Pattern.BROADCAST]
    loads = [group for group in moving if group.kind == AccessKind.LOAD]
    if placed.most_blocks <= placed.blocks_per_sm or not asked.barriers or not _moves(subject, moving):
        return
    if max(subject.busy(unit) for unit in ("issue", *asked.instructions)) >= _BUSY or tree(subject) is not None:
        return
    fewer = _placed(subject)
    if fewer is None or not loads:
        return
    first = max(loads, key=lambda group: group.requests)
    threads = placed.warps_per_block * WARP_SIZE
    yield advice(
        NAME,
        subject.record,
        message=say("one_element_a_thread.message", threads=f"{threads:,}"),
        change=say("one_element_a_thread.change", times=str(_TIMES)),
        next_step=say("one_element_a_thread.next_step", times=str(_TIMES), threads=f"{threads // _TIMES:,}"),
        price=say("one_element_a_thread.price"),
        after_us=_several(subject, fewer),
        tried=Tried.ESTIMATED,
        rung="transpose coarsened",
        source=first.source,
        ptx_line=first.ptx_line,
    )


def _moves(subject: Subject, moving: Sequence[Group]) -> bool:
    """Whether each thread loads an element, stores one, and accesses shared memory as often, all side by side."""
    warps, kinds = subject.placed.warps, {group.kind for group in moving}
    shared = groups(subject, Space.SHARED)
    narrow = all(group.width_bytes < _WIDEST for group in moving)
    once = all(group.requests <= _NEAR * warps for group in (*moving, *shared))
    near = all(group.sectors <= _NEAR * group.sectors_ideal for group in moving)
    return kinds == {AccessKind.LOAD, AccessKind.STORE} and narrow and once and near and bool(shared)


def _placed(subject: Subject) -> Placement | None:
    """As many blocks, of a quarter of the threads."""
    record, resources = subject.record, subject.record.resources
    threads = subject.placed.warps_per_block * WARP_SIZE
    if resources is None or threads % (_TIMES * WARP_SIZE):
        return None
    larger = replace(resources, registers=resources.registers + (_TIMES - 1) * _REGISTERS)
    fitting = occupancy(
        subject.spec,
        threads_per_block=threads // _TIMES,
        registers_per_thread=larger.registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=record.dynamic_shared_bytes,
    )
    shape = replace(record, block=(threads // _TIMES, 1, 1), resources=larger, occupancy=fitting)
    return Placement.of(subject.spec, shape)


def _several(subject: Subject, fewer: Placement) -> float:
    """A quarter of the warps, each with four times the elements; their loads are under way together."""
    own = subject.demand
    shares = dict.fromkeys(own.instructions, 1.0)
    shares |= dict.fromkeys(_ONCE, 0.0) | dict.fromkeys(_INTEGER, 1 - _SHARED)
    issued = {unit: count * (1 + (_TIMES - 1) * shares[unit]) for unit, count in own.instructions.items()}
    return subject.retime(
        replace(own.several(_TIMES, issued), warps=fewer.warps, l1_cycles=own.l1_cycles * _TIMES), fewer
    )


RULE = Rule(
    name=NAME,
    title="One element a thread",
    what="Each thread of a block brings one element to shared memory, waits at a barrier, and takes one away.",
    why="While a block waits at its barrier it has nothing else under way, and a thread has paid for its addresses, "
    "its start and the barrier for one element. With several a thread all loads start before the first is waited for, "
    "and a block needs fewer threads for the same tile, so that more blocks take turns.",
    before="tile[threadIdx.y][threadIdx.x] = in[y * width + x];  // 32 x 32 threads\n__syncthreads();",
    after="for (int j = 0; j < 32; j += 8)  // 32 x 8 threads, unrolled\n"
    "    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];\n__syncthreads();",
    rung="transpose coarsened",
    find=find,
)
