"""What orders the work of streams: which operations come before which, by streams, events, graphs and the host's waits.

Each operation (a kernel, a copy, a set) has a number; what comes before something is a set of numbers, kept as the bits
of an integer. CUDA C++ Programming Guide, Asynchronous Concurrent Execution; CUDA Runtime API, Stream synchronization
behavior.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

NON_BLOCKING = 1  # cudaStreamNonBlocking
DEFAULT = 0  # the legacy default stream


class Ordering(IntEnum):
    """ORDER_* of cudart/client/lanewise.h."""

    WORK = 0
    RECORD = 1
    WAIT = 2
    SYNC_STREAM = 3
    SYNC_EVENT = 4
    SYNC_DEVICE = 5
    GRAPH = 6
    NODE = 7
    GRAPH_END = 8


@dataclass(slots=True)
class _Graph:
    """A graph that is being launched: what came before it, and before the end of each of its nodes."""

    base: int
    nodes: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Issued:
    """One operation: its number, the set of those before it, and its stream."""

    number: int
    before: int
    stream: int


class Streams:
    """The streams of one process. The host counts as one thread: what one of its threads has waited for, all know."""

    def __init__(self) -> None:
        self._count = 0
        self._host = 0
        self._ends: dict[int, int] = {}  # of each stream: all that comes before its end
        self._apart: set[int] = set()  # streams that the default stream does not wait for
        self._events: dict[int, int] = {}
        self._graphs: dict[int, list[_Graph]] = {}  # of each host thread, an inner one last
        self._issued: dict[int, Issued] = {}  # the last operation of each host thread

    @property
    def host(self) -> int:
        """The operations that the host has waited for: they come before all that is issued from now on."""
        return self._host

    def issued(self, thread: int) -> Issued | None:
        """The operation that a host thread issued last."""
        return self._issued.get(thread)

    def take(self, what: int, thread: int, stream: int, flags: int, number: int, after: tuple[int, ...]) -> None:
        """One event, as of `cudart.backend.StreamEvent`."""
        if flags & NON_BLOCKING:
            self._apart.add(stream)
        graphs = self._graphs.setdefault(thread, [])
        match Ordering(what):
            case Ordering.WORK:
                before = self._end(stream, graphs)
                self._issued[thread] = Issued(self._count, before, stream)
                self._set_end(stream, graphs, before | 1 << self._count)
                self._count += 1
            case Ordering.RECORD:
                self._events[number] = self._end(stream, graphs)
            case Ordering.WAIT:
                self._set_end(stream, graphs, self._end(stream, graphs) | self._events.get(number, 0))
            case Ordering.SYNC_STREAM:
                self._host |= self._end(stream, graphs)
            case Ordering.SYNC_EVENT:
                self._host |= self._events.get(number, 0)
            case Ordering.SYNC_DEVICE:
                self._host = (1 << self._count) - 1
            case Ordering.GRAPH:
                graphs.append(_Graph(self._end(stream, graphs)))
            case Ordering.NODE:
                before = graphs[-1].base
                for node in after:
                    before |= graphs[-1].nodes[node]
                graphs[-1].nodes.append(before)
            case Ordering.GRAPH_END:
                ended = graphs.pop()
                end = ended.base
                for node in ended.nodes:
                    end |= node
                self._set_end(stream, graphs, end)

    def _end(self, stream: int, graphs: list[_Graph]) -> int:
        """What comes before whatever is issued next."""
        if graphs:
            return graphs[-1].nodes[-1] if graphs[-1].nodes else graphs[-1].base
        end = self._host | self._ends.get(stream, 0)
        if stream == DEFAULT:
            for other, its in self._ends.items():
                if other not in self._apart:
                    end |= its
        elif stream not in self._apart:
            end |= self._ends.get(DEFAULT, 0)
        return end

    def _set_end(self, stream: int, graphs: list[_Graph], end: int) -> None:
        if graphs:
            if graphs[-1].nodes:
                graphs[-1].nodes[-1] = end
            else:
                graphs[-1].base = end
        else:
            self._ends[stream] = end

    def begin_anew(self) -> bool:
        """Where the host has waited for everything, operations are numbered from 0 again, and this is True."""
        if self._count == 0 or self._host != (1 << self._count) - 1 or any(self._graphs.values()):
            return False
        self._count = self._host = 0
        self._ends.clear()
        self._events = dict.fromkeys(self._events, 0)
        return True
