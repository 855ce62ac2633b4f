"""docs/ptx-support.md is what the table says."""

from __future__ import annotations

from pathlib import Path

from lanewise.ptx.instructions.support import page

PAGE = Path(__file__).parents[2] / "docs" / "ptx-support.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m lanewise.ptx.instructions.support > docs/ptx-support.md"
