"""Asynchronous copies: what their machine instructions were counted to do, against what an H200 counted.

`tests/truth/async_copies.cu` is 244 launches of one warp and three of a kernel with two stages, `async_fills.cu` 56 of
copies that fill with zeros, `bulk_copies.cu` 52 of bulk copies and mbarriers.
"""

from __future__ import annotations

import json

import pytest
from agreement import FLAGS, TRUTH, compare, launches, truth

from lanewise.request import RunRequest
from lanewise.session import run_program


@pytest.mark.parametrize(("program", "most"), [("async_copies", 500), ("async_fills", 110)])
def test_asynchronous_copies(program: str, most: int) -> None:
    found = launches(program)
    agreement = compare(program, found)
    assert agreement.compared["global", "sectors"] > most
    assert agreement.compared["shared", "wavefronts"] > most
    assert agreement.equal == agreement.compared, agreement.table()
    card = truth(program)
    ours = {case: (launch.instructions, launch.thread_instructions) for case, launch in found.items()}
    assert ours == {case: (card[case]["instructions"], card[case]["thread_instructions"]) for case in found}


def test_bulk_copies() -> None:
    """Sectors of launches in the second-level cache. Of loads that lie askew the card counted a few less."""
    card = json.loads((TRUTH / "h200_bulk_copies.json").read_text())["cases"]
    result = run_program(RunRequest(inputs=(TRUTH / "bulk_copies.cu",), flags=FLAGS))
    assert result.exit_code == 0, result.findings
    off = []
    for (case, counted), launch in zip(card.items(), result.launches, strict=True):
        sectors = sum(a.sectors or 0 for a in launch.accesses if a.basis == "sass")
        assert (launch.instructions, launch.thread_instructions) == (
            counted["instructions"],
            counted["thread_instructions"],
        ), case
        if sectors != counted["sectors"]:
            off.append(case)
            assert case.startswith("load"), case
            assert counted["sectors"] < sectors < 1.06 * counted["sectors"] + 1, case
    assert len(off) <= 6, off
