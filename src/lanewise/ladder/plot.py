"""The ladder as a picture: a bar a rung and count, as SVG text. Logarithmic: rungs differ by factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from lanewise.ladder.catalog import Subject

if TYPE_CHECKING:
    from lanewise.ladder.rows import Row

#: What is drawn: colour, words, the space and the count of `Row.counts`.
SERIES = (
    ("#2f6fab", "sectors", "global", "sectors"),
    ("#c9792b", "shared wavefronts", "shared", "wavefronts"),
)
_LABELS, _BARS, _NUMBERS = 150, 420, 110  # widths in pixels
_BAR, _RUNG, _PANEL = 8, 26, 64  # heights; a panel's is of its title and legend


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
        top += _PANEL + _RUNG * len(rows)
    width = _LABELS + _BARS + _NUMBERS
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        'font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, f'<rect width="{width}" height="{top}" fill="white"/>', *parts, "</svg>\n"])


def amount(row: Row, space: str, what: str) -> int:
    """A count of a row, over loads, stores and atomics; with global memory go textures, which lie there."""
    spaces = ("global", "texture") if space == "global" else (space,)
    return sum(row.counts[f"{one}_{kind}_{what}"] for one in spaces for kind in ("load", "store", "atomic"))


def _panel(subject: Subject, device: str, rows: Sequence[Row], top: int) -> list[str]:
    ran = [row for row in rows if row.refused is None]
    most = max((amount(row, space, what) for row in ran for _, _, space, what in SERIES), default=1)
    decades = max(1.0, math.ceil(math.log10(max(most, 10))))
    sizes = ", ".join(f"{name} {value:,}" for name, value in rows[0].problem.items())
    parts = [_text(6, top + 16, f"{subject.name}: {subject.title} ({device}; {sizes})", "font-weight='bold'")]
    for place, (colour, words, _, _) in enumerate(SERIES):
        x = _LABELS + place * 150
        parts.append(f'<rect x="{x}" y="{top + 25}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 14, top + 34, words))
    for place, row in enumerate(rows):
        y = top + 44 + place * _RUNG
        parts.append(_text(_LABELS - 6, y + 12, row.rung, "text-anchor='end'"))
        if row.refused is not None:
            parts.append(_text(_LABELS, y + 12, "not run here", "fill='#777'"))
            continue
        for number, (colour, _, space, what) in enumerate(SERIES):
            value = amount(row, space, what)
            length = _BARS * math.log10(value) / decades if value > 1 else 0.0
            at = y + number * (_BAR + 1)
            parts.append(f'<rect x="{_LABELS}" y="{at}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>')
            parts.append(_text(_LABELS + length + 4, at + 8, f"{value:,}", "font-size='9'"))
    return parts


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" {style}>{escape(words)}</text>'
