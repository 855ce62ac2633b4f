"""Control flow of one PTX function: basic blocks, an order for thread frontiers, liveness, and who may wait where.

The order is topological with loops contiguous: running the earliest waiting block first makes the lanes of a warp meet
again as early as possible (thread frontiers: Diamos et al., MICRO 2011).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lanewise.ptx.syntax import (
    Address,
    Function,
    Instruction,
    Label,
    Negated,
    Operand,
    OperandList,
    PairOperand,
    Register,
    SubWord,
    Symbol,
    TensorAddress,
    VectorOperand,
)

Uses = Callable[[Instruction], tuple[Set[str], Set[str]]]  # (registers written, registers read)


@dataclass(slots=True)
class BasicBlock:
    """Instructions that run together. `successors` are block indices; index = place in the order."""

    index: int
    instructions: list[Instruction]
    successors: tuple[int, ...] = ()
    falls_through: int | None = None
    is_sync: bool = False  # starts with an instruction at which lanes of a warp wait for each other
    only_returns: bool = False


@dataclass(slots=True)
class FlowGraph:
    """Blocks in order; block 0 is the entry. `live_in[b]` are the registers live at b's start."""

    blocks: list[BasicBlock]
    labels: dict[str, int]
    live_in: list[frozenset[str]] = field(default_factory=list)
    back_edges: set[tuple[int, int]] = field(default_factory=set)


def registers_in(operand: Operand) -> Iterable[str]:
    """Names of the registers an operand mentions."""
    match operand:
        case Register(name):
            yield name
        case Address(base, _):
            if isinstance(base, Register):
                yield base.name
        case VectorOperand(elements) | OperandList(elements):
            for element in elements:
                yield from registers_in(element)
        case PairOperand(first, second):
            yield from registers_in(first)
            yield from registers_in(second)
        case SubWord(register, _):
            yield register.name
        case Negated(inner, _):
            yield from registers_in(inner)
        case TensorAddress(base, coordinates):
            yield from registers_in(base)
            for coordinate in coordinates:
                yield from registers_in(coordinate)
        case _:
            return


MATRICES = frozenset(("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "wgmma"))
EXCHANGES = MATRICES | {"shfl", "vote", "match", "redux", "elect"}


def is_terminator(instruction: Instruction) -> bool:
    return instruction.opcode in ("bra", "brx", "ret", "exit")


def is_sync(instruction: Instruction) -> bool:
    """Whether lanes wait for other lanes or warps here: barriers of a block, bar.warp.sync, barrier.cluster.wait."""
    if instruction.has("cluster"):
        return instruction.has("wait") and instruction.opcode == "barrier"
    return instruction.opcode in ("bar", "barrier")


def exchanges(instruction: Instruction) -> bool:
    """Whether lanes exchange values here and so wait for the lanes of a mask: shfl.sync, vote.sync and the like; for
    the whole warp in matrix instructions."""
    return instruction.opcode in EXCHANGES and instruction.has("sync")


def of_whole_warp(instruction: Instruction) -> bool:
    """Whether an exchange is one of all lanes of the warp, and names no mask."""
    return instruction.opcode in MATRICES


def branch_labels(function: Function, instruction: Instruction) -> tuple[str, ...]:
    """Labels that a bra or brx.idx may go to."""
    if instruction.opcode == "brx":
        table = instruction.operands[-1]
        assert isinstance(table, Symbol)
        return function.branch_targets[table.name]
    target = instruction.operands[-1]
    assert isinstance(target, Symbol)
    return (target.name,)


def build(function: Function, uses: Uses, meetings: Set[int] = frozenset()) -> FlowGraph:
    """Split the body of `function` into blocks, order them, and find what is live where. `meetings` are the ids of
    instructions that lanes wait at beside barriers."""

    def waits(instruction: Instruction) -> bool:
        return is_sync(instruction) or id(instruction) in meetings

    raw: list[list[Instruction]] = [[]]
    labels: dict[str, int] = {}
    for statement in function.body:
        if isinstance(statement, Label):
            if raw[-1]:
                raw.append([])
            labels[statement.name] = len(raw) - 1
            continue
        if waits(statement) and raw[-1]:
            raw.append([])
        raw[-1].append(statement)
        if is_terminator(statement):
            raw.append([])
    raw.append([])  # the end of the body returns
    raw[-1].append(Instruction("ret", (), (), line=function.end_line))

    successors: list[tuple[int, ...]] = []
    falls: list[int | None] = []
    for number, instructions in enumerate(raw):
        last = instructions[-1] if instructions else None
        targets: list[int] = []
        fall: int | None = number + 1 if number + 1 < len(raw) else None
        if last is not None and is_terminator(last):
            if last.opcode in ("bra", "brx"):
                targets = [labels[name] for name in branch_labels(function, last)]
            if last.guard is None:
                fall = None
        if fall is not None:
            targets.append(fall)
        successors.append(tuple(dict.fromkeys(targets)))
        falls.append(fall)

    order = _order(successors)
    place = {old: new for new, old in enumerate(order)}
    blocks = []
    for new, old in enumerate(order):
        instructions = raw[old]
        fall = falls[old]
        blocks.append(
            BasicBlock(
                new,
                instructions,
                tuple(place[target] for target in successors[old]),
                None if fall is None else place[fall],
                is_sync=bool(instructions) and waits(instructions[0]),
                only_returns=bool(instructions)
                and instructions[0].opcode in ("ret", "exit")
                and instructions[0].guard is None,
            )
        )
    graph = FlowGraph(blocks, {name: place[old] for name, old in labels.items() if old in place})
    graph.live_in = _liveness(blocks, uses)
    graph.back_edges = {(b.index, s) for b in blocks for s in b.successors if s <= b.index}
    return graph


def _order(successors: Sequence[tuple[int, ...]]) -> list[int]:
    """A topological order of the reachable blocks with every loop contiguous, ties broken by place in the text."""
    reachable: set[int] = set()
    stack = [0]
    while stack:
        node = stack.pop()
        if node not in reachable:
            reachable.add(node)
            stack.extend(successors[node])

    def arrange(nodes: set[int], entry: int) -> list[int]:
        """Order `nodes`; edges into `entry` are ignored (the loop it heads is open)."""
        components = _components(nodes, {n: [s for s in successors[n] if s in nodes and s != entry] for n in nodes})
        home = {node: number for number, component in enumerate(components) for node in component}
        incoming = [0] * len(components)
        outgoing: list[set[int]] = [set() for _ in components]
        for node in nodes:
            for target in successors[node]:
                if target in nodes and target != entry and home[node] != home[target]:
                    outgoing[home[node]].add(home[target])
        for targets in outgoing:
            for target in targets:
                incoming[target] += 1
        heads = []
        for component in components:
            members = set(component)
            outside = [
                t for n in nodes - members for t in successors[n] if t in members and not (t == entry and n != entry)
            ]
            heads.append(entry if entry in members else min(outside, default=min(members)))
        ready = [(heads[n], n) for n in range(len(components)) if incoming[n] == 0]
        heapq.heapify(ready)
        result: list[int] = []
        while ready:
            head, number = heapq.heappop(ready)
            component = components[number]
            if len(component) == 1:
                result.append(component[0])
            else:
                result.extend(arrange(set(component), head))
            for target in sorted(outgoing[number]):
                incoming[target] -= 1
                if incoming[target] == 0:
                    heapq.heappush(ready, (heads[target], target))
        return result

    return arrange(reachable, 0)


def _components(nodes: set[int], edges: dict[int, list[int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    result: list[list[int]] = []
    for root in sorted(nodes):
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            descended = False
            for i in range(position, len(edges[node])):
                target = edges[node][i]
                if target not in index:
                    work.append((node, i + 1))
                    work.append((target, 0))
                    descended = True
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            if descended:
                continue
            if low[node] == index[node]:
                component = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member == node:
                        break
                result.append(component)
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
    return result


def _liveness(blocks: Sequence[BasicBlock], uses: Uses) -> list[frozenset[str]]:
    numbers: dict[str, int] = {}
    names: list[str] = []

    def bits(registers: Set[str]) -> int:
        mask = 0
        for name in registers:
            if name not in numbers:
                numbers[name] = len(names)
                names.append(name)
            mask |= 1 << numbers[name]
        return mask

    generate, kill = [], []
    for block in blocks:
        gen = dead = 0
        for instruction in block.instructions:
            written, read = uses(instruction)
            gen |= bits(read) & ~dead
            if instruction.guard is None:
                dead |= bits(written)
        generate.append(gen)
        kill.append(dead)
    live = [0] * len(blocks)
    predecessors: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for target in block.successors:
            predecessors[target].append(block.index)
    pending = list(range(len(blocks)))
    while pending:
        number = pending.pop()
        out = 0
        for target in blocks[number].successors:
            out |= live[target]
        new = generate[number] | (out & ~kill[number])
        if new != live[number]:
            live[number] = new
            pending.extend(predecessors[number])
    return [frozenset(names[i] for i in range(len(names)) if mask >> i & 1) for mask in live]


class Waiting(NamedTuple):
    """Bit masks of blocks where other lanes may wait while one block runs: `open` ones run when they are the earliest,
    `parked` ones only after every other lane has parked or left."""

    open: int
    parked: int

    @property
    def anywhere(self) -> int:
        return self.open | self.parked


def bit_indices(mask: int) -> list[int]:
    """Indices of the set bits, rising."""
    result = []
    while mask:
        low = mask & -mask
        result.append(low.bit_length() - 1)
        mask ^= low
    return result


def frontiers(
    graph: FlowGraph, divergent: Callable[[int], bool], parkable: Set[int], spins: Set[int] = frozenset()
) -> list[Waiting]:
    """For each block, where other lanes of the warp may wait while it runs.

    `divergent(b)` says whether the branch that ends b may split a warp. Lanes wait at blocks later than the one that
    runs, or parked at a block that gives way to all others (a synchronisation point, the head of a spin loop). When all
    are parked those that spin go on first, else all of them.
    """
    count = len(graph.blocks)
    later = [((1 << count) - 1) ^ ((1 << (b + 1)) - 1) for b in range(count)]
    state = [Waiting(0, 0)] * count
    seen = {0}
    pending = [0]

    def flow(open_: int, candidates: int, parked: int) -> None:
        for n in bit_indices(candidates):
            old = state[n]
            new = Waiting(old.open | (open_ & later[n]), old.parked | parked)
            if new != old or n not in seen:
                state[n] = new
                seen.add(n)
                pending.append(n)

    spinning = sum(1 << s for s in spins)

    def release(parked: int) -> None:
        flow(parked, parked, 0)
        flow(parked & spinning, parked & spinning, parked & ~spinning)

    while pending:
        b = pending.pop()
        block = graph.blocks[b]
        open_, parked = state[b]
        targets = [t for t in block.successors if not graph.blocks[t].only_returns]
        if divergent(b):
            total = open_
            for t in targets:
                total |= 1 << t
            flow(total, total, parked)
        else:
            for t in targets:
                flow(open_ | 1 << t, open_ & ((1 << t) - 1) | 1 << t, parked)
        calls = any(instruction.opcode == "call" for instruction in block.instructions)
        leaves = bool(block.instructions) and block.instructions[-1].opcode in ("ret", "exit")
        if calls or leaves or any(graph.blocks[t].only_returns for t in block.successors):
            flow(open_, open_, parked)
            release(parked)
        if b in parkable and (open_ or parked):
            flow(open_, open_, parked | 1 << b)
            release(parked | 1 << b)
    return state
