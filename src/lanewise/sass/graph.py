"""Dominance between machine blocks, as bit sets: small, and fast enough for kernels of thousands of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.sass.blocks import MachineBlock


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


def in_loops(blocks: Sequence[MachineBlock]) -> list[bool]:
    """Whether each block can be reached from itself."""
    reach = [0] * len(blocks)
    for block in blocks:
        for target in block.successors:
            reach[block.index] |= 1 << target
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            mask = reach[block.index]
            for target in block.successors:
                mask |= reach[target]
            if mask != reach[block.index]:
                reach[block.index] = mask
                changed = True
    return [bool(reach[block.index] >> block.index & 1) for block in blocks]
