"""Atomics that ptxas joins: where all lanes of a warp add to one address, one lane adds what they have together."""

from __future__ import annotations

from lanewise.records import AccessKind
from lanewise.sass.executions import Line
from lanewise.sass.kernel import MachineKernel

_ELECTS = frozenset(("UFLO", "FLO"))  # the first lane of those that a vote found


def joined_atomics(machine: MachineKernel) -> frozenset[Line]:
    """Lines of PTX whose atomic is predicated in machine code and stands behind the election of a lane in its block."""
    found = set()
    for access in machine.accesses:
        memory = access.instruction.memory
        if access.line is None or access.instruction.predicate is None or memory is None:
            continue
        if memory[1] != AccessKind.ATOMIC:
            continue
        before = [i.name for i in machine.blocks[access.block].instructions if i.offset < access.instruction.offset]
        if _ELECTS & set(before) and any(name.startswith(("VOTE", "MATCH")) for name in before):
            found.add(access.line)
    return frozenset(found)
