"""What a launch takes and what bounds it, in three lines: time, units in order, memory below the SMs."""

from __future__ import annotations

from lanewise.catalogue import Catalogue
from lanewise.records import LaunchRecord, MemoryTraffic, Roof
from lanewise.report import text
from lanewise.report.fold import Fold

MOST_UNITS = 4
_SHOWN = 0.01  # share of the time below which a unit is left out


def timing_facts(fold: Fold, words: Catalogue) -> list[str]:
    """Sentences for the head of a block; nothing where no time is modelled."""
    launch = fold.first
    if launch.time_us is None:
        return []
    facts = [_time(fold, words), _bound(launch, words)]
    if launch.memory is not None:
        facts.append(_memory(launch.memory, launch.caches, words))
    return facts


def microseconds(value: float) -> str:
    """0.85, 16.3, 4,421: three digits or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bound_words(bound: str | None, words: Catalogue) -> str:
    """The unit that decides, by its name; or latency."""
    return words.name("bound", bound or "")


def _time(fold: Fold, words: Catalogue) -> str:
    times = [time for time in fold.times if time is not None]
    launch = fold.first
    first, last = microseconds(times[0]), microseconds(times[-1])
    if len(times) > 1 and first != last:
        said = words.say("timing.modelled_last", time=last, launches=words.count(len(times), "launch"), first=first)
    else:
        said = words.say("timing.modelled", time=last)
    speed = _speed(launch, launch.roof, words) if launch.roof is not None else ""
    return words.say("report.semicolon").join(part for part in (said, speed) if part)


def _speed(launch: LaunchRecord, roof: Roof, words: Catalogue) -> str:
    """The nearer roof of DRAM and arithmetic, else that of the L2, with the division."""
    assert launch.time_us is not None
    time = launch.time_us

    def moved(key: str, size: int, speed: float, most: float) -> str:
        reached = _of(speed, most, "GB/s", words)
        return words.say(key, moved=text.size(size), time=microseconds(time), reached=reached)

    if not roof.dram_gb_s and not roof.flops and roof.l2_gb_s:
        return moved("timing.l2", round(roof.l2_gb_s * time * 1e3), roof.l2_gb_s, roof.l2_roof_gb_s)
    if roof.dram_gb_s > 0 and roof.dram_gb_s / roof.dram_roof_gb_s >= roof.gflops / roof.gflops_roof:
        memory = launch.memory
        size = memory.dram_read_bytes + memory.dram_write_bytes if memory else round(roof.dram_gb_s * time * 1e3)
        return moved("timing.dram", size, roof.dram_gb_s, roof.dram_roof_gb_s)
    if not roof.flops:
        return ""
    reached = _of(roof.gflops, roof.gflops_roof, "GFLOP/s", words)
    return words.say("timing.flops", flops=text.count(roof.flops), time=microseconds(time), reached=reached)


def _of(reached: float, most: float, unit: str, words: Catalogue) -> str:
    scale, unit = (1000, {"GB/s": "TB/s", "GFLOP/s": "TFLOP/s"}[unit]) if most >= 1000 else (1, unit)
    return words.say(
        "timing.reached",
        reached=f"{reached / scale:.3g}",
        most=f"{most / scale:.3g}",
        unit=unit,
        share=text.share(reached / most),
    )


def _bound(launch: LaunchRecord, words: Catalogue) -> str:
    busy = [f"{unit.name} {text.share(unit.share)}" for unit in launch.units[:MOST_UNITS] if unit.share >= _SHOWN]
    parts = [words.say("timing.bound", unit=bound_words(launch.bound, words), stall=launch.stall or "")]
    if busy:
        parts.append(words.say("timing.busy", units=words.listed(busy)))
    return words.say("report.semicolon").join(parts)


def _memory(memory: MemoryTraffic, caches: str | None, words: Catalogue) -> str:
    parts = []
    if memory.l1_hit_rate is not None:
        parts.append(words.say("timing.l1_hits", share=text.share(memory.l1_hit_rate)))
    if memory.l2_hit_rate is not None:
        parts.append(words.say("timing.l2_hits", share=text.share(memory.l2_hit_rate)))
    read, written = (text.size(n) for n in (memory.dram_read_bytes, memory.dram_write_bytes))
    parts.append(words.say("timing.dram_bytes", read=read, written=written))
    if memory.share < 1:
        parts.append(words.say("timing.followed", lines=f"{round(1 / memory.share):,}"))
    known = [words.say("timing.caches", state=words.name("caches", caches))] if caches is not None else []
    return words.say("report.semicolon").join([words.listed(parts), *known])
