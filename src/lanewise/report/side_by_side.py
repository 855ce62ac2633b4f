"""Several devices beside each other: a row a kernel and shape, a column a device."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.records import RunResult
from lanewise.report import text
from lanewise.report.fold import Fold, fold_launches
from lanewise.report.timing import microseconds

Shape = tuple[int, int, int]
NAME_WIDTH = 48  # of kernels and their shapes, at most


def side_by_side(results: Sequence[RunResult], shared: Sequence[Sequence[str]], width: int) -> list[str]:
    """Times of the last launch of each kernel and shape and what bounds them, one result a device, in order.

    `shared[n]` are the devices that one run was for, that of `results[n]` among them.
    """
    folds = [fold_launches(result.launches) for result in results]
    rows: dict[tuple[str, Shape, Shape], list[str]] = {}
    for column, of_one in enumerate(folds):
        for fold in of_one:
            key = (text.kernel_name(fold.first.kernel), fold.first.grid, fold.first.block)
            rows.setdefault(key, ["-"] * len(results))[column] = _cell(fold)
    heads = [result.device for result in results]
    widths = [max(len(head), *(len(row[n]) for row in rows.values())) for n, head in enumerate(heads)] if rows else []
    lines = ["Modelled microseconds and what bounds them", ""]
    if not rows:
        return [*lines, "no kernel ran"]
    labels = [_label(*key) for key in rows]
    first = max(map(len, labels)) + 2
    lines.append(" " * first + "  ".join(head.rjust(w) for head, w in zip(heads, widths, strict=True)))
    for label, cells in zip(labels, rows.values(), strict=True):
        lines.append(label.ljust(first) + "  ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)))
    return [*lines, "", *_runs(results, shared, width)]


def _label(name: str, grid: Shape, block: Shape) -> str:
    shape = f"<<<{text.dims(grid)}, {text.dims(block)}>>>"
    return f"{text.shorten(name, max(8, NAME_WIDTH - len(shape) - 1))} {shape}"


def _cell(fold: Fold) -> str:
    time = fold.times[-1] if fold.times else None
    return "unknown" if time is None else f"{microseconds(time)} {fold.first.bound}"


def _runs(results: Sequence[RunResult], shared: Sequence[Sequence[str]], width: int) -> list[str]:
    """Which devices shared a run, and why."""
    lines = []
    for together in dict.fromkeys(map(tuple, shared)):
        names = ", ".join(together)
        if len(together) > 1:
            said = f"{names}: one run, as their code is the same and the program asks for no device"
        else:
            said = f"{names}: a run of its own"
        lines += text.wrap(f"note: {said}.", width, rest="  ")
    return lines + [line for note in dict.fromkeys(n for r in results for n in r.notes)
                    for line in text.note_lines(note, width)]  # fmt: skip
