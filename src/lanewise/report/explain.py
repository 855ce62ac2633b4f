"""One finding in full: what it says, the arithmetic of its gain, and where the lanes of a recorded request went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lanewise.catalogue import Catalogue, parts
from lanewise.errors import UsageError
from lanewise.hardware.banks import BANKS
from lanewise.hardware.coalescing import SECTOR_BYTES, WORD_BYTES
from lanewise.records import Finding, LaneSample, LaunchRecord, RunResult, Space
from lanewise.report import advice, text
from lanewise.report.executed import as_executed
from lanewise.report.fold import fold_launches
from lanewise.report.lane_map import LaneMap, lane_map
from lanewise.report.timing import microseconds

_ROWS = (8, 4, 2, 1)  # cells in a row, as many as fit
_FRONT = 7  # columns of the number of a row's first cell


def find(result: RunResult, named: str) -> tuple[LaunchRecord, Finding]:
    """The finding that the report calls `named` ("2.1"). Raises UsageError, naming those there are, for another."""
    known = {
        advice.number(block, position): (fold.first, finding)
        for block, fold in enumerate(fold_launches(result.launches), start=1)
        for position, finding in enumerate(fold.first.advice, start=1)
    }
    if named not in known:
        there = ", ".join(known) or "none"
        raise UsageError(f"no finding {named!r} in this run", next_step=f"Findings: {there}.")
    return known[named]


def explain_lines(result: RunResult, named: str, words: Catalogue, width: int) -> list[str]:
    launch, finding = find(result, named)
    lines = [f"{named}  {finding.check}, {text.kernel_name(launch.kernel)}", ""]
    message, step = (advice.said(finding, part, words) for part in ("message", "next_step"))
    for sentence in (f"{advice.place(finding, words)}{message}", *parts(finding, "evidence", words), step):
        lines += text.wrap(sentence, width, first="  ")
    price = advice.said(finding, "price", words)
    if price:
        lines += text.wrap(words.say("report.price", price=price), width, first="  ")
    lines += [
        "",
        *(line for sentence in _arithmetic(finding, words) for line in text.wrap(sentence, width, first="  ")),
    ]
    for sample in finding.samples or _of_line(launch, finding):
        lines += ["", *_lanes(as_executed(sample, launch), words, width)]
    return lines


def _arithmetic(finding: Finding, words: Catalogue) -> Iterator[str]:
    gain = finding.gain
    if gain is None:
        return
    yield words.say(
        "explain.saved",
        before=microseconds(gain.before_us),
        after=microseconds(gain.after_us),
        saved=microseconds(gain.before_us - gain.after_us),
        share=f"{100 * (gain.before_us - gain.after_us) / gain.before_us:.0f}",
        tried=f"@tried.{gain.tried.value}",
    )


def _of_line(launch: LaunchRecord, finding: Finding) -> tuple[LaneSample, ...]:
    if finding.source is None:
        return ()
    shown = finding.source.shown
    return tuple(s for s in launch.samples if (s.file, s.line) == (shown.file, shown.line))


def _lanes(sample: LaneSample, words: Catalogue, width: int) -> Iterator[str]:
    """Each lane with its byte from the first, and the sector, or the bank and word, that it falls into."""
    shared = sample.space == Space.SHARED
    where = [None if at is None else sample.base + at for at in sample.lanes]
    on = [at for at in where if at is not None]
    unit = WORD_BYTES if shared else SECTOR_BYTES
    pieces = {piece for at in on for piece in range(at // unit, (at + sample.width_bits // 8 - 1) // unit + 1)}
    heading = words.say("explain.banks" if shared else "explain.sectors")
    said = words.say(
        "explain.recorded",
        kind=f"@kind.{sample.kind.value}",
        bits=str(sample.width_bits),
        ptx_line=str(sample.ptx_line),
        lanes=words.count(len(on), "lane"),
        pieces=words.count(len(pieces), "word" if shared else "sector"),
    )
    drawn = lane_map(sample)
    for sentence in (said, *([] if drawn is None else [_cost(drawn, words)]), heading):
        yield from text.wrap(sentence, width, first="  ")
    first = min(pieces, default=0)
    yield from _rows([_cell(at, shared, first) for at in where], width, numbered=True)
    if drawn is not None:
        yield from text.wrap(words.say("explain.bank_words" if shared else "explain.sector_bytes"), width, first="  ")
        names = (f"b{t.name}" if shared else f"s{int(t.name, 16) // SECTOR_BYTES - first}" for t in drawn.targets)
        cells = [f"{name}:{target.used}" for name, target in zip(names, drawn.targets, strict=True)]
        yield from _rows(cells, width, numbered=False)


def _cost(drawn: LaneMap, words: Catalogue) -> str:
    noun = "wavefront" if drawn.to_banks else "sector"
    key = "explain.at_ideal" if drawn.actual <= drawn.ideal else "explain.over_ideal"
    return words.say(key, actual=words.count(drawn.actual, noun), ideal=f"{drawn.ideal:,}")


def _rows(cells: Sequence[str], width: int, *, numbered: bool) -> Iterator[str]:
    """Cells in columns, as many to a row as fit; `numbered`: each row with the number of its first."""
    column = max(map(len, cells)) + 1
    a_row = next(count for count in _ROWS if count * column <= width - _FRONT or count == _ROWS[-1])
    for row in range(0, len(cells), a_row):
        front = f"{row if numbered else '':>{_FRONT - 1}} "
        yield front + "".join(f"{cell:>{column}}" for cell in cells[row : row + a_row])


def _cell(at: int | None, shared: bool, first: int) -> str:
    if at is None:
        return "-"
    if shared:
        return f"b{at // WORD_BYTES % BANKS}:w{at // WORD_BYTES}"
    return f"s{at // SECTOR_BYTES - first}+{at % SECTOR_BYTES}"
