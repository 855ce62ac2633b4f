"""How many bytes a launch moved between registers, shared memory, caches and DRAM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lanewise.alike import shown_accesses
from lanewise.hardware.banks import WAVEFRONT_BYTES
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.records import Access, AccessKind, LaunchRecord, Space

_THROUGH_L1 = (Space.GLOBAL, Space.LOCAL, Space.TEXTURE, Space.SURFACE)


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes between two levels. `key` names it in the catalogue; `asked_*` are what lanes asked for, where that is
    counted apart from what moved."""

    key: str
    read: int
    written: int
    asked_read: int | None = None
    asked_written: int | None = None
    hit_rate: float | None = None


def flows(launch: LaunchRecord) -> tuple[Flow, ...]:
    """From the registers outwards. Those below the L1 are modelled, and left out where nothing is."""
    accesses = shown_accesses(launch)
    found = [
        _counted("shared", (a for a in accesses if a.space is Space.SHARED)),
        _counted("l1", (a for a in accesses if a.space in _THROUGH_L1)),
    ]
    memory = launch.memory
    if memory is not None:
        below_l1 = Flow("l2", memory.l2_read_bytes, memory.l2_write_bytes, hit_rate=memory.l1_hit_rate)
        below_l2 = Flow("dram", memory.dram_read_bytes, memory.dram_write_bytes, hit_rate=memory.l2_hit_rate)
        found += [below_l1, below_l2]
    return tuple(found)


def _counted(key: str, accesses: Iterable[Access]) -> Flow:
    read = written = asked_read = asked_written = 0
    for access in accesses:
        moved = (access.sectors or 0) * SECTOR_BYTES + (access.wavefronts or 0) * WAVEFRONT_BYTES
        asked = access.threads_on * access.width_bits // 8
        if access.kind is AccessKind.LOAD:
            read, asked_read = read + moved, asked_read + asked
        else:
            written, asked_written = written + moved, asked_written + asked
    return Flow(key, read, written, asked_read, asked_written)
