"""How long a launch takes: its warps as customers of the device's units (`network.py`).

A warp alone takes as long as its walk (`walk.py`); with others it waits where units are busy. The SM with the most
blocks decides, in rounds of as many as fit. Units below the SMs are shared by all of them. A launch costs its fixed
part on top, and its blocks are started one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.hardware.device import DeviceSpec
from lanewise.model.demand import Demand, pipe_rates
from lanewise.model.network import Solution, Station, solve
from lanewise.model.pipes import Pipe
from lanewise.model.placement import PARTITIONS, Placement
from lanewise.records import Unit

LATENCY = "latency"
# What warps wait for where a unit is the bound, in the profiler's words (Nsight Compute, "Warp Stall Reasons").
_STALLS = {
    "issue": "not selected",
    "LSU and L1": "MIO throttle or LG throttle",
    "TEX": "TEX throttle",
    "L1 misses": "long scoreboard",
    "L2 port": "long scoreboard",
    "L2": "long scoreboard",
    "L2 writes": "drain",
    "DRAM": "long scoreboard",
    "atomics": "LG throttle",
    "constants": "MIO throttle",
    "block launch": "no instruction",
}
_FETCHES = 2  # one behind the other, before the first instruction runs: parameters, instructions
_SATURATED = 0.85  # a unit busier than this share of the time decides it


@dataclass(frozen=True, slots=True)
class Timing:
    """`bound` is the unit that decides, or "latency"; `stall` what warps wait for; `units` the busiest first."""

    time_us: float
    bound: str
    stall: str
    units: tuple[Unit, ...]


def timing(spec: DeviceSpec, placed: Placement, asked: Demand, *, cold: bool) -> Timing:
    """`cold`: the first instructions of the kernel and its parameters come from DRAM, else from the L2."""
    stations = _stations(spec, placed, asked)
    # What a warp alone spends at units is part of its walk.
    delay = max(0.0, asked.walk.cycles - sum(station.service for station in stations))
    rounds, rest = divmod(placed.most_blocks, placed.blocks_per_sm)
    shapes = ([(rounds, placed.blocks_per_sm)] if rounds else []) + ([(1, rest)] if rest else [])
    rates = spec.rates
    # Between two rounds the place of a block is empty for a while.
    between = rates.block_latency * (1 - 1 / sum(times for times, _ in shapes))
    parts = [(times, _round(stations, delay + between, blocks, placed, asked)) for times, blocks in shapes]
    start = _FETCHES * (rates.dram_latency if cold else rates.l2_latency)
    running = sum(times * part.cycles for times, part in parts)
    busiest = max((sum(n * p.cycles * p.busy.get(s.name, 0.0) for n, p in parts) for s in stations), default=0.0)
    # A unit is idle until the first and after the last request comes to it.
    cycles = start + max(running, min(delay, asked.longest) + busiest)
    ghz = spec.values.sm_clock_khz / 1e6
    busy = {s.name: sum(n * p.cycles * p.busy.get(s.name, 0.0) for n, p in parts) for s in stations if s.service > 0}
    units = tuple(
        Unit(name, round(cycles_busy, 1), round(cycles_busy / cycles, 4))
        for name, cycles_busy in sorted(busy.items(), key=lambda item: (-item[1], item[0]))
    )
    first = units[0] if units else None
    bound = first.name if first is not None and first.share >= _SATURATED else LATENCY
    waits = asked.walk.waits
    longest = max(waits, key=lambda reason: (waits[reason], reason), default="selected")
    stall = longest if bound == LATENCY else _STALLS.get(bound, "math pipe throttle")
    return Timing(round(rates.launch_us + cycles / ghz / 1000, 3), bound, stall, units)


def _round(stations: Sequence[Station], delay: float, blocks: int, placed: Placement, asked: Demand) -> Solution:
    """`blocks` resident on an SM, from their start to their end."""
    warps = placed.warps_per_block
    each = solve(stations, delay, blocks * warps / PARTITIONS)
    if not asked.barriers or warps == 1:
        return each
    # Warps that wait for each other go through the units together: blocks take turns at the busiest one.
    busiest = max(stations, key=lambda s: s.service * s.shared_by)
    alone = delay + sum(s.service for s in stations if s is not busiest)
    whole = busiest.service * warps / PARTITIONS * max(1.0, min(busiest.shared_by, PARTITIONS))
    turn = Station(busiest.name, whole, max(1.0, busiest.shared_by / PARTITIONS))
    together = solve([turn], alone, blocks)
    if together.cycles <= each.cycles:
        return each
    slower = each.cycles / together.cycles
    return Solution(together.cycles, {n: share * slower for n, share in each.busy.items()}, each.waiting)


def _stations(spec: DeviceSpec, placed: Placement, asked: Demand) -> list[Station]:
    """Units of a partition, of an SM (shared by its partitions), of the device (shared by those of all SMs)."""
    rates, clock = spec.rates, spec.values.sm_clock_khz / 1e6  # clocks a nanosecond
    # The SM with the most blocks decides; the units of the device have the average to do.
    even = placed.blocks / placed.busy_sms / placed.most_blocks
    everywhere = PARTITIONS * placed.busy_sms * even
    stations = [Station("issue", asked.issue_cycles * PARTITIONS / rates.issue_rate)]
    stations += [
        Station(unit.value, asked.instructions.get(unit, 0.0) * PARTITIONS / rate)
        for unit, rate in pipe_rates(rates).items()
    ]
    stations += [
        Station("tensor", asked.tensor_cycles),
        Station("TEX", asked.texture_cycles, PARTITIONS),
        Station("LSU and L1", asked.l1_cycles, PARTITIONS),
        Station("L1 misses", asked.l2_lines * spec.values.sm_count / rates.l2_requests, PARTITIONS),
        Station("constants", asked.constant_cycles, PARTITIONS),
        Station("L2 port", (asked.l2_read_bytes + asked.l2_write_bytes) / rates.l2_port_bytes, PARTITIONS),
        Station("barrier", asked.instructions.get(Pipe.BARRIER, 0.0) / rates.barrier_rate, PARTITIONS),
        Station(
            "L2",
            max(asked.l2_read_bytes / rates.l2_read_gb_s * clock, asked.l2_lines / rates.l2_requests),
            everywhere,
        ),
        Station(
            "L2 writes",
            max(asked.l2_write_bytes / rates.l2_write_gb_s * clock, asked.partial_sectors / rates.l2_partial_sectors),
            everywhere,
        ),
        Station("DRAM", asked.dram_cost / rates.dram_gb_s * clock, everywhere),
        Station("atomics", asked.atomic_steps * rates.atomic_clocks, everywhere),
        Station("block launch", 1000 * clock / rates.blocks_per_us / placed.warps_per_block, everywhere),
    ]
    return stations
