"""Barriers between which nothing happens that needs one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.model.demand import Demand
from lanewise.model.pipes import Pipe
from lanewise.model.walk import BARRIER
from lanewise.ptx.syntax import Function, Instruction
from lanewise.records import Finding, Tried

NAME = "redundant_barrier"
# Instructions that touch registers alone: between two barriers they need neither.
_OF_REGISTERS = frozenset((
    "mov", "add", "sub", "mul", "mad", "fma", "shl", "shr", "shf", "and", "or", "xor", "not", "lop3", "setp", "selp",
    "cvt", "cvta", "neg", "abs", "min", "max", "div", "rem", "bfe", "bfi",
))  # fmt: skip


def find(subject: Subject) -> Iterable[Finding]:
    lines = {ins.line: ins for ins in _redundant(subject.function)}
    if not lines:
        return
    warps = sum(
        run.warps
        for block, run in zip(subject.machine.blocks, subject.costs.blocks, strict=True)
        for i in block.instructions
        if i.name == "BAR" and i.ptx_line in lines
    )
    asked = subject.demand
    each = warps / asked.warps
    if not each or not asked.barriers:
        return
    first = lines[min(lines)]
    yield advice(
        NAME,
        subject.record,
        message=say("redundant_barrier.message"),
        evidence=[say("redundant_barrier.between")],
        change=say("redundant_barrier.change"),
        next_step=say("redundant_barrier.remove"),
        after_us=subject.retime(_without(asked, each, subject.spec.rates.barrier_latency)),
        tried=Tried.ESTIMATED,
        source=first.source,
        ptx_line=first.line,
    )


def _redundant(function: Function) -> list[Instruction]:
    """Barriers of all threads that follow another with nothing between that other threads could see. Labels and
    branches end what is known."""
    found, behind = [], False
    for statement in function.body:
        if not isinstance(statement, Instruction):
            behind = False
        elif _is_barrier(statement):
            if behind:
                found.append(statement)
            behind = True
        elif statement.opcode not in _OF_REGISTERS and not (statement.opcode == "ld" and statement.has("param")):
            behind = False
    return found


def _is_barrier(instruction: Instruction) -> bool:
    return (
        instruction.opcode in ("bar", "barrier")
        and instruction.has("sync")
        and not instruction.has("warp", "cluster")
        and instruction.guard is None
        and len(instruction.operands) == 1
    )


def _without(asked: Demand, each: float, latency: float) -> Demand:
    """`each`: barriers that a warp comes to and need not."""
    waits = latency * each + asked.walk.waits.get(BARRIER, 0.0) * min(1.0, each / asked.barriers)
    issued = {**asked.instructions, Pipe.BARRIER: asked.instructions.get(Pipe.BARRIER, 0.0) - each}
    return replace(
        asked,
        walk=replace(asked.walk, cycles=max(1.0, asked.walk.cycles - waits)),
        instructions=issued,
        issue_cycles=asked.issue_cycles - each,
        barriers=asked.barriers - each,
    )


RULE = Rule(
    name=NAME,
    title="Redundant barriers",
    what="Two barriers follow each other, and between them no thread touches memory.",
    why="A barrier makes every warp of a block wait for the slowest. The second of two orders nothing that the first "
    "has not.",
    before="tile[i] = in[i];\n__syncthreads();\nint j = 31 - i;\n__syncthreads();\nout[i] = tile[j];",
    after="tile[i] = in[i];\n__syncthreads();\nint j = 31 - i;\nout[i] = tile[j];",
    find=find,
)
