"""Races in words: two accesses of the same bytes, one of them a write, that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.checks.launched import CheckedLaunch
from lanewise.demangle import demangle
from lanewise.records import Finding, Severity, Space

FOUND_RACE = 1  # check.h
AS_ERROR, AS_UNORDERED, AS_SAME_VALUE, AS_NO_ACQUIRE = range(4)
_SEVERITY = {
    AS_ERROR: Severity.ERROR,
    AS_UNORDERED: Severity.WARNING,
    AS_SAME_VALUE: Severity.NOTE,
    AS_NO_ACQUIRE: Severity.WARNING,
}
_NOUN = {"read": "read", "write": "write", "atomic": "atomic access"}
_WHY = {
    AS_ERROR: "nothing orders the two: no barrier, no fence with an atomic, no end of the kernel lies between them",
    AS_UNORDERED: (
        "not ordered by the PTX memory model: the threads are lanes of one warp, kept apart only by lockstep, a "
        "shuffle or a vote"
    ),
    AS_SAME_VALUE: "nothing orders the two, but both write the same value",
    AS_NO_ACQUIRE: (
        "not ordered by the PTX memory model: an atomic or a flag was read in between, but no fence lies after it, so "
        "the data may still be read from a cache as it was before"
    ),
}


def findings(launched: CheckedLaunch, found: npt.NDArray[np.void]) -> Iterator[Finding]:
    """One for each pair of source lines and way of being unordered."""
    for raw in found:
        if raw["what"] == FOUND_RACE and not _is_nowhere(launched, raw):
            yield _finding(launched, raw)


def _is_nowhere(launched: CheckedLaunch, raw: Any) -> bool:
    """Whether the bytes are of no allocation: both accesses are out of bounds, which is told as that."""
    if launched.start.info.sites[int(raw["now"]["site"])].space == Space.SHARED:
        return False
    address = int(raw["address"])
    in_memory = launched.memory.base <= address < launched.memory.base + launched.memory.size
    return in_memory and launched.memory.find(address) is None and launched.memory.freed(address) is None


def _finding(launched: CheckedLaunch, raw: Any) -> Finding:
    now, before = raw["now"], raw["before"]
    how = int(raw["how"])
    site = launched.start.info.sites[int(now["site"])]
    space = site.space
    place = launched.place(int(now["line"]))
    here, there = launched.side(now), launched.side(before)
    scope = _scope(now, before)
    first, second = _NOUN[there.did], _NOUN[here.did]
    kind = {AS_SAME_VALUE: "same-value write", AS_UNORDERED: "unordered access", AS_NO_ACQUIRE: "unordered access"}.get(
        how, "race"
    )
    pair = f"{first} and {second}" if first != second else f"two {first}s"
    if first.endswith("access") and first == second:
        pair = "two atomic accesses"
    line = f" (the other at line {there.line})" if there.line not in (None, here.line) else ""
    times = int(raw["times"])
    evidence = [
        f"{second} by {_who(here)}",
        f"{first} before it by {_who(there)}" + (f", line {there.line}" if there.line is not None else ""),
        _bytes(launched, raw, space),
        _WHY[how],
        "the verdict holds for the order of atomics and locks in this run"
        if raw["by_order"]
        else "the verdict is the same for every schedule",
    ]
    if times > 1:
        evidence.append(f"{times:,} words or accesses in this launch")
    return Finding(
        "race",
        _SEVERITY[how],
        f"{kind}: {pair} of {space.value} memory by threads {scope}{line}",
        launched.kernel,
        place.source,
        None if place.source else place.ptx_line,
        here.thread,
        here.block,
        tuple(evidence),
        _next_step(how, scope),
        (here, there),
    )


def _scope(now: Any, before: Any) -> str:
    if now["block"] != before["block"]:
        return "of different blocks"
    if now["warp"] != before["warp"]:
        return "of one block"
    return "of one warp"


def _who(side: Any) -> str:
    thread = f"thread {side.thread}" if side.thread is not None else "another thread"
    return f"{thread} of block {side.block}"


def _bytes(launched: CheckedLaunch, raw: Any, space: Space) -> str:
    address = int(raw["address"])
    if space == Space.SHARED or address < launched.memory.base:
        arrays = [a for a in launched.start.info.shared_arrays if a[1] <= address]
        if not arrays:
            return f"byte {address} of shared memory"
        name, start, _ = max(arrays, key=lambda a: a[1])
        return f"byte {address - start} of {demangle(name)!r}"
    allocation = launched.memory.find(address)
    if allocation is None:
        return f"address {address:#x}"
    allocation = launched.memory.describe(allocation)
    name = f" {allocation.name!r}" if allocation.name else ""
    return f"byte {address - allocation.base:,} of allocation {allocation.id}{name} of {allocation.size:,} bytes"


def _next_step(how: int, scope: str) -> str:
    if how == AS_SAME_VALUE:
        return "let one thread write, or make the write an atomic, if it is meant"
    if how == AS_NO_ACQUIRE:
        return "put __threadfence() after the atomic or the flag, before the data is read"
    if scope == "of one warp":
        return "put __syncwarp() between the two"
    if scope == "of one block":
        return "put __syncthreads() between the two, or use atomics"
    return "use atomics, order the blocks by a flag with __threadfence() on both sides, or split the kernel"
