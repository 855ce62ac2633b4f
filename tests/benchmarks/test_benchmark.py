"""The benchmark's cases run at a toy size and check their results; nothing is timed here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from speed import cases, table  # type: ignore[import-not-found]

ROOT = Path(__file__).parent.parent.parent
LATEST = max((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.mark.parametrize("kernel", ["gemm_naive", "gemm_tiled"])
def test_products_are_right_and_counted(kernel: str) -> None:
    result = cases.gemm(kernel, 64)
    assert result["instructions"] > 64**3
    assert result["device_bytes"] == 3 * 64 * 64 * 4


@pytest.mark.parametrize("kernel", cases.THROUGHPUT)
def test_kernels_of_all_kinds_are_right(kernel: str) -> None:
    result = cases.throughput(kernel, 1 / 1024, rounds=1)
    assert result["instructions"] > 256


def test_tiny_launches() -> None:
    assert cases.tiny_launches(3)["launches"] == 3


def test_the_document_shows_the_latest_results() -> None:
    page = table.markdown(json.loads(LATEST.read_text()))
    assert LATEST.with_suffix(".md").read_text() == page
    document = (ROOT / "docs" / "performance.md").read_text()
    assert table.placed(document, page) == document
