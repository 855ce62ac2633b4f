"""The rows under a source line: one per access, in columns that fit the width at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.report import text
from lanewise.report.excerpt import AccessRow
from lanewise.report.judge import (
    MARKS,
    Weight,
    conflict_words,
    cost,
    lane_words,
    pattern_words,
    type_words,
    unit_words,
)

STYLES = {Weight.FINE: "", Weight.POOR: "yellow", Weight.BAD: "bold red"}
ROOM = 30  # columns in which words are wrapped beside the numbers, rather than written below them


@dataclass(frozen=True, slots=True)
class Form:
    """How a layout writes its columns: spelled out, or short for narrow terminals."""

    indent: int  # columns before the kind of access; the mark stands in them
    gap: str  # between kind, space, array and type
    array: int  # the most columns of an array's name
    short: bool = False


SPELLED = Form(indent=11, gap="  ", array=20)
SHORT = Form(indent=6, gap=" ", array=12, short=True)


@dataclass(frozen=True, slots=True)
class Table:
    """Column widths for all rows of one kernel block, so that its numbers stand below each other."""

    form: Form
    widths: tuple[int, ...]
    width: int
    words: Catalogue

    @classmethod
    def fit(cls, rows: Sequence[AccessRow], width: int, words: Catalogue) -> Table:
        """The spelled-out form where that leaves room for the words, else the short one (whose words may go below)."""
        spelled = cls(SPELLED, _widths([_cells(row, SPELLED, words) for row in rows]), width, words)
        longest = max((cell_len(row_words(row, SPELLED, words)) for row in rows), default=0)
        if spelled.left + min(longest, ROOM) <= width:
            return spelled
        return cls(SHORT, _widths([_cells(row, SHORT, words) for row in rows]), width, words)

    @property
    def left(self) -> int:
        """Columns in front of the words."""
        gaps = [gap for gap, width in zip(self._gaps, self.widths, strict=False) if width]
        return self.form.indent + sum(self.widths) + sum(map(len, gaps))

    @property
    def _gaps(self) -> tuple[str, ...]:
        # kind, space, array, type, requests, units per request, name of the unit, ideal
        return (*[self.form.gap] * 3, "  ", "  ", " ", "  ", "  ")

    def lines(self, row: AccessRow) -> list[Text]:
        """The row, with its words wrapped in their column, or below it where little room is left."""
        front = f"{MARKS[row.weight]:>3}".ljust(self.form.indent)
        for column, (cell, width) in enumerate(zip(_cells(row, self.form, self.words), self.widths, strict=True)):
            if width:
                front += text.pad(cell, width, right=column in _NUMBERS) + self._gaps[column]
        said = row_words(row, self.form, self.words)
        room = self.width - self.left
        if not said:
            wrapped = [front]
        elif cell_len(said) <= room or room >= ROOM:
            wrapped = text.wrap(said, self.width, first=front, rest=" " * self.left)
        else:
            wrapped = [front, *text.wrap(said, self.width, first=" " * (self.form.indent + 4))]
        return [Text(line.rstrip(), style=STYLES[row.weight]) for line in wrapped]


_NUMBERS = (4, 5)  # the columns that are set right: requests, units per request


def _cells(row: AccessRow, form: Form, words: Catalogue) -> tuple[str, ...]:
    access, measured = row.access, cost(row.access)
    each, unit, ideal = "", "", ""
    if measured is not None and access.requests:
        each = text.per(measured.actual, access.requests)
        unit = unit_words(measured, each, words)
        unit = unit if form.short else words.say("access.each", unit=unit)
        ideal = words.say("access.ideal", number=text.per(measured.ideal, access.requests))
    array = text.cut(text.variable_name(access.array or ""), form.array)
    key = "requests_short" if form.short else "request" if access.requests == 1 else "requests"
    number = text.count(access.requests)
    requests = words.say(f"access.{key}", number=number) if access.requests else words.say("access.not_executed")
    kind, space = words.say(f"kind.{access.kind.value}"), words.say(f"space.{access.space.value}")
    return (kind, space, array, type_words(access, words), requests, each, unit, ideal)


def row_words(row: AccessRow, form: Form, words: Catalogue) -> str:
    """How the lanes lie, how many there are, where the access comes from."""
    access = row.access
    several = "access.copies_short" if form.short else "access.copies"
    copies = words.say(several, number=str(row.copies)) if row.copies > 1 else ""
    pattern = pattern_words(access, words, short=form.short) if access.requests else ""
    lanes = lane_words(access, words, short=form.short)
    via = words.said(row.via) if row.via is not None else ""
    return words.listed(word for word in (conflict_words(access, words), pattern, lanes, copies, via) if word)


def _widths(cells: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    return tuple(max(map(cell_len, column)) for column in zip(*cells, strict=True)) if cells else ()
