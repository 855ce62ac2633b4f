"""The report on a terminal: one block per kernel and shape, then findings, notes and what the numbers mean."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lanewise.catalogue import Catalogue, catalogue
from lanewise.records import RunResult
from lanewise.report import text
from lanewise.report.advice import look_first
from lanewise.report.check import all_findings, check_lines, summary_sentences
from lanewise.report.excerpt import basename
from lanewise.report.findings import finding_lines, unsupported_lines
from lanewise.report.fold import Fold, fold_launches, worth_showing
from lanewise.report.judge import Weight
from lanewise.report.kernel_block import KernelBlock
from lanewise.report.legend import legend_lines
from lanewise.report.roofline import roofline_lines

NARROWEST, PIPED, WIDEST = 60, 100, 160
MOST_WORST = 5


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to the caller: rich would end the process, with a status that looks like the program's."""
        raise


def print_report(
    result: RunResult,
    *,
    file: TextIO | None = None,
    width: int | None = None,
    show: Collection[str] = (),
    words: Catalogue | None = None,
) -> None:
    """Prints to `file` (default: standard output), in colour on a terminal, as plain text elsewhere.

    `width` in columns; by default the terminal's, and 100 where there is none. `show` as of `KernelBlock.lines`;
    `words`: the language of headings and advice, English by default.
    """
    console = _Console(file=file, highlight=False, markup=False, emoji=False)
    for line in report_lines(result, width or report_width(console), show, words):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def print_check(result: RunResult, *, file: TextIO | None = None, words: Catalogue | None = None) -> None:
    """The report of `lanewise check`, as `print_report` prints."""
    console = _Console(file=file, highlight=False, markup=False, emoji=False)
    for line in check_lines(result, words or catalogue(), report_width(console)):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def report_width(console: Console | None = None) -> int:
    """Columns of a report: the terminal's within bounds, PIPED where standard output is none."""
    console = console or Console()
    return min(max(console.width if console.is_terminal else PIPED, NARROWEST), WIDEST)


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return Console().width


def report_text(
    result: RunResult, width: int = PIPED, show: Collection[str] = (), words: Catalogue | None = None
) -> str:
    """The report as plain text, every line ended by a newline."""
    return "".join(f"{line.plain}\n" for line in report_lines(result, width, show, words))


def report_lines(
    result: RunResult, width: int, show: Collection[str] = (), words: Catalogue | None = None
) -> list[Text]:
    width = min(max(width, NARROWEST), WIDEST)
    words = words or catalogue()
    lines = [Text(""), _title(result, words, width)]
    folds = fold_launches(result.launches)
    shown = worth_showing(folds)
    blocks_of = Counter(fold.first.symbol for fold in folds)
    blocks = [
        KernelBlock(fold, result, number, words, alone=blocks_of[fold.first.symbol] == 1)
        for number, (fold, show) in enumerate(zip(folds, shown, strict=True), start=1)
        if show
    ]
    for block in blocks:
        lines += [Text(""), *block.lines(width, show)]
    for sentence in left_out(folds, shown, words):
        lines += [Text(""), *(Text(line) for line in text.wrap(sentence, width))]
    lines += _findings(result, words, width)
    advised = [(block.number, block.fold) for block in blocks if block.fold.first.advised]
    lines += look_first(advised, words, width, MOST_WORST) if advised else _worst(blocks, words, width)
    plot = roofline_lines(folds, words, width)
    lines += [Text(""), *plot] if plot else []
    lines += [Text(""), *_ending(result, folds, words, width)]
    lines += legend_lines(folds, max((block.weight for block in blocks), default=Weight.FINE), words, width)
    return lines


def _title(result: RunResult, words: Catalogue, width: int) -> Text:
    def head(program: str) -> str:
        return words.say("report.title", program=program, device=text.clean(result.device), arch=result.arch)

    line = Text(head(text.shorten(text.clean(basename(result.program)), width - cell_len(head("")))), style="bold")
    line.append("-" * (width - line.cell_len))
    line.truncate(width)
    return line


def left_out(folds: Sequence[Fold], shown: Sequence[bool], words: Catalogue) -> list[str]:
    """Of each kernel with blocks that are not shown, how many."""
    counted = Counter(text.kernel_name(fold.first.kernel) for fold, show in zip(folds, shown, strict=True) if not show)
    return [
        words.say("ended.left_out", name=name, blocks=words.count(shapes, "block_lighter"))
        for name, shapes in counted.items()
    ]


def _worst(blocks: Sequence[KernelBlock], words: Catalogue, width: int) -> list[Text]:
    """Over all kernels the problems with the most excess: where to look first. Nothing for a single kernel."""
    found = [
        (block.fold.launches if block.fold.per_launch else 1, problem, block.fold)
        for block in blocks
        for problem in block.problems
        if problem.excess
    ]
    if len(found) < 2 or len(blocks) < 2:
        return []
    found.sort(key=lambda item: -item[0] * item[1].rank)
    lines = [Text(""), Text(words.say("report.look_first"), style="bold")]
    for launches, problem, fold in found[:MOST_WORST]:
        name = text.shorten(text.kernel_name(fold.first.kernel), width // 3)
        line = words.say(
            "verdict.excess",
            where=problem.where,
            what=problem.what,
            kernel=name,
            excess=text.count(launches * problem.excess),
            unit=f"@access.{problem.unit}",
        )
        lines += [Text(part) for part in text.wrap(line, width, first="  ", rest="    ")]
    return lines


def _findings(result: RunResult, words: Catalogue, width: int) -> list[Text]:
    in_launches = {finding for launch in result.launches for finding in launch.findings}
    lines: list[Text] = []
    for finding, times in Counter(f for f in result.findings if f not in in_launches).items():
        lines += [Text(""), *finding_lines(finding, times, result.sources, words, width, result.program)]
    if result.unsupported:
        lines += [Text(""), *unsupported_lines(result.unsupported, words, width, result.program)]
    return lines


def summary(result: RunResult, folds: Sequence[Fold], words: Catalogue) -> str:
    """How much ran, and how the program ended."""
    return words.say(
        f"ended.{'done' if folds else 'nothing'}{'_host' if result.has_host else ''}",
        kernels=words.count(len({fold.first.symbol for fold in folds}), "kernel"),
        launches=words.count(len(result.launches), "launch"),
        end=_exit(result.exit_code, words),
    )


def _ending(result: RunResult, folds: Sequence[Fold], words: Catalogue, width: int) -> list[Text]:
    sentences = [summary(result, folds, words)]
    if result.check is not None:
        sentences += summary_sentences(result.check, all_findings(result), words)
    lines = [line for sentence in sentences for line in text.wrap(sentence, width, rest="  ")]
    notes = [
        line
        for note in result.notes
        for line in text.note_lines(words.retell(note), width, words.say("finding.note") + words.say("report.colon"))
    ]
    return [Text(line) for line in (*lines, *notes)]


def _exit(code: int | None, words: Catalogue) -> str:
    if code is None:
        return words.say("ended.not_started")
    if code >= 0:
        return words.say("ended.code", code=str(code))
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = words.say("ended.signal_unknown")
    return words.say("ended.signal", number=str(-code), name=name)
