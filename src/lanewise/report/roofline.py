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
DECADES_BEYOND = 2  # shown right of the ridge; kernels that hardly touch DRAM stand at the edge
MOST_KERNELS = 26
_EDGE = " |"
_DECADES_BELOW = 3.0  # shown under the roof of arithmetic


def roofline_lines(folds: Iterable[Fold], words: Catalogue, width: int) -> list[Text]:
    """The plot and its letters; nothing where no kernel has both operations and bytes."""
    kernels = [(fold.first, fold.first.roof) for fold in folds]
    points = [(launch, roof) for launch, roof in kernels if roof is not None and roof.flops and roof.flops_per_byte]
    if not points:
        return []
    points = points[:MOST_KERNELS]
    roof = max((own for _, own in points), key=lambda own: own.gflops_roof)
    left = len(_speed(roof.gflops_roof)) + len(_EDGE)
    columns = min(width, 100) - left
    ridge = roof.gflops_roof / roof.dram_roof_gb_s
    edge = math.ceil(math.log10(ridge)) + DECADES_BEYOND
    known = [math.log10(r.flops_per_byte or 1) for _, r in points]
    intensities = [min(intensity, edge) for intensity in known]
    high = math.ceil(max([*intensities, math.log10(ridge) + 1]))
    low = math.floor(min([*intensities, math.log10(ridge) - 1]))
    grid = _roofs(roof, low, high, columns)
    letters = []
    for number, (launch, own) in enumerate(points):
        letter = chr(ord("a") + number)
        column = round((intensities[number] - low) / (high - low) * (columns - 1))
        _set(grid[_row(own.gflops, roof)], column, letter)
        letters.append(_letter(letter, launch, own, words))
    lines = [Text(words.say("html.roofline"), style="bold"), *_scaled(grid, roof, left)]
    ticks = " " * left
    for decade in range(low, high + 1):
        label = f"{10.0**decade:,.{max(0, -decade)}f}"
        column = left + min(round((decade - low) / (high - low) * (columns - 1)), columns - len(label))
        ticks = ticks.ljust(column)[:column] + label
    lines.append(Text(ticks))
    axis = words.say("report.roofline_x_edge" if max(known) > edge else "report.roofline_x")
    lines += [Text(line, style="dim") for line in text.wrap(axis, width, first=" " * left)]
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


def _set(row: list[str], column: int, letter: str) -> None:
    """The letter at its column, or beside it where others stand there."""
    free = (at for at in sorted(range(len(row)), key=lambda at: abs(at - column)) if not row[at].isalpha())
    row[next(free, column)] = letter


def _scaled(grid: list[list[str]], roof: Roof, left: int) -> list[Text]:
    lines = []
    for number, row in enumerate(grid):
        label = _speed(roof.gflops_roof / 10 ** (_DECADES_BELOW * number / (ROWS - 1))) if number % 3 == 0 else ""
        lines.append(Text(f"{label:>{left - len(_EDGE)}}{_EDGE}{''.join(row).rstrip()}"))
    return lines


def _speed(gflops: float) -> str:
    return f"{gflops:,.0f} GF/s"


def _letter(letter: str, launch: LaunchRecord, own: Roof, words: Catalogue) -> str:
    return words.say(
        "report.roofline_point",
        letter=letter,
        kernel=text.kernel_name(launch.kernel),
        intensity=text.significant(own.flops_per_byte or 0),
        speed=f"{own.gflops:,.0f}",
    )
