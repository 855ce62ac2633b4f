"""Sums and scans that go step by step through shared memory."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.trees import tree, with_shuffles
from lanewise.records import Finding, Tried

NAME = "shared_memory_tree"


def find(subject: Subject) -> Iterable[Finding]:
    found = tree(subject)
    if found is None:
        return
    yield advice(
        NAME,
        subject.record,
        message=say(
            "shared_memory_tree.message_scan" if found.scan else "shared_memory_tree.message",
            array=found.array,
            steps=f"{found.steps:.0f}",
        ),
        evidence=[say("shared_memory_tree.barriers", barriers=f"{subject.demand.barriers:.0f}")],
        change=say("shared_memory_tree.change"),
        next_step=say("shared_memory_tree.scan" if found.scan else "shared_memory_tree.sum"),
        after_us=subject.retime(with_shuffles(subject, found)),
        tried=Tried.ESTIMATED,
        rung="scan shuffle" if found.scan else "reduce shuffle",
        source=found.source,
        ptx_line=found.ptx_line,
    )


RULE = Rule(
    name=NAME,
    title="A tree in shared memory",
    what="The threads of a block combine their values in shared memory, two words at a time, at distances that double "
    "or halve, with a barrier after each step.",
    why="Each step is loads, a store, and a wait of the whole block, and in most of them few threads work. The lanes "
    "of a warp can read each other's registers: five shuffles add 32 values without memory and without a barrier. One "
    "word of each warp then goes through shared memory, behind one barrier, and one warp adds those in five shuffles "
    "more.",
    before="for (int step = blockDim.x / 2; step > 0; step /= 2) {\n"
    "  if (t < step) partial[t] += partial[t + step];\n"
    "  __syncthreads();\n"
    "}",
    after="for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);\n"
    "if (t % 32 == 0) of_warp[t / 32] = sum;\n"
    "__syncthreads();  // then the first warp adds of_warp by shuffles",
    rung="reduce shuffle",
    find=find,
    instead_of=("lane_divergence",),
)
