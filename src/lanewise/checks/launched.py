"""A launch that was checked: numbers of the runtime as threads, blocks and source lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanewise.checks.library import NOBODY
from lanewise.checks.tables import Place
from lanewise.emulator.instrument import LaunchStart
from lanewise.emulator.launch import Dim
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import AccessKind, Allocation, Side, SourceLine

READ, WRITE, ATOMIC, WAIT = range(4)  # check.h: DID_*
_DID = {READ: "read", WRITE: "write", ATOMIC: "atomic", WAIT: "wait"}
SHOWN = 4


@dataclass(frozen=True, slots=True)
class CheckedLaunch:
    """A kernel by its demangled name, how it was launched, and what the runtime's line numbers mean."""

    kernel: str
    start: LaunchStart
    lines: list[Place]
    memory: DeviceMemory

    def place(self, line: int) -> Place:
        """A source line by the runtime's number."""
        return self.lines[line] if line < len(self.lines) else Place(None, 0)

    def thread(self, warp: int, lane: int) -> Dim | None:
        """threadIdx; None where the lane is not known."""
        if NOBODY in (warp, lane):
            return None
        x, y, _ = self.start.block
        linear = 32 * warp + lane
        return linear % x, linear // x % y, linear // (x * y)

    def block(self, linear: int) -> Dim | None:
        """blockIdx."""
        if linear == NOBODY:
            return None
        x, y, _ = self.start.grid
        return linear % x, linear // x % y, linear // (x * y)

    def side(self, raw: Any) -> Side:
        """One party of a finding of the runtime."""
        source = self.place(int(raw["line"])).source if raw["line"] != NOBODY else None
        did = int(raw["did"])
        if did == ATOMIC and raw["site"] == NOBODY and not self._has_atomic(int(raw["line"])):
            did = WRITE  # a strong one: volatile, relaxed
        return Side(
            source.outermost.file if source else None,
            source.outermost.line if source else None,
            _DID[did],
            self.thread(int(raw["warp"]), int(raw["lane"])),
            self.block(int(raw["block"])),
        )

    def _has_atomic(self, line: int) -> bool:
        """Whether a source line has an atomic."""
        place = self.place(line)
        here = (place.source.outermost.file, place.source.outermost.line) if place.source else None
        return any(
            site.kind == AccessKind.ATOMIC
            and (site.source is None or (site.source.outermost.file, site.source.outermost.line) == here)
            for site in self.start.info.sites
        )

    def threads(self, warp: int, mask: int) -> list[Dim]:
        """The threads of the lanes of a mask."""
        found = [self.thread(warp, lane) for lane in range(32) if mask >> lane & 1]
        return [thread for thread in found if thread is not None]

    def who(self, warp: int, mask: int, total: int) -> str:
        """`threads (0, 0, 0), (1, 0, 0) and 30 more`; `total`: of all times it happened."""
        threads = self.threads(warp, mask)
        shown = ", ".join(map(str, threads[:SHOWN]))
        more = max(total, len(threads)) - min(len(threads), SHOWN)
        return f"thread{'s' if max(total, len(threads)) > 1 else ''} {shown}" + (f" and {more:,} more" if more else "")


def line_of(source: SourceLine | None, ptx_line: int) -> str:
    """`line 12`, or the line of PTX where there is no source."""
    return f"line {source.outermost.line}" if source is not None else f"PTX line {ptx_line}"


def made_at(allocation: Allocation) -> str | None:
    """Where an allocation was made, as a sentence; None where it is not known."""
    if allocation.made_at is None:
        return None
    here = allocation.made_at.outermost
    return f"the allocation was made at {here.file}:{here.line}"
