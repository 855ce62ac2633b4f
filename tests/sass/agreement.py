"""Counts of machine instructions beside those of the card, and how many agree: what test_truth.py asserts on."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanewise.records import Access, LaunchRecord, Space
from lanewise.request import RunRequest
from lanewise.session import run_program

TRUTH = Path(__file__).parents[1] / "truth"
FLAGS = ("-O1", "-lineinfo", "-std=c++17")  # of the host code: the device code is the same at any level
SPACES = {"g": Space.GLOBAL, "s": Space.SHARED, "l": Space.LOCAL}


@dataclass
class Agreement:
    """Values compared and equal: of single machine instructions by class of memory and name, and summed by source line
    and kind of access. `misses` are by case."""

    compared: Counter[tuple[str, str]] = field(default_factory=Counter)
    equal: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    lines_equal: Counter[str] = field(default_factory=Counter)
    cases: Counter[str] = field(default_factory=Counter)
    misses: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def table(self) -> str:
        """Rows of class, value, equal, of; then the sums by line, and the first misses."""
        rows = [f"{'':>8} {'value':<16} {'equal':>6} {'of':>6}"]
        rows += [f"{m:>8} {n:<16} {self.equal[m, n]:6} {count:6}" for (m, n), count in self.compared.items()]
        rows += [f"{m:>8} {'sums by line':<16} {self.lines_equal[m]:6} {count:6}" for m, count in self.lines.items()]
        return "\n".join([*rows, *(f"{case}: {miss}" for case, found in self.misses.items() for miss in found[:2])])


def truth(program: str) -> dict[str, dict[str, Any]]:
    """What the card counted, by case."""
    cases: dict[str, dict[str, Any]] = json.loads((TRUTH / f"h200_{program}_machine.json").read_text())["cases"]
    return cases


def launches(program: str, only: tuple[str, ...] = ()) -> dict[str, LaunchRecord]:
    """The launches of a program of `tests/truth`, by case."""
    result = run_program(RunRequest(inputs=(TRUTH / f"{program}.cu",), flags=FLAGS, arguments=only))
    assert result.exit_code == 0, result.findings
    known = [case for case in truth(program) if not only or case in only]
    assert len(result.launches) == len(known)
    return dict(zip(known, result.launches, strict=True))


def compare(program: str, found: dict[str, LaunchRecord]) -> Agreement:
    """Every value of every memory instruction of these launches."""
    agreement = Agreement()
    for case, launch in found.items():
        _compare(agreement, case, launch, truth(program)[case])
    return agreement


def _compare(agreement: Agreement, case: str, launch: LaunchRecord, card: dict[str, Any]) -> None:
    ours: dict[int, list[Access]] = defaultdict(list)
    for access in launch.accesses:
        if access.sass_offset is not None:
            ours[access.sass_offset].append(access)
    sums: dict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0, 0])
    for offset, kind, line, *counted in card["accesses"]:
        space = SPACES[kind[0]]
        memory = "atomic" if kind.endswith("a") else str(space)
        mine = ours[offset]
        values = (
            max((a.requests for a in mine), default=0),
            max((a.threads for a in mine), default=0),
            *(
                sum(getattr(a, name) or 0 for a in mine if a.space == space)
                for name in (
                    ("wavefronts", "wavefronts_ideal") if space == Space.SHARED else ("sectors", "sectors_ideal")
                )
            ),
        )
        cost = "wavefronts" if space == Space.SHARED else "sectors"
        for name, value, theirs in zip(("executions", "threads", cost, f"{cost}_ideal"), values, counted, strict=False):
            agreement.compared[memory, name] += 1
            agreement.equal[memory, name] += value == theirs
            agreement.cases[case] += 1
            if value != theirs:
                text = mine[0].sass if mine else "not found"
                agreement.misses[case].append(f"{offset:#x} {text} {name}: {value}, on the card {theirs}")
            total = sums[memory, line, name]
            total[0] += value
            total[1] += theirs
    for (memory, _, _), (value, theirs) in sums.items():
        agreement.lines[memory] += 1
        agreement.lines_equal[memory] += value == theirs
