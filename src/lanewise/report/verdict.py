"""What hurts in a kernel, worst first, in sentences; or that nothing does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.records import Space
from lanewise.report import text
from lanewise.report.excerpt import AccessRow, SourceRow, basename
from lanewise.report.fold import Fold
from lanewise.report.judge import SECTORS, Cost, Weight, bank_words, cost, pattern_words, totals

MOST = 3  # sentences per kernel


def problems(fold: Fold, rows: Sequence[SourceRow]) -> list[str]:
    """At most `MOST` sentences on accesses and branches that are marked in the excerpt."""
    marked: list[tuple[int, str]] = []
    whole = totals(fold.accesses)
    for row in rows:
        for access in row.accesses:
            measured = cost(access.access)
            if measured is not None and access.weight > Weight.FINE:
                marked.append((measured.excess, _access_sentence(row, access, measured, whole)))
    marked.sort(key=lambda item: -item[0])
    sentences = [sentence for _, sentence in marked]
    sentences += [_branch_sentence(row) for row in rows if row.branch_weight > Weight.FINE]
    if len(sentences) > MOST:
        sentences[MOST:] = [f"{len(sentences) - MOST} more, marked above."]
    return sentences


def _access_sentence(row: SourceRow, access: AccessRow, measured: Cost, whole: Mapping[Space, int]) -> str:
    record = access.access
    total = whole[record.space]
    array = (
        {"load": " of ", "store": " to ", "atomic": " on "}[record.kind.value] + record.array if record.array else ""
    )
    verb = "moves" if measured.unit == SECTORS else "takes"
    each = text.per(measured.actual, record.requests)
    ideal = text.per(measured.ideal, record.requests)
    reason = "; ".join(words for words in (pattern_words(record), bank_words(record)) if words)
    return (
        f"{_where(row)}: the {record.kind.value}{array} {verb} {each} {measured.unit} a request where {ideal} would do"
        f"{f' ({reason})' if reason else ''}. Excess: {text.count(measured.excess)} of this kernel's "
        f"{text.count(total)} {record.space.value} {measured.unit} ({text.percent(measured.excess, total)})."
    )


def _branch_sentence(row: SourceRow) -> str:
    divergent, branches = text.count(row.divergent_branches), text.count(row.branches)
    return f"{_where(row)}: {divergent} of {branches} branches split their warp: its sides run in turn."


def _where(row: SourceRow) -> str:
    if row.line is None or row.file is None:
        return f"PTX line {row.accesses[0].access.ptx_line}"
    return f"{basename(row.file)}:{row.line}"


def praise(fold: Fold) -> str:
    """What to say of a kernel without problems."""
    if not fold.accesses:
        return "This kernel touches no memory."
    if all(access.requests == 0 for access in fold.accesses):
        return "No instruction of this kernel that touches memory was executed."
    excess = any(measured.excess for access in fold.accesses if (measured := cost(access)) is not None)
    distance = "within 10% of" if excess else "at"
    return f"Nothing to gain from how lanes lie in memory: every access is {distance} its ideal."
