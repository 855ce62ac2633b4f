"""Arithmetic that waits for shared memory."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.blocking import best, shared_loads
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.model.pipes import Pipe
from lanewise.records import AccessKind, Finding, Space, Tried
from lanewise.sass.costs import AccessCost

NAME = "shared_traffic"
_BUSY = 0.6  # share of the time that the LSU and the L1 work
_OF_IT = 0.5  # share of that which loads from shared memory take
_EACH = 0.4  # loads for each multiplication and addition
_NEAR = 1.5  # times the ideal wavefronts: else the conflicts come first
_SERVED = 8  # lanes that load what one lane has stored: blocks of results in registers live on that
_SHAPES = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8))


def find(subject: Subject) -> Iterable[Finding]:
    busy = subject.busy("LSU and L1")
    loads, asked = shared_loads(subject), subject.demand
    waves = sum(cost.wavefronts or 0 for cost in loads)
    ideal = sum(cost.wavefronts_ideal or 0 for cost in loads)
    requests = sum(cost.requests for cost in loads) / asked.warps
    sums = asked.instructions.get(Pipe.FMA, 0.0)
    if not loads or busy < _BUSY or waves > _NEAR * ideal or requests < _EACH * sums or not sums or not asked.barriers:
        return
    stored = sum(cost.threads_on for cost in subject.costs.accesses if _is_shared_store(cost))
    if sum(cost.threads_on for cost in loads) < _SERVED * stored:
        return
    if waves / asked.warps / subject.spec.rates.shared_wavefronts < _OF_IT * asked.l1_cycles:
        return
    found = best(subject, _SHAPES)
    if found is None:
        return
    heaviest = max(loads, key=lambda cost: cost.wavefronts or 0)
    yield advice(
        NAME,
        subject.record,
        message=say("shared_traffic.message", loads=f"{requests / sums:.2g}"),
        evidence=[say("shared_traffic.busy", busy=f"{busy:.0%}")],
        change=say("shared_traffic.change", rows=str(found.rows), columns=str(found.columns)),
        next_step=say("shared_traffic.block"),
        price=say("shared_traffic.price", registers=str(found.registers)),
        after_us=found.time_us,
        tried=Tried.ESTIMATED,
        rung="gemm register_blocks",
        source=heaviest.site.site.source if heaviest.site is not None else None,
    )


def _is_shared_store(cost: AccessCost) -> bool:
    memory = cost.access.instruction.memory
    return cost.space == Space.SHARED and memory is not None and memory[1] == AccessKind.STORE


RULE = Rule(
    name=NAME,
    title="Shared-memory traffic",
    what="A kernel loads from shared memory about as often as it computes, and the loads decide its time.",
    why="A multiprocessor starts a load from shared memory a clock at the most, and four multiplications. Several "
    "results a thread use each operand several times, from registers.",
    before="sum += a[threadIdx.y][k] * b[k][threadIdx.x];",
    after="for (int i = 0; i < 4; i++)\n"
    "  for (int j = 0; j < 4; j++) sum[i][j] += row[i] * column[j];  // 8 loads, 16 sums",
    rung="gemm register_blocks",
    find=find,
)
