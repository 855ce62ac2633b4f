"""Plain text tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from lanewise.report import text


def table(rows: Sequence[Sequence[str]], right: str) -> list[str]:
    """Rows in columns two blanks apart. `right` has a letter for each column: `r` sets it right, `l` left."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        lines.append("  ".join(text.pad(cell, width, right=side == "r") for cell, width, side in cells))
    return [line.rstrip() for line in lines]
