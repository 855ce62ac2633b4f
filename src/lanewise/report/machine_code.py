"""Source, PTX and machine instructions side by side: what `lanewise run --show sass` adds to a kernel's block."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.text import Text

from lanewise.catalogue import Catalogue
from lanewise.records import Access
from lanewise.report import text
from lanewise.report.excerpt import place
from lanewise.report.fold import Fold
from lanewise.report.judge import cost, unit_words

LONGEST_PTX = 28


def machine_lines(fold: Fold, sources: Mapping[str, str], words: Catalogue, width: int) -> list[Text]:
    """Memory instructions of the machine code in order of address, under the source line that each stands for."""
    machine = sorted((a for a in fold.accesses if a.sass_offset is not None), key=lambda a: a.sass_offset or 0)
    if not machine:
        return [Text("  " + words.say("machine.unknown"), style="dim")]
    longest = max(min(len(access.opcode), LONGEST_PTX) for access in machine)
    did = {access: _did(access, words) for access in machine}
    column = max(map(cell_len, did.values()))
    lines = [Text("  " + words.say("machine.head"), style="dim")]
    before: tuple[str | None, int | None] | None = None
    for access in machine:
        at = place(access)
        if (at.file, at.line) != before:
            before = (at.file, at.line)
            lines.append(Text(text.cut(_source(at.file, at.line, sources, words), width)))
        ptx = f"{access.ptx_line:>6} {text.shorten(access.opcode, LONGEST_PTX).ljust(longest)}"
        front = f"    {access.sass_offset or 0:#06x}  {ptx}  "
        said = f"{text.pad(did[access], column)}  {text.clean(access.sass or '')}"
        lines += [Text(line) for line in text.wrap(said, width, first=front, rest=" " * (len(front) + 4))]
    return lines


def _source(file: str | None, line: int | None, sources: Mapping[str, str], words: Catalogue) -> str:
    if file is None or line is None:
        return "  " + words.say("access.no_line")
    lines = sources.get(file, "").splitlines()
    code = text.clean(lines[line - 1].strip()) if 0 < line <= len(lines) else ""
    return f"  {line:>4} | {code}"


def _did(access: Access, words: Catalogue) -> str:
    """`1,024 x 4 sectors`."""
    measured = cost(access)
    if measured is None or not access.requests:
        return text.count(access.requests)
    each = text.per(measured.actual, access.requests)
    return f"{text.count(access.requests)} x {each} {unit_words(measured, each, words)}"
