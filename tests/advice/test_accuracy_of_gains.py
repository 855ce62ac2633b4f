"""Promised gains against an H200: within a factor of 1.5, or named with the reason."""

from __future__ import annotations

import os

import accuracy_of_gains as gains
import pytest

NEAR = [pair for pair in gains.PAIRS if pair.name not in gains.NAMED and pair.name not in gains.SILENT]


@pytest.mark.parametrize("pair", NEAR, ids=lambda pair: pair.name)
def test_a_promise_is_near_what_the_card_gains(pair: gains.Pair) -> None:
    assert gains.is_near(pair), gains.gain(pair)


def test_what_is_named_is_outside() -> None:
    """A reason is not kept for a pair that has come within the factor."""
    for pair in gains.PAIRS:
        assert pair.name not in gains.NAMED or not gains.is_near(pair)
    assert gains.NAMED.keys() | gains.SILENT <= {pair.name for pair in gains.PAIRS}


@pytest.mark.parametrize("name", sorted(gains.SILENT))
def test_silence_is_right_where_the_card_gains_less_than_a_finding_needs(name: str) -> None:
    (pair,) = (pair for pair in gains.PAIRS if pair.name == name)
    card, said = gains.gain(pair)
    assert said is None
    assert round(1 - 1 / card, 2) <= 0.05


def test_the_page_is_made_from_the_promises() -> None:
    assert gains.PAGE.read_text(encoding="utf-8") == gains.page()


@pytest.mark.skipif("LANEWISE_FULL_TRUTH" not in os.environ, reason="takes a minute: `make truth`")
def test_the_promises_are_those_of_the_rules() -> None:
    committed = gains.promised()
    for case, findings in gains.run(list(committed)).items():
        assert findings.keys() == committed[case].keys(), case
        for rule, times in findings.items():
            assert times == pytest.approx(committed[case][rule], rel=1e-3), (case, rule)
