"""More warps on an SM would hide latency, and one resource keeps them away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice.change import Change
from lanewise.advice.rank import WORTH
from lanewise.advice.rule import Rule, Sentence, advice, say
from lanewise.advice.shapes import best_shape, dims, expected_us, occupied, shapes, warps
from lanewise.advice.subject import Subject
from lanewise.hardware.occupancy import REGISTERS, SHARED_MEMORY, shared_limit
from lanewise.records import Finding, LaunchRecord, Occupancy, Tried

NAME = "occupancy_limit"
_RESOURCES = {REGISTERS: "@occupancy_limit.registers", SHARED_MEMORY: "@occupancy_limit.shared_memory"}


def find(subject: Subject) -> Iterable[Finding]:
    found = subject.record.occupancy
    if found is None or subject.record.cluster is not None or found.fraction >= 1 or not found.active_blocks:
        return
    if found.active_blocks * subject.spec.values.sm_count >= subject.placed.blocks:
        return  # all blocks are on an SM at once as it is
    ways = [_shape(subject, found)]
    if found.binding == (REGISTERS,):
        ways.append(_registers(subject, found))
    elif found.binding == (SHARED_MEMORY,):
        ways.append(_shared(subject, found))
    known = [way for way in ways if way is not None and way.gain is not None]
    yield from sorted(known, key=lambda way: way.gain.after_us if way.gain is not None else 0.0)[:1]


def _worth(subject: Subject, time_us: float) -> bool:
    return subject.time_us - time_us >= WORTH * subject.time_us


def _with_blocks(subject: Subject, blocks: int) -> float:
    """Time with so many blocks on an SM."""
    where = subject.placed
    return expected_us(subject, replace(where, blocks_per_sm=blocks))


def _registers(subject: Subject, found: Occupancy) -> Finding | None:
    """ptxas is told to make room for one block more, and the kernel it makes then is run."""
    wanted = found.active_blocks + 1
    if not _worth(subject, _with_blocks(subject, wanted)):
        return None
    outcome = subject.tries.rerun(Change(subject.tries.grid, subject.tries.block, resident=wanted))
    changed = outcome.record
    if changed is None or outcome.time_us is None or not _worth(subject, outcome.time_us):
        return None
    assert changed.resources is not None
    assert subject.record.resources is not None
    registers = str(changed.resources.registers)
    threads = subject.record.block[0] * subject.record.block[1] * subject.record.block[2]
    spilled = changed.resources.spill_load_bytes + changed.resources.spill_store_bytes
    price = say("occupancy_limit.spills", bytes=f"{spilled:,}") if spilled else say("occupancy_limit.no_spills")
    return advice(
        NAME,
        subject.record,
        message=_message(subject, found),
        evidence=[_stall(subject)],
        change=say(
            "occupancy_limit.bounds_change", registers=registers, before=str(subject.record.resources.registers)
        ),
        next_step=say("occupancy_limit.bounds", threads=str(threads), blocks=str(wanted), **_after(changed)),
        price=price,
        after_us=outcome.time_us,
        tried=Tried.RERUN,
    )


def _shared(subject: Subject, found: Occupancy) -> Finding | None:
    """Less shared memory a block is another kernel: what it would be worth is all that can be said."""
    wanted = found.active_blocks + 1
    time_us = _with_blocks(subject, wanted)
    size = subject.placed.shared_bytes
    fits = next((n for n in range(size - 1, 0, -1) if shared_limit(subject.spec.limits, n) >= wanted), None)
    if fits is None or not _worth(subject, time_us):
        return None
    return advice(
        NAME,
        subject.record,
        message=_message(subject, found),
        evidence=[_stall(subject)],
        change=say("occupancy_limit.shared_change", bytes=f"{fits:,}", before=f"{size:,}"),
        next_step=say("occupancy_limit.shared", bytes=f"{fits:,}", blocks=str(wanted)),
        after_us=time_us,
        tried=Tried.ESTIMATED,
    )


def _shape(subject: Subject, found: Occupancy) -> Finding | None:
    """Blocks of another size that leave fewer places empty."""
    block = subject.tries.block
    fuller = [
        c for c in shapes(subject.tries.grid, block) if occupied(subject, c.block).active_warps > found.active_warps
    ]
    best = best_shape(subject, fuller)
    if best is None:
        return None
    return advice(
        NAME,
        subject.record,
        message=_message(subject, found),
        evidence=[_stall(subject)],
        change=say("occupancy_limit.shape_change", block=dims(best.change.block), before=dims(block)),
        next_step=say(
            "occupancy_limit.shape", block=dims(best.change.block), grid=dims(best.change.grid), **_after(best.record)
        ),
        after_us=best.time_us,
        tried=Tried.RERUN,
    )


def _message(subject: Subject, found: Occupancy) -> Sentence:
    return say(
        "occupancy_limit.message",
        active=str(found.active_warps),
        most=str(found.max_warps),
        blocks=str(found.active_blocks),
        warps=str(warps(subject.record.block)),
        resource=_RESOURCES.get(found.binding[0], "@occupancy_limit.block_size"),
    )


def _stall(subject: Subject) -> Sentence:
    return say("occupancy_limit.stall", stall=subject.record.stall or "")


def _after(record: LaunchRecord) -> dict[str, str]:
    assert record.occupancy is not None
    return {"active": str(record.occupancy.active_warps), "most": str(record.occupancy.max_warps)}


RULE = Rule(
    name=NAME,
    title="Occupancy limited by one resource",
    what="An SM holds fewer warps than it could, because a block takes many registers, much shared memory, or is of an "
    "unlucky size.",
    why="While a warp waits for memory, others can go on; the more there are, the less time is lost. But only where "
    "waiting is what takes the time: a kernel whose busiest unit is busy all the time, or that waits little, gains "
    "nothing from more warps, and registers that are spilled for their sake cost more than they bring. So each change "
    "is run or modelled first, and nothing is said where it does not help.",
    before="__global__ void kernel(...)  // 40 registers, blocks of 1024: one on an SM",
    after="__global__ void __launch_bounds__(1024, 2) kernel(...)  // 32 registers: two",
    find=find,
)
