"""One kernel's machine code joined with its PTX: which machine instruction carries which access, and what to count.

A machine access is told by the line of PTX that it carries. ptxas widens and merges accesses (the widened one carries
one of their lines), deletes them (no instruction carries the line), and copies them where it unrolls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lanewise.emulator.lowering import bulk
from lanewise.emulator.lowering.address import space_of, vector_length
from lanewise.emulator.lowering.asynchronous import copy_bytes
from lanewise.emulator.machine import EXCHANGES, CountingPlan, CountRule, Recount
from lanewise.ptx.syntax import TYPE_BITS, Function, Instruction
from lanewise.records import AccessKind, MachineInstruction, SourceLine, Space
from lanewise.sass import blocks as machine_blocks
from lanewise.sass import graph, textures
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.executions import Line
from lanewise.sass.listing import SassFunction, SassInstruction, never_runs
from lanewise.sass.unroll import PtxFlow, UnrolledLoop, unrolled_loops

_KINDS = {"ld": AccessKind.LOAD, "ldu": AccessKind.LOAD, "st": AccessKind.STORE, "atom": AccessKind.ATOMIC,
          "red": AccessKind.ATOMIC, "ldmatrix": AccessKind.LOAD, "stmatrix": AccessKind.STORE,
          "tex": AccessKind.LOAD, "tld4": AccessKind.LOAD, "suld": AccessKind.LOAD, "sust": AccessKind.STORE,
          "sured": AccessKind.ATOMIC}  # fmt: skip
_ROW_BITS = 128  # of the matrices of ldmatrix and stmatrix
_SPACES = {"tex": Space.TEXTURE, "tld4": Space.TEXTURE, "suld": Space.SURFACE, "sust": Space.SURFACE,
           "sured": Space.SURFACE}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PtxAccess:
    """What the PTX instruction of a line accesses, as it is written there."""

    space: Space
    kind: AccessKind
    width_bits: int
    in_pieces: bool = False  # several machine instructions make it, each a part of what is counted (wmma)


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """A machine instruction of global, shared, local or generic memory. `ptx` is None for spills, and where the line it
    carries is of no access of its kind. `recount` is how it differs from what PTX counts, if it does."""

    instruction: SassInstruction
    block: int
    line: Line | None
    ptx: PtxAccess | None
    recount: Recount | None = None
    source: SourceLine | None = None  # of the PTX line, whatever stands on it
    copy: int | None = None  # of an access in an unrolled loop, counted stage by stage
    only: Space | None = None  # the one of a generic atomic's ways that this instruction is part of

    @property
    def is_spill(self) -> bool:
        """Local memory that PTX does not know: spilled registers, and those that a function saves for its caller."""
        return self.ptx is None and self.instruction.memory is not None and self.instruction.memory[0] == Space.LOCAL

    @property
    def record(self) -> MachineInstruction:
        i = self.instruction
        return MachineInstruction(i.offset, i.opcode, i.width_bits, i.predicate, self.block)


@dataclass(frozen=True, slots=True)
class MachineKernel:
    """The machine code of a kernel. `suffixes` are those of the PTX sections of its modules, by module."""

    section: SassFunction
    blocks: tuple[MachineBlock, ...]
    accesses: tuple[MachineAccess, ...]
    loops: tuple[UnrolledLoop, ...]
    plan: CountingPlan
    suffixes: Mapping[int, str]
    shape: graph.Shape
    depths: Mapping[Line, int]  # loops of PTX that hold a line
    recent: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # of the launch before, if alike

    def suffix(self, module: int) -> str:
        return self.suffixes.get(module, "")

    def of_line(self, module: int, ptx_line: int) -> tuple[MachineInstruction, ...]:
        """The machine instructions that carry the access of a line of PTX."""
        line = (self.suffix(module), ptx_line)
        return tuple(access.record for access in self.accesses if access.line == line and access.ptx is not None)


def join(
    section: SassFunction, functions: Sequence[tuple[int, Function]], suffixes: Mapping[int, str] | None = None
) -> MachineKernel:
    """`functions` are (module, function) of the kernel and of everything that it may call."""
    suffixes = suffixes or {}
    section = textures.with_lines(section, functions, suffixes)
    blocks = machine_blocks.build(section)
    known = {
        (suffixes.get(module, ""), instruction.line): (module, access)
        for module, function in functions
        for instruction in _instructions(function)
        if (access := ptx_access(instruction)) is not None
    }
    sources = {
        (suffixes.get(module, ""), instruction.line): instruction.source
        for module, function in functions
        for instruction in _instructions(function)
    }
    accesses = []
    names = _names_by_line(section)
    for block in blocks:
        for instruction in block.instructions:
            found = instruction.memory
            if found is None or found[0] == Space.CONST or never_runs(instruction):
                continue
            joined = _access(instruction, block.index, known, names)
            source = sources.get((instruction.module, instruction.ptx_line or 0))
            accesses.append(replace(joined, source=source))
    shape = graph.Shape.of(blocks)
    flows = [PtxFlow.of(module, suffixes.get(module, ""), function) for module, function in functions]
    loops = unrolled_loops(flows, blocks, shape)
    loops, accesses = _with_copies(loops, accesses)
    depths = {line: depth for flow in flows for line, depth in flow.loop_depths().items()}
    recounts = dict.fromkeys(access.recount for access in accesses if access.recount is not None)
    plan = CountingPlan(tuple(recounts), tuple(loop.plan for loop in loops), octets=any(a.is_spill for a in accesses))
    return MachineKernel(section, tuple(blocks), tuple(accesses), loops, plan, suffixes, shape, depths)


def _instructions(function: Function) -> Iterable[Instruction]:
    return (statement for statement in function.body if isinstance(statement, Instruction))


def ptx_access(instruction: Instruction) -> PtxAccess | None:
    """The access of a load, store or atomic; None for every other instruction, and for parameters. Of an asynchronous
    copy it is the load: the store to shared memory goes with it."""
    if instruction.opcode == "cp" and instruction.has("ca", "cg"):
        return PtxAccess(Space.GLOBAL, AccessKind.LOAD, 8 * copy_bytes(instruction))
    if instruction.opcode == "cp" and instruction.has("bulk"):
        return _box_access(instruction) if instruction.has("tensor") else _bulk_access(instruction)
    if instruction.opcode == "wmma":
        return _fragment(instruction)
    kind = _KINDS.get(instruction.opcode)
    if kind is None or not instruction.types:
        return None
    space = _SPACES.get(instruction.opcode) or space_of(instruction)
    if space == Space.PARAM:
        return None
    if instruction.opcode in ("ldmatrix", "stmatrix"):
        return PtxAccess(Space.SHARED, kind, _ROW_BITS)
    return PtxAccess(space, kind, TYPE_BITS[instruction.type] * vector_length(instruction))


def _fragment(instruction: Instruction) -> PtxAccess | None:
    """What a load or store of wmma accesses; None for the products."""
    if instruction.has("mma"):
        return None
    kind = AccessKind.LOAD if instruction.has("load") else AccessKind.STORE
    return PtxAccess(space_of(instruction), kind, TYPE_BITS[instruction.type], in_pieces=True)


def _box_access(instruction: Instruction) -> PtxAccess:
    """What a copy of a box of a tensor accesses of global memory."""
    kind = AccessKind.LOAD
    if instruction.has("bulk_group"):
        kind = AccessKind.ATOMIC if instruction.has("reduce") else AccessKind.STORE
    return PtxAccess(Space.GLOBAL, kind, bulk.WIDTH_BITS)


def _bulk_access(instruction: Instruction) -> PtxAccess | None:
    """What a bulk copy or reduction accesses; None for those that close groups and wait, and for hints."""
    if instruction.has("commit_group", "wait_group", "prefetch"):
        return None
    to, source = bulk.directions(instruction)
    if to == Space.GLOBAL:
        return PtxAccess(to, AccessKind.ATOMIC if instruction.has("reduce") else AccessKind.STORE, bulk.WIDTH_BITS)
    return PtxAccess(source, AccessKind.LOAD, bulk.WIDTH_BITS)


def _access(
    instruction: SassInstruction,
    block: int,
    known: Mapping[Line, tuple[int, PtxAccess]],
    names: Mapping[Line, frozenset[str]],
) -> MachineAccess:
    if instruction.spill or instruction.ptx_line is None:
        return MachineAccess(instruction, block, None, None)
    line = (instruction.module, instruction.ptx_line)
    module, ptx = known.get(line, (0, None))
    memory = instruction.memory
    if ptx is None or memory is None:
        return MachineAccess(instruction, block, line, None)
    space, kind = memory
    if ptx.space == Space.GENERIC and ptx.kind == AccessKind.ATOMIC and {"ATOM", "LD"} <= names.get(line, frozenset()):
        return _part_of_generic(instruction, block, line, module, ptx, names[line])
    rule = _rule(instruction, ptx)
    agrees = Space.GENERIC in (space, ptx.space) or space == ptx.space
    if space == Space.LOCAL and ptx.space == Space.GENERIC and len(names.get(line, ())) > 1:
        agrees = False  # a register that a function saves there
    if not agrees or (kind != ptx.kind and rule not in EXCHANGES):
        return MachineAccess(instruction, block, line, None)
    differs = instruction.width_bits != ptx.width_bits or rule in (*EXCHANGES, CountRule.WORDS)
    if ptx.in_pieces or not differs or ptx.space in (Space.GENERIC, Space.TEXTURE, Space.SURFACE):
        return MachineAccess(instruction, block, line, ptx)
    return MachineAccess(instruction, block, line, ptx, Recount(module, line[1], instruction.width_bits, rule))


def _with_copies(
    loops: Sequence[UnrolledLoop], accesses: Sequence[MachineAccess]
) -> tuple[tuple[UnrolledLoop, ...], list[MachineAccess]]:
    """Tell copies of an access in an unrolled loop apart, and ask for their counts."""
    numbered: dict[int, int] = {}  # by offset
    wanted: dict[int, list[Recount]] = defaultdict(list)  # by loop
    orders = [loop.copies_by_address() for loop in loops]
    for line, carrying in copies_by_line(accesses).items():
        holders = [n for n, loop in enumerate(loops) if line in loop.lines]
        if not holders:
            continue
        number = min(holders, key=lambda n: len(loops[n].lines))
        order, charged = orders[number], {_charged(access, loops[number].plan.module) for access in carrying}
        if order is None or len(order) != len(carrying) or len(charged) != 1 or None in charged:
            continue
        numbered.update(zip((access.instruction.offset for access in carrying), order, strict=True))
        wanted[number] += [recount for recount in charged if recount is not None]
    planned = tuple(replace(loop, plan=replace(loop.plan, accesses=tuple(wanted[n]))) for n, loop in enumerate(loops))
    return planned, [replace(a, copy=numbered.get(a.instruction.offset)) for a in accesses]


def _charged(access: MachineAccess, module: int) -> Recount | None:
    """How a copy is charged; None for generic addresses and for loops of loads and swaps."""
    i, ptx = access.instruction, access.ptx
    if ptx is None or ptx.space == Space.GENERIC or access.line is None:
        return None
    rule = _rule(i, ptx)
    return None if rule in EXCHANGES else Recount(module, access.line[1], i.width_bits, rule)


def _names_by_line(section: SassFunction) -> dict[Line, frozenset[str]]:
    """The names of the memory instructions of each line: several where the machine does not have an access in one
    piece."""
    names: dict[Line, set[str]] = defaultdict(set)
    for instruction in section.instructions:
        if instruction.memory is not None and instruction.ptx_line is not None and not instruction.spill:
            names[instruction.module, instruction.ptx_line].add(instruction.name)
    return {line: frozenset(found) for line, found in names.items()}


def _part_of_generic(
    instruction: SassInstruction, block: int, line: Line, module: int, ptx: PtxAccess, names: frozenset[str]
) -> MachineAccess:
    """Part of a generic atomic. With a store among the parts there is a way for each space: ATOM for global lanes, a
    loop of LDS and ATOMS.CAST for shared ones, a load and a store for local ones. Without, a load and a loop of
    ATOM.CAS change the word that holds a narrow element."""
    if instruction.name in ("LDS", "ATOMS"):
        rule = CountRule.EXCHANGE_LOAD if instruction.name == "LDS" else CountRule.EXCHANGE_SWAP
        recount = Recount(module, line[1], ptx.width_bits, rule)
        return MachineAccess(instruction, block, line, ptx, recount, only=Space.SHARED)
    if "ST" in names:
        return MachineAccess(
            instruction, block, line, ptx, only=Space.GLOBAL if instruction.name == "ATOM" else Space.LOCAL
        )
    rule = CountRule.SWAPS if instruction.name == "ATOM" else CountRule.LOAD
    recount = Recount(module, line[1], instruction.width_bits, rule)
    return MachineAccess(instruction, block, line, ptx, recount, only=Space.GLOBAL)


def _rule(instruction: SassInstruction, ptx: PtxAccess) -> CountRule:
    """How the machine instruction is charged. An atomic that adds one counts each word once; one that the machine does
    not have on shared memory is a loop of loads and compare-and-swaps."""
    if ptx.kind == AccessKind.ATOMIC and ptx.space == Space.SHARED:
        if instruction.name == "LDS":
            return CountRule.EXCHANGE_LOAD
        if ".CAST" in instruction.opcode:
            return CountRule.EXCHANGE_SWAP
        return CountRule.WORDS if ".POPC." in instruction.opcode else CountRule.LANES
    return CountRule.STORE if ptx.kind == AccessKind.STORE else CountRule.LOAD


def copies_by_line(accesses: Iterable[MachineAccess]) -> dict[Line, list[MachineAccess]]:
    """Machine accesses that carry the same access of PTX."""
    result: dict[Line, list[MachineAccess]] = defaultdict(list)
    for access in accesses:
        if access.ptx is not None and access.line is not None:
            result[access.line].append(access)
    return result
