"""The instrument that checks: it listens to one launch after the other and says what each did wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lanewise.checks import barrier, bounds, race, selection
from lanewise.checks.launched import CheckedLaunch
from lanewise.checks.library import FOUND, library
from lanewise.checks.selection import ALL, Check, events
from lanewise.checks.tables import Tables, tables, watched
from lanewise.emulator.engine import Launched
from lanewise.emulator.instrument import Events, LaunchStart
from lanewise.emulator.launch import FaultReport
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import CheckSummary, Finding, LaunchRecord, Space

LANES = 32
_CHECKED = frozenset((Space.GLOBAL, Space.SHARED, Space.LOCAL))


class Checker:
    """Implements `emulator.instrument.Instrument`. Launches come one at a time.

    `launches`, `accesses` (requests of warps) and `threads` (lanes in them) are what was checked so far.
    """

    def __init__(self, memory: DeviceMemory, checks: Iterable[Check] = ALL) -> None:
        self.checks = frozenset(checks)
        self.memory = memory
        self.start_counts()
        self._library = library()
        self._check = self._library.lw_check_new(memory.base, memory.size)
        self._start: LaunchStart | None = None
        self._tables: Tables | None = None
        self._watch: npt.NDArray[np.uint8] | None = None
        self._found: npt.NDArray[np.void] = np.zeros(0, FOUND)

    def start_counts(self) -> None:
        """What was checked is counted from here."""
        self.launches = self.accesses = self.threads = 0
        self.lost = 0  # findings beyond those that the runtime keeps

    def __del__(self) -> None:
        if getattr(self, "_check", None):
            self._library.lw_check_free(self._check)

    @property
    def events(self) -> Events:
        return events(self.checks)

    def begin(self, start: LaunchStart) -> tuple[int, int]:
        self._start = start
        self._tables = tables(start.info, start.info.static_shared + start.dynamic_shared)
        self._watch = watched(start.info, start, self.memory)
        warps = -(-start.block[0] * start.block[1] * start.block[2] // LANES)
        addresses = (self._tables.sites, self._tables.places, self._tables.distances)
        hooks = self._library.lw_check_begin(
            self._check,
            *(table.ctypes.data for table in addresses),
            warps,
            Check.RACE in self.checks,
            Check.BOUNDS in self.checks,
        )
        return hooks, self._watch.ctypes.data

    def end(self) -> None:
        count, lost = ctypes.c_uint32(), ctypes.c_uint32()
        found = self._library.lw_check_end(self._check, ctypes.addressof(count), ctypes.addressof(lost))
        raw = ctypes.string_at(found, count.value * FOUND.itemsize) if count.value else b""
        self._found = np.frombuffer(raw, FOUND)
        self.lost += lost.value

    def summary(self) -> CheckSummary:
        """What was checked so far."""
        unchecked = []
        if self.lost:
            unchecked.append(f"{self.lost:,} findings more are not listed: a launch keeps 512 different ones")
        return CheckSummary(
            selection.names(self.checks), self.launches, self.accesses, self.threads, unchecked=tuple(unchecked)
        )

    def record(self, launched: Launched, record: LaunchRecord) -> LaunchRecord:
        """The record of the launch that ended last with what it did wrong, its fault among it."""
        self.launches += 1
        accesses = [access for access in record.accesses if access.basis == "ptx" and access.space in _CHECKED]
        self.accesses += sum(access.requests for access in accesses)
        self.threads += sum(access.threads_on for access in accesses)
        return replace(record, findings=self._findings(record.kernel, launched.outcome.fault, launched.fault))

    def _findings(self, kernel: str, fault: FaultReport | None, fault_finding: Finding | None) -> tuple[Finding, ...]:
        assert self._start is not None
        assert self._tables is not None
        launched = CheckedLaunch(kernel, self._start, self._tables.lines, self.memory)
        result: list[Finding] = []
        if Check.BOUNDS in self.checks:
            result += bounds.findings(launched, self._found)
        if Check.RACE in self.checks:
            result += race.findings(launched, self._found)
        if Check.BARRIER in self.checks:
            result += barrier.findings(launched, self._found, fault, fault_finding)
        elif fault_finding is not None:
            result.append(fault_finding)
        return tuple(result)
