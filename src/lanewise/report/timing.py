"""What a launch takes and what bounds it, in three lines: time, units in order, memory below the SMs."""

from __future__ import annotations

from lanewise.records import LaunchRecord, MemoryTraffic, Roof
from lanewise.report import text
from lanewise.report.fold import Fold

MOST_UNITS = 4
_SHOWN = 0.01  # share of the time below which a unit is left out


def timing_facts(fold: Fold) -> list[str]:
    """Sentences for the head of a block; nothing where no time is modelled."""
    launch = fold.first
    if launch.time_us is None:
        return []
    facts = [_time(fold), _bound(launch)]
    if launch.memory is not None:
        facts.append(_memory(launch.memory, launch.caches))
    return facts


def microseconds(value: float) -> str:
    """0.85, 16.3, 4,421: three digits or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _time(fold: Fold) -> str:
    times = [time for time in fold.times if time is not None]
    first = fold.first
    shown = microseconds(times[-1])
    parts = [f"{shown} us modelled"]
    if len(times) > 1 and microseconds(times[0]) != shown:
        parts[0] += f" (last of {text.count(len(times))} launches, first {microseconds(times[0])})"
    if first.roof is not None:
        parts += _speed(first, first.roof)
    return "; ".join(parts)


def _speed(launch: LaunchRecord, roof: Roof) -> list[str]:
    """The nearer roof of DRAM and arithmetic, else that of the L2, with the division."""
    assert launch.time_us is not None
    shares = (roof.dram_gb_s / roof.dram_roof_gb_s, roof.gflops / roof.gflops_roof)
    time = f"{microseconds(launch.time_us)} us"
    parts = []
    if not roof.dram_gb_s and not roof.flops and roof.l2_gb_s:
        moved = text.size(round(roof.l2_gb_s * launch.time_us * 1e3))
        parts.append(f"{moved} of L2 / {time} = {_of(roof.l2_gb_s, roof.l2_roof_gb_s, 'GB/s')}")
    elif roof.dram_gb_s > 0 and shares[0] >= shares[1]:
        moved = text.size(round(roof.dram_gb_s * launch.time_us * 1e3))
        parts.append(f"{moved} of DRAM / {time} = {_of(roof.dram_gb_s, roof.dram_roof_gb_s, 'GB/s')}")
    elif roof.flops:
        parts.append(f"{roof.flops:,} FLOP / {time} = {_of(roof.gflops, roof.gflops_roof, 'GFLOP/s')}")
    return parts


def _of(reached: float, most: float, unit: str) -> str:
    scale, prefix = (1000, {"GB/s": "TB/s", "GFLOP/s": "TFLOP/s"}[unit]) if most >= 1000 else (1, unit)
    return f"{reached / scale:.3g} of {most / scale:.3g} {prefix} ({text.percent(round(reached), round(most))})"


def _bound(launch: LaunchRecord) -> str:
    busy = [
        f"{unit.name} {text.percent(round(1000 * unit.share), 1000)}"
        for unit in launch.units[:MOST_UNITS]
        if unit.share >= _SHOWN
    ]
    what = f"bound by {launch.bound}, warps wait for {launch.stall}"
    return f"{what}; busy: {', '.join(busy)}" if busy else what


def _memory(memory: MemoryTraffic, caches: str | None) -> str:
    parts = []
    if memory.l1_hit_rate is not None:
        parts.append(f"L1 hits {memory.l1_hit_rate:.0%}")
    if memory.l2_hit_rate is not None:
        parts.append(f"L2 hits {memory.l2_hit_rate:.0%}")
    read, written = (text.size(n) for n in (memory.dram_read_bytes, memory.dram_write_bytes))
    parts.append(f"DRAM {read} read, {written} written")
    if memory.share < 1:
        parts.append(f"1 of {round(1 / memory.share):,} cache lines followed")
    return f"{', '.join(parts)}; caches {caches}"
