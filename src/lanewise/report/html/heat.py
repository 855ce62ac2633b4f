"""The source of a kernel, line by line: marks, what each access took beside its ideal, the code made of the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lanewise.catalogue import Catalogue
from lanewise.records import KernelCode, LineCode
from lanewise.report import text
from lanewise.report.access_table import SPELLED, row_words
from lanewise.report.excerpt import AccessRow, SourceRow, as_named
from lanewise.report.fold import Fold
from lanewise.report.html.highlight import highlighted
from lanewise.report.judge import Weight, cost, type_words, unit_words
from lanewise.report.kernel_block import heaviest, lighter_words

MOST_ROWS = 24  # accesses of one line
_CONTEXT = 1  # lines shown around those that ran
_LONGEST_GAP = 8  # lines that did not run and are shown all the same, where others follow
_Place = tuple[str | None, int | None]


@dataclass(frozen=True, slots=True)
class AccessCells:
    """One access, in words; `each` and `ideal` are of a request, empty where only requests are counted."""

    weight: Weight
    what: str
    requests: str
    each: str
    ideal: str
    words: str


@dataclass(frozen=True, slots=True)
class HeatLine:
    """`number` None for code without a source line. `percent` is its share of the kernel's PTX instructions, None for a
    line that did not run; `left_out` lines stand between it and the line before."""

    number: int | None
    source: Markup
    known: bool  # whether the text of the line is at hand
    weight: Weight
    percent: int | None
    share: str
    divergent: str
    accesses: tuple[AccessCells, ...]
    lighter: str  # how many accesses are not shown
    code: LineCode | None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class HeatFile:
    name: str
    lines: tuple[HeatLine, ...]


class Sources:
    """The lines of source files in colour, each file once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._made: dict[str, list[Markup]] = {}

    def lines(self, file: str) -> list[Markup]:
        if file not in self._made:
            self._made[file] = highlighted(self._texts[file]) if file in self._texts else []
        return self._made[file]


def heat_files(
    fold: Fold,
    rows: Sequence[SourceRow],
    code: KernelCode | None,
    sources: Sources,
    words: Catalogue,
    program: str,
) -> tuple[HeatFile, ...]:
    """The files in which the kernel touches memory; where it touches none, the one in which it runs most."""
    by_place: dict[_Place, SourceRow] = {(row.file, row.line): row for row in rows}
    code_of: dict[_Place, LineCode] = {(c.file, c.line): c for c in code.lines} if code is not None else {}
    files = list(dict.fromkeys(row.file for row in rows))
    if not files and fold.lines:
        files = [max(fold.lines, key=lambda line: line.ptx_instructions).file]
    counted: dict[_Place, int] = {(line.file, line.line): line.ptx_instructions for line in fold.lines}
    made = []
    for file in files:
        ran = {line for place_file, line in (*counted, *by_place, *code_of) if place_file == file and line is not None}
        texts = sources.lines(file) if file is not None else []
        shown = _with_context(sorted(ran), len(texts))
        lines = [
            _line(file, line, gap, texts, by_place, counted.get((file, line)), code_of, fold, words)
            for line, gap in shown
        ]
        rest = file is None or (None not in files and file == files[-1] and (None, None) in code_of)
        if rest or (file, None) in by_place:
            lines.append(_line(file, None, 0, texts, by_place, None, code_of, fold, words))
        name = "" if file is None else as_named(file, program)
        made.append(HeatFile(name, tuple(lines)))
    return tuple(made)


def _with_context(ran: Sequence[int], last: int) -> list[tuple[int, int]]:
    """Lines to show, each with the number of lines left out before it."""
    shown: set[int] = set()
    before: int | None = None
    for line in ran:
        shown |= {near for near in range(line - _CONTEXT, line + _CONTEXT + 1) if near == line or 0 < near <= last}
        if before is not None and line - before <= _LONGEST_GAP:
            shown |= set(range(before, line))
        before = line
    result, previous = [], 0
    for line in sorted(shown):
        result.append((line, line - previous - 1 if previous else 0))
        previous = line
    return result


def _line(
    file: str | None,
    line: int | None,
    left_out: int,
    texts: Sequence[Markup],
    rows: Mapping[_Place, SourceRow],
    instructions: int | None,
    code: Mapping[_Place, LineCode],
    fold: Fold,
    words: Catalogue,
) -> HeatLine:
    row = rows.get((file, line))
    accesses = row.accesses if row is not None else ()
    shown = heaviest(accesses, MOST_ROWS)
    known = line is not None and 0 < line <= len(texts)
    divergent = ""
    if row is not None and row.divergent_branches:
        divergent = words.say(
            "access.divergent", divergent=text.count(row.divergent_branches), branches=text.count(row.branches)
        )
    return HeatLine(
        number=line,
        source=texts[line - 1] if known and line is not None else Markup(),
        known=known,
        weight=row.weight if row is not None else Weight.FINE,
        percent=round(100 * instructions / fold.ptx_instructions) if instructions and fold.ptx_instructions else None,
        share=text.percent(instructions, fold.ptx_instructions) if instructions else "",
        divergent=divergent,
        accesses=tuple(_cells(access, words, with_ptx=line is None) for access in shown),
        lighter=lighter_words(len(accesses) - len(shown), words),
        code=code.get((file, line)) or (code.get((None, None)) if line is None else None),
        left_out=left_out,
    )


def _cells(row: AccessRow, words: Catalogue, *, with_ptx: bool) -> AccessCells:
    access, measured = row.access, cost(row.access)
    kind, space = words.say(f"kind.{access.kind.value}"), words.say(f"space.{access.space.value}")
    parts = [kind, space, text.variable_name(access.array or ""), type_words(access, words)]
    if with_ptx:
        parts.insert(0, f"{words.say('access.ptx_line', line=str(access.ptx_line))}: {access.opcode},")
    each = ideal = ""
    if measured is not None and access.requests:
        count = text.per(measured.actual, access.requests)
        each = f"{count} {unit_words(measured, count, words)}"
        ideal = text.per(measured.ideal, access.requests)
    return AccessCells(
        row.weight,
        " ".join(part for part in parts if part),
        text.count(access.requests),
        each,
        ideal,
        row_words(row, SPELLED, words),
    )
