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
    columns = width or (console.width if console.is_terminal else PIPED)
    for line in report_lines(result, columns, show, words):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def print_check(result: RunResult, *, file: TextIO | None = None) -> None:
    """The report of `lanewise check`, as `print_report` prints."""
    console = _Console(file=file, highlight=False, markup=False, emoji=False)
    for line in check_lines(result, min(max(console.width if console.is_terminal else PIPED, NARROWEST), WIDEST)):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


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
    lines += _left_out(folds, shown, width)
    lines += _findings(result, width)
    advised = [(block.number, block.fold) for block in blocks if block.fold.first.advised]
    lines += look_first(advised, words, width, MOST_WORST) if advised else _worst(blocks, words, width)
    plot = roofline_lines(folds, words, width)
    lines += [Text(""), *plot] if plot else []
    lines += [Text(""), *_ending(result, folds, width)]
    lines += legend_lines(folds, max((block.weight for block in blocks), default=Weight.FINE), words, width)
    return lines


def _title(result: RunResult, words: Catalogue, width: int) -> Text:
    def head(program: str) -> str:
        return words.say("report.title", program=program, device=text.clean(result.device), arch=result.arch)

    line = Text(head(text.shorten(text.clean(basename(result.program)), width - cell_len(head("")))), style="bold")
    line.append("-" * (width - line.cell_len))
    line.truncate(width)
    return line


def _left_out(folds: Sequence[Fold], shown: Sequence[bool], width: int) -> list[Text]:
    counted = Counter(text.kernel_name(fold.first.kernel) for fold, show in zip(folds, shown, strict=True) if not show)
    lines: list[Text] = []
    for name, shapes in counted.items():
        sentence = (
            f"{name}: {text.plural(shapes, 'lighter block')} not shown (launches of other shapes or other patterns); "
            "all of them are in the JSON (--json FILE)."
        )
        lines += [Text(""), *(Text(line) for line in text.wrap(sentence, width))]
    return lines


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
        excess = f"{text.count(launches * problem.excess)} {problem.unit} too many"
        line = f"{problem.where}, {problem.what}, in {name}: {excess}"
        lines += [Text(part) for part in text.wrap(line, width, first="  ", rest="    ")]
    return lines


def _findings(result: RunResult, width: int) -> list[Text]:
    in_launches = {finding for launch in result.launches for finding in launch.findings}
    lines: list[Text] = []
    for finding, times in Counter(f for f in result.findings if f not in in_launches).items():
        lines += [Text(""), *finding_lines(finding, times, result.sources, width, result.program)]
    if result.unsupported:
        lines += [Text(""), *unsupported_lines(result.unsupported, width, result.program)]
    return lines


def summary(result: RunResult, folds: Sequence[Fold]) -> str:
    """How much ran, and how the program ended."""
    kernels = len({fold.first.symbol for fold in folds})
    launches = text.plural(len(result.launches), "launch")
    done = f"{text.plural(kernels, 'kernel')}, {launches}" if folds else "No launch to report"
    return f"{done}; {_exit(result.exit_code)}." if result.has_host else f"{done}."


def _ending(result: RunResult, folds: Sequence[Fold], width: int) -> list[Text]:
    sentences = [summary(result, folds)]
    if result.check is not None:
        sentences += summary_sentences(result.check, all_findings(result))
    lines = [line for sentence in sentences for line in text.wrap(sentence, width, rest="  ")]
    return [Text(line) for line in (*lines, *(line for note in result.notes for line in text.note_lines(note, width)))]


def _exit(code: int | None) -> str:
    if code is None:
        return "the program did not start"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        return f"the program was ended by signal {-code} ({name})"
    return f"the program exited with {code}"
