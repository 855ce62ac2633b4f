"""What PTX computes does not depend on the machine code, whose listing takes half a second a module."""

from __future__ import annotations

from typing import NoReturn

import pytest

from lanewise.errors import EnvironmentProblem
from lanewise.sass import listing


def _none(cubin: bytes) -> NoReturn:
    raise EnvironmentProblem("machine code is not listed here")


@pytest.fixture(autouse=True)
def _ptx_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of what machine code changes (counts, what is counted beside the program) are marked `machine_code`."""
    if request.node.get_closest_marker("machine_code") is None:
        monkeypatch.setattr(listing, "listing", _none)
