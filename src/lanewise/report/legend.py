"""What the units of a report mean, and which metric of Nsight Compute each stands for."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from lanewise.records import Access, AccessKind, Space
from lanewise.report import text
from lanewise.report.fold import Fold
from lanewise.report.judge import MARKS, Weight

LABEL = 11


def legend_lines(folds: Iterable[Fold], worst: Weight, width: int) -> list[Text]:
    """One line a unit that occurs in the report; nothing where no memory was touched. `worst`: of the marks shown."""
    accesses = [access for fold in folds for access in fold.accesses]
    lines: list[str] = []
    for label, meaning in legend(accesses, worst):
        lines += text.wrap(meaning, width, first=f"  {label:<{LABEL}}")
    return [Text(line, style="dim") for line in ["", *lines]] if lines else []


def legend(accesses: list[Access], worst: Weight) -> list[tuple[str, str]]:
    """What is explained, and the explanation; the label is empty where it goes on with the one before."""
    if not accesses:
        return []
    counted = "machine" if any(access.basis == "sass" for access in accesses) else "PTX"
    entries = [("request", f"one memory instruction of one warp; counts are exact, of {counted} instructions")]
    if any(access.sectors is not None for access in accesses):
        entries.append(("sector", "32 bytes; in Nsight Compute memory_l2_theoretical_sectors_global, _local"))
    if any(access.wavefronts is not None for access in accesses):
        entries.append(("wavefront", "one pass of the 32 banks; in Nsight Compute memory_l1_wavefronts_shared"))
    if any(access.space is Space.SHARED and access.kind is AccessKind.ATOMIC for access in accesses):
        entries.append(("", "(shared atomics pass a bank lane by lane)"))
    entries.append(("ideal", "the least for the same lanes and width; in Nsight Compute the name with _ideal"))
    if worst > Weight.FINE:
        entries.append((MARKS[Weight.POOR], "10% or more over its ideal, or a branch that splits its warp often"))
    if worst > Weight.POOR:
        entries.append((MARKS[Weight.BAD], "twice its ideal or more, and the excess weighs in this kernel"))
    return entries
