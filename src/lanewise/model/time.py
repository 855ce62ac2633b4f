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
_BELOW = frozenset(("L1 misses", "L2 port", "L2", "L2 writes", "DRAM"))
_ATOMICS = "atomics"
_SHARED = _BELOW | {_ATOMICS, "block launch"}
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
    # What a warp alone spends at units is part of its walk; where it is more, they work for it side by side.
    delay = max(0.0, asked.walk.cycles - sum(station.service for station in stations))
    rounds, rest = divmod(placed.most_blocks, placed.blocks_per_sm)
    shapes = ([(rounds, placed.blocks_per_sm)] if rounds else []) + ([(1, rest)] if rest else [])
    rates = spec.rates
    # Between two rounds the place of a block is empty for a while.
    between = rates.block_latency * (1 - 1 / sum(times for times, _ in shapes))
    parts = [(times, _round(stations, delay + between, blocks, placed, asked)) for times, blocks in shapes]
    start = _FETCHES * (rates.dram_latency if cold else rates.l2_latency)
    running = sum(times * part.cycles for times, part in parts)
    first = _round(stations, delay, shapes[0][1], placed, asked)
    running += _in_step(first, min(delay, asked.longest), asked.walk.far)
    if asked.single_atomics:
        others = [station for station in stations if station.name != _ATOMICS]
        without = _round(others, delay + between, shapes[-1][1], placed, asked)
        running += _in_line(parts[-1][1], without, asked.single_atomics)
    busiest = max((sum(n * p.cycles * p.busy.get(s.name, 0.0) for n, p in parts) for s in stations), default=0.0)
    # A unit is idle until the first and after the last request comes to it.
    cycles = start + max(running, min(delay, asked.longest) + busiest)
    ghz = spec.values.sm_clock_khz / 1e6
    busy = {s.name: sum(n * p.cycles * p.busy.get(s.name, 0.0) for n, p in parts) for s in stations if s.service > 0}
    units = tuple(
        Unit(name, round(cycles_busy, 1), round(cycles_busy / cycles, 4))
        for name, cycles_busy in sorted(busy.items(), key=lambda item: (-item[1], item[0]))
    )
    busiest_unit = units[0] if units else None
    bound = busiest_unit.name if busiest_unit is not None and busiest_unit.share >= _SATURATED else LATENCY
    waits = asked.walk.waits
    longest = max(waits, key=lambda reason: (waits[reason], reason), default="selected")
    stall = longest if bound == LATENCY else _STALLS.get(bound, "math pipe throttle")
    return Timing(round(rates.launch_us + cycles / ghz / 1000, 3), bound, stall, units)


def _in_step(first: Solution, longest: float, stages: float) -> float:
    """Cycles that the first round takes beyond `first`, in which warps are anywhere in their code: they begin together,
    so that all wait for memory at first and all compute then, with no work of the one kind beside the other. Where a
    warp waits for memory `stages` times that is the first of so many parts of its work."""
    below = max((first.cycles * share for name, share in first.busy.items() if name in _BELOW), default=0.0)
    within = max((first.cycles * share for name, share in first.busy.items() if name not in _SHARED), default=0.0)
    whole = longest + max(below, within) + min(below, within) / max(1.0, stages)
    return max(0.0, whole - first.cycles)


def _in_line(last: Solution, without: Solution, atomics: float) -> float:
    """Cycles that the last round takes beyond `last`: its warps end together, and the sum that one lane of each adds
    stands in line behind the rest of the work; of a warp that adds several, the last. (Of atomics whose lanes are at
    many places no such line is seen.)"""
    line = last.cycles * last.busy.get(_ATOMICS, 0.0) / max(1.0, atomics)
    return max(0.0, without.cycles + line - last.cycles)


def _round(stations: Sequence[Station], delay: float, blocks: int, placed: Placement, asked: Demand) -> Solution:
    """`blocks` resident on an SM, from their start to their end."""
    warps = placed.warps_per_block
    services = sum(station.service for station in stations)
    busiest = max(stations, key=lambda s: s.service * s.shared_by)
    alone = max(asked.walk.cycles, max(station.service for station in stations))
    apart = min(1.0, alone / services) if services else 1.0
    each = solve(stations, delay, blocks * warps / PARTITIONS, apart)
    if not asked.barriers or warps == 1:
        return each
    # Warps that wait for each other go through the units together: blocks take turns at the busiest one.
    further = delay + max(0.0, apart * services - busiest.service)
    whole = busiest.service * warps / PARTITIONS * max(1.0, min(busiest.shared_by, PARTITIONS))
    turn = Station(busiest.name, whole, max(1.0, busiest.shared_by / PARTITIONS))
    together = solve([turn], further, blocks)
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
        Station(_ATOMICS, asked.atomic_cycles, everywhere),
        Station("block launch", 1000 * clock / rates.blocks_per_us / placed.warps_per_block, everywhere),
    ]
    return stations
