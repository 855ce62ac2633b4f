"""Devices beside each other: the table, and which devices may share a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len
from samples import transposes

from lanewise.catalogue import catalogue
from lanewise.report.side_by_side import side_by_side
from lanewise.side_by_side import asks_for_the_device


def test_a_row_a_kernel_and_a_column_a_device() -> None:
    one = transposes()
    timed = replace(
        one, device="Card A", launches=tuple(replace(n, time_us=5.0 + n.id, bound="DRAM") for n in one.launches)
    )
    unknown = replace(one, device="Card B", launches=one.launches[:1])
    lines = side_by_side([timed, unknown], [("Card A",), ("Card B",)], catalogue(), 100)
    rows = [line for line in lines if "<<<" in line]
    assert "Card A" in lines[2]
    assert lines[2].index("Card A") < lines[2].index("Card B")
    assert rows[0].split()[-3:] == ["5.00", "DRAM", "unknown"]
    assert rows[1].split()[-1] == "-"
    assert "note: Card A, Card B: a run each." in lines


def test_devices_that_share_a_run_are_named() -> None:
    result = transposes()
    lines = side_by_side([result, result], [("A", "B"), ("A", "B")], catalogue(), 100)
    assert sum("one run" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("calls", "asks"),
    [
        (("cudaLaunchKernel", "cudaMalloc"), False),
        (("cudaGetDeviceProperties",), True),
        (("cudaOccupancyMaxActiveBlocksPerMultiprocessor",), True),
    ],
)
def test_what_a_program_may_know_of_its_device(calls: tuple[str, ...], asks: bool) -> None:
    assert asks_for_the_device(calls) is asks


def test_devices_that_do_not_fit_stand_below() -> None:
    one = transposes()
    results = [replace(one, device=f"A card with quite a long name, {n}") for n in range(5)]
    lines = side_by_side(results, [(result.device,) for result in results], catalogue("zh"), 100)
    assert all(cell_len(line) <= 100 for line in lines)
    assert all(sum(result.device in line for line in lines) >= 1 for result in results)
    assert sum("transpose_naive" in line for line in lines) == 5
