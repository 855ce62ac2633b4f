"""Accesses outside of what they may touch: refused ones (as faults of a card), and those that leave their variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.checks.launched import CheckedLaunch, made_at
from lanewise.demangle import demangle
from lanewise.emulator import faults
from lanewise.emulator.launch import FaultReport
from lanewise.emulator.layout import Fault
from lanewise.emulator.unit import PLACE_BASE
from lanewise.records import AccessKind, Finding, Severity

FOUND_FAULT, FOUND_RANGE = 0, 7  # check.h
_VERBS = {AccessKind.LOAD: "read", AccessKind.STORE: "write", AccessKind.ATOMIC: "atomic access"}


def findings(launched: CheckedLaunch, found: npt.NDArray[np.void]) -> Iterator[Finding]:
    """One for each instruction that left its bounds."""
    refused = {int(raw["now"]["site"]) for raw in found if raw["what"] == FOUND_FAULT}
    for raw in found:
        if raw["what"] == FOUND_FAULT:
            yield _refused(launched, raw)
        elif raw["what"] == FOUND_RANGE and int(raw["now"]["site"]) not in refused:
            yield _range(launched, raw)


def _refused(launched: CheckedLaunch, raw: Any) -> Finding:
    side = raw["now"]
    report = FaultReport(
        int(raw["code"]),
        int(side["site"]),
        int(raw["mask"]),
        tuple(int(address) for address in raw["addresses"]),
        int(raw["bytes"]),
        launched.block(int(side["block"])) or (0, 0, 0),
        int(side["warp"]),
    )
    start = launched.start
    finding = faults.finding(report, start.info, launched.kernel, start.block, launched.memory)
    evidence = [_total(launched, raw), *finding.evidence[1:]]
    if report.code == Fault.BOUNDS and report.site < PLACE_BASE:
        address = report.addresses[(report.lanes & -report.lanes).bit_length() - 1]
        near = launched.memory.freed(address) or launched.memory.nearest(address)
        if near is not None and (where := made_at(near)) is not None:
            evidence.append(where)
    return replace(finding, check="bounds", evidence=tuple(evidence))


def _total(launched: CheckedLaunch, raw: Any) -> str:
    side = raw["now"]
    who = launched.who(int(side["warp"]), int(raw["mask"]), int(raw["lanes"]))
    return f"{who}; the first are of block {launched.block(int(side['block']))}"


def _range(launched: CheckedLaunch, raw: Any) -> Finding:
    side = raw["now"]
    site = launched.start.info.sites[int(side["site"])]
    assert site.range is not None
    low, high = site.range
    if high < 0:
        high = launched.start.info.static_shared + launched.start.dynamic_shared
    size = int(raw["bytes"])
    lane = int(side["lane"])
    offset = int(raw["addresses"][lane])
    offset -= (1 << 32) if offset >> 31 & 1 else 0
    array = f"{demangle(site.root)!r}" if site.root and not site.root.startswith("__local") else "the stack frame"
    what = f"{_VERBS[site.kind]} of {size} byte{'s' if size > 1 else ''}"
    first, last = (offset - low) // size, (high - low) // size - 1
    return Finding(
        "bounds",
        Severity.ERROR,
        f"out-of-bounds {what} in {site.space.value} memory {array}",
        launched.kernel,
        site.source,
        site.ptx_line,
        launched.thread(int(side["warp"]), lane),
        launched.block(int(side["block"])),
        (
            _total(launched, raw),
            f"byte {offset - low} from the start of {array}, which has {high - low} bytes",
            f"as elements of {size} bytes: index {first}; valid are 0 to {last}",
        ),
        "check the index against the size",
    )
