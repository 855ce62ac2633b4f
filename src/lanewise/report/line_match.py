"""Which line of one version of a program is which line of another: by their texts, because numbers shift."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from lanewise.report.excerpt import basename

Place = tuple[str, int]  # file and line, from 1

SIMILAR = 0.6  # of 1: an edited line is the same line from here on, as difflib's own `get_close_matches` has it
AHEAD = 40  # lines that may be gone between two that were edited, where nothing in between is the same


class LineMatch:
    """Lines of `after` by those of `before`; `before` and `after` are paths to texts, as in a result."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._before, self._after = before, after
        self._files = _files(tuple(before), tuple(after))
        self._maps: dict[str, dict[int, int]] = {}

    def before(self, place: Place) -> Place | None:
        """Where a line of `after` was; None for a new one. A file without text keeps its numbers."""
        file, line = place
        if file not in self._after:
            return place if file not in self._before else None
        old = self._files.get(file)
        if old is None:
            return None
        if file not in self._maps:
            self._maps[file] = _lines(self._before[old], self._after[file])
        number = self._maps[file].get(line)
        return None if number is None else (old, number)


def _files(before: tuple[str, ...], after: tuple[str, ...]) -> dict[str, str]:
    """Files of `after` to those of `before`: of the same path, else the only one of that name, else the only one."""
    pairs = {file: file for file in after if file in before}
    for name_of in (basename, lambda _: ""):
        left = [file for file in before if file not in pairs.values()]
        new = [file for file in after if file not in pairs]
        for file in new:
            old = [other for other in left if name_of(other) == name_of(file)]
            if len(old) == 1 and sum(name_of(other) == name_of(file) for other in new) == 1:
                pairs[file] = old[0]
    return pairs


def _lines(before: str, after: str) -> dict[int, int]:
    """Numbers of `after` to those of `before`; blanks at the ends of a line and in its indentation do not count."""
    old, new = ([line.strip() for line in text.splitlines()] for text in (before, after))
    if old == new:
        return {number: number for number in range(1, len(new) + 1)}
    numbers: dict[int, int] = {}
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            numbers |= {j + n + 1: i + n + 1 for n in range(j_end - j)}
        elif kind == "replace":
            for at in range(j, j_end):  # in order: an edited line never crosses another
                scores = {k: _likeness(old[k], new[at]) for k in range(i, min(i_end, i + AHEAD))}
                best = max(scores, key=lambda k: (scores[k], -k), default=None)
                if best is not None and scores[best] >= SIMILAR:
                    numbers[at + 1] = best + 1
                    i = best + 1
    return numbers


def _likeness(old: str, new: str) -> float:
    """From 0 to 1; 0 where a cheap bound already says that it is below SIMILAR."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < SIMILAR:
        return 0.0
    return matcher.ratio()
