"""What to change in a kernel, numbered within its block; or that nothing is left that is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from lanewise.catalogue import Catalogue, parts
from lanewise.records import Finding, LaunchRecord
from lanewise.report import text
from lanewise.report.excerpt import basename
from lanewise.report.fold import Fold
from lanewise.report.timing import microseconds
from lanewise.report.verdict import Problem

WORTH_PERCENT = 5  # of a launch: what saves less is not given (`advice.rank`)
_BETWEEN = "   "
_AT_ROOF = 0.85  # share of the time from which a unit counts as a roof, as in the model


def number(block: int, finding: int) -> str:
    """What `lanewise explain` calls a finding: block of the report and place in it, both from 1."""
    return f"{block}.{finding}"


def advice_lines(fold: Fold, block: int, words: Catalogue, width: int) -> list[Text]:
    """The findings of a block, and where none of them is a change worth it, a line that says so."""
    lines: list[Text] = []
    digits = len(number(block, len(fold.first.advice)))
    for position, finding in enumerate(fold.first.advice, start=1):
        lines += _finding(finding, number(block, position), digits, words, width)
    if all(finding.gain is None for finding in fold.first.advice):
        lines += [Text(line) for line in text.wrap(nothing_left(fold.first, words), width, first="  ")]
    return lines


def _finding(finding: Finding, named: str, digits: int, words: Catalogue, width: int) -> list[Text]:
    """What is wrong and how that shows; what to do and at what price; what it is worth, and where to read more."""
    first = f"  {named:<{digits}}  "
    indent = " " * len(first)
    between = words.say("report.between")
    wrong = place(finding, words) + between.join((said(finding, "message", words), *parts(finding, "evidence", words)))
    lines = [Text(line) for line in text.wrap(wrong, width, first=first)]
    step, price = said(finding, "next_step", words), said(finding, "price", words)
    if price:
        step = step + between + words.say("report.price", price=price)
    lines += [Text(line) for line in text.wrap(step, width, first=indent)]
    worth = [(gain(finding, words), "bold")] if finding.gain is not None else []
    return [
        *lines,
        *_columns([*worth, *((command, "dim") for command in pointers(finding, named, words))], indent, width),
    ]


def _columns(items: Sequence[tuple[str, str]], indent: str, width: int) -> list[Text]:
    """Texts with their styles beside each other, three blanks between them, on as few lines as hold them whole."""
    lines: list[Text] = []
    for item, style in items:
        if lines and cell_len(lines[-1].plain + _BETWEEN + item) <= width:
            lines[-1].append(_BETWEEN)
            lines[-1].append(item, style)
        else:
            lines.append(Text.assemble(indent, (item, style)))
    return lines


def gain(finding: Finding, words: Catalogue) -> str:
    """`74.0 -> 17.0 us (tried: re-run)`."""
    assert finding.gain is not None
    return words.say(
        "report.gain",
        before=microseconds(finding.gain.before_us),
        after=microseconds(finding.gain.after_us),
        tried=f"@tried.{finding.gain.tried.value}",
    )


def pointers(finding: Finding, named: str, words: Catalogue) -> list[str]:
    """Commands that show more of it."""
    commands = [words.say("report.explain", number=named)]
    if finding.rung is not None:
        subject, _, rung = finding.rung.partition(" ")
        commands.insert(0, words.say("report.ladder", subject=subject, rung=rung))
    return commands


def said(finding: Finding, part: str, words: Catalogue) -> str:
    """A field of advice in the language of `words`; empty where it has none."""
    return next(iter(parts(finding, part, words)), "")


def place(finding: Finding, words: Catalogue) -> str:
    """`transpose.cu:10: `, the line that the report has it at; nothing where a finding is of the whole kernel."""
    if finding.source is not None:
        return f"{text.clean(basename(finding.source.shown.file))}:{finding.source.shown.line}: "
    return f"{words.say('access.ptx_line', line=str(finding.ptx_line))}: " if finding.ptx_line is not None else ""


def not_advised(launch: LaunchRecord, problems: Sequence[Problem], words: Catalogue) -> list[str]:
    """Problems that are no excess of sectors or wavefronts (of which the advice says what is worth changing), and that
    none of the advice is about."""
    rules = {finding.check for finding in launch.advice}
    places = {place(finding, words).removesuffix(": ") for finding in launch.advice}
    return [p.sentence for p in problems if not p.excess and p.where not in places and not rules & p.rules]


def nothing_left(launch: LaunchRecord, words: Catalogue) -> str:
    """Of a launch without advice: how near the busiest unit is to its roof."""
    busiest = launch.units[0] if launch.units else None
    if busiest is not None and busiest.share >= _AT_ROOF:
        share = f"{100 * busiest.share:.0f}"
        return words.say("report.at_roof", share=share, unit=busiest.name, percent=str(WORTH_PERCENT))
    return words.say("report.nothing_left", percent=str(WORTH_PERCENT))


@dataclass(frozen=True, slots=True)
class Worth:
    """A piece of advice and what it saves over all launches, in modelled microseconds."""

    saved_us: float
    number: str
    finding: Finding
    fold: Fold


def most_worth(blocks: Sequence[tuple[int, Fold]]) -> list[Worth]:
    """Of each block the change that saves most (those of one kernel do not add up), what saves most first."""
    found = []
    for block, fold in blocks:
        of_block = [
            Worth(fold.launches * (gain.before_us - gain.after_us), number(block, position), finding, fold)
            for position, finding in enumerate(fold.first.advice, start=1)
            if (gain := finding.gain) is not None
        ]
        found += sorted(of_block, key=lambda worth: -worth.saved_us)[:1]
    return sorted(found, key=lambda worth: -worth.saved_us)


def look_first(blocks: Sequence[tuple[int, Fold]], words: Catalogue, width: int, most: int) -> list[Text]:
    """Over all kernels the changes that save the most, all launches together. Nothing for fewer than two."""
    found = most_worth(blocks)
    if len(found) < 2 or len(blocks) < 2:
        return []
    lines = [Text(""), Text(words.say("report.look_first"), style="bold")]
    for worth in found[:most]:
        name = text.shorten(text.kernel_name(worth.fold.first.kernel), width // 3)
        line = words.say(
            "report.worth",
            place=place(worth.finding, words),
            change=said(worth.finding, "change", words),
            kernel=name,
            saved=microseconds(worth.saved_us),
        )
        lines += [Text(part) for part in text.wrap(line, width, first=f"  {worth.number}  ")]
    return lines
