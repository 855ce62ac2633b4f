"""What PTX computes does not depend on the machine code: here it is listed where a test is about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest


@pytest.fixture(autouse=True)
def _listed_where_marked(
    request: pytest.FixtureRequest, ptx_alone: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    """Tests of what machine code changes (counts, what is counted beside the program) are marked `machine_code`."""
    if request.node.get_closest_marker("machine_code") is not None:
        yield
        return
    with ptx_alone():
        yield
