"""A roofline for the terminal: kernels by operations a byte of DRAM and speed, under the device's two roofs."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import LaunchRecord, Roof
from lanewise.report import text
from lanewise.report.fold import Fold

ROWS = 10
MOST_KERNELS = 26
_DECADES_BELOW = 3.0  # shown under the roof of arithmetic
_LEFT = 12  # columns of the scale


def roofline_lines(folds: Iterable[Fold], words: Catalogue, width: int) -> list[Text]:
    """The plot and its letters; nothing where no kernel has both operations and bytes."""
    kernels = [(fold.first, fold.first.roof) for fold in folds]
    points = [(launch, roof) for launch, roof in kernels if roof is not None and roof.flops and roof.flops_per_byte]
    if not points:
        return []
    points = points[:MOST_KERNELS]
    columns = min(width, 100) - _LEFT
    roof = points[0][1]
    ridge = roof.gflops_roof / roof.dram_roof_gb_s
    intensities = [math.log10(r.flops_per_byte or 1) for _, r in points]
    low = math.floor(min([*intensities, math.log10(ridge) - 1]))
    high = math.ceil(max([*intensities, math.log10(ridge) + 1]))
    grid = _roofs(roof, low, high, columns)
    letters = []
    for number, (launch, own) in enumerate(points):
        letter = chr(ord("a") + number)
        column = round((math.log10(own.flops_per_byte or 1) - low) / (high - low) * (columns - 1))
        grid[_row(own.gflops, roof)][column] = letter
        letters.append(_letter(letter, launch, own))
    lines = [Text(words.say("html.roofline"), style="bold"), *_scaled(grid, roof)]
    ticks = " " * _LEFT
    for decade in range(low, high + 1):
        label = f"{10.0**decade:g}"
        column = _LEFT + min(round((decade - low) / (high - low) * (columns - 1)), columns - len(label))
        ticks = ticks.ljust(column)[:column] + label
    lines.append(Text(ticks))
    lines.append(Text(" " * _LEFT + words.say("report.roofline_x"), style="dim"))
    return lines + [Text(line) for entry in letters for line in text.wrap(entry, width, first="  ", rest="     ")]


def _row(gflops: float, roof: Roof) -> int:
    """The row of a speed, 0 at the roof of arithmetic."""
    below = math.log10(roof.gflops_roof / gflops) if gflops > 0 else _DECADES_BELOW
    return min(ROWS - 1, max(0, round(below / _DECADES_BELOW * (ROWS - 1))))


def _roofs(roof: Roof, low: int, high: int, columns: int) -> list[list[str]]:
    grid = [[" "] * columns for _ in range(ROWS)]
    for column in range(columns):
        intensity = 10 ** (low + (high - low) * column / (columns - 1))
        reached = min(roof.gflops_roof, intensity * roof.dram_roof_gb_s)
        if reached >= roof.gflops_roof / 10**_DECADES_BELOW:
            grid[_row(reached, roof)][column] = "-" if reached == roof.gflops_roof else "/"
    return grid


def _scaled(grid: list[list[str]], roof: Roof) -> list[Text]:
    lines = []
    for number, row in enumerate(grid):
        speed = roof.gflops_roof / 10 ** (_DECADES_BELOW * number / (ROWS - 1))
        label = f"{speed:,.0f} GF/s" if number % 3 == 0 else ""
        lines.append(Text(f"{label:>{_LEFT - 2}} |{''.join(row).rstrip()}"))
    return lines


def _letter(letter: str, launch: LaunchRecord, own: Roof) -> str:
    name = text.kernel_name(launch.kernel)
    return f"{letter}  {name}: {own.flops_per_byte:.3g} a byte, {own.gflops:,.0f} GFLOP/s"
