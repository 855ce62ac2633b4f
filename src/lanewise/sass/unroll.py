"""Loops of PTX whose body the machine code holds several times: the stages that their trips are spent in.

ptxas turns a plain loop into a body of four copies that repeats, one of two and one of a single trip, or runs the first
trip ahead of the loop. What it made of a loop is read from the copies of one instruction of the loop's header, which
runs once a trip: copies in one machine loop are one stage, and so are copies that always run together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.emulator import flow
from lanewise.emulator.analysis import written_and_read
from lanewise.emulator.flow import FlowGraph
from lanewise.emulator.machine import TripPlan, TripStage
from lanewise.ptx.syntax import Function, Instruction
from lanewise.sass import graph
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.executions import Line
from lanewise.sass.listing import SassInstruction
from lanewise.sass.opcodes import STRONG, weight

# PTX that becomes one machine instruction each time it is executed, if it becomes one at all: memory, barriers,
# shuffles (of weight STRONG there), and plain arithmetic in floating point.
_ONE_TO_ONE_STRONG = frozenset(("ld", "st", "red", "atom", "shfl", "bar", "barrier"))
_ONE_TO_ONE_FLOAT = frozenset(("fma", "add", "mul", "sub", "min", "max"))
_FLOAT_OPCODES = frozenset(("FFMA", "FADD", "FMUL", "FMNMX", "DFMA", "DADD", "DMUL"))


@dataclass(frozen=True, slots=True)
class Stage:
    """Machine blocks that run equally often, and how many trips each run is. A `guarded` stage has a predicate in front
    of its instructions instead of a block of its own: it says nothing of how often its block runs. `head` is the first
    block of the machine loop of a stage that repeats, `loop` the bit set of its blocks."""

    copies: int
    repeats: bool
    blocks: tuple[int, ...]
    in_blocks: tuple[int, ...]  # copies in each of them
    guarded: bool = False
    head: int | None = None
    loop: int = 0


@dataclass(frozen=True, slots=True)
class PtxFlow:
    """Control flow of a function of PTX: its module, and the suffix of the section that holds the module's PTX."""

    module: int
    suffix: str
    name: str
    graph: FlowGraph

    @classmethod
    def of(cls, module: int, suffix: str, function: Function) -> PtxFlow:
        return cls(module, suffix, function.name, flow.build(function, written_and_read))

    def loop_depths(self) -> dict[Line, int]:
        """By line, the loops that hold it."""
        ends: dict[int, int] = {}
        for source, head in self.graph.back_edges:
            ends[head] = max(source, ends.get(head, source))
        return {
            (self.suffix, instruction.line): sum(head <= block.index <= last for head, last in ends.items())
            for block in self.graph.blocks
            for instruction in block.instructions
        }


@dataclass(frozen=True, slots=True)
class UnrolledLoop:
    """A loop of PTX, its lines, and the stages in the order in which trips are spent."""

    plan: TripPlan
    lines: frozenset[Line]
    stages: tuple[Stage, ...]

    def copies_by_address(self) -> list[int] | None:
        """Which copy, counted stage by stage, each machine instruction of a line is that the body holds once, in order
        of address. None where two stages share a block."""
        places: dict[int, tuple[int, int]] = {}  # block -> (its first copy, how many)
        first = 0
        for stage in self.stages:
            for block, number in zip(stage.blocks, stage.in_blocks, strict=True):
                if block in places:
                    return None
                places[block] = (first, number)
                first += number
        return [copy for block in sorted(places) for copy in range(places[block][0], sum(places[block]))]


def unrolled_loops(
    functions: Sequence[PtxFlow], blocks: Sequence[MachineBlock], shape: graph.Shape
) -> tuple[UnrolledLoop, ...]:
    """Every unrolled loop of a kernel. `functions` are the kernel and what it calls."""
    where: dict[Line, Counter[int]] = defaultdict(Counter)
    guarded: dict[Line, Counter[int]] = defaultdict(Counter)
    for block in blocks:
        for instruction in block.instructions:
            if instruction.ptx_line is not None and not block.cold and _counts_copies(instruction):
                found = where if instruction.predicate is None else guarded
                found[instruction.module, instruction.ptx_line][block.index] += 1
    if not any(sum(found.values()) > 1 for found in where.values()):
        return ()
    result = []
    for function in functions:
        ptx, suffix = function.graph, function.suffix
        for header in sorted({head for _, head in ptx.back_edges}):
            last = max(source for source, head in ptx.back_edges if head == header)
            body = [ptx.blocks[number] for number in range(header, last + 1)]
            lines = frozenset((suffix, i.line) for block in body for i in block.instructions)
            marker = _marker(ptx.blocks[header].instructions, suffix, where)
            if marker is None or sum(where[marker].values()) < 2:
                continue
            stages = _stages(where[marker], guarded[marker], blocks, lines, shape)
            if len(stages) == 1 and stages[0].copies == 1:
                continue
            plan = TripPlan(
                function.module,
                function.name,
                ptx.blocks[header].instructions[0].line,
                tuple(TripStage(s.copies, s.repeats) for s in stages),
            )
            result.append(UnrolledLoop(plan, lines, stages))
    return tuple(result)


def _counts_copies(instruction: SassInstruction) -> bool:
    """Whether this is the one machine instruction of its line, not what computes an address or a constant for it."""
    if instruction.spill:
        return False
    return weight(instruction.opcode) == STRONG or instruction.name in _FLOAT_OPCODES


def _marker(instructions: Sequence[Instruction], suffix: str, where: Mapping[Line, Counter[int]]) -> Line | None:
    """The line that tells copies apart: of the instructions that become one machine instruction, the most copied; of
    equals, one that the compiler does not move."""
    best: tuple[int, bool, int] | None = None
    for instruction in instructions:
        memory = instruction.opcode in _ONE_TO_ONE_STRONG and not instruction.has("param", "const")
        floating = instruction.opcode in _ONE_TO_ONE_FLOAT and instruction.types[-1:] in (("f32",), ("f64",))
        found = where.get((suffix, instruction.line))
        if found is None or instruction.guard is not None or not (memory or floating):
            continue
        key = (sum(found.values()), memory, -instruction.line)
        if best is None or key > best:
            best = key
    return None if best is None else (suffix, -best[2])


def _stages(
    copies: Counter[int],
    guarded: Counter[int],
    blocks: Sequence[MachineBlock],
    lines: frozenset[Line],
    shape: graph.Shape,
) -> tuple[Stage, ...]:
    heads: dict[int, int] = {}
    groups: list[tuple[int, list[int]]] = []  # (machine loop, or 0; blocks)
    for index in sorted(copies):
        loop, head = next((loop for loop in shape.loops if loop[0] >> index & 1), (0, 0))
        heads[loop] = head
        if loop and not _belongs(loop, head, blocks, lines):
            loop = 0
        for mask, members in groups:
            if mask == loop and (loop or shape.equivalent(members[-1], index)):
                members.append(index)
                break
        else:
            groups.append((loop, [index]))
    stages = []
    for loop, members in groups:
        # Alternatives within a loop (a body copied for two outcomes of a branch) share its trips.
        chains = [members[0]] + [m for m in members[1:] if shape.equivalent(members[0], m)]
        number = sum(copies[m] for m in chains)
        held = tuple(copies[m] for m in chains)
        stages.append(Stage(number, bool(loop), tuple(chains), held, head=heads[loop] if loop else None, loop=loop))
    stages = _in_order(stages)
    return (*stages, *(Stage(number, False, (index,), (number,), True) for index, number in sorted(guarded.items())))


def _belongs(loop: int, head: int, blocks: Sequence[MachineBlock], lines: frozenset[Line]) -> bool:
    """Whether a machine loop is made of these lines, not one around them: the branches back to its head tell, or where
    they have no line, what it holds most of."""
    back = [block.instructions[-1] for block in blocks if loop >> block.index & 1 and head in block.successors]
    told = [(i.module, i.ptx_line) in lines for i in back if i.flow is not None and i.ptx_line is not None]
    if told:
        return any(told)
    inside = outside = 0
    for block in blocks:
        if loop >> block.index & 1:
            for instruction in block.instructions:
                if instruction.ptx_line is not None and not instruction.spill:
                    power = weight(instruction.opcode) * (STRONG if weight(instruction.opcode) == STRONG else 1)
                    if (instruction.module, instruction.ptx_line) in lines:
                        inside += power
                    else:
                        outside += power
    return inside > outside


def _in_order(stages: Sequence[Stage]) -> list[Stage]:
    """Trips ahead of the loop come first; after them the stages with most copies, wherever they stand."""
    ahead = 0
    most = max(stage.copies for stage in stages)
    while (
        ahead < len(stages)
        and not stages[ahead].repeats
        and (stages[ahead].copies < most or any(s.repeats for s in stages[ahead + 1 :]))
    ):
        ahead += 1
    rest = sorted(stages[ahead:], key=lambda stage: -stage.copies)
    return [*stages[:ahead], *rest]
