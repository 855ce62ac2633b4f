"""Several devices beside each other: a row a kernel and shape, a column a device."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from lanewise.catalogue import Catalogue
from lanewise.records import RunResult
from lanewise.report import text
from lanewise.report.fold import Fold, fold_launches
from lanewise.report.table import table
from lanewise.report.timing import bound_words, microseconds

Shape = tuple[int, int, int]
Column = tuple[str, ...]  # a device and its cells
NAME_WIDTH = 48  # of kernels and their shapes, at most


def side_by_side(
    results: Sequence[RunResult], shared: Sequence[Sequence[str]], words: Catalogue, width: int
) -> list[str]:
    """Times of the last launch of each kernel and shape and what bounds them, one result a device, in order. Devices
    that do not fit the width have a table of their own below.

    `shared[n]` are the devices that one run was for, that of `results[n]` among them.
    """
    folds = [fold_launches(result.launches) for result in results]
    rows: dict[tuple[str, Shape, Shape], list[str]] = {}
    for column, of_one in enumerate(folds):
        for fold in of_one:
            key = (text.kernel_name(fold.first.kernel), fold.first.grid, fold.first.block)
            rows.setdefault(key, ["-"] * len(results))[column] = _cell(fold, words)
    lines = [words.say("devices.head"), ""]
    if not rows:
        return [*lines, words.say("devices.nothing")]
    labels = ["", *(_label(*key) for key in rows)]
    columns = [(result.device, *cells) for result, cells in zip(results, zip(*rows.values(), strict=True), strict=True)]
    for together in _fitting(columns, max(map(cell_len, labels)), width):
        lines += [*table(list(zip(labels, *together, strict=True)), "l" + "r" * len(together)), ""]
    return [*lines, *_runs(results, shared, words, width)]


def _fitting(columns: Sequence[Column], first: int, width: int) -> list[list[Column]]:
    """As many columns to a table as stand beside one of `first`; one at least."""
    tables: list[list[Column]] = []
    left = 0
    for column in columns:
        needed = 2 + max(map(cell_len, column))
        if not tables or needed > left:
            tables.append([])
            left = width - first
        tables[-1].append(column)
        left -= needed
    return tables


def _label(name: str, grid: Shape, block: Shape) -> str:
    shape = f"<<<{text.dims(grid)}, {text.dims(block)}>>>"
    return f"{text.shorten(name, max(8, NAME_WIDTH - len(shape) - 1))} {shape}"


def _cell(fold: Fold, words: Catalogue) -> str:
    time = fold.times[-1] if fold.times else None
    if time is None:
        return words.say("devices.unknown")
    return f"{microseconds(time)} {bound_words(fold.first.bound, words)}"


def _runs(results: Sequence[RunResult], shared: Sequence[Sequence[str]], words: Catalogue, width: int) -> list[str]:
    """Which devices shared a run, and why; notes of the runs."""
    groups = list(dict.fromkeys(map(tuple, shared)))
    alone = [name for together in groups if len(together) == 1 for name in together]
    notes = [words.say("devices.one_run", devices=words.listed(names)) for names in groups if len(names) > 1]
    notes += [words.say("devices.own_run", devices=words.listed(alone))] if alone else []
    notes += dict.fromkeys(words.retell(note) for result in results for note in result.notes)
    return [
        line
        for note in notes
        for line in text.note_lines(note, width, words.say("finding.note") + words.say("report.colon"))
    ]
