"""Kernels of `programs/*.cu` that say themselves how they are launched and what is wrong with them.

    // launch: <<<2, 64, 0>>> int[100] iota[8] 7 null
    __global__ void name(int* a, int* b, int n, int* p) {
      a[threadIdx.x] = 0;  // expect: race, race warning

An argument is an array (zeros; `iota` counts up, `unset` was never written), a number or a null pointer. Each
expectation is a check and a severity (error where none is said) that a finding must have with this line on one of its
sides; others than notes must be expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lanewise
from lanewise.records import Finding

FOLDER = Path(__file__).parent / "programs"
_KERNEL = re.compile(r"^// launch: <<<([\d, ]+)>>> ?(.*)\n(?:__launch_bounds__.*\n)?__global__ void (\w+)", re.M)
_EXPECT = re.compile(r"// expect: ([\w ,]+)$")
_TYPES = {"unset": np.int32, "int": np.int32, "iota": np.int32, "float": np.float32, "char": np.int8}


@dataclass(frozen=True)
class Expected:
    check: str
    severity: str
    line: int


@dataclass(frozen=True)
class Case:
    """One kernel: where it is, `<<<configuration>>>`, its arguments as written, what is expected of it."""

    file: str
    kernel: str
    configuration: tuple[int, ...]
    arguments: tuple[str, ...]
    expected: tuple[Expected, ...]

    @property
    def clean(self) -> bool:
        return all(expected.severity == "note" for expected in self.expected)


def cases(file: str) -> list[Case]:
    text = (FOLDER / file).read_text()
    starts = list(_KERNEL.finditer(text))
    result = []
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        first = text.count("\n", 0, match.start()) + 1
        expected = []
        for line, content in enumerate(text[match.start() : end].split("\n"), start=first):
            if (found := _EXPECT.search(content)) is not None:
                for item in found[1].split(","):
                    check, _, severity = item.strip().partition(" ")
                    expected.append(Expected(check, severity or "error", line))
        configuration = tuple(int(part) for part in match[1].split(","))
        result.append(Case(file, match[3], configuration, tuple(match[2].split()), tuple(expected)))
    return result


def all_cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.cu")) for case in cases(path.name)]


@cache
def module(file: str) -> lanewise.Module:
    return lanewise.compile((FOLDER / file).read_text())


def argument(word: str) -> Any:
    if word == "null":
        return None
    if "[" not in word:
        return int(word)
    kind, count = word.rstrip("]").split("[")
    values = np.zeros(int(count), _TYPES[kind])
    if kind == "unset":
        return lanewise.unset(values)
    return np.arange(len(values), dtype=values.dtype) if kind == "iota" else values


def check(case: Case) -> tuple[Finding, ...]:
    kernel = module(case.file)[case.kernel]
    return kernel[case.configuration].check(*map(argument, case.arguments)).findings


def lines_of(finding: Finding) -> set[int]:
    return {line for line in (finding.line, *(side.line for side in finding.sides)) if line is not None}


def disagreements(case: Case, findings: tuple[Finding, ...]) -> list[str]:
    """What was expected and not found, found and not expected."""
    wrong = []
    for e in case.expected:
        if not any(f.check == e.check and f.severity == e.severity and e.line in lines_of(f) for f in findings):
            wrong.append(f"line {e.line}: no {e.check} {e.severity}")
    for f in findings:
        if f.severity == "note":
            continue
        if not any(f.check == e.check and f.severity == e.severity and e.line in lines_of(f) for e in case.expected):
            wrong.append(f"unexpected {f.severity} at lines {sorted(lines_of(f))}: {f.message} {f.evidence}")
    return wrong
