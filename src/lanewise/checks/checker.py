"""The instrument that checks: it listens to one launch after the other and says what each did wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lanewise.checks import barrier, bounds, race, selection, uninitialised
from lanewise.checks.concurrent import Concurrent, Operation, span_of
from lanewise.checks.launched import CheckedLaunch
from lanewise.checks.library import FOUND, SPAN, UNDEFINED, library
from lanewise.checks.selection import ALL, Check, events
from lanewise.checks.streams import Issued, Streams
from lanewise.checks.tables import Tables, synchronises, tables, watched
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.engine import Launched
from lanewise.emulator.instrument import Events, LaunchStart
from lanewise.emulator.launch import FaultReport
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import CheckSummary, Finding, LaunchRecord, Severity, SourceLine, Space

LANES = 32
_FRESH = frozenset(("malloc", "device-malloc"))  # kinds of allocations that nobody has written when they are made
_CHECKED = frozenset((Space.GLOBAL, Space.SHARED, Space.LOCAL))


_UNTOLD = {  # KernelInfo.untold in words
    "bulk": "bulk copies",
    "remote": "shared memory of other blocks",
    "surface": "surfaces",
    "tensor": "copies of tensors",
    "texture": "textures",
    "wgmma": "what wgmma reads of shared memory",
}
_UNSEEN = (
    "uninitialised values (asynchronous copies, surfaces, matrix stores or other blocks' shared memory are written "
    "unseen, and all memory counts as written after it)"
)


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
        self._given: set[int] = set()  # allocations whose bytes count as written from the start
        self._launched: CheckedLaunch | None = None
        self._streams: dict[int, tuple[Streams, Concurrent]] = {}  # of each process that makes any
        self._copy: Operation | None = None  # the last copy or set of the host
        self._spoilt = False  # the last launch has errors that leave values undefined
        self._start: LaunchStart | None = None
        self._tables: Tables | None = None
        self._watch: npt.NDArray[np.uint8] | None = None
        self._found: npt.NDArray[np.void] = np.zeros(0, FOUND)

    def start_counts(self) -> None:
        """What was checked is counted from here."""
        self.launches = self.accesses = self.threads = 0
        self._unseen: dict[tuple[str, str], None] = {}  # what was not looked at, and a kernel
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
        defined = self._defined() if Check.UNINITIALISED in self.checks else None
        self._watch = watched(start.info, start, self.memory, defined, all_reads=bool(self._streams))
        warps = -(-start.block[0] * start.block[1] * start.block[2] // LANES)
        hooks = self._library.lw_check_begin(
            self._check,
            self._tables.sites.ctypes.data,
            len(self._tables.sites),
            self._tables.places.ctypes.data,
            self._tables.distances.ctypes.data,
            warps,
            Check.RACE in self.checks,
            Check.BOUNDS in self.checks,
            Check.UNINITIALISED in self.checks,
        )
        return hooks, self._watch.ctypes.data

    # ------------------------------------------------------------------ what is defined
    def _defined(self) -> frozenset[int]:
        """Allocations of which all bytes are defined: those that the host may write unseen, variables, and those that
        were written whole. None is sure once undefined bytes were stored anywhere."""
        sure = set()
        spoiled = self._library.lw_check_spoiled(self._check)
        for allocation in self.memory.allocations():
            if allocation.kind not in _FRESH and allocation.id not in self._given:
                self.initialised(allocation.base, allocation.size)
                self._given.add(allocation.id)
            size = allocation.size
            if not spoiled and self._library.lw_check_undefined(self._check, allocation.base, size) == size:
                sure.add(allocation.id)
        return frozenset(sure)

    def initialised(self, address: int, size: int) -> None:
        """Bytes that the host has written, or that count as written."""
        self._library.lw_check_define(self._check, address, size)

    def uninitialised(self, address: int, size: int) -> None:
        """Bytes that nobody has written."""
        self._library.lw_check_forget(self._check, address, size)

    def copied(self, to: int, source: int, size: int) -> None:
        """Bytes copied within device memory."""
        self._library.lw_check_copy(self._check, to, source, size)

    def leaves(
        self, address: int, size: int, *, unwritten: bool = True, place: Callable[[], SourceLine | None] | None = None
    ) -> tuple[Finding, ...]:
        """Findings for bytes that are copied to the host and are not defined: one for each line of the last launch that
        stored such, else (`unwritten`) one for those that nobody has written. `place`: of the copy, if it is known."""
        if Check.UNINITIALISED not in self.checks or self._spoilt:
            return ()
        count = ctypes.c_uint32()
        writers = self._library.lw_check_writers(self._check, ctypes.addressof(count))
        raw = ctypes.string_at(writers, count.value * UNDEFINED.itemsize) if count.value else b""
        result = []
        for writer in np.frombuffer(raw, UNDEFINED):
            low, high = max(address, int(writer["low"])), min(address + size, int(writer["high"]))
            if (first := self._first_undefined(low, high)) is not None:
                result.append(uninitialised.leaving(self._launched, writer, first, self.memory, place))
        first = self._first_undefined(address, address + size)
        if not result and unwritten and first is not None:
            result.append(uninitialised.leaving(None, None, first, self.memory, place))
        return tuple(result)

    def _first_undefined(self, low: int, high: int) -> int | None:
        if low >= high:
            return None
        first = low + int(self._library.lw_check_undefined(self._check, low, high - low))
        return None if first == high else first

    def end(self) -> None:
        count, lost = ctypes.c_uint32(), ctypes.c_uint32()
        found = self._library.lw_check_end(self._check, ctypes.addressof(count), ctypes.addressof(lost))
        raw = ctypes.string_at(found, count.value * FOUND.itemsize) if count.value else b""
        self._found = np.frombuffer(raw, FOUND)
        self.lost += lost.value
        if Check.UNINITIALISED in self.checks and self._start is not None and self._start.info.unseen_writes:
            for allocation in self.memory.allocations():  # what it has written is not known: all may be
                self.initialised(allocation.base, allocation.size)

    # ------------------------------------------------------------------ streams
    def order(self, process: int, what: int, thread: int, stream: int, flags: int, number: int,
              after: tuple[int, ...]) -> None:  # fmt: skip
        """What orders the work of streams, as of `cudart.backend.StreamEvent`."""
        if Check.RACE not in self.checks:
            return
        if process not in self._streams:
            self._streams[process] = Streams(), Concurrent(self.memory)
        streams, concurrent = self._streams[process]
        streams.take(what, thread, stream, flags, number, after)
        if streams.begin_anew():
            concurrent.forget(None)
            self._copy = None
        else:
            concurrent.forget(streams.host)

    def _issued(self, process: int, thread: int) -> Issued | None:
        return self._streams[process][0].issued(thread) if process in self._streams else None

    def beside(self, process: int, thread: int) -> tuple[Finding, ...]:
        """What the launch that ended last, issued by this thread, does wrong with work that may run beside it."""
        issued = self._issued(process, thread)
        if issued is None or self._launched is None or self._start is None:
            return ()
        threads = self._start.block[0] * self._start.block[1] * self._start.block[2]
        count = ctypes.c_uint32()
        found = self._library.lw_check_spans(self._check, threads, ctypes.addressof(count))
        raw = ctypes.string_at(found, count.value * SPAN.itemsize) if count.value else b""
        operation = Operation(issued, self._launched, None, synchronises(self._start.info))
        return tuple(self._streams[process][1].add(operation, np.frombuffer(raw, SPAN)))

    def copied_beside(self, process: int, thread: int, to: int, source: int, size: int,
                      place: Callable[[], SourceLine | None]) -> tuple[Finding, ...]:  # fmt: skip
        """The same of a copy or a set of the host; an address of 0 is not of the device."""
        issued = self._issued(process, thread)
        if issued is None:
            return ()
        if self._copy is None or self._copy.issued is not issued:
            self._copy = Operation(issued, None, place)
        parts = [(address, reads) for address, reads in ((to, False), (source, True)) if address]
        spans = np.concatenate([span_of(address, size, reads=reads) for address, reads in parts] or [np.zeros(0, SPAN)])
        return tuple(self._streams[process][1].add(self._copy, spans))

    def summary(self) -> CheckSummary:
        """What was checked so far."""
        unchecked = []
        for what in dict.fromkeys(what for what, _ in self._unseen):
            kernels = ", ".join(kernel for other, kernel in self._unseen if other == what)
            unchecked.append(f"{what}, in {kernels}")
        for _, concurrent in self._streams.values():
            if concurrent.dropped:
                unchecked.append(
                    f"{concurrent.dropped:,} kernels and copies were not compared with all that may run beside them: "
                    "the host waits for too little"
                )
            for before, now in concurrent.by_atomics:
                unchecked.append(
                    f"races of {before} and {now}, on streams that nothing orders: both use fences and meet at "
                    "atomics, which may order them"
                )
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
        self._note_unseen(record.kernel.split("(")[0], launched.kernel.info)
        return replace(record, findings=self._findings(record.kernel, launched.outcome.fault, launched.fault))

    def _note_unseen(self, kernel: str, info: KernelInfo) -> None:
        if Check.RACE in self.checks and info.untold:
            what = ", ".join(dict.fromkeys(_UNTOLD[kind] for kind in info.untold))
            self._unseen[f"races with {what}", kernel] = None
        if Check.UNINITIALISED in self.checks and info.unseen_writes:
            self._unseen[_UNSEEN, kernel] = None

    def _findings(self, kernel: str, fault: FaultReport | None, fault_finding: Finding | None) -> tuple[Finding, ...]:
        assert self._start is not None
        assert self._tables is not None
        launched = self._launched = CheckedLaunch(kernel, self._start, self._tables.lines, self.memory)
        result: list[Finding] = []
        if Check.BOUNDS in self.checks:
            result += bounds.findings(launched, self._found)
        if Check.RACE in self.checks:
            result += race.findings(launched, self._found)
        # A read past the end or before its turn is not initialised either: what is behind it is told first.
        self._spoilt = any(finding.severity is Severity.ERROR for finding in result)
        if Check.UNINITIALISED in self.checks and not self._spoilt:
            result += uninitialised.findings(launched, self._found)
        if Check.BARRIER in self.checks:
            result += barrier.findings(launched, self._found, fault, fault_finding)
        elif fault_finding is not None:
            result.append(fault_finding)
        return tuple(result)
