"""How long a launch takes: its warps as customers of the device's units (`network.py`).

A warp alone takes as long as its walk (`walk.py`); with others it waits where units are busy. The SM with the most
blocks decides, in rounds of as many as fit. Units below the SMs are shared by all of them. A launch costs its fixed
part on top, and its blocks are started one after another.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.hardware.device import DeviceSpec
from lanewise.model.demand import Demand, pipe_rates
from lanewise.model.network import Solution, Station, solve
from lanewise.model.pipes import Pipe
from lanewise.model.placement import Placement
from lanewise.records import Unit

PARTITIONS = 4  # schedulers of an SM
LATENCY = "latency"
# What warps wait for where a unit is the bound, in the profiler's words (Nsight Compute, "Warp Stall Reasons").
_STALLS = {
    "issue": "not selected",
    "LSU": "LG throttle or MIO throttle",
    "L1": "MIO throttle",
    "L2 port": "long scoreboard",
    "L2": "long scoreboard",
    "L2 writes": "drain",
    "DRAM": "long scoreboard",
    "atomics": "LG throttle",
    "constants": "MIO throttle",
    "block launch": "no instruction",
}
_SATURATED = 0.85  # a unit busier than this share of the time decides it


@dataclass(frozen=True, slots=True)
class Timing:
    """`bound` is the unit that decides, or "latency"; `stall` what warps wait for; `units` the busiest first."""

    time_us: float
    bound: str
    stall: str
    units: tuple[Unit, ...]


def timing(spec: DeviceSpec, placed: Placement, asked: Demand) -> Timing:
    stations = _stations(spec, placed, asked)
    delay = max(0.0, asked.walk.cycles - asked.walk.issued)

    def round_of(blocks: int) -> Solution:
        return solve(stations, delay, blocks * placed.warps_per_block / PARTITIONS)

    rounds, rest = divmod(placed.most_blocks, placed.blocks_per_sm)
    parts = [(rounds, round_of(placed.blocks_per_sm))] if rounds else []
    if rest:
        parts.append((1, round_of(rest)))
    cycles = sum(times * part.cycles for times, part in parts)
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
    return Timing(round(spec.rates.launch_us + cycles / ghz / 1000, 3), bound, stall, units)


def _stations(spec: DeviceSpec, placed: Placement, asked: Demand) -> list[Station]:
    """Units of a partition, of an SM (shared by its partitions), of the device (shared by those of all SMs)."""
    rates, clock = spec.rates, spec.values.sm_clock_khz / 1e6  # clocks a nanosecond
    # The SM with the most blocks decides; the units of the device have the average to do.
    even = placed.blocks / placed.busy_sms / placed.most_blocks
    everywhere = PARTITIONS * placed.busy_sms * even
    stations = [Station("issue", asked.walk.issued * PARTITIONS / rates.issue_rate)]
    stations += [
        Station(unit.value, asked.instructions.get(unit, 0.0) * PARTITIONS / rate)
        for unit, rate in pipe_rates(rates).items()
    ]
    stations += [
        Station("LSU", asked.instructions.get(Pipe.LSU, 0.0) / rates.lsu_rate, PARTITIONS),
        Station("L1", asked.l1_cycles, PARTITIONS),
        Station("constants", asked.constant_cycles, PARTITIONS),
        Station("L2 port", (asked.l2_read_bytes + asked.l2_write_bytes) / rates.l2_port_bytes, PARTITIONS),
        Station(
            "L2",
            (asked.l2_read_bytes / rates.l2_read_gb_s + asked.l2_write_bytes / rates.l2_write_gb_s) * clock,
            everywhere,
        ),
        Station("L2 writes", asked.partial_sectors / rates.l2_partial_sectors, everywhere),
        Station("DRAM", asked.dram_bytes / rates.dram_gb_s * clock, everywhere),
        Station("atomics", asked.atomic_sectors / rates.atomic_sectors, everywhere),
        Station("block launch", 1000 * clock / rates.blocks_per_us / placed.warps_per_block, everywhere),
    ]
    return stations
