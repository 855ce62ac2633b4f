"""What hurts in a kernel, worst first, in sentences; or that nothing does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.catalogue import Catalogue
from lanewise.hardware.coalescing import WARP
from lanewise.records import Space
from lanewise.report import text
from lanewise.report.excerpt import AccessRow, SourceRow, basename
from lanewise.report.fold import Fold
from lanewise.report.judge import (
    RANK,
    Cost,
    Weight,
    bank_words,
    conflict_words,
    cost,
    lane_words,
    pattern_words,
    totals,
    unit_words,
)

# Local memory is worth a sentence from this share of a kernel's sectors on, in percent.
LOCAL_PERCENT = 10
_LOCAL_RULES = frozenset({"spills_and_local_arrays"})
_LANE_RULES = frozenset({"lane_divergence", "uneven_loops"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to look at: `where` and `what` in a few words (empty for what is of the whole kernel), and a sentence.
    `excess` in `unit`, one launch's or summed as the fold's counts are; 0 for what is not counted in them. `rules` of
    advice say the same in more words."""

    sentence: str
    where: str = ""
    what: str = ""
    excess: int = 0
    unit: str = ""
    rules: frozenset[str] = frozenset()

    @property
    def rank(self) -> int:
        return RANK.get(self.unit, 0) * self.excess


def problems(fold: Fold, rows: Sequence[SourceRow], words: Catalogue) -> list[Problem]:
    """Accesses of a line, kind and array that are marked in the excerpt, by their excess; then local memory, branches
    and idle lanes."""
    whole = totals(fold.accesses)
    groups: dict[object, tuple[SourceRow, list[AccessRow]]] = {}
    for row in rows:
        for access in row.accesses:
            if access.weight > Weight.FINE:
                record = access.access
                key = (row.file, row.line, record.ptx_line if row.line is None else None, record.kind, record.space)
                groups.setdefault((*key, record.array), (row, []))[1].append(access)
    found = [_access_problem(row, accesses, whole, words) for row, accesses in groups.values()]
    found.sort(key=lambda problem: -problem.rank)
    found += _local_memory(whole, words)
    found += [_branch_problem(row, words) for row in rows if row.branch_weight > Weight.FINE]
    found += _idle_lanes(fold, words)
    return found


def _access_problem(
    row: SourceRow, accesses: Sequence[AccessRow], whole: Mapping[Space, Cost], words: Catalogue
) -> Problem:
    costs = [(measured.excess, row) for row in accesses if (measured := cost(row.access)) is not None]
    where = _where(row, words)
    record = max(costs, key=lambda item: item[0])[1].access if costs else accesses[0].access
    kind = record.kind.value
    what = (
        words.say(f"verdict.of_{kind}", array=text.variable_name(record.array))
        if record.array
        else words.say(f"kind.{kind}")
    )
    measured = cost(record)
    if measured is None:  # constant memory, the only one that is marked without a count
        return Problem(words.say("verdict.constants", where=where, what=what), where, what)
    total, excess = whole[record.space].actual, sum(excess for excess, _ in costs)
    each = text.per(measured.actual, record.requests)
    said = (conflict_words(record, words), pattern_words(record, words), lane_words(record, words))
    reasons = words.say("report.semicolon").join(word for word in (*said, bank_words(record, words)) if word)
    sentence = words.say(
        f"verdict.{measured.unit}{'_most' if len(costs) > 1 else ''}",
        where=where,
        what=what,
        each=each,
        unit=unit_words(measured, each, words),
        ideal=text.per(measured.ideal, record.requests),
        reason=words.say("verdict.reason", reasons=reasons) if reasons else "",
        excess=text.count(excess),
        total=text.count(total),
        space=f"@space.{record.space.value}",
        share=text.percent(excess, total),
    )
    return Problem(sentence, where, what, excess, measured.unit)


def _local_memory(whole: Mapping[Space, Cost], words: Catalogue) -> list[Problem]:
    local, other = (whole[space].actual if space in whole else 0 for space in (Space.LOCAL, Space.GLOBAL))
    everything = local + other
    if not local or 100 * local < LOCAL_PERCENT * everything:
        return []
    share = text.percent(local, everything)
    sentence = words.say("verdict.local", local=text.count(local), total=text.count(everything), share=share)
    return [Problem(sentence, rules=_LOCAL_RULES)]


def _branch_problem(row: SourceRow, words: Catalogue) -> Problem:
    where, divergent, branches = _where(row, words), text.count(row.divergent_branches), text.count(row.branches)
    return Problem(
        words.say("verdict.branch", where=where, divergent=divergent, branches=branches), where, rules=_LANE_RULES
    )


def _idle_lanes(fold: Fold, words: Catalogue) -> list[Problem]:
    warps, threads = fold.ptx_instructions, fold.ptx_thread_instructions
    if fold.instructions and fold.thread_instructions is not None:
        warps, threads = fold.instructions, fold.thread_instructions
    if 4 * threads > 3 * WARP * warps or warps == 0:
        return []
    x, y, z = fold.first.block
    block, lanes = x * y * z, text.per(threads, warps)
    if block < WARP:
        return [Problem(words.say("verdict.small_block", lanes=lanes, threads=words.count(block, "thread")))]
    return [Problem(words.say("verdict.idle_lanes", lanes=lanes), rules=_LANE_RULES)]


def _where(row: SourceRow, words: Catalogue) -> str:
    if row.line is None or row.file is None:
        return words.say("access.ptx_line", line=str(row.accesses[0].access.ptx_line))
    return f"{text.clean(basename(row.file))}:{row.line}"


def praise(fold: Fold, words: Catalogue) -> str:
    """What to say of a kernel without problems."""
    if not fold.accesses:
        return words.say("verdict.no_memory")
    if all(access.requests == 0 for access in fold.accesses):
        return words.say("verdict.none_executed")
    excess = any(measured.excess for access in fold.accesses if (measured := cost(access)) is not None)
    return words.say("verdict.near_ideal" if excess else "verdict.at_ideal")
