"""Bounds checks against an oracle: a launch faults if, and only if, some lane reaches for what is not there."""

from __future__ import annotations

from bounds import check


def test_faults_are_those_of_the_oracle() -> None:
    assert check(kernels=12, cases=60, seed=1) == []
