"""The forms of English sentences, by which they are found again where only their text is known."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

# What may stand in places of these names; in others anything.
_NUMBERS = (
    "byte bytes bytes_now count each end first id last line most multiple now number offset over parity pending per "
    "size warps"
)
_THREAD = r"\(\d+, \d+, \d+\)"
_SHAPES = dict.fromkeys(_NUMBERS.split(), r"-?[\d,]+") | {
    "list": r"[\d, .]+",
    "place": r"\S+:\d+|(?:PTX )?line \d+",
    **dict.fromkeys(("address", "base", "mask"), "0x[0-9a-f]+"),
    **dict.fromkeys(("did", "other"), "read|write|wrote|atomic access"),
    "threads": f"{_THREAD}(?:, {_THREAD})*",
    "thread": _THREAD,
    "block": _THREAD,
    "who": r"threads? \(.+?|another thread.*?",
}

Forms = tuple[tuple[str, re.Pattern[str]], ...]


def forms(sentences: Mapping[str, str]) -> Forms:
    """Keys with what their sentences match, those with the most text of their own first."""
    ordered = sorted(sentences.items(), key=lambda item: -sum(len(text) for text, *_ in _parts(item[1])))
    return tuple((key, _form(sentence)) for key, sentence in ordered)


def _form(sentence: str) -> re.Pattern[str]:
    places = ((text, f"(?P<{name}>{_SHAPES.get(name, '.+?')})" if name else "") for text, name in _parts(sentence))
    return re.compile("".join(re.escape(text) + place for text, place in places))


def _parts(sentence: str) -> list[tuple[str, str | None]]:
    """Its own text, and the name of the place behind it."""
    return [(text, name) for text, name, _, _ in string.Formatter().parse(sentence)]
