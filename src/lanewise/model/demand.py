"""What one warp of a launch asks of each unit, on average, from the counts of the launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.rates import Rates
from lanewise.model.caches import SiteTraffic, Traffic
from lanewise.model.pipes import Pipe, pipe
from lanewise.model.walk import LONG_SCOREBOARD, SHORT_SCOREBOARD, Walk, walk
from lanewise.records import AccessKind, Space
from lanewise.sass.costs import AccessCost, MachineCosts
from lanewise.sass.kernel import MachineKernel

SECTOR = 32
LINE = 128
_IN_PART = 4
_FLOPS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "DFMA": 2, "DADD": 1, "DMUL": 1, "HFMA2": 4, "HADD2": 2, "HMUL2": 2}


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one of `warps`: its walk alone, instructions by unit, wavefronts and lines of the L1, what it asks below."""

    warps: int
    walk: Walk
    instructions: Mapping[Pipe, float]
    l1_cycles: float
    constant_cycles: float
    l2_read_bytes: float
    l2_write_bytes: float
    partial_sectors: float
    atomic_sectors: float
    atomic_lanes: float
    dram_bytes: float
    flops: int  # of the whole launch


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
    rates: Rates,
) -> Demand:
    """`warps` are those the launch started."""
    runs = [run.warps / warps for run in costs.blocks]
    instructions: dict[Pipe, float] = defaultdict(float)
    flops = 0
    for block, run in zip(machine.blocks, costs.blocks, strict=True):
        for instruction in block.instructions:
            instructions[pipe(instruction)] += run.warps / warps
            flops += _FLOPS.get(instruction.name, 0) * run.threads
    by_line: dict[tuple[str, int], list[SiteTraffic]] = defaultdict(list)
    for site in sites:
        if site.index in traffic.sites:
            by_line[machine.suffix(site.module), site.ptx_line].append(traffic.sites[site.index])
    memory: dict[int, tuple[float, str]] = {}
    l1 = 0.0
    atomic_lanes = 0.0
    for cost in costs.accesses:
        requests = max(cost.requests, 1)
        offset = cost.access.instruction.offset
        if cost.space == Space.SHARED:
            waves = (cost.wavefronts or 0) / requests
            own = rates.shared_atomic_latency if cost.access.instruction.name == "ATOMS" else rates.shared_latency
            memory[offset] = own + max(0.0, waves - 1) / rates.shared_wavefronts, SHORT_SCOREBOARD
            l1 += (cost.wavefronts or 0) / warps / rates.shared_wavefronts
        elif cost.space in (Space.GLOBAL, Space.LOCAL):
            l1 += cost.requests / warps * _l1_cycles(cost, rates)
            atomic_lanes += cost.threads_on / warps if _kind(cost) == AccessKind.ATOMIC else 0.0
            if _kind(cost) != AccessKind.STORE:
                found = by_line.get(cost.access.line, []) if cost.access.line is not None else []
                memory[offset] = _latency(cost, found, rates), LONG_SCOREBOARD
    issue = {unit: 4 / rate for unit, rate in pipe_rates(rates).items()}
    alone = walk(machine.blocks, runs, latencies(rates), memory, issue)
    partial = sum(_partial_sectors(cost) for cost in costs.accesses) / warps
    read, written, atomic = _below(sites, traffic, warps)
    return Demand(
        warps,
        alone,
        dict(instructions),
        l1,
        _constants(counted) / warps * rates.constant_clocks,
        read,
        written,
        partial,
        atomic,
        atomic_lanes,
        _dram_bytes(traffic, rates) / warps,
        flops,
    )


def _kind(cost: AccessCost) -> AccessKind:
    memory = cost.access.instruction.memory
    assert memory is not None
    return memory[1]


def _l1_cycles(cost: AccessCost, rates: Rates) -> float:
    """Of one request: the lines it looks up, or the bytes it moves."""
    requests = max(cost.requests, 1)
    sectors = (cost.sectors or 0) / requests
    bytes_ = cost.threads_on / requests * cost.access.instruction.width_bits / 8
    lines = max(1.0, bytes_ / LINE, sectors if sectors * SECTOR > 2 * bytes_ else sectors / 4)
    return max(lines / rates.l1_lines, bytes_ / rates.l1_bytes)


def _latency(cost: AccessCost, found: list[SiteTraffic], rates: Rates) -> float:
    if _kind(cost) == AccessKind.ATOMIC:
        return rates.atomic_latency
    near, middle, far = (sum(getattr(s, f"from_{place}") for s in found) for place in ("l1", "l2", "dram"))
    total: float = near + middle + far
    if not total:
        return rates.l1_latency
    return float(near * rates.l1_latency + middle * rates.l2_latency + far * rates.dram_latency) / total


def _constants(counted: Sequence[SiteCounts]) -> float:
    """Further addresses, beside the first of each request, that warps read from constant memory."""
    return sum(max(0, c.sectors - c.requests) for c in counted if c.site.space == Space.CONST)


def _partial_sectors(cost: AccessCost) -> float:
    """Sectors of global memory that a store writes only a part of."""
    if cost.space != Space.GLOBAL or _kind(cost) != AccessKind.STORE or not cost.sectors:
        return 0.0
    whole = cost.threads_on * cost.access.instruction.width_bits / 8 / SECTOR
    return cost.sectors if cost.sectors > 2 * whole else 0.0


def _dram_bytes(traffic: Traffic, rates: Rates) -> float:
    """A sector written in part costs a whole access to read and one to write, each with the bus turned round."""
    moved = sum(s.dram_sectors for s in traffic.sites.values()) + traffic.written_sectors - traffic.filled_sectors
    return moved * SECTOR + traffic.filled_sectors * _IN_PART * rates.dram_access_bytes


def _below(sites: tuple[SiteInfo, ...], traffic: Traffic, warps: int) -> tuple[float, float, float]:
    """Bytes read from and written to the L2, sectors with atomics."""
    read = written = atomic = 0.0
    for index, site in traffic.sites.items():
        kind = sites[index].kind if index < len(sites) else AccessKind.LOAD
        if kind == AccessKind.LOAD:
            read += site.l2_sectors * SECTOR
        elif kind == AccessKind.STORE:
            written += site.l2_sectors * SECTOR
        else:
            atomic += site.l2_sectors
    return read / warps, written / warps, atomic / warps
