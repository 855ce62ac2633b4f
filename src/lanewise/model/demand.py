"""What one warp of a launch asks of each unit, on average, from the counts of the launch."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.rates import Rates
from lanewise.model.caches import SiteTraffic, Traffic
from lanewise.model.pipes import Pipe, pipe
from lanewise.model.ports import port_cycles
from lanewise.model.walk import LONG_SCOREBOARD, SHORT_SCOREBOARD, Walk, walk
from lanewise.records import AccessKind, Space
from lanewise.sass.costs import AccessCost, MachineCosts
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassInstruction

SECTOR = 32
_IN_PART = 3
_AT_ONCE = 4  # loads of a warp under way, at most
_OF_32 = 5.0  # doublings from one to the 32 that the spread of a latency is given for
_FLOPS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "DFMA": 2, "DADD": 1, "DMUL": 1, "HFMA2": 4, "HADD2": 2, "HMUL2": 2}


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one of `warps`: its walk alone, instructions by unit, wavefronts and lines of the L1, what it asks below."""

    warps: int
    walk: Walk
    longest: float  # of the latencies of memory
    instructions: Mapping[Pipe, float]
    issue_cycles: float  # with what the register file takes
    barriers: float  # that a warp comes to
    l1_cycles: float  # of the LSU and the L1 behind it: instructions, wavefronts, lines
    constant_cycles: float
    l2_read_bytes: float
    l2_write_bytes: float
    l2_lines: float
    partial_sectors: float
    atomic_steps: float
    dram_bytes: float
    dram_cost: float  # as bytes, with what turning the bus and writing in part cost
    flops: int  # of the whole launch


def _operations(instruction: SassInstruction) -> int:
    """Floating-point operations of a lane. Products of RZ and RZ are how ptxas writes a constant to a register."""
    factors = [part.strip().lstrip("-") for part in instruction.operands.split(",")][1:3]
    return 0 if factors == ["RZ", "RZ"] else _FLOPS.get(instruction.name, 0)


def latencies(rates: Rates) -> dict[Pipe, float]:
    return {
        Pipe.FMA: rates.fma_latency,
        Pipe.IMAD: rates.imad_latency,
        Pipe.ALU: rates.alu_latency,
        Pipe.FP64: rates.fp64_latency,
        Pipe.HALF: rates.half_latency,
        Pipe.XU: rates.xu_latency,
        Pipe.CONVERT: rates.conversion_latency,
        Pipe.TENSOR: rates.tensor_latency,
        Pipe.LSU: rates.shuffle_latency,
        Pipe.CONSTANT: rates.constant_latency,
        Pipe.UNIFORM: rates.uniform_latency,
        Pipe.CONTROL: rates.branch_latency,
        Pipe.BARRIER: rates.barrier_latency,
    }


def pipe_rates(rates: Rates) -> dict[Pipe, float]:
    """Warp instructions a clock and SM of the units that execute arithmetic."""
    return {
        Pipe.FMA: rates.fma_rate,
        Pipe.IMAD: rates.imad_rate,
        Pipe.ALU: rates.alu_rate,
        Pipe.FP64: rates.fp64_rate,
        Pipe.HALF: rates.half_rate,
        Pipe.XU: rates.xu_rate,
        Pipe.CONVERT: rates.conversion_rate,
        Pipe.UNIFORM: rates.uniform_rate,
        Pipe.CONTROL: rates.branch_rate,
    }


def demand(
    machine: MachineKernel,
    costs: MachineCosts,
    sites: tuple[SiteInfo, ...],
    traffic: Traffic,
    counted: Sequence[SiteCounts],
    warps: int,
    warps_per_block: int,
    rates: Rates,
) -> Demand:
    """`warps` are those the launch started."""
    runs = [run.warps / warps for run in costs.blocks]
    instructions: dict[Pipe, float] = defaultdict(float)
    flops, issue_cycles, barriers = 0, 0.0, 0.0
    for block, run in zip(machine.blocks, costs.blocks, strict=True):
        for instruction in block.instructions:
            instructions[pipe(instruction)] += run.warps / warps
            flops += _operations(instruction) * run.threads
            barriers += run.warps / warps if instruction.name == "BAR" else 0.0
        issue_cycles += run.warps / warps * sum(port_cycles(block.instructions))
    by_line: dict[tuple[str, int], list[SiteTraffic]] = defaultdict(list)
    for site in sites:
        if site.index in traffic.sites:
            by_line[machine.suffix(site.module), site.ptx_line].append(traffic.sites[site.index])
    loads_of_block = Counter(
        a.block for a in machine.accesses if a.instruction.memory == (Space.GLOBAL, AccessKind.LOAD)
    )
    memory: dict[int, tuple[float, str]] = {}
    l1 = 0.0
    for cost in costs.accesses:
        requests = max(cost.requests, 1)
        offset = cost.access.instruction.offset
        if cost.space == Space.SHARED:
            on = cost.site.requests_on if cost.site is not None else 0
            waves = (cost.wavefronts or 0) / (on or requests)  # of those that wait: where a lane asked
            own = rates.shared_atomic_latency if cost.access.instruction.name == "ATOMS" else rates.shared_latency
            memory[offset] = own + max(0.0, waves - 1) / rates.shared_wavefronts, SHORT_SCOREBOARD
            further = max(0, (cost.wavefronts or 0) - (on or cost.requests))
            l1 += cost.requests / warps / rates.lsu_rate + further / warps / rates.shared_wavefronts
        elif cost.space in (Space.GLOBAL, Space.LOCAL):
            found = by_line.get(cost.access.line, []) if cost.access.line is not None else []
            own = _l1_cycles(cost, found, rates)
            l1 += cost.requests / warps * own
            if _kind(cost) != AccessKind.STORE:
                together = max(1, min(_AT_ONCE, loads_of_block[cost.access.block]))
                memory[offset] = _latency(cost, found, together, rates) + max(0.0, own - 1), LONG_SCOREBOARD
    issue = {unit: 4 / rate for unit, rate in pipe_rates(rates).items()}
    if barriers:  # a block waits for what only some of its warps do
        runs = [max(run, min(1.0, run * warps_per_block)) for run in runs]
    alone = walk(machine.blocks, runs, latencies(rates), memory, issue)
    partial = sum(_partial_sectors(cost) for cost in costs.accesses) / warps
    read, written, lines, atomic = _below(sites, traffic, warps)
    moved, cost_of_dram = _dram(traffic, rates)
    filled = read / SECTOR / rates.l1_fill_sectors
    accessing = sum(cost.requests for cost in costs.accesses) / warps
    return Demand(
        warps=warps,
        walk=alone,
        longest=max((latency for latency, reason in memory.values() if reason == LONG_SCOREBOARD), default=0.0),
        instructions=dict(instructions),
        issue_cycles=issue_cycles,
        barriers=barriers,
        l1_cycles=l1 + filled + max(0.0, instructions[Pipe.LSU] - accessing) / rates.lsu_rate,
        constant_cycles=_constants(counted) / warps * rates.constant_clocks,
        l2_read_bytes=read,
        l2_write_bytes=written,
        l2_lines=lines,
        partial_sectors=partial + atomic,
        atomic_steps=traffic.atomic_steps / warps,
        dram_bytes=moved / warps,
        dram_cost=cost_of_dram / warps,
        flops=flops,
    )


def _kind(cost: AccessCost) -> AccessKind:
    memory = cost.access.instruction.memory
    assert memory is not None
    return memory[1]


def _l1_cycles(cost: AccessCost, found: list[SiteTraffic], rates: Rates) -> float:
    """Of one request: its passes through the banks, the lines it looks up, or the bytes it moves."""
    requests = max(cost.requests, 1)
    sectors = (cost.sectors or 0) / requests
    bytes_ = cost.threads_on / requests * cost.access.instruction.width_bits / 8
    followed = sum(s.sectors for s in found)
    lines = sectors * sum(s.lines for s in found) / followed if followed else sectors / 4
    passes = cost.site.wavefronts / max(cost.site.requests, 1) if cost.site is not None else 1.0
    return max(1 / rates.lsu_rate, passes / rates.shared_wavefronts, lines / rates.l1_lines, bytes_ / rates.l1_bytes)


def _latency(cost: AccessCost, found: list[SiteTraffic], together: int, rates: Rates) -> float:
    """A warp goes on with the slowest of the lines (from DRAM: accesses) of the `together` loads under way."""
    if _kind(cost) == AccessKind.ATOMIC:
        return rates.atomic_latency
    near, middle, far = (sum(getattr(s, f"from_{place}") for s in found) for place in ("l1", "l2", "dram"))
    total: float = near + middle + far
    if not total:
        return rates.l1_latency
    requests = max(cost.requests, 1)
    lines = max(1.0, sum(s.lines for s in found) / total) * together
    accesses = max(1.0, (cost.sectors or 0) / requests * SECTOR / rates.dram_access_bytes) * together
    l2 = rates.l2_latency + rates.l2_spread * min(1.0, math.log2(lines) / _OF_32)
    dram = rates.dram_latency + rates.dram_spread * min(1.0, math.log2(accesses) / _OF_32)
    return float(near * rates.l1_latency + middle * l2 + far * dram) / total


def _constants(counted: Sequence[SiteCounts]) -> float:
    """Further addresses, beside the first of each request, that warps read from constant memory."""
    return sum(c.wavefronts for c in counted if c.site.space == Space.CONST)


def _partial_sectors(cost: AccessCost) -> float:
    """Sectors of global memory that a store writes only a part of."""
    if cost.space != Space.GLOBAL or _kind(cost) != AccessKind.STORE or not cost.sectors:
        return 0.0
    whole = cost.threads_on * cost.access.instruction.width_bits / 8 / SECTOR
    return cost.sectors if cost.sectors > 2 * whole else 0.0


def _dram(traffic: Traffic, rates: Rates) -> tuple[float, float]:
    """Bytes moved, and what they cost: the bus is turned round between reads and writes; a sector written in part takes
    a whole access to read and one to write, and as much again to turn."""
    read = sum(s.dram_sectors for s in traffic.sites.values()) * SECTOR
    filled, written = traffic.filled_sectors * SECTOR, traffic.written_sectors * SECTOR
    whole = read + written - filled
    turned = 2 * min(read, written - filled) * rates.dram_turn / 2
    return read + filled + written, whole + turned + traffic.filled_sectors * _IN_PART * rates.dram_access_bytes


def _below(sites: tuple[SiteInfo, ...], traffic: Traffic, warps: int) -> tuple[float, float, float, float]:
    """Bytes read from and written to the L2, lines that loads ask it for, sectors with atomics."""
    read = written = lines = atomic = 0.0
    for index, site in traffic.sites.items():
        kind = sites[index].kind if index < len(sites) else AccessKind.LOAD
        if kind == AccessKind.LOAD:
            read += site.l2_sectors * SECTOR
            asked = site.sectors - site.l1_hits
            lines += site.lines * asked / site.sectors if site.sectors else 0.0
        elif kind == AccessKind.STORE:
            written += site.l2_sectors * SECTOR
        else:
            atomic += site.l2_sectors
    return read / warps, written / warps, lines / warps, atomic / warps
