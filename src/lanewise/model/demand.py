"""What one warp of a launch asks of each unit, on average, from the counts of the launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.rates import Rates
from lanewise.model import tensor
from lanewise.model.accesses import Accesses, accesses, kind, partial_sectors
from lanewise.model.caches import SiteTraffic, Traffic
from lanewise.model.pipes import Pipe, passes, pipe
from lanewise.model.placement import PARTITIONS, Placement
from lanewise.model.ports import port_cycles
from lanewise.model.walk import LONG_SCOREBOARD, WAIT, Walk, walk
from lanewise.records import AccessKind, Space
from lanewise.sass.costs import AccessCost, MachineCosts
from lanewise.sass.executions import Line
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassInstruction

_IN_PART = 3
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
    tensor_cycles: float  # of the tensor core of the partition
    texture_cycles: float
    l2_read_bytes: float
    l2_write_bytes: float
    l2_lines: float
    partial_sectors: float
    atomic_cycles: float  # of the slice that has most to do
    single_atomics: float  # those of one lane each
    dram_bytes: float
    dram_cost: float  # as bytes, with what turning the bus and writing in part cost
    flops: int  # of the whole launch, and ...
    tensor_flops: int  # ... those of them that tensor cores do, of which ...
    tensor_tflops: float  # ... the device does so many

    def several(self, times: float, instructions: Mapping[Pipe, float]) -> Demand:
        """A warp with `times` the elements: it executes `instructions` and asks the L2 and DRAM for `times` as much."""
        extra = sum(instructions.values()) - sum(self.instructions.values())
        return replace(
            self,
            instructions=instructions,
            issue_cycles=self.issue_cycles + extra,
            walk=replace(self.walk, cycles=self.walk.cycles + extra),
            l2_read_bytes=self.l2_read_bytes * times,
            l2_write_bytes=self.l2_write_bytes * times,
            l2_lines=self.l2_lines * times,
            partial_sectors=self.partial_sectors * times,
            dram_bytes=self.dram_bytes * times,
            dram_cost=self.dram_cost * times,
        )


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
        Pipe.TEXTURE: rates.texture_latency,
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
    placed: Placement,
    spec: DeviceSpec,
) -> Demand:
    rates, warps = spec.rates, placed.warps
    runs = [run.warps / warps for run in costs.blocks]
    instructions: dict[Pipe, float] = defaultdict(float)
    flops, issue_cycles, barriers = 0, 0.0, 0.0
    of_tensors: dict[float, float] = defaultdict(float)  # operations by the rate of their types
    intervals: dict[int, float] = {}  # of matrix instructions at the tensor core
    queued: dict[int, tuple[float, str]] = {}  # what warpgroups wait for
    tensor_cycles = 0.0
    clocks, partitions = spec.values.sm_clock_khz / 1e3, PARTITIONS * spec.values.sm_count
    for block, run in zip(machine.blocks, costs.blocks, strict=True):
        for instruction in block.instructions:
            unit = pipe(instruction)
            instructions[unit] += passes(instruction) * run.warps / warps
            flops += _operations(instruction) * run.threads
            barriers += run.warps / warps if instruction.name == "BAR" else 0.0
            if unit == Pipe.TENSOR:
                cycles = tensor.cycles(instruction, rates, clocks, partitions)
                intervals[instruction.offset] = cycles
                if tensor.group(instruction):
                    queued[instruction.offset] = rates.warpgroup_latency, WAIT
                tensor_cycles += cycles * run.warps / warps
                of_tensors[tensor.tflops(instruction, rates)] += tensor.operations(instruction) * run.warps
        issue_cycles += run.warps / warps * sum(port_cycles(block.instructions))
    by_line: dict[Line, list[SiteTraffic]] = defaultdict(list)
    for site in sites:
        if site.index in traffic.sites:
            by_line[machine.suffix(site.module), site.ptx_line].append(traffic.sites[site.index])
    asked = accesses(machine, costs, by_line, rates)
    issue = {unit: 4 / rate for unit, rate in pipe_rates(rates).items()}
    if barriers:  # a block waits for what only some of its warps do
        runs = [max(run, min(1.0, run * placed.warps_per_block)) for run in runs]
    alone = walk(machine.blocks, runs, latencies(rates), asked.waits | queued, issue, intervals)
    partial = sum(partial_sectors(cost) for cost in costs.accesses) / warps
    read, written, lines, atomic = _below(sites, traffic, warps)
    moved, cost_of_dram = _dram(traffic, rates)
    engine = asked.engine_bytes / warps
    into_l1 = max(0.0, read - engine - asked.past_bytes / warps)
    filled = into_l1 / SECTOR_BYTES / rates.l1_fill_sectors + engine / rates.bulk_bytes
    further = max(0.0, instructions[Pipe.LSU] - asked.requests / warps) / rates.lsu_rate
    return Demand(
        warps=warps,
        walk=_with_copies(alone, asked, placed),
        longest=max((wait for wait, reason in asked.waits.values() if reason == LONG_SCOREBOARD), default=0.0),
        instructions=dict(instructions),
        issue_cycles=issue_cycles,
        barriers=barriers,
        l1_cycles=asked.l1_cycles / warps + filled + further,
        constant_cycles=_constant_cycles(counted, placed, rates) / warps,
        tensor_cycles=tensor_cycles,
        texture_cycles=asked.texture_cycles / warps,
        l2_read_bytes=read,
        l2_write_bytes=written,
        l2_lines=lines,
        partial_sectors=partial + atomic,
        atomic_cycles=traffic.atomic_steps * _clocks_of_atomics(costs, rates) / warps,
        single_atomics=_single_atomics(costs) / warps,
        dram_bytes=moved / warps,
        dram_cost=cost_of_dram / warps,
        flops=flops + round(sum(of_tensors.values())),
        tensor_flops=round(sum(of_tensors.values())),
        tensor_tflops=max(of_tensors, key=lambda rate: of_tensors[rate], default=0.0),
    )


def _with_copies(alone: Walk, asked: Accesses, placed: Placement) -> Walk:
    """A block waits for the first bytes that the copy engine brings. It cannot have more under way than its shared
    memory holds, so all of them take at least their number over that, times a copy's latency (Little's law)."""
    if not asked.engine_bytes:
        return alone
    held = max(1.0, asked.engine_bytes / placed.blocks / max(1, placed.shared_bytes))
    waited = asked.engine_latency + max(0.0, asked.engine_latency * held - alone.cycles)
    waits = dict(alone.waits)
    waits[LONG_SCOREBOARD] = waits.get(LONG_SCOREBOARD, 0.0) + waited
    return Walk(alone.cycles + waited, alone.issued, waits, alone.far + held)


def _is_atomic(cost: AccessCost) -> bool:
    return cost.space == Space.GLOBAL and kind(cost) == AccessKind.ATOMIC


def _single_atomics(costs: MachineCosts) -> int:
    """Atomics of a launch, where all are done by one lane of a warp each; else 0."""
    atomics = [cost for cost in costs.accesses if _is_atomic(cost) and cost.requests]
    return sum(c.threads_on for c in atomics) if all(c.threads_on <= c.requests for c in atomics) else 0


def _clocks_of_atomics(costs: MachineCosts, rates: Rates) -> float:
    """Between two atomics in one slice, by what the lanes of a launch do."""
    lanes: dict[bool, int] = defaultdict(int)
    for cost in costs.accesses:
        if _is_atomic(cost):
            modifiers = cost.access.instruction.opcode.split(".")
            lanes[any(word.startswith(("F32", "F64", "F16", "BF16")) for word in modifiers)] += cost.threads_on
    total = lanes[True] + lanes[False]
    share = lanes[True] / total if total else 0.0
    return share * rates.atomic_float_clocks + (1 - share) * rates.atomic_clocks


def _constant_cycles(counted: Sequence[SiteCounts], placed: Placement, rates: Rates) -> float:
    """Of requests for constants whose lanes differ: each address beside the first, and lines that the first cache does
    not hold. Of a table larger than the cache a share of the lines is missing, which micro-benchmarks of tables of 2 to
    64 KB on an H200 give as the fourth power of the share of the table that does not fit."""
    missing = max(0.0, 1 - rates.constant_cache_bytes / max(1, placed.constant_bytes)) ** 4
    cycles = 0.0
    for c in counted:
        if c.site.space == Space.CONST:
            further, lines = c.wavefronts, c.wavefronts_ideal  # `emulator.trace` puts them there
            cycles += further * rates.constant_clocks + lines * missing * rates.constant_miss_clocks
    return cycles


def _dram(traffic: Traffic, rates: Rates) -> tuple[float, float]:
    """Bytes moved, and what they cost: the bus is turned round between reads and writes; a sector written in part takes
    a whole access to read and one to write, and as much again to turn."""
    read = sum(s.dram_sectors for s in traffic.sites.values()) * SECTOR_BYTES
    filled, written = traffic.filled_sectors * SECTOR_BYTES, traffic.written_sectors * SECTOR_BYTES
    whole = read + written - filled
    turned = 2 * min(read, written - filled) * rates.dram_turn / 2
    return read + filled + written, whole + turned + traffic.filled_sectors * _IN_PART * rates.dram_access_bytes


def _below(sites: tuple[SiteInfo, ...], traffic: Traffic, warps: int) -> tuple[float, float, float, float]:
    """Bytes read from and written to the L2, lines that loads ask it for, sectors with atomics."""
    read = written = lines = atomic = 0.0
    for index, site in traffic.sites.items():
        kind = sites[index].kind if index < len(sites) else AccessKind.LOAD
        if kind == AccessKind.LOAD:
            read += site.l2_sectors * SECTOR_BYTES
            asked = site.sectors - site.l1_hits
            lines += site.lines * asked / site.sectors if site.sectors else 0.0
        elif kind == AccessKind.STORE:
            written += site.l2_sectors * SECTOR_BYTES
        else:
            atomic += site.l2_sectors
    return read / warps, written / warps, lines / warps, atomic / warps
