"""Calls of the runtime that were refused for their pointers, in words: copies out of range, memory freed twice."""

from __future__ import annotations

from lanewise.emulator.memory import DeviceMemory
from lanewise.records import Allocation, Finding, Severity, SourceLine

_KINDS = ("host to host", "host to device", "device to host", "device to device", "default")
_DEVICE_SIDES = {1: ("destination",), 2: ("source",), 3: ("destination", "source")}  # of a cudaMemcpyKind


def refused(
    memory: DeviceMemory, call: str, to: int, source: int, size: int, kind: int, place: SourceLine | None
) -> Finding:
    """The finding for a call that returned cudaErrorInvalidValue. `size` 0: a free of `to`."""
    evidence = []
    if size == 0:
        message = f"{call} of {_what_is(memory, to)}"
        step = (
            "free each allocation once, by the pointer that its allocation returned, with the call that belongs to it"
        )
    else:
        wrong = [
            (side, address)
            for side, address in (("destination", to), ("source", source))
            if side in _DEVICE_SIDES.get(kind, ()) or memory.base <= address < memory.base + memory.size
        ]
        evidence = [
            f"the {side} is {why}"
            for side, address in wrong
            if (why := _does_not_fit(memory, address, size)) is not None
        ]
        message = f"{call} of {size:,} bytes, {_KINDS[kind] if kind < len(_KINDS) else kind}, is out of range"
        if any("host memory" in sentence for sentence in evidence):
            message = f"{call} of {size:,} bytes, {_KINDS[kind]}: host memory is given as device memory"
        step = "check the size in bytes, the order of the pointers, and the kind of the copy"
    return Finding("bounds", Severity.ERROR, message, source=place, evidence=tuple(evidence), next_step=step)


def _named(allocation: Allocation) -> str:
    name = f" {allocation.name!r}" if allocation.name else ""
    made = ""
    if allocation.made_at is not None:
        made = f", made at {allocation.made_at.outermost.file}:{allocation.made_at.outermost.line}"
    return f"allocation {allocation.id}{name} of {allocation.size:,} bytes{made}"


def _what_is(memory: DeviceMemory, address: int) -> str:
    found = memory.find(address)
    if found is not None:
        if found.base != address:
            return f"byte {address - found.base:,} of {_named(memory.describe(found))}, which is not its start"
        return f"{_named(memory.describe(found))}, of the kind {found.kind}"
    if (freed := memory.freed(address)) is not None:
        return f"memory that was freed before: {_named(freed)}"
    return "a pointer that no allocation of the device returned"


def _does_not_fit(memory: DeviceMemory, address: int, size: int) -> str | None:
    """What is wrong with one side of a copy; None where nothing is."""
    found = memory.find(address)
    if found is not None:
        over = address + size - found.end
        if over <= 0:
            return None
        return f"byte {address - found.base:,} of {_named(memory.describe(found))}: {over:,} bytes beyond its end"
    if (freed := memory.freed(address)) is not None:
        return f"in memory that was freed: {_named(freed)}"
    if memory.base <= address < memory.base + memory.size:
        near = memory.nearest(address)
        return "in no allocation" + (f"; the nearest is {_named(near)}" if near is not None else "")
    return "host memory" if address else "a null pointer"
