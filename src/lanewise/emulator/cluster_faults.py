"""What went wrong between the blocks of a cluster, in words, with the section of the PTX ISA that states the rule."""

from __future__ import annotations

from lanewise.emulator.layout import RANK_SHIFT, Fault

Words = tuple[str, str, tuple[str, ...], str | None]

_ARRIVE_THEN_WAIT = "let every thread execute barrier.cluster.arrive and barrier.cluster.wait in turn"
_BARRIER = {
    Fault.CLUSTER_ARRIVE: "a thread arrives at the cluster barrier again before it has waited (PTX ISA 9.7.13.3)",
    Fault.CLUSTER_WAIT: "a thread waits at the cluster barrier without having arrived (PTX ISA 9.7.13.3)",
}
_ADDRESS = {
    Fault.CLUSTER_RANK: (
        "{} in the shared memory of a block that the cluster does not have",
        "ranks go from 0 to the blocks of a cluster less 1 (PTX ISA 9.7.9.23)",
    ),
    Fault.CLUSTER_EXITED: (
        "{} in the shared memory of a block that has ended",
        "let the blocks of a cluster wait for each other (cluster.sync()) after the last such access",
    ),
    Fault.CLUSTER_BOUNDS: (
        "out-of-bounds {} in the shared memory of a block of the cluster",
        "check the index against the size of the array: an address of mapa is that of a byte of the other block "
        "(PTX ISA 9.7.9.23)",
    ),
    Fault.CLUSTER_MISALIGNED: (
        "misaligned {} in the shared memory of a block of the cluster",
        "an address must be a multiple of the bytes that are accessed",
    ),
}
CODES = frozenset((*_BARRIER, *_ADDRESS))


def rank(address: int) -> int:
    """The block that an address in shared::cluster belongs to; -1: the own one."""
    return (address >> RANK_SHIFT & 0xFF) - 1


def words(code: int, what: str, address: int) -> Words:
    """(check, message, evidence, next step); `what` is such as "read of 4 bytes", `address` one in shared::cluster."""
    if code in _BARRIER:
        return "barrier", _BARRIER[code], (), _ARRIVE_THEN_WAIT
    message, next_step = _ADDRESS[code]
    offset = address & (1 << RANK_SHIFT) - 1
    whose = "the own block" if rank(address) < 0 else f"the block of rank {rank(address)}"
    check = "misaligned" if code == Fault.CLUSTER_MISALIGNED else "bounds"
    return check, message.format(what), (f"byte {offset:,} of the shared memory of {whose}",), next_step


def beyond_own(address: int) -> str | None:
    """What to do about an address in another block's shared memory where only the own one is reached; else None."""
    if rank(address) < 0:
        return None
    return (
        f"the address lies in the shared memory of the block of rank {rank(address)}: access it as shared::cluster or "
        "through a generic address (PTX ISA 5.1.7)"
    )
