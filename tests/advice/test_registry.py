"""Rules, their sentences, and their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanewise.advice.rank import ranked
from lanewise.advice.registry import all_rules
from lanewise.advice.rule import Rule
from lanewise.catalogue import catalogue, languages, parts, places
from lanewise.errors import UsageError
from lanewise.records import Finding, Gain, Said, Severity, SourceLine, Tried

RULES = Path(__file__).parents[2] / "src/lanewise/advice/rules"


def test_every_file_is_a_rule() -> None:
    names = [rule.name for rule in all_rules()]
    assert names == sorted(path.stem for path in RULES.glob("*.py") if path.stem != "__init__")
    assert all(loser in names for rule in all_rules() for loser in rule.instead_of)


@pytest.mark.parametrize("language", languages())
def test_languages_have_the_same_sentences(language: str) -> None:
    english, other = catalogue().sentences, catalogue(language).sentences
    assert other.keys() == english.keys()
    assert {k for k in english if places(other[k]) != places(english[k])} == set()


def test_rules_say_what_the_catalogue_has() -> None:
    keys = catalogue().sentences
    for rule in all_rules():
        used = set(re.findall(rf'"@?({rule.name}\.\w+)"', (RULES / f"{rule.name}.py").read_text()))
        assert used <= keys.keys(), used - keys.keys()
        assert {key for key in keys if key.startswith(f"{rule.name}.")} <= used


def test_a_value_may_be_a_key() -> None:
    gain = catalogue().say("report.gain", before="2", after="1", tried="@tried.re-run")
    assert gain == "2 -> 1 us (tried: re-run)"
    said = Said("message", "report.explain", (("number", "1.2"),))
    assert parts(_finding("a", 10, 5, said=(said,)), "message", catalogue()) == ("lanewise explain 1.2",)
    with pytest.raises(UsageError, match="no reports in 'tlh'"):
        catalogue("tlh")


def _finding(rule: str, before: float, after: float, line: int = 1, said: tuple[Said, ...] = ()) -> Finding:
    gain = Gain(before, after, Tried.ESTIMATED, "a change")
    return Finding(rule, Severity.NOTE, "text", source=SourceLine("f.cu", line), gain=gain, said=said)


def _rule(name: str, *instead_of: str) -> Rule:
    return Rule(name, "", "", "", "", "", instead_of=instead_of)


def test_the_most_worth_comes_first_and_little_is_left_out() -> None:
    found = [_finding("a", 100, 96), _finding("b", 100, 90, 2), _finding("c", 100, 40, 3), _finding("d", 100, 130)]
    assert [f.check for f in ranked(found, [])] == ["c", "b"]


def test_of_one_place_the_rule_that_says_more_speaks() -> None:
    found = [_finding("general", 100, 50), _finding("special", 100, 60), _finding("general", 100, 70, 2)]
    rules = [_rule("general"), _rule("special", "general")]
    assert [(f.check, f.line) for f in ranked(found, rules)] == [("special", 1), ("general", 2)]
    slower = [_finding("general", 100, 50), _finding("special", 100, 110)]
    assert [f.check for f in ranked(slower, rules)] == ["general"]
