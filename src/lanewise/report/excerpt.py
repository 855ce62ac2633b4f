"""The lines of source that a kernel block shows, each with what its accesses and branches did.

An access that was inlined stands at the first line of its chain of inlining that lies in the file of the outermost one:
a helper in the user's own file at its own line, code of a header at the line that called it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lanewise.records import Access, LineCounts, Said, SourceLine, Space
from lanewise.report.fold import Fold, add_accesses
from lanewise.report.judge import Cost, Weight, access_weight, totals, value_type

# A line stands in the excerpt without touching memory from this share of the instructions on, in percent.
HOT_PERCENT = 30
# A branch is worth a mark where a warp splits this often, in percent of its executions.
DIVERGENT_PERCENT = 20
# Headers of the toolkit that stand for single instructions, such as atomicAdd and __shfl_sync: nobody's own code.
_INTRINSICS = re.compile(r"(?:device_\w*functions|sm_\d+_\w+|\w*intrinsics\w*)\.(?:h|hpp)")


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One access, or several of one line with the same counts per request (`copies`, as loop unrolling makes them)."""

    access: Access
    copies: int
    via: Said | None  # in header.hpp:82, via line 34
    weight: Weight = Weight.FINE


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source line; `line` is None for PTX without source lines, `text` where the source is not at hand."""

    file: str | None
    line: int | None
    text: str | None
    instructions: int
    branches: int
    divergent_branches: int
    accesses: tuple[AccessRow, ...]

    @property
    def branch_weight(self) -> Weight:
        often = 100 * self.divergent_branches >= DIVERGENT_PERCENT * self.branches > 0
        return Weight.POOR if often else Weight.FINE

    @property
    def weight(self) -> Weight:
        return max([self.branch_weight, *(row.weight for row in self.accesses)])


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access is shown, and by which way it got there."""

    file: str | None
    line: int | None
    via: Said | None = None


def place(access: Access) -> Place:
    if access.file is None or access.line is None:
        return Place(None, None)
    source = SourceLine(access.file, access.line, inlined_at=access.inlined_at)
    shown, outermost = source.shown, source.outermost
    if shown.file != access.file and _INTRINSICS.fullmatch(basename(access.file)):
        return Place(shown.file, shown.line)
    if shown.file != access.file:
        here = f"{basename(access.file)}:{access.line}"
        return Place(shown.file, shown.line, Said("via", "access.in_file", (("place", here),)))
    if shown is not outermost and outermost.line != shown.line:
        return Place(shown.file, shown.line, Said("via", "access.via_line", (("line", str(outermost.line)),)))
    return Place(shown.file, shown.line)


def as_named(file: str, program: str) -> str:
    """The file as the user named it on the command line, where it was one of the program's inputs."""
    named = (name for name in program.split(" ") if name and file.endswith(f"/{name.removeprefix('./')}"))
    return next(named, posixpath.normpath(file))


def basename(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def excerpt(fold: Fold, sources: Mapping[str, str]) -> tuple[SourceRow, ...]:
    """Rows by file (in order of first access) and line: those that touch memory, diverge, or run hot."""
    rows: dict[tuple[str | None, int | None], list[AccessRow]] = {}
    for access in fold.accesses:
        at = place(access)
        _add(rows.setdefault((at.file, at.line), []), AccessRow(access, 1, at.via))
    counts = {(line.file, line.line): line for line in fold.lines}
    for key, line in counts.items():
        hot = 100 * line.ptx_instructions >= HOT_PERCENT * fold.ptx_instructions > 0
        own = line.file in sources and not _INTRINSICS.fullmatch(basename(line.file))
        if own and (hot or line.divergent_branches):
            rows.setdefault(key, [])
    whole = totals(fold.accesses)
    order = {file: position for position, file in enumerate(dict.fromkeys(file for file, _ in rows))}
    texts = {file: sources[file].splitlines() for file in order if file is not None and file in sources}
    return tuple(
        _row(file, line, texts, counts, _weighed(accesses, whole))
        for (file, line), accesses in sorted(rows.items(), key=lambda item: (order[item[0][0]], item[0][1] or 0))
    )


def _weighed(rows: list[AccessRow], kernel: Mapping[Space, Cost]) -> list[AccessRow]:
    line = totals(row.access for row in rows)
    weighed = []
    for row in rows:
        space = row.access.space
        excess, total = (line[space].excess, kernel[space].actual) if space in line else (0, 0)
        weighed.append(replace(row, weight=access_weight(row.access, excess, total)))
    return weighed


def _row(
    file: str | None,
    line: int | None,
    texts: Mapping[str, list[str]],
    counts: Mapping[tuple[str, int], LineCounts],
    accesses: list[AccessRow],
) -> SourceRow:
    text, counted = None, None
    if file is not None and line is not None:
        counted = counts.get((file, line))
        lines = texts.get(file, [])
        text = lines[line - 1] if 0 < line <= len(lines) else None
    return SourceRow(
        file=file,
        line=line,
        text=text,
        instructions=counted.ptx_instructions if counted else 0,
        branches=counted.branches if counted else 0,
        divergent_branches=counted.divergent_branches if counted else 0,
        accesses=tuple(accesses),
    )


def _add(rows: list[AccessRow], new: AccessRow) -> None:
    """Joins `new` with a row whose accesses are alike, per request; unlike ones are never averaged."""
    for position, row in enumerate(rows):
        one_place = new.access.file is not None or row.access.ptx_line == new.access.ptx_line
        if one_place and row.via == new.via and _alike(row.access, new.access):
            rows[position] = replace(row, access=add_accesses(row.access, new.access), copies=row.copies + 1)
            return
    rows.append(new)


def _alike(a: Access, b: Access) -> bool:
    def shape(access: Access) -> object:
        return (
            (access.basis, access.space, access.kind, access.width_bits, value_type(access)),
            (access.array, access.pattern, access.stride_bytes),
        )

    def counts(access: Access) -> tuple[int | None, ...]:
        return (
            access.threads_on,
            access.sectors,
            access.sectors_ideal,
            access.wavefronts,
            access.wavefronts_ideal,
        )

    return shape(a) == shape(b) and all(
        (x is None and y is None) or (x is not None and y is not None and x * b.requests == y * a.requests)
        for x, y in zip(counts(a), counts(b), strict=True)
    )
