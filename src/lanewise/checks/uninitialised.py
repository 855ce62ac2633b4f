"""Uninitialised values in words: what decided a branch or an address, or left the kernel, and was never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.checks.launched import CheckedLaunch, made_at
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import Finding, Severity, SourceLine

FOUND_UNDEFINED = 8  # check.h
_WHAT = ("a branch hangs on an uninitialised value", "an address is made of an uninitialised value")
_NEXT = "write the memory or the variable before it is read: not all threads, or not all elements, did"


def findings(launched: CheckedLaunch, found: npt.NDArray[np.void]) -> Iterator[Finding]:
    """One for each line and kind of decision."""
    for raw in found:
        if raw["what"] != FOUND_UNDEFINED:
            continue
        now = raw["now"]
        place = launched.place(int(now["line"]))
        block = launched.block(int(now["block"]))
        who = launched.who(int(now["warp"]), int(raw["mask"]), int(raw["lanes"]))
        yield Finding(
            "uninitialised",
            Severity.ERROR,
            _WHAT[int(raw["how"])],
            launched.kernel,
            place.source,
            None if place.source else place.ptx_line,
            launched.thread(int(now["warp"]), int(now["lane"])),
            block,
            (f"{who}; the first are of block {block}",),
            _NEXT,
        )


def leaving(
    launched: CheckedLaunch | None,
    writer: Any,
    address: int,
    memory: DeviceMemory,
    copied_at: Callable[[], SourceLine | None] | None,
) -> Finding:
    """The finding for an undefined byte that is copied to the host. `writer`: the store that left it so, where a store
    of the last launch did; `copied_at`: the line of the copy."""
    allocation = memory.find(address)
    evidence = [f"address {address:#x}"]
    if allocation is not None:
        allocation = memory.describe(allocation)
        name = f" {allocation.name!r}" if allocation.name else ""
        evidence = [
            f"byte {address - allocation.base:,} of allocation {allocation.id}{name} of {allocation.size:,} bytes"
        ]
        if (where := made_at(allocation)) is not None:
            evidence.append(where)
    copy = copied_at() if copied_at is not None else None
    if copy is not None:
        evidence.append(f"it is copied to the host at {copy.outermost.file}:{copy.outermost.line}")
    if launched is None or writer is None:
        message = "memory that was never written is copied to the host"
        place = copy or (allocation.made_at if allocation is not None else None)
        return Finding(
            "uninitialised", Severity.ERROR, message, source=place, evidence=tuple(evidence), next_step=_NEXT
        )
    site = launched.start.info.sites[int(writer["site"])]
    return Finding(
        "uninitialised",
        Severity.ERROR,
        "an uninitialised value leaves the kernel for the host",
        launched.kernel,
        site.source,
        site.ptx_line,
        launched.thread(int(writer["warp"]), int(writer["lane"])),
        launched.block(int(writer["block"])),
        (*evidence, "it was stored by this line"),
        _NEXT,
    )
