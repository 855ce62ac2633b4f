"""The rows under a source line: one per access, in columns that fit the width at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

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
)

STYLES = {Weight.FINE: "", Weight.POOR: "yellow", Weight.BAD: "bold red"}
LONGEST_ARRAY = 20
ROOM = 30  # columns in which words are wrapped beside the numbers, rather than written below them


@dataclass(frozen=True, slots=True)
class Form:
    """How a layout writes its columns: spelled out, or short for narrow terminals."""

    indent: int  # columns before the kind of access; the mark stands in them
    gap: str  # between kind, space, array and type
    requests: str
    each: str
    bytes: str


SPELLED = Form(indent=11, gap="  ", requests="requests", each=" each", bytes=" bytes")
SHORT = Form(indent=6, gap=" ", requests="req.", each="", bytes=" B")


@dataclass(frozen=True, slots=True)
class Table:
    """Column widths for all rows of one kernel block, so that its numbers stand below each other."""

    form: Form
    widths: tuple[int, ...]
    width: int

    @classmethod
    def fit(cls, rows: Sequence[AccessRow], width: int) -> Table:
        """The spelled-out form where that leaves room for the words, else the short one (whose words may go below)."""
        spelled = cls(SPELLED, _widths([_cells(row, SPELLED) for row in rows]), width)
        longest = max((len(row_words(row, SPELLED)) for row in rows), default=0)
        if spelled.left + min(longest, ROOM) <= width:
            return spelled
        return cls(SHORT, _widths([_cells(row, SHORT) for row in rows]), width)

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
        for column, (cell, width) in enumerate(zip(_cells(row, self.form), self.widths, strict=True)):
            if width:
                front += (cell.rjust(width) if column in _NUMBERS else cell.ljust(width)) + self._gaps[column]
        words = row_words(row, self.form)
        room = self.width - self.left
        if not words:
            wrapped = [front]
        elif len(words) <= room or room >= ROOM:
            wrapped = text.wrap(words, self.width, first=front, rest=" " * self.left)
        else:
            wrapped = [front, *text.wrap(words, self.width, first=" " * (self.form.indent + 4))]
        return [Text(line.rstrip(), style=STYLES[row.weight]) for line in wrapped]


_NUMBERS = (4, 5)  # the columns that are set right: requests, units per request


def _cells(row: AccessRow, form: Form) -> tuple[str, ...]:
    access, measured = row.access, cost(row.access)
    each, unit, ideal = "", "", ""
    if measured is not None and access.requests:
        each = text.per(measured.actual, access.requests)
        unit = (measured.unit.removesuffix("s") if each == "1" else measured.unit) + form.each
        ideal = f"ideal {text.per(measured.ideal, access.requests)}"
    array = text.clean(access.array or "")
    if len(array) > LONGEST_ARRAY:
        array = array[: LONGEST_ARRAY - 2] + ".."
    unit_of_requests = form.requests.removesuffix("s") if access.requests == 1 else form.requests
    requests = f"{text.count(access.requests)} {unit_of_requests}" if access.requests else "not executed"
    return (access.kind.value, access.space.value, array, type_words(access), requests, each, unit, ideal)


def row_words(row: AccessRow, form: Form) -> str:
    """How the lanes lie, how many there are, where the access comes from."""
    access = row.access
    copies = f"{row.copies} copies" if row.copies > 1 else ""
    pattern = pattern_words(access).replace(" bytes", form.bytes) if access.requests else ""
    lanes = lane_words(access)
    return ", ".join(word for word in (conflict_words(access), pattern, lanes, copies, row.via) if word)


def _widths(cells: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    return tuple(max(map(len, column)) for column in zip(*cells, strict=True)) if cells else ()
