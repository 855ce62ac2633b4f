"""Dominance between machine blocks, as bit sets: small, and fast enough for kernels of thousands of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanewise.sass.blocks import MachineBlock

NEAR = 32  # blocks on each side that are looked at for one with known executions
FAR = 512  # dominators that are looked at for one that is passed together with a block


def dominators(count: int, entry: int, successors: Sequence[Sequence[int]]) -> list[int]:
    """For each node the bit set of nodes on every path from `entry` to it, itself included; 0: no path."""
    order: list[int] = []
    seen = {entry}
    stack = [(entry, iter(successors[entry]))]
    while stack:
        node, rest = stack[-1]
        target = next((t for t in rest if t not in seen), None)
        if target is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(successors[target])))
    order.reverse()
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for node in order:
        for target in successors[node]:
            predecessors[target].append(node)
    everything = (1 << count) - 1
    result = [everything if node in seen else 0 for node in range(count)]
    result[entry] = 1 << entry
    changed = True
    while changed:
        changed = False
        for node in order:
            if node == entry:
                continue
            mask = everything
            for before in predecessors[node]:
                mask &= result[before]
            mask |= 1 << node
            if mask != result[node]:
                result[node] = mask
                changed = True
    return result


def post_dominators(blocks: Sequence[MachineBlock]) -> list[int]:
    """For each block the bit set of blocks on every path from it to the end of its function."""
    count = len(blocks)
    reverse: list[list[int]] = [list(block.predecessors) for block in blocks]
    reverse.append([block.index for block in blocks if block.leaves or not block.successors])
    return [mask & ((1 << count) - 1) for mask in dominators(count + 1, count, reverse)[:count]]


def bits(mask: int) -> Iterator[int]:
    """Numbers of the bits of a set, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def nearest(mask: int, index: int) -> Iterator[int]:
    """Numbers of the bits of a set below and above `index`, turn by turn outwards; not itself, and not far ones."""
    below, above = mask & ((1 << index) - 1), mask >> (index + 1)
    for _ in range(NEAR):
        if below:
            number = below.bit_length() - 1
            yield number
            below ^= 1 << number
        if above:
            low = above & -above
            yield index + low.bit_length()
            above ^= low


def _peers(dominators: Sequence[int], post_dominators: Sequence[int]) -> list[int]:
    """Classes of blocks that are passed together: found by going up the dominators of each."""
    by_mask = {mask: index for index, mask in enumerate(dominators) if mask}
    leader = list(range(len(dominators)))
    for index in sorted(range(len(dominators)), key=lambda n: dominators[n].bit_count()):
        above = by_mask.get(dominators[index] & ~(1 << index))
        for _ in range(FAR):
            if above is None:
                break
            if post_dominators[above] >> index & 1:
                leader[index] = leader[above]
                break
            above = by_mask.get(dominators[above] & ~(1 << above))
    classes: dict[int, int] = {}
    for index, first in enumerate(leader):
        classes[first] = classes.get(first, 0) | 1 << index
    return [classes[first] for first in leader]


@dataclass(frozen=True, slots=True)
class Shape:
    """Dominators and post-dominators of the blocks of a section, within each of its functions."""

    dominators: list[int]
    post_dominators: list[int]
    heads: dict[str, int]  # first block of each function
    loops: tuple[tuple[int, int], ...]  # (bit set of blocks, head) of every natural loop, smallest first
    peers: list[int]  # for each block the bit set of those that whatever passes it passes too, before or after
    inside: list[int]  # for each block the bit set of those that are in all of its loops

    @classmethod
    def of(cls, blocks: Sequence[MachineBlock]) -> Shape:
        heads = {block.function: block.index for block in reversed(blocks)}
        successors = [block.successors for block in blocks]
        masks = [0] * len(blocks)
        for head in heads.values():
            for index, mask in enumerate(dominators(len(blocks), head, successors)):
                if mask:
                    masks[index] = mask
        post = post_dominators(blocks)
        loops = _natural_loops(blocks, masks)
        inside = [-1] * len(blocks)
        for mask, _ in loops:
            for index in bits(mask):
                inside[index] &= mask
        return cls(masks, post, heads, loops, _peers(masks, post), inside)

    def depth(self, block: int) -> int:
        """Loops that hold a block."""
        return sum(mask >> block & 1 for mask, _ in self.loops)

    def equivalent(self, first: int, second: int) -> bool:
        """Whether whatever passes one block passes the other too."""
        return bool(self.peers[first] >> second & 1)


def _natural_loops(blocks: Sequence[MachineBlock], dominators: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(bit set of blocks, head) of every machine loop, smallest first; loops with one head are one."""
    bodies: dict[int, int] = {}
    for block in blocks:
        for head in block.successors:
            if dominators[block.index] >> head & 1:
                bodies[head] = bodies.get(head, 1 << head) | _body(blocks, head, block.index)
    return tuple(
        sorted(((mask, head) for head, mask in bodies.items()), key=lambda loop: (loop[0].bit_count(), loop[1]))
    )


def _body(blocks: Sequence[MachineBlock], head: int, tail: int) -> int:
    mask = 1 << head
    pending = [tail]
    while pending:
        number = pending.pop()
        if not mask >> number & 1:
            mask |= 1 << number
            pending.extend(blocks[number].predecessors)
    return mask
