"""Local memory that should be registers: spilled ones, and arrays that are indexed by what is not known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanewise.advice.change import Change
from lanewise.advice.groups import Group, groups
from lanewise.advice.rank import WORTH
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.advice.tries import Outcome
from lanewise.records import Finding, Space, Tried

NAME = "spills_and_local_arrays"
_MANY = (
    0.25  # of all accesses: loads are then held up by the stores of what they brought, which no count of those shows
)


def find(subject: Subject) -> Iterable[Finding]:
    if subject.record.cluster is None:
        yield from _spills(subject)
    yield from _arrays(subject)


def _worth(subject: Subject, time_us: float) -> bool:
    return subject.time_us - time_us >= WORTH * subject.time_us


def _without(subject: Subject, sites: frozenset[int], *, spills: bool) -> float:
    """Time if local memory were not accessed by some sites of PTX, or by spills."""
    costs = tuple(
        c
        for c in subject.costs.accesses
        if c.space != Space.LOCAL
        or (c.site is None and not spills)
        or (c.site is not None and c.site.site.index not in sites)
    )
    count = len(subject.sites)
    traffic = {n: t for n, t in subject.traffic.sites.items() if n not in sites and not (spills and n >= count)}
    asked = subject.asked(costs=replace(subject.costs, accesses=costs), traffic=replace(subject.traffic, sites=traffic))
    return subject.retime(asked)


def _spills(subject: Subject) -> Iterable[Finding]:
    resources, found = subject.record.resources, subject.record.occupancy
    spills = [c for c in subject.costs.accesses if c.site is None and c.space == Space.LOCAL and c.requests]
    if resources is None or found is None or not spills:
        return
    share = sum(c.requests for c in spills) / max(1, sum(c.requests for c in subject.costs.accesses))
    if share < _MANY and not _worth(subject, _without(subject, frozenset(), spills=True)):
        return
    best = _fewer_blocks(subject, found.active_blocks)
    if best is None or best.time_us is None or not _worth(subject, best.time_us):
        return
    assert best.record is not None
    changed, fits = best.record.resources, best.record.occupancy
    assert changed is not None
    assert fits is not None
    block = subject.tries.block
    yield advice(
        NAME,
        subject.record,
        message=say(
            "spills_and_local_arrays.spills",
            registers=str(resources.registers),
            stores=f"{resources.spill_store_bytes:,}",
            loads=f"{resources.spill_load_bytes:,}",
            share=f"{100 * share:.0f}",
        ),
        change=say(
            "spills_and_local_arrays.registers_change",
            registers=str(changed.registers),
            before=str(resources.registers),
        ),
        next_step=say(
            "spills_and_local_arrays.bounds",
            threads=str(block[0] * block[1] * block[2]),
            blocks=str(fits.active_blocks),
            left=f"{changed.spill_load_bytes + changed.spill_store_bytes:,}",
        ),
        price=say(
            "spills_and_local_arrays.occupancy",
            before=f"{100 * found.fraction:.0f}",
            after=f"{100 * fits.fraction:.0f}",
        ),
        after_us=best.time_us,
        tried=Tried.RERUN,
        rung="registers blocks_2",
    )


def _fewer_blocks(subject: Subject, active: int) -> Outcome | None:
    """ptxas is told to make room for fewer blocks: the fastest of the kernels that it makes then."""
    wanted = dict.fromkeys(n for n in (active - 1, active // 2, 1) if 0 < n < active)
    outcomes = [subject.tries.rerun(Change(subject.tries.grid, subject.tries.block, resident=n)) for n in wanted]
    timed = [outcome for outcome in outcomes if outcome.time_us is not None]
    return min(timed, key=lambda outcome: outcome.time_us or 0.0, default=None)


def _arrays(subject: Subject) -> Iterable[Finding]:
    """Arrays by name, or by place where PTX does not name them."""
    local = groups(subject, Space.LOCAL)
    if not local:
        return
    sites = frozenset(index for group in local for index in group.sites)
    time_us = _without(subject, sites, spills=False)
    if not _worth(subject, time_us):
        return
    worst = max(local, key=lambda group: group.sectors)
    assert subject.record.resources is not None
    yield advice(
        NAME,
        subject.record,
        message=say(
            "spills_and_local_arrays.array",
            kind=f"@kind.{worst.kind.value}",
            bytes=f"{subject.record.resources.local_bytes:,}",
            requests=f"{_requests(local):,}",
            sectors=f"{sum(group.sectors for group in local):,}",
        ),
        change=say("spills_and_local_arrays.array_change"),
        next_step=say("spills_and_local_arrays.unroll"),
        after_us=time_us,
        tried=Tried.ESTIMATED,
        source=worst.source,
        ptx_line=worst.ptx_line,
    )


def _requests(found: Sequence[Group]) -> int:
    return sum(group.requests for group in found)


RULE = Rule(
    name=NAME,
    title="Spills and local arrays",
    what="Registers that did not fit, and arrays of a thread whose index is not known when the kernel is compiled, lie "
    "in local memory.",
    why="Local memory is device memory with a cache: each access is a request to the L1, and what does not fit there "
    "goes on to the L2 and DRAM. Registers have no addresses, so an array can live in them only where every index is a "
    "constant, as in an unrolled loop. Registers spill where launch bounds or -maxrregcount leave too few; fewer "
    "warps without spills are often faster. Other bounds were given to ptxas and the kernel run.",
    before="float r[4];\nfor (int k = 0; k < n; k++) sum += r[(start + k) & 3];  // indices not known beforehand",
    after="float r[4];\n#pragma unroll\nfor (int k = 0; k < 4; k++) sum += r[k];  // constants: registers",
    rung="registers blocks_2",
    find=find,
)
