"""The ladder as a picture: a row a rung, a dot for its time and for each count, as SVG text.

The scales are logarithmic, since rungs differ by factors, and begin nowhere near zero: so dots, not bars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from lanewise.ladder.catalog import Subject

if TYPE_CHECKING:
    from lanewise.ladder.rows import Row

_LABELS, _COLUMN, _GAP = 150, 190, 75  # widths in pixels; a gap has the number of the largest value
_RUNG, _HEAD, _FOOT = 20, 52, 26  # heights
_STEPS = 7  # the most of a scale


def amount(row: Row, space: str, what: str) -> int:
    """A count of a row, over loads, stores and atomics; with global memory go textures, which lie there."""
    spaces = ("global", "texture") if space == "global" else (space,)
    return sum(row.counts[f"{one}_{kind}_{what}"] for one in spaces for kind in ("load", "store", "atomic"))


@dataclass(frozen=True, slots=True)
class _Series:
    words: str
    colour: str
    value: Callable[[Row], float]


SERIES = (
    _Series("modelled us", "#3a7d44", lambda row: row.time_us or 0.0),
    _Series("sectors", "#2f6fab", lambda row: amount(row, "global", "sectors")),
    _Series("shared wavefronts", "#c9792b", lambda row: amount(row, "shared", "wavefronts")),
)


def svg(drawn: Sequence[tuple[Subject, Sequence[Row]]]) -> str:
    """One panel a subject and device, rungs from the bottom of the ladder to its top; those that did not run say so."""
    panels = [
        (subject, device, [row for row in rows if row.device == device])
        for subject, rows in drawn
        for device in dict.fromkeys(row.device for row in rows)
    ]
    parts: list[str] = []
    top = 10
    for subject, device, rows in panels:
        parts += _panel(subject, device, rows, top)
        top += _HEAD + _RUNG * len(rows) + _FOOT
    width = _LABELS + len(SERIES) * (_COLUMN + _GAP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        'font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, f'<rect width="{width}" height="{top}" fill="white"/>', *parts, "</svg>\n"])


def _panel(subject: Subject, device: str, rows: Sequence[Row], top: int) -> list[str]:
    sizes = ", ".join(f"{name} {value:,}" for name, value in rows[0].problem.items())
    parts = [_text(6, top + 16, f"{subject.name}: {subject.title} ({device}; {sizes})", "font-weight='bold'")]
    for place, row in enumerate(rows):
        parts.append(_text(_LABELS - 8, _middle(top, place) + 4, row.rung, "text-anchor='end'"))
        if row.refused is not None:
            parts.append(_text(_LABELS, _middle(top, place) + 4, "not run here", "fill='#777'"))
    left = _LABELS
    for series in SERIES:
        values = [None if row.refused is not None else series.value(row) for row in rows]
        if any(values):
            parts += _column(series, values, left, top)
            left += _COLUMN + _GAP
    return parts


def _middle(top: int, place: int) -> float:
    return top + _HEAD + _RUNG * (place + 0.5)


def _column(series: _Series, values: Sequence[float | None], left: int, top: int) -> list[str]:
    """Dots on a scale from a round number below the least value to one above the largest; a 0 stands at its left."""
    positive = [value for value in values if value]
    steps = _round_numbers(min(positive), max(positive))
    low, high = math.log(steps[0]), math.log(steps[-1])
    bottom = top + _HEAD + _RUNG * len(values)

    def place_of(value: float) -> float:
        return left + _COLUMN * (math.log(value) - low) / (high - low)

    parts = [_text(left, top + 34, series.words, f"fill='{series.colour}' font-weight='bold'")]
    for step in steps:
        x = place_of(step)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + _HEAD - 4}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(_text(x, bottom + 11, _short(step), "font-size='9' fill='#777' text-anchor='middle'"))
    for number, value in enumerate(values):
        if value is None:
            continue
        y, x = _middle(top, number), place_of(value) if value else left
        if value:
            parts.append(f'<line x1="{left}" x2="{x:.1f}" y1="{y}" y2="{y}" stroke="{series.colour}" opacity="0.3"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="{series.colour}"/>')
        said = f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
        parts.append(_text(x + 7, y + 3, said, "font-size='9'"))
    return parts


def _round_numbers(least: float, most: float) -> list[float]:
    """1, 2 and 5 times powers of ten around two values; powers of ten alone where those would be many."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 2)
    for factors in ((1, 2, 5), (1,)):
        steps = [factor * 10.0**power for power in powers for factor in factors]
        first = max(place for place, step in enumerate(steps) if step <= least)
        last = min(place for place, step in enumerate(steps) if step > most)
        if last - first < _STEPS:
            break
    return steps[first : last + 1]


def _short(step: float) -> str:
    """A round number in few letters: 0.5, 20, 5k, 2M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if step >= size:
            return f"{step / size:g}{unit}"
    return f"{step:g}"


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
