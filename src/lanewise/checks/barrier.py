"""Barriers in words: threads that wait at different ones or never come, wrong masks of warp-level operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.checks.launched import CheckedLaunch, line_of
from lanewise.emulator.launch import FaultReport
from lanewise.emulator.unit import PLACE_BASE
from lanewise.records import Finding, Severity, Side

FOUND_ARMS, FOUND_PLACES, FOUND_EXITED, FOUND_MASK, FOUND_ABSENT = range(2, 7)  # check.h
_SAME = "every thread of the block that has not returned must come to the same barrier: move it out of the branch"


def findings(
    launched: CheckedLaunch, found: npt.NDArray[np.void], fault: FaultReport | None, fault_finding: Finding | None
) -> Iterator[Finding]:
    """One for each pair of barriers; a deadlock is told with the pair that caused it, or for itself."""
    pairs: set[frozenset[int]] = set()
    result: list[Finding] = []
    exited: list[Any] = []  # of no interest where the threads that came were not all either
    for raw in sorted(found, key=lambda raw: int(raw["what"])):
        what = int(raw["what"])
        lines = frozenset((int(raw["now"]["line"]), int(raw["before"]["line"])))
        if what in (FOUND_ARMS, FOUND_PLACES):
            if lines not in pairs:
                pairs.add(lines)
                result.append(_pair(launched, raw, what))
        elif what == FOUND_ABSENT:
            if not any(int(raw["now"]["line"]) in pair for pair in pairs):
                result.append(_absent(launched, raw))
        elif what == FOUND_EXITED:
            exited.append(raw)
        elif what == FOUND_MASK:
            result.append(_mask(launched, raw))
    result += [_exited(launched, raw) for raw in exited if not any(int(raw["now"]["line"]) in pair for pair in pairs)]
    if fault_finding is not None:
        deadlock = fault is not None and fault.code == 0 and fault_finding.check == "barrier"
        worst = next((n for n, f in enumerate(result) if f.severity is Severity.ERROR), None)
        if not deadlock:
            result.append(fault_finding)
        elif worst is not None:
            result[worst] = replace(
                result[worst], evidence=(*result[worst].evidence, f"deadlock: {fault_finding.message}")
            )
        else:
            assert fault is not None
            result.append(replace(fault_finding, sides=_waiting(launched, fault)))
    yield from result


def _waiting(launched: CheckedLaunch, fault: FaultReport) -> tuple[Side, ...]:
    """The places that threads wait at, one side each."""
    sides: dict[tuple[str | None, int | None], Side] = {}
    for warp, _, place in fault.waiting:
        _, _, source = launched.start.info.places[place - PLACE_BASE]
        file, line = (source.outermost.file, source.outermost.line) if source else (None, None)
        sides.setdefault((file, line), Side(file, line, "wait", launched.thread(warp, 0), fault.block))
    return tuple(sides.values())


def _of(launched: CheckedLaunch, raw: Any, severity: Severity, message: str, evidence: tuple[str, ...],
        next_step: str, sides: tuple[Side, ...] = ()) -> Finding:  # fmt: skip
    now = raw["now"]
    place = launched.place(int(now["line"]))
    return Finding(
        "barrier",
        severity,
        message,
        launched.kernel,
        place.source,
        None if place.source else place.ptx_line,
        launched.thread(int(now["warp"]), int(now["lane"])),
        launched.block(int(now["block"])),
        evidence,
        next_step,
        sides,
    )


def _line(launched: CheckedLaunch, side: Any) -> str:
    place = launched.place(int(side["line"]))
    return line_of(place.source, place.ptx_line)


def _pair(launched: CheckedLaunch, raw: Any, what: int) -> Finding:
    now, before = raw["now"], raw["before"]
    one, other = _line(launched, before), _line(launched, now)
    whose = "of one warp" if what == FOUND_ARMS else "of one block"
    return _of(
        launched,
        raw,
        Severity.ERROR,
        f"threads {whose} wait at different barriers: {one} and {other}",
        (
            f"{launched.who(int(before['warp']), int(raw['seen_mask']), 1)} at {one}",
            f"{launched.who(int(now['warp']), int(raw['mask']), 1)} at {other}",
        ),
        _SAME,
        (launched.side(before), launched.side(now)),
    )


def _absent(launched: CheckedLaunch, raw: Any) -> Finding:
    now = raw["now"]
    return _of(
        launched,
        raw,
        Severity.ERROR,
        f"only some threads of a warp come to the barrier of {_line(launched, now)}",
        (
            f"{launched.who(int(now['warp']), int(raw['mask']), 1)} came",
            f"{launched.who(int(now['warp']), int(raw['seen_mask']), 1)} have not returned, but never come",
        ),
        _SAME,
    )


def _exited(launched: CheckedLaunch, raw: Any) -> Finding:
    gone = raw["before"]
    who = launched.who(int(gone["warp"]), int(raw["seen_mask"]), 1)
    return _of(
        launched,
        raw,
        Severity.WARNING,
        f"some threads had returned before the barrier of {_line(launched, raw['now'])}",
        (
            f"{who} of block {launched.block(int(gone['block']))}",
            "the barrier waits for the threads that are left; what those that returned wrote is not ordered by it",
        ),
        "let all threads come to the barrier: guard the work, not the barrier, with the condition",
    )


def _mask(launched: CheckedLaunch, raw: Any) -> Finding:
    now = raw["now"]
    mask, named = int(raw["mask"]), int(raw["seen_mask"])
    outside = not mask & named
    message = (
        "a thread calls a warp-level operation with a mask that leaves it out"
        if outside
        else "a warp-level operation waits for threads that do not come to it"
    )
    return _of(
        launched,
        raw,
        Severity.ERROR,
        message,
        (
            f"{launched.who(int(now['warp']), mask, 1)} {'are not in' if outside else 'are in'} the mask {named:#010x}"
            + ("" if outside else " and have not returned"),
        ),
        "name exactly the threads that come to it: compute the mask with __ballot_sync() before the branch",
    )
