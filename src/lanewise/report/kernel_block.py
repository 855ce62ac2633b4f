"""The block of one kernel in one shape: what it was given, its source lines with their accesses, what hurts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import RunResult
from lanewise.report import facts, text
from lanewise.report.access_table import STYLES, Table
from lanewise.report.advice import advice_lines, not_advised
from lanewise.report.excerpt import HOT_PERCENT, AccessRow, SourceRow, as_named, excerpt
from lanewise.report.findings import finding_lines
from lanewise.report.fold import Fold
from lanewise.report.judge import MARKS, Weight, cost
from lanewise.report.machine_code import machine_lines
from lanewise.report.timing import timing_facts
from lanewise.report.verdict import praise, problems

MOST_PROBLEMS = 4  # sentences
MOST_ROWS = 8  # accesses of one line


class KernelBlock:
    """One fold, ready to be shown; `alone` where its kernel has no other block to be told from. `number` of all folds,
    from 1, by which `lanewise explain` knows it."""

    def __init__(self, fold: Fold, result: RunResult, number: int, words: Catalogue, *, alone: bool) -> None:
        self.fold = fold
        self.number = number
        self._words = words
        self._result = result
        self._alone = alone
        self._rows = excerpt(fold, result.sources)
        self.problems = problems(fold, self._rows, words)

    @property
    def weight(self) -> Weight:
        """The worst mark in the block."""
        return max((row.weight for row in self._rows), default=Weight.FINE)

    def lines(self, width: int, show: Collection[str] = ()) -> list[Text]:
        """The block; `show` names what is added to it ("sass": the machine code)."""
        fold, rows, words = self.fold, self._rows, self._words
        program, sources = self._result.program, self._result.sources
        lines = [_kernel_title(fold, self._alone, words, width), *_facts(fold, words, width), Text("")]
        for finding, times in fold.findings:
            lines += [*finding_lines(finding, times, sources, words, width, program), Text("")]
        lines += _excerpt_lines(rows, fold, program, words, width)
        if rows:
            lines.append(Text(""))
        if "sass" in show:
            lines += [*machine_lines(fold, sources, words, width), Text("")]
        return [*lines, *self._verdict(width)]

    def _verdict(self, width: int) -> list[Text]:
        """What to change, where that was looked for; else which accesses are far from their ideal."""
        if self.fold.first.advised:
            others = not_advised(self.fold.first, self.problems, self._words)
            lines = [Text(line) for sentence in others for line in text.wrap(sentence, width, first="  ")]
            return [*lines, *advice_lines(self.fold, self.number, self._words, width)]
        lines = []
        for number, problem in enumerate(self.problems[:MOST_PROBLEMS], start=1):
            lines += [Text(line) for line in text.wrap(problem.sentence, width, first=f"  {number}  ")]
        if len(self.problems) > MOST_PROBLEMS:
            more = str(len(self.problems) - MOST_PROBLEMS)
            lines.append(Text("     " + self._words.say("verdict.more", number=more)))
        if not self.problems and self.fold.first.completed:
            lines += [Text(line) for line in text.wrap(praise(self.fold, self._words), width, first="  ")]
        return lines


def _kernel_title(fold: Fold, alone: bool, words: Catalogue, width: int) -> Text:
    launch = fold.first
    shape = facts.shape(launch, words)
    times = f"  x {text.count(fold.launches)}" if fold.launches > 1 else ""
    if not alone:
        times += "  " + words.say("facts.launch" if fold.launches == 1 else "facts.from_launch", number=str(launch.id))
    name = text.shorten(text.kernel_name(launch.kernel), width - cell_len(shape) - cell_len(times) - 2)
    return Text.assemble((name, "bold"), f"  {shape}{times}")


def _facts(fold: Fold, words: Catalogue, width: int) -> list[Text]:
    launch = fold.first
    given = (facts.resources(launch, words), facts.occupancy(launch, words), facts.executions(fold, words))
    said = [f"  {fact}" for fact in (*given, *timing_facts(fold, words)) if fact]
    if launch.occupancy is not None and launch.occupancy.next_step and launch.occupancy.fraction < 1:
        said.insert(2, f"    {words.retell(launch.occupancy.next_step)}")
    if fold.launches > 1:
        key = "facts.alike" if fold.per_launch else "facts.summed"
        said.append("  " + words.say(key, launches=words.count(fold.launches, "launch")))
    lines = [
        Text(line)
        for fact in said
        for line in text.wrap(fact.lstrip(), width, first=" " * (len(fact) - len(fact.lstrip())), rest="    ")
    ]
    if not launch.completed:
        lines.append(Text("  " + words.say("facts.cut_short"), style="bold red"))
    return lines


def _excerpt_lines(rows: Sequence[SourceRow], fold: Fold, program: str, words: Catalogue, width: int) -> list[Text]:
    table = Table.fit([access for row in rows for access in row.accesses], width, words)
    digits = max([4, *(len(str(row.line)) for row in rows if row.line is not None)])
    files = list(dict.fromkeys(row.file for row in rows))
    names = {file: as_named(file, program) for file in files if file is not None}
    named = list(names.values()) != [program]
    lines: list[Text] = []
    for file in files:
        of_file = [row for row in rows if row.file == file]
        if named and file is not None:
            lines.append(Text(f"  {text.cut_path(text.clean(names[file]), width - 2)}", style="dim"))
        margin = min((_margin(row.text) for row in of_file if row.text and row.text.strip()), default=0)
        for row in of_file:
            if row.line is not None:
                lines.append(_source_text(row, digits, margin, words, width))
            lines += _branch_lines(row, fold, words, table.form.indent, width)
            shown = heaviest(row.accesses, MOST_ROWS)
            for access in shown:
                if row.line is None:
                    lines.append(_without_line(access, words, width))
                lines += table.lines(access)
            if len(shown) < len(row.accesses):
                lighter = lighter_words(len(row.accesses) - len(shown), words)
                lines.append(Text(" " * table.form.indent + lighter, style="dim"))
    return lines


def _without_line(row: AccessRow, words: Catalogue, width: int) -> Text:
    """PTX that carries no source line: written by hand, or moved by the compiler."""
    access = row.access
    note = "" if access.file else "  " + words.say("access.no_line")
    line = Text(f"  {words.say('access.ptx_line', line=str(access.ptx_line))}: {text.clean(access.opcode)}{note}")
    line.truncate(width)
    return line


def heaviest(accesses: Sequence[AccessRow], most: int) -> Sequence[AccessRow]:
    """All, or in their order the `most` with the most excess, then the most requests."""
    if len(accesses) <= most:
        return accesses

    def heaviness(row: AccessRow) -> tuple[int, int]:
        measured = cost(row.access)
        return (0 if measured is None else measured.excess), row.access.requests

    least = sorted(map(heaviness, accesses), reverse=True)[most - 1]
    return [row for row in accesses if heaviness(row) >= least][:most]


def lighter_words(accesses: int, words: Catalogue) -> str:
    """How many accesses of a line are not shown; empty where all are."""
    return words.say("access.lighter", accesses=words.count(accesses, "access_lighter")) if accesses else ""


def _margin(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _source_text(row: SourceRow, digits: int, margin: int, words: Catalogue, width: int) -> Text:
    shown = words.say("access.source_missing") if row.text is None else text.clean(row.text)[margin:]
    line = Text(f"{MARKS[row.weight]:>3} {row.line:>{digits}} | ", style=STYLES[row.weight])
    line.append(shown, style="bold" if row.weight else "")
    if line.cell_len > width:
        line.truncate(width - 3)
        line.append("...")
    return line


def _branch_lines(row: SourceRow, fold: Fold, words: Catalogue, indent: int, width: int) -> list[Text]:
    parts = []
    if row.instructions and 100 * row.instructions >= HOT_PERCENT * fold.ptx_instructions:
        parts.append(words.say("access.share", share=text.percent(row.instructions, fold.ptx_instructions)))
    if row.divergent_branches:
        divergent, branches = text.count(row.divergent_branches), text.count(row.branches)
        parts.append(words.say("access.divergent", divergent=divergent, branches=branches))
    if not parts:
        return []
    front = f"{MARKS[row.branch_weight]:>3}".ljust(indent)
    style = STYLES[row.branch_weight] or "dim"
    return [Text(line, style=style) for line in text.wrap(words.listed(parts), width, first=front, rest=" " * indent)]
