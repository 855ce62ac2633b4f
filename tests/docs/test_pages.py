"""Every block of the documentation that can be executed is, and gives what the page shows."""

from __future__ import annotations

import os
import re

import pytest
from pages import PAGES, ROOT, blocks, excerpt, executed

_LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)?(?:#([\w-]+))?\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
_MAKE = re.compile(r"^make (\w+)", re.M)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_give_what_the_page_shows(name: str) -> None:
    """`make golden` rewrites the pages."""
    page = (ROOT / name).read_text()
    real = executed(page)
    if os.environ.get("LANEWISE_UPDATE_GOLDEN"):
        (ROOT / name).write_text(real)
        return
    assert real == page


@pytest.mark.parametrize(
    "page", ["README.md", "README.zh.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = _CODE.sub("", (ROOT / page).read_text())
    for file, anchor in _LINK.findall(text):
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), f"{page} links to {file}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{page} links to {file}#{anchor}"


def anchors(text: str) -> set[str]:
    """Names of the headings, as a code host makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_make_targets_of_the_pages_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for name in PAGES:
        for block in blocks((ROOT / name).read_text()):
            for target in _MAKE.findall(block.body) if block.kind == "sh" else ():
                assert re.search(rf"^{target}:", makefile, re.M), f"{name}: make {target}"


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/index.md").read_text()
    for path in ROOT.glob("docs/*.md"):
        assert path.name == "index.md" or f"({path.name})" in index, path.name


def test_departures_are_numbered_once_and_in_order() -> None:
    numbers = re.findall(r"^\*\*D(\d+)\b", (ROOT / "docs/departures.md").read_text(), re.M)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))


def test_an_excerpt_is_cut_where_it_is_asked_for() -> None:
    assert excerpt("x\nfrom here\n  a \n\nto here\n", "from", "to") == "from here\n  a\n"
    with pytest.raises(StopIteration):
        excerpt("x\n", "from")


def test_a_page_that_shows_something_else_is_noticed() -> None:
    page = "```python\nprint(1 + 1)\n```\n\n<!-- printed -->\n```text\n3\n```\n\n```pycon\n>>> 2 * 3\n5\n```\n"
    real = executed(page)
    assert "```text\n2\n```" in real
    assert ">>> 2 * 3\n6\n" in real


def test_tests_of_a_page_are_run() -> None:
    with pytest.raises(ZeroDivisionError):
        executed("```python\ndef test_it() -> None:\n    1 / 0\n```\n")
