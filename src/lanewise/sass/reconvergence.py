"""How often BSYNC is issued: once for each group of lanes that arrives at it, where every other instruction of a block
is issued once for the lanes that are together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.sass.blocks import MachineBlock
from lanewise.sass.executions import Line, Solution
from lanewise.sass.opcodes import Flow

WARP = 32


def groups_at_barriers(
    blocks: Sequence[MachineBlock],
    solution: Solution,
    branches: Mapping[Line, tuple[int, int, int]],
    left: Mapping[int, int],
) -> dict[int, int]:
    """By block that ends in BSYNC, or is nothing but an EXIT, how often this was issued.

    `branches` are (warps, threads, divergent executions) of the branches of PTX; `left` the groups of lanes in which
    the machine loops of unrolled loops were left, for each of their blocks.
    """
    groups = _Groups(blocks, solution, branches, left)
    return {
        block.index: sum(groups.on_edge(before, block.index) for before in block.predecessors)
        for block in blocks
        if block.predecessors and (block.instructions[-1].flow == Flow.RECONVERGE or _only_ends(block))
    }


def _only_ends(block: MachineBlock) -> bool:
    """Whether a block is an EXIT that no barrier stands before: groups of lanes end there one by one."""
    return len(block.instructions) == 1 and block.instructions[0].flow == Flow.EXIT and not block.successors


class _Groups:
    def __init__(
        self,
        blocks: Sequence[MachineBlock],
        solution: Solution,
        branches: Mapping[Line, tuple[int, int, int]],
        left: Mapping[int, int],
    ) -> None:
        self.blocks, self.solution, self.branches, self.left = blocks, solution, branches, left

    def on_edge(self, source: int, target: int) -> int:
        """Groups of lanes that go from a block to one that follows it."""
        threads = self.solution.edges[source, target]
        ran = self.solution.blocks[source]
        if threads in (0, ran.threads):
            return ran.warps if threads else 0
        if source in self.left:
            return self.left[source]
        others = [t for t in self.blocks[source].successors if t != target]
        other = self._alone(source, others[0]) if len(others) == 1 else None
        if other is None:
            return max(min(ran.warps, threads), -(-threads // WARP))
        split = self._divergent(source)
        if split is None:  # whole warps part from whole warps, or lanes from lanes
            whole = ran.threads == WARP * ran.warps and ran.threads - threads == WARP * other
            split = 0 if whole else other
        return max(min(ran.warps + split - other, ran.warps, threads), -(-threads // WARP))

    def _alone(self, source: int, target: int) -> int | None:
        """Groups that go to a block which is reached from nowhere else, or back to the head of the block's own loop."""
        if self.blocks[target].predecessors == (source,):
            return self.solution.blocks[target].warps
        if target <= source:
            outside = [p for p in self.blocks[target].predecessors if p != source]
            if len(outside) == 1:
                return self.solution.blocks[target].warps - self.on_edge(outside[0], target)
        return None

    def _divergent(self, source: int) -> int | None:
        """Executions of the branch at a block's end in which lanes went both ways, where it is one of PTX."""
        last = self.blocks[source].instructions[-1]
        found = self.branches.get((last.module, last.ptx_line or 0))
        ran = self.solution.blocks[source]
        if found is None or found[:2] != (ran.warps, ran.threads):
            return None
        return found[2]
