"""Source, PTX and machine instructions side by side: what `lanewise run --show sass` adds to a kernel's block."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from lanewise.records import Access
from lanewise.report import text
from lanewise.report.excerpt import place
from lanewise.report.fold import Fold
from lanewise.report.judge import cost

LONGEST_PTX = 28


def machine_lines(fold: Fold, sources: Mapping[str, str], width: int) -> list[Text]:
    """Memory instructions of the machine code in order of address, under the source line that each stands for."""
    machine = sorted((a for a in fold.accesses if a.sass_offset is not None), key=lambda a: a.sass_offset or 0)
    if not machine:
        return [Text("  the machine code of this kernel is not known", style="dim")]
    longest = max(min(len(access.opcode), LONGEST_PTX) for access in machine)
    lines = [Text("  machine instructions, the PTX that they carry, what they did", style="dim")]
    before: tuple[str | None, int | None] | None = None
    for access in machine:
        at = place(access)
        if (at.file, at.line) != before:
            before = (at.file, at.line)
            lines.append(Text(text.shorten(_source(at.file, at.line, sources), width)))
        ptx = f"{access.ptx_line:>6} {text.shorten(access.opcode, LONGEST_PTX).ljust(longest)}"
        front = f"    {access.sass_offset or 0:#06x}  {ptx}  "
        words = f"{_did(access)}  {text.clean(access.sass or '')}"
        lines += [Text(line) for line in text.wrap(words, width, first=front, rest=" " * (len(front) + 4))]
    return lines


def _source(file: str | None, line: int | None, sources: Mapping[str, str]) -> str:
    if file is None or line is None:
        return "  (no source line)"
    lines = sources.get(file, "").splitlines()
    code = text.clean(lines[line - 1].strip()) if 0 < line <= len(lines) else ""
    return f"  {line:>4}  {code}"


def _did(access: Access) -> str:
    """`1,024 x 4 sectors`."""
    measured = cost(access)
    if measured is None or not access.requests:
        return text.count(access.requests)
    return f"{text.count(access.requests)} x {text.per(measured.actual, access.requests)} {measured.unit}"
