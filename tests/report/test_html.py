"""The HTML report: what stands in it, that it loads nothing, and that other people's text stays text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from samples import ALL

from lanewise.report.html import to_html


@pytest.mark.parametrize("name", ALL)
def test_the_same_result_gives_the_same_bytes(name: str) -> None:
    page = to_html(ALL[name]())
    assert page == to_html(ALL[name]())
    assert page.endswith("</html>\n")


def test_source_cannot_leave_its_place() -> None:
    hostile = "<script>alert(1)</script>\u202e"
    result = ALL["transposes"]()
    page = to_html(replace(result, program=hostile, sources=dict.fromkeys(result.sources, f"{hostile}\n" * 30)))
    assert "<script>alert" not in page
    assert "\u202e" not in page
