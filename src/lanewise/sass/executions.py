"""How often each machine block was executed, from how often each line of PTX was.

Three sources, in this order. An instruction that is the only copy of its PTX line and has no predicate runs as often as
that line: the block takes the majority of such votes, where memory, barrier and shuffle instructions outweigh
arithmetic, which the compiler moves. Copies that unrolling made run as the loop's trips say. What is left follows from
the edges: as many threads enter a block as leave it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lanewise.sass import graph
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.opcodes import STRONG, Flow, weight

Line = tuple[str, int]  # (suffix of the PTX section, line)


class Basis(StrEnum):
    """Where the executions of a machine block are from, surest first."""

    LINE = "line"  # of the only copies of PTX lines
    TRIPS = "trips"  # of an unrolled loop's trips
    EDGES = "edges"  # of the blocks around it
    GUESS = "guess"  # shared out evenly among the copies, or assumed never to run (slow paths of arithmetic)


@dataclass(frozen=True, slots=True)
class Executions:
    """Executions of one block: by warps, and by the threads active in them."""

    warps: int
    threads: int
    basis: Basis


@dataclass(frozen=True, slots=True)
class LoopArrival:
    """The threads that came to a machine loop: its first block, the bit set of its blocks."""

    head: int
    loop: int
    threads: int


@dataclass(frozen=True, slots=True)
class Solution:
    """Executions of every block of a section, and the threads on the edges between them (0 where not determined)."""

    blocks: tuple[Executions, ...]
    edges: Mapping[tuple[int, int], int]


def solve(
    blocks: Sequence[MachineBlock],
    lines: Mapping[Line, tuple[int, int]],
    entry: tuple[int, int],
    trips: Mapping[int, tuple[int, int]] | None = None,
    arrivals: Sequence[LoopArrival] = (),
    shape: graph.Shape | None = None,
    depths: Mapping[Line, int] | None = None,
) -> Solution:
    """Executions of every block of a kernel's section.

    `lines` gives (warps, threads) of each PTX line, `entry` those that start the kernel; `trips` what is known of
    blocks in unrolled loops, by index, `arrivals` who came to these loops. `shape` is that of the blocks, where it is
    known already; `depths` are the loops of PTX that hold a line, 0 where it is not given.
    """
    return _Solver(blocks, lines, entry, trips or {}, arrivals, shape or graph.Shape.of(blocks), depths).run()


class _Solver:
    def __init__(
        self,
        blocks: Sequence[MachineBlock],
        lines: Mapping[Line, tuple[int, int]],
        entry: tuple[int, int],
        trips: Mapping[int, tuple[int, int]],
        arrivals: Sequence[LoopArrival],
        shape: graph.Shape,
        depths: Mapping[Line, int] | None,
    ) -> None:
        self.blocks, self.lines, self.entry, self.trips, self.arrivals = blocks, lines, entry, trips, arrivals
        count = len(blocks)
        self.threads: list[int | None] = [None] * count
        self.warps: list[int | None] = [None] * count
        self.threads_known = self.warps_known = 0  # bit sets of blocks
        self.basis: list[Basis] = [Basis.GUESS] * count
        self.edges: dict[tuple[int, int], int | None] = {(b.index, t): None for b in blocks for t in b.successors}
        self.gone: list[int | None] = [None if b.leaves else 0 for b in blocks]  # threads that leave at its end
        self.shape = shape
        self.depths = depths
        self.heads = shape.heads
        self.entries = frozenset(shape.heads.values())

    def run(self) -> Solution:
        self._set(0, *self.entry, Basis.LINE)
        for index, (warps, threads) in self.trips.items():
            self._set(index, warps, threads, Basis.TRIPS)
        for block in self.blocks:
            if block.cold:
                self._set(block.index, 0, 0, Basis.GUESS)
        for arrival in self.arrivals:
            outside = [p for p in self.blocks[arrival.head].predecessors if not arrival.loop >> p & 1]
            if len(outside) == 1:
                self.edges[outside[0], arrival.head] = arrival.threads
        self._votes(moved=False, least=STRONG)
        self._settle()
        self._votes(moved=False)
        self._settle()
        self._calls()
        self._votes(moved=True)
        self._settle()
        self._guess()
        found = zip(self.warps, self.threads, self.basis, strict=True)
        return Solution(
            tuple(Executions(warps or 0, threads or 0, basis) for warps, threads, basis in found),
            {edge: amount or 0 for edge, amount in self.edges.items()},
        )

    # ------------------------------------------------------------------ what is known at once
    def _votes(self, *, moved: bool, least: int = 1) -> None:
        """Blocks that nothing says anything of yet take the majority, of votes with a weight of `least` or more.
        Instructions that stand in more or fewer loops than their line (`moved`) vote only where nothing else does: the
        compiler took them out of a loop, or into one.
        """
        places: dict[Line, set[int]] = defaultdict(set)  # blocks that hold a line; one line may be several instructions
        strong: Counter[Line] = Counter()
        for block in self.blocks:
            for instruction in block.instructions:
                if not block.cold and instruction.ptx_line is not None and instruction.flow != Flow.RECONVERGE:
                    line = (instruction.module, instruction.ptx_line)
                    places[line].add(block.index)
                    strong[line] += weight(instruction.opcode) == STRONG and not instruction.spill
        for block in self.blocks:
            if self.threads[block.index] is not None:
                continue
            depth = self.shape.depth(block.index)
            most = self._most(block.index)
            votes: Counter[tuple[int, int]] = Counter()
            for instruction in block.instructions:
                if instruction.predicate is not None or instruction.ptx_line is None or instruction.flow is not None:
                    continue
                line = (instruction.module, instruction.ptx_line)
                says = self.lines.get(line)
                if self.depths is not None and not moved and self.depths.get(line, 0) != depth:
                    continue
                # A spill carries the line of whatever needs the register.
                power = 1 if instruction.spill else weight(instruction.opcode)
                if power < least:
                    continue
                if (
                    says is not None
                    and power > 0
                    and says[1] <= most
                    and (strong[line] if power == STRONG else len(places[line])) == 1
                ):
                    votes[says] += power * (len(block.instructions) if power == STRONG else 1)
            if votes:
                (warps, threads), _ = max(votes.items(), key=lambda item: (item[1], item[0]))
                self._set(block.index, warps, threads, Basis.LINE)

    def _most(self, index: int) -> int:
        """No more threads run a block than one that is always passed too and is in all of its loops."""
        always = self.shape.dominators[index] | self.shape.post_dominators[index]
        known = graph.nearest(always & self.shape.inside[index] & self.threads_known, index)
        return min((self.threads[other] or 0 for other in known), default=1 << 62)

    def _set(self, index: int, warps: int | None, threads: int | None, basis: Basis) -> bool:
        """Fill in what was not known; returns whether that was anything."""
        changed = False
        if threads is not None and self.threads[index] is None:
            self.threads[index] = threads
            self.threads_known |= 1 << index
            self.basis[index] = basis
            changed = True
        if warps is not None and self.warps[index] is None:
            self.warps[index] = warps
            self.warps_known |= 1 << index
            changed = True
        return changed

    # ------------------------------------------------------------------ what follows from the edges
    def _settle(self) -> None:
        while self._flow() or self._groups():
            pass

    def _flow(self) -> bool:
        """Threads are neither lost nor made: one unknown among those that enter or leave a block follows."""
        changed = False
        for block in self.blocks:
            index = block.index
            outgoing: list[tuple[int, int] | None] = [(index, target) for target in block.successors]
            if block.leaves:
                outgoing.append(None)
            changed |= self._balance(index, outgoing)
            if index not in self.entries and block.predecessors:
                changed |= self._balance(index, [(before, index) for before in block.predecessors])
        return changed

    def _amount(self, index: int, edge: tuple[int, int] | None) -> int | None:
        return self.gone[index] if edge is None else self.edges[edge]

    def _put(self, index: int, edge: tuple[int, int] | None, amount: int) -> None:
        if edge is None:
            self.gone[index] = amount
        else:
            self.edges[edge] = amount

    def _balance(self, index: int, parts: list[tuple[int, int] | None]) -> bool:
        if not parts:
            return False
        amounts = [self._amount(index, part) for part in parts]
        unknown = [part for part, amount in zip(parts, amounts, strict=True) if amount is None]
        known = sum(amount for amount in amounts if amount is not None)
        total = self.threads[index]
        if total is None:
            return not unknown and self._set(index, None, known, Basis.EDGES)
        if not unknown or (len(unknown) > 1 and total > known):
            return False
        for part in unknown:  # one is left, or none of them can have any
            self._put(index, part, max(0, total - known))
        return True

    def _groups(self) -> bool:
        """Warps: lanes that pass a block whole pass the next one whole."""
        changed = False
        for block in self.blocks:
            index = block.index
            if self.warps[index] is not None or self.threads[index] is None:
                continue
            if self.threads[index] == 0:
                changed |= self._set(index, 0, None, Basis.EDGES)
                continue
            found = self._equivalent(index)
            if found is None:
                found = self._of_a_line(index)
            if found is None:
                found = self._between(index)
            if found is not None:
                changed |= self._set(index, found, None, Basis.EDGES)
        return changed

    def _equivalent(self, index: int) -> int | None:
        """The warps of the nearest block that every lane of this one passes too, before or after it."""
        known = graph.nearest(self.shape.peers[index] & self.warps_known, index)
        return next((self.warps[other] for other in known if self.threads[other] == self.threads[index]), None)

    def _of_a_line(self, index: int) -> int | None:
        """The warps of a line of the block that as many threads ran."""
        for instruction in self.blocks[index].instructions:
            says = self.lines.get((instruction.module, instruction.ptx_line or 0))
            if says is not None and says[1] == self.threads[index]:
                return says[0]
        return None

    def _between(self, index: int) -> int | None:
        """At least as many warps as the threads fill, at most as many as enter: known where the two are one."""
        threads = self.threads[index]
        assert threads is not None
        least = -(-threads // 32)
        if index in self.entries:
            return None
        most = 0
        for before in self.blocks[index].predecessors:
            entering = self.edges[before, index]
            if entering == 0:
                continue
            warps = self.warps[before]
            if warps is None and before == index:
                continue
            if warps is None:
                return None
            most += warps
        lines = {
            self.lines.get((i.module, i.ptx_line)) for i in self.blocks[index].instructions if i.ptx_line is not None
        }
        whole = bool(lines) and all(says is not None and says[1] == 32 * says[0] for says in lines)
        if whole and threads % 32 == 0:
            return least
        return least if least == most and index not in self.blocks[index].successors else None

    # ------------------------------------------------------------------ calls, and what is left
    def _calls(self) -> None:
        """Functions behind the kernel run as often as they are called; those of ptxas's own are slow paths of
        arithmetic: a call that control flow can go round is taken as never made."""
        for name, head in self.heads.items():
            if name == self.blocks[0].function:
                continue
            callers = [block for block in self.blocks if block.calls == name]
            own = any(i.ptx_line is not None for b in self.blocks if b.function == name for i in b.instructions)
            if not own:
                for caller in callers:
                    if self.threads[caller.index] is None:
                        self._set(caller.index, 0, 0, Basis.GUESS)
                self._settle()
            threads = [self.threads[caller.index] for caller in callers]
            warps = [self.warps[caller.index] for caller in callers]
            if all(t is not None for t in threads) and all(w is not None for w in warps):
                self._set(head, sum(w or 0 for w in warps), sum(t or 0 for t in threads), Basis.EDGES)
            self._settle()

    def _guess(self) -> None:
        """Blocks that nothing determines: the lines' executions shared out among their copies, one block at a time."""
        copies: Counter[Line] = Counter()
        for block in self.blocks:
            for line in _strong_lines(block):
                copies[line] += 1
        for block in self.blocks:
            index = block.index
            if self.threads[index] is not None and self.warps[index] is not None:
                continue
            says = [(self.lines[line], copies[line]) for line in _strong_lines(block) if line in self.lines]
            if says:
                (warps, threads), among = max(says, key=lambda item: (item[0], -item[1]))
                self._set(index, warps // among, threads // among, Basis.GUESS)
            else:
                self._from_neighbours(index)
            self._settle()

    def _from_neighbours(self, index: int) -> None:
        """As the block before it; never, where nothing says that it runs."""
        before = [p for p in self.blocks[index].predecessors if p < index and self.threads[p] is not None]
        threads, warps = (0, 0)
        if before and not self._is_slow_path(index):
            threads, warps = self.threads[before[-1]] or 0, self.warps[before[-1]] or 0
        if self.threads[index] is not None:
            warps = max(min(warps, self.threads[index] or 0), -(-(self.threads[index] or 0) // 32))
        self._set(index, warps, threads, Basis.GUESS)

    def _is_slow_path(self, index: int) -> bool:
        return self.blocks[index].calls is not None


def _strong_lines(block: MachineBlock) -> list[Line]:
    return [
        (i.module, i.ptx_line)
        for i in block.instructions
        if i.ptx_line is not None and i.predicate is None and weight(i.opcode) == STRONG and i.flow != Flow.CALL
        if not i.spill
    ]
