"""Every sentence of advice and heading of a report, by key: `en/*.toml`, and the same keys in other languages."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from lanewise.catalogue.forms import Forms, forms
from lanewise.errors import UsageError
from lanewise.records import Finding, Said

ENGLISH = "en"
REFERENCE = "@"  # starts a value that is itself a key, where there is such a key


class Catalogue:
    """The sentences of one language."""

    def __init__(self, language: str, sentences: dict[str, str]) -> None:
        self.language = language
        self.sentences = sentences  # "table.key" -> text with {places}

    def say(self, key: str, **values: str) -> str:
        """The sentence with its places filled. Raises KeyError for a key or a place that is not known."""
        filled = {
            name: self.sentences.get(value[len(REFERENCE) :], value) if value.startswith(REFERENCE) else value
            for name, value in values.items()
        }
        return self.sentences[key].format_map(filled)

    def count(self, number: int, noun: str) -> str:
        """`number` of what `noun` names in the tables `one` and `many`: 1 launch, 12 launches."""
        return self.say(f"{'one' if number == 1 else 'many'}.{noun}", number=f"{number:,}")

    def name(self, table: str, name: str) -> str:
        """A name of the records ("shared memory", "latency") in this language; itself where the table has it not."""
        return self.sentences.get(f"{table}.{name}", name)

    def listed(self, items: Iterable[str]) -> str:
        """a, b, c"""
        return self.sentences["report.comma"].join(items)

    def retell(self, sentence: str) -> str:
        """A sentence that was written in English where no language is known (faults, checks, notes), in this language;
        as it is where the catalogue does not have it."""
        if self.language == ENGLISH:
            return sentence
        if (term := self.sentences.get(f"term.{sentence}")) is not None:
            return term
        for key, form in _retold():
            if (found := form.fullmatch(sentence)) is not None:
                return self.say(key, **{place: self.retell(value) for place, value in found.groupdict().items()})
        return sentence

    def said(self, said: Said) -> str:
        return self.say(said.key, **dict(said.values))


@cache
def catalogue(language: str = ENGLISH) -> Catalogue:
    """Raises UsageError for a language that there is no catalogue of."""
    if language not in languages():
        raise UsageError(f"no reports in {language!r}", next_step=f"Languages: {', '.join(languages())}.")
    sentences: dict[str, str] = {}
    for file in sorted(files(__name__).joinpath(language).iterdir(), key=lambda file: file.name):
        for table, entries in tomllib.loads(file.read_text(encoding="utf-8")).items():
            sentences |= {f"{table}.{key}": text for key, text in entries.items()}
    return Catalogue(language, sentences)


@cache
def _retold() -> Forms:
    return forms({key: sentence for key, sentence in catalogue().sentences.items() if key.startswith("retold.")})


@cache
def languages() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in files(__name__).iterdir() if entry.joinpath("report.toml").is_file()))


def parts(finding: Finding, part: str, words: Catalogue) -> tuple[str, ...]:
    """What a piece of advice says in one of its fields, in the language of `words`."""
    return tuple(words.said(said) for said in finding.said if said.part == part)


def places(text: str) -> set[str]:
    """The names of the places in a sentence."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
