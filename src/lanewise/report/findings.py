"""Faults, checks and unsupported code as text: what, where, evidence, next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import Finding, Severity, SourceLine, Unsupported
from lanewise.report import text
from lanewise.report.excerpt import as_named, basename

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: ""}
LABEL = 8  # columns of the indented labels "where", "why" and "next"
MOST_PLACES = 8


def finding_lines(
    finding: Finding, times: int, sources: Mapping[str, str], words: Catalogue, width: int, program: str = ""
) -> list[Text]:
    """`program`: what the user named; a file that is part of it is called as it was there."""
    kind = f"{words.say(f'finding.{finding.severity.value}')} [{text.clean(finding.check)}]"
    head = kind + words.say("report.colon") + words.retell(finding.message)
    if times > 1:
        head += words.say("finding.times", launches=words.count(times, "launch"))
    style = STYLES[finding.severity]
    lines = [Text(line, style=style) for line in text.wrap(head, width, first="  ", rest="    ")]
    where = where_words(finding, words, program)
    if where:
        lines += _labelled(words.say("finding.where"), where, width)
    if finding.source:
        lines += source_line(finding.source.outermost, sources, width)
    for position, sentence in enumerate(finding.evidence):
        lines += _labelled("" if position else words.say("finding.why"), words.retell(sentence), width)
    if finding.next_step:
        lines += _labelled(words.say("finding.next"), words.retell(finding.next_step), width)
    return lines


def where_words(finding: Finding, words: Catalogue, program: str) -> str:
    """Kernel, line, block and thread, as far as they are known."""
    ptx_line = finding.ptx_line if finding.source is None else None
    return words.listed(
        [
            *([words.say("finding.kernel", name=text.kernel_name(finding.kernel))] if finding.kernel else []),
            *([_at(finding.source, words, program)] if finding.source else []),
            *([words.say("access.ptx_line", line=str(ptx_line))] if ptx_line else []),
            *([words.say("finding.block", at=str(finding.block))] if finding.block else []),
            *([words.say("finding.thread", at=str(finding.thread))] if finding.thread else []),
        ]
    )


def unsupported_lines(items: Iterable[Unsupported], words: Catalogue, width: int, program: str = "") -> list[Text]:
    """One entry for each thing that is not supported, with all places that use it."""
    groups: dict[tuple[str, str], list[Unsupported]] = {}
    for item in items:
        groups.setdefault((item.what, item.reason), []).append(item)
    lines: list[Text] = []
    for (what, reason), uses in groups.items():
        head = words.say("finding.unsupported", what=what)
        lines += [Text(line, style="bold red") for line in text.wrap(head, width, first="  ")]
        if reason:
            lines += _labelled(words.say("finding.why"), reason, width)
        places = list(dict.fromkeys(use_words(use, words, program) for use in uses))
        if len(places) > MOST_PLACES:
            more = words.count(len(places) - MOST_PLACES, "place")
            places[MOST_PLACES:] = [words.say("finding.more_places", places=more)]
        for position, place in enumerate(places):
            lines += _labelled("" if position else words.say("finding.where"), place, width)
    return lines


def source_line(at: SourceLine, sources: Mapping[str, str], width: int) -> list[Text]:
    """`12 | text of the line`, or nothing where the source is not at hand."""
    lines = sources.get(at.file, "").splitlines()
    if not 0 < at.line <= len(lines):
        return []
    line = Text(f"{at.line:>{LABEL + 3}} | {text.clean(lines[at.line - 1]).strip()}")
    line.truncate(width, overflow="ellipsis")
    return [line]


def _at(source: SourceLine, words: Catalogue, program: str) -> str:
    here = f"{as_named(source.outermost.file, program)}:{source.outermost.line}"
    if source.inlined_at is None:
        return here
    return words.say("finding.inlined", place=here, inner=f"{basename(source.file)}:{source.line}")


def use_words(use: Unsupported, words: Catalogue, program: str) -> str:
    """Where something unsupported is used."""
    parts = [_at(use.source, words, program)] if use.source else []
    if use.ptx_line is not None:
        parts.append(words.say("access.ptx_line", line=str(use.ptx_line)))
    if use.kernel:
        parts.append(words.say("finding.kernel", name=text.kernel_name(use.kernel)))
    return words.listed(parts) or words.say("finding.nowhere")


def _labelled(label: str, sentence: str, width: int) -> list[Text]:
    first = f"    {text.pad(label, LABEL - 2)}"
    return [Text(line) for line in text.wrap(sentence, width, first=first)]
