"""Matrix instructions against the registers that an H200 gave (`h200_matrices.json`: a digest a case).

A fifth of the cases runs here, every instruction among them; LANEWISE_FULL_TRUTH=1 runs all.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matrices import HEADER, Bytes, Case, all_cases, kernel, make
from matrices_card import digest

import lanewise

CARD: dict[str, str] = json.loads((Path(__file__).parent / "h200_matrices.json").read_text())
FULL = os.environ.get("LANEWISE_FULL_TRUTH") == "1"
CASES = all_cases() if FULL else all_cases()[::5]


@cache
def module() -> lanewise.api.Module:
    return lanewise.compile(HEADER + "".join(map(kernel, CASES)))


def emulated(case: Case) -> Bytes:
    """The registers that a case writes, or the memory."""
    registers, memory = (part.copy() for part in make(case))
    count, bits = case.output
    output = np.zeros(max(16, case.blocks * count * bits // 8 * case.threads), np.uint8)
    module()[case.name][case.blocks, case.threads](registers, output, memory)
    return memory if case.kind == "store" else output


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_registers_are_those_of_the_card(case: Case) -> None:
    assert digest(case, emulated(case)) == CARD[case.name]


def test_every_case_was_run_on_the_card() -> None:
    assert sorted(CARD) == sorted(case.name for case in all_cases())
