"""Races between kernels, copies and sets that nothing orders: of each the bytes that it touched are kept until the host
has waited for it, and compared with those of each later one that does not come after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lanewise.checks.launched import CheckedLaunch, made_at
from lanewise.checks.library import NOBODY, SPAN
from lanewise.checks.streams import Issued
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import Finding, Severity, Side, SourceLine

READ, STRONG, OF_BLOCK = 1, 2, 4  # check.h
MOST_KEPT = 1 << 21  # spans of operations that the host has not waited for
_NEXT = (
    "order them: the same stream, cudaStreamWaitEvent on an event that is recorded after the first, or "
    "cudaStreamSynchronize between the two"
)
Spans = npt.NDArray[np.void]


@dataclass(slots=True)
class Operation:
    """A kernel (`launched`), or a copy or set of the host (`place`), with the bytes that it touched, sorted."""

    issued: Issued
    launched: CheckedLaunch | None
    place: Callable[[], SourceLine | None] | None
    synchronises: bool = False  # it has fences, or accesses that acquire or release
    reads: Spans = field(default_factory=lambda: np.zeros(0, SPAN))
    writes: Spans = field(default_factory=lambda: np.zeros(0, SPAN))

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        if self.launched is None:
            return "a copy or set of the host"
        return f"kernel {self.launched.kernel.split('(')[0]}"

    def add(self, spans: Spans) -> None:
        """More bytes that it touched."""
        spans = np.sort(spans, order="begin")
        read = (spans["flags"] & READ).astype(bool)
        self.reads = np.sort(np.concatenate([self.reads, spans[read]]), order="begin")
        self.writes = np.sort(np.concatenate([self.writes, spans[~read]]), order="begin")


def span_of(address: int, size: int, *, reads: bool) -> Spans:
    """The bytes of a copy."""
    span = np.zeros(1, SPAN)
    span["begin"], span["end"], span["flags"], span["line"] = address, address + size, READ if reads else 0, NOBODY
    return span


class Concurrent:
    """The operations of one process that later ones may still run beside."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._kept: dict[int, Operation] = {}
        self._spans = 0
        self.dropped = 0  # operations that were too many to keep
        self.by_atomics: dict[tuple[str, str], None] = {}  # pairs that may be ordered by atomics with fences

    def forget(self, known: int | None) -> None:
        """Operations of a set of numbers come before everything now; None: all of them."""
        gone = [number for number in self._kept if known is None or known >> number & 1]
        for number in gone:
            self._spans -= self._size(self._kept.pop(number))

    def add(self, operation: Operation, spans: Spans) -> list[Finding]:
        """Keep an operation, or more bytes of the last one; returns what races with it."""
        found: list[Finding] = []
        new = Operation(operation.issued, operation.launched, operation.place, operation.synchronises)
        new.add(spans)
        for number, other in self._kept.items():
            if number != operation.issued.number and not operation.issued.before >> number & 1:
                found += self._compare(new, other)
        operation.add(spans)
        self._kept[operation.issued.number] = operation
        self._spans += self._size(new)
        while self._spans > MOST_KEPT and len(self._kept) > 1:
            self._spans -= self._size(self._kept.pop(next(iter(self._kept))))
            self.dropped += 1
        return found

    @staticmethod
    def _size(operation: Operation) -> int:
        return len(operation.reads) + len(operation.writes)

    def _compare(self, now: Operation, before: Operation) -> Iterator[Finding]:
        pairs: dict[tuple[int, int, bool, bool], tuple[np.void, np.void]] = {}
        may_be_ordered = False
        sides = [(now.writes, before.writes), (now.writes, before.reads), (now.reads, before.writes)]
        for mine, its in sides:
            for a, b in _overlaps(mine, its):
                strong = a["flags"] & b["flags"] & STRONG and not (a["flags"] | b["flags"]) & OF_BLOCK
                if not strong:
                    key = (int(a["line"]), int(b["line"]), bool(a["flags"] & READ), bool(b["flags"] & READ))
                    pairs.setdefault(key, (a, b))
                elif not b["flags"] & READ and now.synchronises and before.synchronises:
                    may_be_ordered = True
        if may_be_ordered and pairs:
            self.by_atomics[before.name, now.name] = None
            return
        for a, b in pairs.values():
            yield self._finding(now, a, before, b)

    def _finding(self, now: Operation, a: np.void, before: Operation, b: np.void) -> Finding:
        first, end = max(int(a["begin"]), int(b["begin"])), min(int(a["end"]), int(b["end"]))
        here, source = _side(now, a, first)
        there, _ = _side(before, b, first)
        pair = f"{there.did} by {before.name} and {here.did} by {now.name}"
        return Finding(
            "race",
            Severity.ERROR,
            f"race: {pair}, of the same global memory, on streams that nothing orders"
            if now.issued.stream != before.issued.stream
            else f"race: {pair}, of the same global memory, in parts of a graph that nothing orders",
            now.launched.kernel if now.launched is not None else None,
            source,
            None,
            here.thread,
            here.block,
            (
                f"{here.did} by {_who(now, here)}",
                f"{there.did} before it by {_who(before, there)}",
                f"{_where(self._memory, first)}; {end - first:,} bytes in a row are touched by both",
                "nothing orders the two: no stream, no event, no wait of the host lies between them",
                "the verdict is the same for every schedule",
            ),
            _NEXT,
            (here, there),
        )


def _overlaps(mine: Spans, its: Spans) -> Iterator[tuple[np.void, np.void]]:
    """Pairs that overlap: for each span of either side one of the other, of each pair of lines at least one."""
    if not len(mine) or not len(its):
        return
    seen = set()
    for one, other, swap in ((mine, its, False), (its, mine, True)):
        at = np.searchsorted(other["end"], one["begin"], side="right")
        inside = at < len(other)
        hits = np.flatnonzero(inside)[other["begin"][at[inside]] < one["end"][inside]]
        kinds = np.stack(
            [one["line"][hits], other["line"][at[hits]], one["flags"][hits], other["flags"][at[hits]]], axis=1
        )
        for hit in hits[np.sort(np.unique(kinds, axis=0, return_index=True)[1])]:
            pair = (other[at[hit]], one[hit]) if swap else (one[hit], other[at[hit]])
            key = tuple(int(span[name]) for span in pair for name in ("line", "flags"))
            if key not in seen:
                seen.add(key)
                yield pair


def _side(operation: Operation, span: np.void, address: int) -> tuple[Side, SourceLine | None]:
    launched = operation.launched
    if launched is None:
        source = operation.place() if operation.place is not None else None
        did = "read" if span["flags"] & READ else "write"
        return Side(*_file(source), did), source
    source = launched.place(int(span["line"])).source
    did = "read" if span["flags"] & READ else "write"
    if not span["per"]:
        return Side(*_file(source), did), source
    x, y, z = launched.start.block
    threads = x * y * z
    number = int(span["block"]) * threads + int(span["thread"]) + (address - int(span["begin"])) // int(span["per"])
    block, thread = divmod(number, threads)
    return Side(*_file(source), did, launched.thread(thread // 32, thread % 32), launched.block(block)), source


def _file(source: SourceLine | None) -> tuple[str | None, int | None]:
    return (source.outermost.file, source.outermost.line) if source else (None, None)


def _who(operation: Operation, side: Side) -> str:
    stream = f"stream {operation.issued.stream}" if 0 < operation.issued.stream < 1 << 32 else "the default stream"
    line = f", line {side.line}" if side.line is not None else ""
    if side.thread is None:
        return f"{operation.name}{line}, in {stream}"
    return f"thread {side.thread} of block {side.block} of {operation.name}{line}, in {stream}"


def _where(memory: DeviceMemory, address: int) -> str:
    allocation = memory.find(address) or memory.freed(address)
    if allocation is None:
        return f"address {address:#x}"
    allocation = memory.describe(allocation)
    name = f" {allocation.name!r}" if allocation.name else ""
    made = made_at(allocation)
    return f"byte {address - allocation.base:,} of allocation {allocation.id}{name} of {allocation.size:,} bytes" + (
        f" ({made})" if made else ""
    )
