"""Basic blocks of machine code and the edges between them.

A block is cut at every label and after every branch, exit, call, return and BSYNC: all its instructions are executed
equally often, by warps and by threads (BSYNC itself is issued once for each group of lanes that arrives).
"""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.sass.listing import SassFunction, SassInstruction, never_runs
from lanewise.sass.opcodes import Flow

_TRY = "SYNCS.PHASECHK"  # a try to pass an mbarrier


@dataclass(slots=True)
class MachineBlock:
    """Instructions that are executed together. `successors` are block indices within the section: where a branch goes,
    then where execution falls through. A call falls through to where it returns; `calls` names the function."""

    index: int
    function: str  # the label at which the function that holds the block starts
    instructions: tuple[SassInstruction, ...]
    successors: tuple[int, ...] = ()
    predecessors: tuple[int, ...] = ()
    calls: str | None = None
    leaves: bool = False  # some lanes may exit or return here
    cold: bool = False  # see `_mark_cold`

    @property
    def offset(self) -> int:
        return self.instructions[0].offset


def build(function: SassFunction) -> list[MachineBlock]:
    """The blocks of a section in order of address, with their edges."""
    starts = set(function.labels.values())
    groups: list[list[SassInstruction]] = []
    cut = True
    for instruction in function.instructions:
        if cut or instruction.offset in starts:
            groups.append([])
        groups[-1].append(instruction)
        cut = instruction.flow is not None and not never_runs(instruction)
    place = {group[0].offset: number for number, group in enumerate(groups)}
    heads = {function.labels[name]: name for name in function.functions}
    owner = function.name
    blocks = []
    for number, group in enumerate(groups):
        owner = heads.get(group[0].offset, owner)
        blocks.append(_block(function, place, number, owner, group, len(groups)))
    incoming: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for target in block.successors:
            incoming[target].append(block.index)
    for block in blocks:
        block.predecessors = tuple(incoming[block.index])
    _mark_cold(blocks)
    return blocks


def _mark_cold(blocks: list[MachineBlock]) -> None:
    """Shuffles and votes have a second copy behind BRA.DIV, for warps that come to them in parts; waits at mbarriers
    have one behind the first try, which is taken to succeed: the machine waits in it for a while."""
    first = {block.function: block.index for block in reversed(blocks)}
    warm: set[int] = set()
    pending = list(first.values())
    while pending:
        number = pending.pop()
        if number not in warm:
            warm.add(number)
            block = blocks[number]
            diverts = block.instructions[-1].opcode.startswith("BRA.DIV") and len(block.successors) > 1
            pending.extend(block.successors[1:] if diverts else _tried_once(blocks, block))
    for block in blocks:
        block.cold = block.index not in warm


def _tried_once(blocks: list[MachineBlock], block: MachineBlock) -> list[int]:
    """The successors of a block without those that do again, until it succeeds, the try of an mbarrier in the block."""
    if not any(instruction.opcode.startswith(_TRY) for instruction in block.instructions):
        return list(block.successors)
    return [target for target in block.successors if target == block.index or not _tries_again(blocks[target])]


def _tries_again(block: MachineBlock) -> bool:
    return block.instructions[0].opcode.startswith(_TRY) and block.index in block.successors


def _block(
    function: SassFunction, place: dict[int, int], number: int, owner: str, group: list[SassInstruction], count: int
) -> MachineBlock:
    last = group[-1]
    flow = None if never_runs(last) else last.flow
    if flow == Flow.CALL and set(last.targets) & function.labels.keys() - set(function.functions):
        flow = Flow.BRANCH  # as ptxas leaves some loops before Hopper: nothing returns
    targets: list[int] = []
    calls = None
    falls = number + 1 < count
    if flow in (Flow.BRANCH, Flow.INDIRECT):
        targets = [place[function.labels[name]] for name in last.targets if function.labels.get(name) in place]
        falls = falls and is_conditional(last)
    elif flow in (Flow.EXIT, Flow.RETURN):
        falls = falls and last.predicate is not None
    elif flow == Flow.CALL:
        calls = last.targets[0] if last.targets else None
    if falls:
        targets.append(number + 1)
    return MachineBlock(
        number,
        owner,
        tuple(group),
        tuple(dict.fromkeys(targets)),
        calls=calls,
        leaves=flow in (Flow.EXIT, Flow.RETURN),
    )


def is_conditional(branch: SassInstruction) -> bool:
    """Whether lanes may pass a branch: it has a predicate in front, or one among its operands (`BRA P1, L`,
    `BRA.DIV UR4, L`, `BRA.CONV ~URZ, L`)."""
    return branch.predicate is not None or "," in branch.operands
