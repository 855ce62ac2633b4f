"""Bit for bit what a GPU gives: every instruction whose bits are specified, on the operands of `instructions.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from card import digest
from harness import run
from instructions import ROWS, Case, all_cases

TRUTH = json.loads((Path(__file__).parent / "h200.json").read_text())
CASES = [case for case in all_cases() if case.against == "card" and case.arch <= 90]


def test_same_operands() -> None:
    assert TRUTH["rows"] == ROWS
    assert set(TRUTH["digests"]) == {case.id for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_card(case: Case) -> None:
    _, results = run(case)
    given = [result.tobytes() for result in results]
    assert digest(case, given) == TRUTH["digests"][case.id], (
        f"{case.id} differs from {TRUTH['device']}; card.py writes all results of a GPU to compare with"
    )
