"""What a kernel's code may tell while it runs: the events of `docs/architecture.md`, and who listens to them.

An instrument is a table of native functions (`layout.Hooks`). Code is translated with the calls only where an
instrument asks for them (`Events`); code without them is what it was. The functions run on the small stack of a warp,
on several threads at a time, and must not call back into Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lanewise.emulator.compile import KernelInfo
    from lanewise.emulator.launch import Dim


@dataclass(frozen=True, slots=True)
class Events:
    """What is told. `accesses`: every load, store and atomic, before it is done; `values`: what stores write, too;
    `brief_reads`: plain reads of shared memory may be written into a list (`layout.BlockNotes`) in place of a call;
    `ranges`: accesses that leave the variable they are built from; `sync`: barriers, fences, warp-level
    synchronisation; `keep_going`: an access that a card would refuse is told and left out, and the launch goes on;
    `defined`: which bytes of registers were never written is followed, through memory too."""

    accesses: bool = False
    values: bool = False
    brief_reads: bool = False
    ranges: bool = False
    sync: bool = False
    keep_going: bool = False
    defined: bool = False

    def __bool__(self) -> bool:
        return self.accesses or self.ranges or self.sync or self.keep_going or self.defined


SILENT = Events()


@dataclass(frozen=True, slots=True)
class LaunchStart:
    """A launch that is about to run."""

    info: KernelInfo
    grid: Dim
    block: Dim
    dynamic_shared: int
    params: bytes


class Instrument(Protocol):
    """Listens to one launch after the other."""

    @property
    def events(self) -> Events:
        """What code is to tell; part of the key under which it is kept."""

    def begin(self, start: LaunchStart) -> tuple[int, int]:
        """Addresses of the table of functions and of one byte a site: 0 where its accesses are not told."""

    def end(self) -> None:
        """The launch is over, however it ended."""
