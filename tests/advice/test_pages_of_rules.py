"""Pages of the documentation are those that the rules make; what they point at exists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lanewise.advice.pages import pages
from lanewise.advice.registry import all_rules
from lanewise.ladder import catalog

DOCS = Path(__file__).parents[2] / "docs/rules"


def test_pages_are_made_from_the_rules() -> None:
    """`make golden` writes them anew."""
    made = pages()
    if os.environ.get("LANEWISE_UPDATE_GOLDEN") == "1":
        DOCS.mkdir(exist_ok=True)
        for old in DOCS.glob("*.md"):
            old.unlink()
        for name, text in made.items():
            (DOCS / name).write_text(text, encoding="utf-8")
    assert {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")} == made


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.rung is not None], ids=lambda rule: rule.name)
def test_the_rung_of_a_rule_is_on_the_ladder(rule) -> None:  # type: ignore[no-untyped-def]
    subject, _, rung = rule.rung.partition(" ")
    assert catalog.load(subject).rung(rung).name == rung
