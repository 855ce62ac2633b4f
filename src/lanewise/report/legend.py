"""What the units of a report mean, and which metric of Nsight Compute each stands for."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import Access, AccessKind, Space
from lanewise.report import text
from lanewise.report.fold import Fold
from lanewise.report.judge import MARKS, Weight

LABEL = 11


def legend_lines(folds: Iterable[Fold], worst: Weight, words: Catalogue, width: int) -> list[Text]:
    """One line a unit that occurs in the report; nothing where no memory was touched. `worst`: of the marks shown."""
    accesses = [access for fold in folds for access in fold.accesses]
    lines: list[str] = []
    for label, meaning in legend(accesses, worst, words):
        lines += text.wrap(meaning, width, first="  " + text.pad(label, LABEL))
    return [Text(line, style="dim") for line in ["", *lines]] if lines else []


def legend(accesses: list[Access], worst: Weight, words: Catalogue) -> list[tuple[str, str]]:
    """What is explained, and the explanation; the label is empty where it goes on with the one before."""
    if not accesses:
        return []
    machine = any(access.basis == "sass" for access in accesses)
    entries = [(words.say("legend.request_name"), words.say("legend.request_sass" if machine else "legend.request"))]
    if any(access.sectors is not None for access in accesses):
        entries.append((words.say("legend.sector_name"), words.say("legend.sector")))
    if any(access.wavefronts is not None for access in accesses):
        entries.append((words.say("legend.wavefront_name"), words.say("legend.wavefront")))
    if any(access.space is Space.SHARED and access.kind is AccessKind.ATOMIC for access in accesses):
        entries.append(("", words.say("legend.shared_atomics")))
    entries.append((words.say("legend.ideal_name"), words.say("legend.ideal")))
    if worst > Weight.FINE:
        entries.append((MARKS[Weight.POOR], words.say("legend.poor")))
    if worst > Weight.POOR:
        entries.append((MARKS[Weight.BAD], words.say("legend.bad")))
    return entries
