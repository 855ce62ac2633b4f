"""The pages of the documentation about rules, made from the rules: `make golden` writes them."""

from __future__ import annotations

from collections.abc import Iterable

from lanewise.advice.rank import WORTH
from lanewise.advice.registry import all_rules
from lanewise.advice.rule import Rule
from lanewise.catalogue import catalogue

_NOTE = "<!-- made from the rules by `make golden` -->"


def pages() -> dict[str, str]:
    """The text of each page by its file name in `docs/rules/`."""
    rules = all_rules()
    return {"README.md": _index(rules), **{f"{rule.name}.md": _page(rule) for rule in rules}}


def _index(rules: Iterable[Rule]) -> str:
    rows = [f"| [{rule.name}]({rule.name}.md) | {rule.title} | {_rung(rule)} |" for rule in rules]
    head = [
        "# Rules",
        "",
        _NOTE,
        "",
        f"What `lanewise run` looks for after a launch; what it gives saves {WORTH:.0%} of the launch or more "
        "([how advice works](../advice.md)).",
        "",
        "| rule | pattern | rung that shows it |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


def _page(rule: Rule) -> str:
    lines = [f"# {rule.title}", "", _NOTE, "", rule.what, "", rule.why, ""]
    lines += [*_code("Before", rule.before), *_code("After", rule.after)]
    if rule.rung is not None:
        lines += [f"On the ladder: {_rung(rule)}.", ""]
    lines += [*_sentences(rule), *_relations(rule)]
    return "\n".join(lines).rstrip() + "\n"


def _code(title: str, code: str) -> list[str]:
    return [f"{title}:", "", "```cuda", *code.strip("\n").split("\n"), "```", ""]


def _rung(rule: Rule) -> str:
    if rule.rung is None:
        return ""
    subject, _, name = rule.rung.partition(" ")
    return f"`lanewise ladder {subject} --show {name}`"


def _sentences(rule: Rule) -> list[str]:
    """What the rule may say, places in braces."""
    told = catalogue().sentences
    own = [text for key, text in told.items() if key.startswith(f"{rule.name}.") and text.endswith(".")]
    return ["What it may say (`{...}` is filled in):", "", *(f"- {_verbatim(text)}" for text in own), ""]


def _verbatim(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _relations(rule: Rule) -> list[str]:
    if not rule.instead_of:
        return []
    names = ", ".join(f"[{name}]({name}.md)" for name in rule.instead_of)
    return [f"Where it speaks of a line, these are silent: {names}.", ""]
