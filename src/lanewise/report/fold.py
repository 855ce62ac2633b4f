"""Launches of one kernel in one shape and of one pattern, folded: what the terminal shows as one block.

Counts of a fold are *per launch* where all launches counted the same, else *summed*; a fold says which. Launches whose
accesses are unlike (another pattern or stride, other sectors or wavefronts per request) are not folded: their sum would
be an average.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from lanewise.alike import patterns, shown_accesses
from lanewise.records import Access, Finding, LaunchRecord, LineCounts, Pattern

T = TypeVar("T")

MOST_SHAPES = 4  # blocks of one kernel that is launched in many shapes

_WORST = (None, Pattern.BROADCAST, Pattern.CONTIGUOUS, Pattern.STRIDED, Pattern.SCATTERED)


@dataclass(frozen=True, slots=True)
class Fold:
    """`first` stands for all launches; `ptx_instructions`, `accesses` and `lines` are per launch or summed."""

    first: LaunchRecord
    launches: int
    per_launch: bool
    ptx_instructions: int
    ptx_thread_instructions: int
    accesses: tuple[Access, ...]
    lines: tuple[LineCounts, ...]
    findings: tuple[tuple[Finding, int], ...]  # each with the number of launches it came up in
    instructions: int | None = None  # machine instructions by warps and by threads, where the machine code is known
    thread_instructions: int | None = None
    times: tuple[float | None, ...] = ()  # modelled, in order, microseconds

    @property
    def all_instructions(self) -> int:
        """Warp-level PTX instructions of all launches."""
        return self.ptx_instructions * (self.launches if self.per_launch else 1)


def fold_launches(launches: Iterable[LaunchRecord]) -> tuple[Fold, ...]:
    """Folds by kernel, shape, patterns and whether the launch ran to its end, in order of first launch."""
    groups: dict[object, list[LaunchRecord]] = {}
    for launch in launches:
        shared = launch.dynamic_shared_bytes
        shape = (launch.symbol, launch.grid, launch.block, launch.cluster, shared, launch.device, launch.resources)
        groups.setdefault((shape, launch.completed, patterns(launch)), []).append(launch)
    return tuple(_fold(group) for group in groups.values())


def worth_showing(folds: Sequence[Fold]) -> list[bool]:
    """All shapes of a kernel, or, where it has many, those with the most instructions, findings or advice."""
    shapes: dict[str, list[int]] = {}
    for position, fold in enumerate(folds):
        shapes.setdefault(fold.first.symbol, []).append(position)
    shown = [bool(fold.findings or fold.first.advice) for fold in folds]
    for positions in shapes.values():
        for position in sorted(positions, key=lambda at: -folds[at].all_instructions)[:MOST_SHAPES]:
            shown[position] = True
    return shown


def _fold(group: Sequence[LaunchRecord]) -> Fold:
    first = group[0]
    same = all(_counts(launch) == _counts(first) for launch in group[1:])
    counted = [first] if same else group
    return Fold(
        first=first,
        launches=len(group),
        per_launch=same,
        ptx_instructions=sum(launch.ptx_instructions for launch in counted),
        ptx_thread_instructions=sum(launch.ptx_thread_instructions for launch in counted),
        accesses=_merge((a for launch in counted for a in shown_accesses(launch)), _access_key, add_accesses),
        lines=_merge((n for launch in counted for n in launch.lines), lambda n: (n.file, n.line), _add_lines),
        findings=tuple(Counter(f for launch in group for f in launch.findings).items()),
        instructions=_total([launch.instructions for launch in counted]),
        thread_instructions=_total([launch.thread_instructions for launch in counted]),
        times=tuple(launch.time_us for launch in group),
    )


def _total(values: Sequence[int | None]) -> int | None:
    return None if any(value is None for value in values) else sum(value or 0 for value in values)


def _counts(launch: LaunchRecord) -> object:
    return launch.ptx_instructions, launch.ptx_thread_instructions, launch.accesses, launch.lines


def _merge(items: Iterable[T], key: Callable[[T], object], add: Callable[[T, T], T]) -> tuple[T, ...]:
    merged: dict[object, T] = {}
    for item in items:
        at = key(item)
        merged[at] = add(merged[at], item) if at in merged else item
    return tuple(merged.values())


def _access_key(access: Access) -> object:
    place = (access.file, access.line, access.inlined_at, access.ptx_line, access.opcode)
    return (access.basis, *place, access.space, access.kind, access.width_bits, access.sass_offset)


def _add_optional(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def add_accesses(a: Access, b: Access) -> Access:
    """The sum of two counts of one instruction (or of its copies); the worse pattern stands for both."""
    worse = a if _WORST.index(a.pattern) >= _WORST.index(b.pattern) else b
    alike = a.pattern != b.pattern or a.stride_bytes == b.stride_bytes
    return replace(
        a,
        requests=a.requests + b.requests,
        threads=a.threads + b.threads,
        threads_on=a.threads_on + b.threads_on,
        sectors=_add_optional(a.sectors, b.sectors),
        sectors_ideal=_add_optional(a.sectors_ideal, b.sectors_ideal),
        wavefronts=_add_optional(a.wavefronts, b.wavefronts),
        wavefronts_ideal=_add_optional(a.wavefronts_ideal, b.wavefronts_ideal),
        pattern=worse.pattern,
        stride_bytes=worse.stride_bytes if alike else None,
        array=a.array if a.array == b.array else None,
    )


def _add_lines(a: LineCounts, b: LineCounts) -> LineCounts:
    return replace(
        a,
        ptx_instructions=a.ptx_instructions + b.ptx_instructions,
        ptx_thread_instructions=a.ptx_thread_instructions + b.ptx_thread_instructions,
        branches=a.branches + b.branches,
        divergent_branches=a.divergent_branches + b.divergent_branches,
    )
