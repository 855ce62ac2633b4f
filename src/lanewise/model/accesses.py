"""What machine instructions of memory cost the units of an SM, and how long a warp waits for them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lanewise.emulator.counts import SiteCounts
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.hardware.rates import Rates
from lanewise.model import routes
from lanewise.model.caches import SiteTraffic
from lanewise.model.walk import LONG_SCOREBOARD, SHORT_SCOREBOARD
from lanewise.records import AccessKind, Space
from lanewise.sass.costs import AccessCost, MachineCosts
from lanewise.sass.executions import Line
from lanewise.sass.kernel import MachineKernel

_AT_ONCE = 4  # loads of a warp under way, at most
_OF_32 = 5.0  # doublings from one to the 32 that the spread of a latency is given for


@dataclass(slots=True)
class Accesses:
    """All accesses of a launch. `waits[offset]` are the latency and its reason of a machine instruction; cycles are of
    the whole launch: of the LSU and the L1 behind it, and of the texture unit. `engine_bytes` are what the copy engine
    reads, a copy of which takes `engine_latency` clocks."""

    waits: dict[int, tuple[float, str]] = field(default_factory=dict)
    l1_cycles: float = 0.0
    texture_cycles: float = 0.0
    requests: int = 0  # of the LSU
    past_bytes: float = 0.0  # that loads bring in past the L1
    engine_bytes: float = 0.0
    engine_latency: float = 0.0


def accesses(
    machine: MachineKernel, costs: MachineCosts, by_line: Mapping[Line, Sequence[SiteTraffic]], rates: Rates
) -> Accesses:
    """`by_line` has what became of the requests of each line of PTX."""
    loads_of_block = Counter(
        a.block for a in machine.accesses if a.instruction.memory == (Space.GLOBAL, AccessKind.LOAD)
    )
    result = Accesses()
    shares = _shares_on(costs)
    past: set[Line] = set()
    for cost in costs.accesses:
        instruction = cost.access.instruction
        sent = cost.requests * shares[instruction.offset]
        result.l1_cycles += (cost.requests - sent) * rates.lsu_off_clocks
        found = by_line.get(cost.access.line, ()) if cost.access.line is not None else ()
        if routes.by_engine(instruction):
            _add_engine(result, cost, found, rates)
        elif cost.space == Space.SHARED:
            _add_shared(result, cost, sent, rates)
        elif cost.space in (Space.TEXTURE, Space.SURFACE):
            result.requests += cost.requests
            result.texture_cycles += sent * texture_cycles(cost, rates)
            if kind(cost) == AccessKind.LOAD:
                result.waits[instruction.offset] = texture_latency(found, rates), LONG_SCOREBOARD
        elif cost.space in (Space.GLOBAL, Space.LOCAL):
            own = l1_cycles(cost, found, rates)
            if routes.past_the_l1(instruction) and cost.access.line is not None and cost.access.line not in past:
                past.add(cost.access.line)
                result.past_bytes += SECTOR_BYTES * sum(s.l2_sectors for s in found)
            result.requests += cost.requests
            result.l1_cycles += sent * own
            if kind(cost) != AccessKind.STORE:
                together = max(1, min(_AT_ONCE, loads_of_block[cost.access.block]))
                waited = latency(cost, found, together, rates) + max(0.0, own - 1)
                result.waits[instruction.offset] = waited, LONG_SCOREBOARD
    return result


def _shares_on(costs: MachineCosts) -> dict[int, float]:
    """By offset, the share of an instruction's executions in which its predicate holds in some lane: the others pass
    through the LSU and no further."""
    ran: dict[tuple[Line | None, int | None], int] = defaultdict(int)
    for cost in costs.accesses:
        ran[_place(cost)] += cost.requests
    result = {}
    for cost in costs.accesses:
        counted, share = cost.site, 1.0
        if counted is not None and cost.access.instruction.predicate is not None and cost.access.recount is None:
            some = counted.requests_on if counted.site.guarded and counted.requests_on else counted.requests
            share = min(1.0, some / max(1, ran[_place(cost)]))
        result[cost.access.instruction.offset] = share
    return result


def _place(cost: AccessCost) -> tuple[Line | None, int | None]:
    """The line of PTX, and which copy of it where those were counted one by one."""
    return cost.access.line, None if cost.site is None else cost.site.site.copy


def _add_shared(result: Accesses, cost: AccessCost, sent: float, rates: Rates) -> None:
    if cost.access.instruction.name == "LDGSTS":
        # Its bytes are written when they come, whatever their places (l1tex__data_pipe_lsu_wavefronts_mem_shared of an
        # H200: 3.5 of 128 bytes for 512); nobody waits for this part.
        result.l1_cycles += _bytes(cost) / rates.l1_bytes
        return
    on = cost.site.requests_on if cost.site is not None else 0
    waves = (cost.wavefronts or 0) / max(1, on or cost.requests)  # of those that wait: where a lane asked
    own = rates.shared_atomic_latency if cost.access.instruction.name == "ATOMS" else rates.shared_latency
    waited = own + max(0.0, waves - 1) * rates.shared_wave_clocks
    result.waits[cost.access.instruction.offset] = waited, SHORT_SCOREBOARD
    further = max(0, (cost.wavefronts or 0) - (on or cost.requests))
    result.requests += cost.requests
    result.l1_cycles += sent / rates.lsu_rate + further / rates.shared_wavefronts


def _add_engine(result: Accesses, cost: AccessCost, found: Sequence[SiteTraffic], rates: Rates) -> None:
    """Nobody waits for the instruction itself; the mbarrier that is told waits for the bytes."""
    if kind(cost) != AccessKind.LOAD or cost.space != Space.GLOBAL:
        return
    result.engine_bytes += (cost.sectors or 0) * SECTOR_BYTES
    far, asked = sum(s.from_dram for s in found), sum(s.from_l2 + s.from_dram for s in found)
    place = rates.l2_latency + (far / asked if asked else 0.0) * (rates.dram_latency - rates.l2_latency)
    result.engine_latency = max(result.engine_latency, rates.bulk_latency + place)


def texture_cycles(cost: AccessCost, rates: Rates) -> float:
    """Of one request: two channels of a texel at a time, or the sectors that its groups of lanes ask for."""
    sectors = (cost.sectors or 0) / max(cost.requests, 1)
    return max(rates.texture_clocks * max(1.0, _channels(cost) / 2), sectors / rates.texture_sectors)


def _channels(cost: AccessCost) -> int:
    """Of a texel that are wanted: the mask at the end of the operands."""
    mask = cost.access.instruction.operands.rpartition(",")[2].strip()
    return int(mask, 16).bit_count() if mask.startswith("0x") else 1


def texture_latency(found: Sequence[SiteTraffic], rates: Rates) -> float:
    """What the unit takes itself, and what is further away than the L1."""
    near, middle, far = (sum(getattr(s, f"from_{place}") for s in found) for place in ("l1", "l2", "dram"))
    total: float = near + middle + far
    if not total:
        return rates.texture_latency
    further = middle * (rates.l2_latency - rates.l1_latency) + far * (rates.dram_latency - rates.l1_latency)
    return rates.texture_latency + float(further) / total


def kind(cost: AccessCost) -> AccessKind:
    memory = cost.access.instruction.memory
    assert memory is not None
    return memory[1]


def l1_cycles(cost: AccessCost, found: Sequence[SiteTraffic], rates: Rates) -> float:
    """Of one request: its passes through the banks, the lines it looks up, or the bytes it moves."""
    requests = max(cost.requests, 1)
    sectors = (cost.sectors or 0) / requests
    copied = cost.access.instruction.name == "LDGSTS"  # to shared memory: see there
    bytes_ = 0.0 if copied else _bytes(cost) / requests
    followed = sum(s.sectors for s in found)
    lines = sectors * sum(s.lines for s in found) / followed if followed else sectors / 4
    passes = cost.site.wavefronts / max(_told(cost.site), 1) if cost.site is not None and not copied else 1.0
    return max(1 / rates.lsu_rate, passes / rates.shared_wavefronts, lines / rates.l1_lines, bytes_ / rates.l1_bytes)


def _bytes(cost: AccessCost) -> float:
    return cost.threads_on * cost.access.instruction.width_bits / 8


def _told(counted: SiteCounts) -> int:
    """How often the caches and banks were asked for a site; a `wmma` load or store asks for each register."""
    return counted.requests_on if counted.site.told_bits else counted.requests


def latency(cost: AccessCost, found: Sequence[SiteTraffic], together: int, rates: Rates) -> float:
    """A warp goes on with the slowest of the lines (from DRAM: accesses) of the `together` loads under way."""
    if kind(cost) == AccessKind.ATOMIC:
        return rates.atomic_latency
    near, middle, far = (sum(getattr(s, f"from_{place}") for s in found) for place in ("l1", "l2", "dram"))
    total: float = near + middle + far
    if not total:
        return rates.l1_latency
    requests = max(cost.requests, 1)
    lines = max(1.0, sum(s.lines for s in found) / total) * together
    accesses = max(1.0, (cost.sectors or 0) / requests * SECTOR_BYTES / rates.dram_access_bytes) * together
    l2 = rates.l2_latency + rates.l2_spread * min(1.0, math.log2(lines) / _OF_32)
    dram = rates.dram_latency + rates.dram_spread * min(1.0, math.log2(accesses) / _OF_32)
    return float(near * rates.l1_latency + middle * l2 + far * dram) / total


def partial_sectors(cost: AccessCost) -> float:
    """Sectors of global memory that a store writes only a part of."""
    if cost.space != Space.GLOBAL or kind(cost) != AccessKind.STORE or not cost.sectors:
        return 0.0
    whole = _bytes(cost) / SECTOR_BYTES
    return cost.sectors if cost.sectors > 2 * whole else 0.0
