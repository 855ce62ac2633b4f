"""What the translator must know of a function before it writes a line: kinds of registers, divergent branches, waiting.

Three facts depend on each other and are found together, from the optimistic side: a branch is uniform until its guard
is not; nobody waits anywhere until a branch diverges; a register is one scalar until a lane may keep an old value of it
while others get a new one (it is live at a block where lanes may wait).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lanewise.emulator import flow
from lanewise.emulator.flow import FlowGraph, Waiting
from lanewise.emulator.kinds import UNIFORM, VARYING, Kind, LaneShape, Tag, constant, join, operand_kind, transfer
from lanewise.ptx.instructions import InstructionSpec, lookup
from lanewise.ptx.instructions.remember import remembered
from lanewise.ptx.syntax import Address, Function, Instruction, Operand, Register, Symbol

CARRY = "%%carry"  # the condition code, as a predicate register


class Reach(NamedTuple):
    """What the functions that a call may reach do."""

    reads_others: bool = False  # read what another thread may be about to write
    barrier: bool = False  # wait for all of the block
    exchange: bool = False  # wait for lanes of the warp


Calls = Callable[[Instruction], Reach]


def spec_of(instruction: Instruction) -> InstructionSpec:
    """The table's entry; unsupported and unknown forms were refused before translation."""
    spec = lookup(instruction)
    assert spec is not None, instruction.name
    return spec


@remembered
def written_and_read(instruction: Instruction) -> tuple[Set[str], Set[str]]:
    """Registers that an instruction writes and reads (its guard included)."""
    spec = spec_of(instruction)
    written = {name for operand in instruction.operands[: spec.destinations] for name in flow.registers_in(operand)}
    read = {name for operand in instruction.operands[spec.destinations :] for name in flow.registers_in(operand)}
    if spec.accumulates:
        read |= written
    if instruction.guard is not None:
        read.add(instruction.guard.register.name)
    if instruction.has("cc"):
        written.add(CARRY)
    if instruction.opcode in ("addc", "subc", "madc"):
        read.add(CARRY)
    return written, read


@dataclass(slots=True)
class Analysis:
    """Facts about one function for one lane shape."""

    function: Function
    shape: LaneShape
    graph: FlowGraph
    kinds: dict[str, Kind] = field(default_factory=dict)
    divergent: set[int] = field(default_factory=set)  # blocks whose last branch may split a warp
    waiting: list[Waiting] = field(default_factory=list)
    keeps: list[frozenset[str]] = field(default_factory=list)  # per block: registers other lanes may need as they were
    parkable: set[int] = field(default_factory=set)
    spins: set[int] = field(default_factory=set)  # heads of loops that may wait for another thread
    yields: set[int] = field(default_factory=set)  # those of them that may wait for another block, or poll memory

    def kind(self, operand: Operand) -> Kind | None:
        return operand_kind(operand, self.kinds.get, self.shape)


def analyse(function: Function, shape: LaneShape, calls: Calls = lambda call: Reach()) -> Analysis:
    """Control flow, kinds and divergence of one function."""
    meetings = {id(i) for i in function.body if isinstance(i, Instruction) and i.opcode == "call" and calls(i).barrier}
    while True:
        result = _analyse(function, shape, calls, meetings)
        found = {
            id(instruction)
            for block in result.graph.blocks
            if result.waiting[block.index].anywhere
            for instruction in block.instructions
            if flow.exchanges(instruction)
            or (instruction.opcode == "call" and result.spins and calls(instruction).exchange)
        }
        if found <= meetings:
            return result
        meetings |= found


def _analyse(function: Function, shape: LaneShape, calls: Calls, meetings: Set[int]) -> Analysis:
    """The same, with the exchanges that lanes may come to one after the other as synchronisation points."""
    graph = flow.build(function, written_and_read, meetings)
    result = Analysis(function, shape, graph)
    result.yields = _spin_heads(graph, calls, reads_of_others)
    result.spins = result.yields | _spin_heads(graph, calls, waits_for_phase)
    result.parkable = {b.index for b in graph.blocks if b.is_sync} | result.spins
    used = [written_and_read(ins) for block in graph.blocks for ins in block.instructions]
    written, read = (set[str]().union(*(names[part] for names in used)) for part in (0, 1))
    for name in read - written:
        result.kinds[name] = UNIFORM  # never written: zero in all lanes
    while True:
        result.waiting = flow.frontiers(graph, result.divergent.__contains__, result.parkable, result.spins)
        result.keeps = [
            frozenset().union(*(graph.live_in[f] for f in flow.bit_indices(waiting.anywhere)))
            for waiting in result.waiting
        ]
        changed = _kinds(result)
        diverging = {
            block.index for block in graph.blocks if block.instructions and _may_diverge(block.instructions[-1], result)
        }
        if diverging != result.divergent or changed:
            result.divergent |= diverging
            continue
        unknown = written - result.kinds.keys()
        if not unknown:
            return result
        for name in unknown:  # written from nothing but itself
            result.kinds[name] = VARYING


def _may_diverge(last: Instruction, result: Analysis) -> bool:
    if not flow.is_terminator(last):
        return False
    if last.opcode == "brx":
        kind = result.kind(last.operands[0])
        return last.guard is not None or (kind is not None and kind.tag != Tag.UNIFORM)
    if last.guard is None:
        return False
    kind = result.kinds.get(last.guard.register.name)
    return kind is not None and kind.tag != Tag.UNIFORM


def _kinds(result: Analysis) -> bool:
    """Raise kinds until nothing changes; returns whether anything did."""
    kinds = result.kinds
    any_change = False
    changed = True
    while changed:
        changed = False
        for block in result.graph.blocks:
            keeps = result.keeps[block.index]
            for instruction in block.instructions:
                written, _ = written_and_read(instruction)
                if not written:
                    continue
                kind = result_kind(instruction, result)
                if kind is None:
                    continue
                if instruction.guard is not None:
                    guard = kinds.get(instruction.guard.register.name)
                    if guard is None:
                        continue
                    if guard.tag != Tag.UNIFORM:
                        kind = VARYING
                for name in written:
                    mine = VARYING if name in keeps or (name == CARRY and kind.tag != Tag.UNIFORM) else kind
                    new = join(kinds.get(name), mine)
                    if new is not None and new != kinds.get(name):
                        kinds[name] = new
                        changed = any_change = True
    return any_change


def result_kind(instruction: Instruction, result: Analysis) -> Kind | None:
    """The kind of what an instruction computes, apart from its guard."""
    spec = spec_of(instruction)
    sources = [result.kind(operand) for operand in instruction.operands[spec.destinations :]]
    if spec.elementwise or spec.lowering in ("address.cvta", "cluster.mapa", "address.isspacep"):
        if instruction.opcode in ("addc", "subc", "madc"):
            sources.append(result.kinds.get(CARRY))
        return transfer(spec.lowering or "", instruction, sources)
    uniform = all(kind is None or kind.tag == Tag.UNIFORM for kind in sources)
    if any(kind is None for kind in sources):
        return None
    match spec.lowering:
        case "memory.load":
            address = instruction.operands[1]
            assert isinstance(address, Address)
            spaces = {modifier.split("::")[0] for modifier in instruction.modifiers}
            if uniform and spaces & {"global", "const", "shared"}:
                return UNIFORM
            return VARYING
        case "parameter.load":
            address = instruction.operands[1]
            assert isinstance(address, Address)
            return UNIFORM if uniform and is_kernel_param(result.function, address) else VARYING
        case "memory.create_policy":
            return UNIFORM
        case "cluster.getctarank":
            return UNIFORM if uniform else VARYING
        case "warp.vote" | "warp.redux" | "warp.match":
            mask = sources[-1] if instruction.has("sync") else UNIFORM
            if instruction.opcode == "match" and instruction.has("any"):
                return VARYING
            return UNIFORM if mask is not None and mask.tag == Tag.UNIFORM else VARYING
        case "warp.activemask" | "barrier.barrier_red":
            return UNIFORM
        case "mbarrier.wait":
            return UNIFORM if uniform else VARYING
        case "warp.shfl":
            whole = constant(instruction.operands[3]) == 31
            if instruction.has("idx") and whole and all(k is not None and k.tag == Tag.UNIFORM for k in sources[1:]):
                return UNIFORM
            return VARYING
        case _:
            return VARYING


def is_kernel_param(function: Function, address: Address) -> bool:
    """Whether an address in .param names a parameter of the kernel itself."""
    if not function.is_kernel:
        return False
    if isinstance(address.base, Symbol):
        name = address.base.name
        return any(param.name == name for param in function.params)
    return isinstance(address.base, Register)


_WAITS = frozenset(("volatile", "relaxed", "acquire", "cv", "cg"))


def reads_of_others(instruction: Instruction) -> bool:
    """Whether an instruction reads what another thread may be about to write."""
    if instruction.opcode == "ld":
        return not _WAITS.isdisjoint(instruction.modifiers)
    return instruction.opcode == "atom"


def waits_for_phase(instruction: Instruction) -> bool:
    """Whether an instruction waits at an mbarrier: it gives way to the other warps by itself."""
    return instruction.opcode == "mbarrier" and instruction.has("test_wait", "try_wait")


def _spin_heads(graph: FlowGraph, calls: Calls, polls: Callable[[Instruction], bool]) -> set[int]:
    """Heads of loops that leave on a value another thread may write, which `polls` knows: volatile, relaxed or acquire
    loads, atomics, calls of functions with such. Values are followed through registers; local memory and parameters are
    taken as a whole."""
    heads: set[int] = set()
    for source, head in graph.back_edges:
        body = range(head, source + 1)
        instructions = [instruction for b in body for instruction in graph.blocks[b].instructions]
        sleeps = any(i.opcode == "nanosleep" for i in instructions) and not any(map(waits_for_phase, instructions))
        in_memory = any(i.opcode == "call" and calls(i).reads_others for i in instructions)
        tainted: set[str] = set()
        for instruction in instructions:
            if polls(instruction):
                tainted |= written_and_read(instruction)[0]
        if not tainted and not sleeps and not in_memory:
            continue
        grown = True
        while grown:
            grown = False
            for instruction in instructions:
                written, read = written_and_read(instruction)
                private = not {"global", "shared", "const"} & {m.split("::")[0] for m in instruction.modifiers}
                if private and instruction.opcode == "st" and read & tainted and not in_memory:
                    in_memory = grown = True
                reads = read & tainted or (private and instruction.opcode == "ld" and in_memory)
                if reads and not written <= tainted:
                    tainted |= written
                    grown = True
        for b in body:
            last = graph.blocks[b].instructions[-1:]
            leaves = any(t not in body for t in graph.blocks[b].successors)
            if leaves and last and last[0].guard is not None and (sleeps or last[0].guard.register.name in tainted):
                heads.add(head)
    return heads
