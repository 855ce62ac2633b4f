"""Memory that a program never freed, in words: one finding for each line that allocated it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lanewise.records import Allocation, Finding, Severity, SourceLine

_CALLS = {"malloc": "device memory", "managed": "managed memory", "host": "pinned host memory"}


def findings(allocations: Iterable[Allocation]) -> Iterator[Finding]:
    """`allocations`: those that were live when the program ended, described."""
    together: dict[tuple[SourceLine | None, str], list[Allocation]] = {}
    for allocation in allocations:
        if allocation.kind in _CALLS:
            together.setdefault((allocation.made_at, allocation.kind), []).append(allocation)
    for (made_at, kind), group in together.items():
        size = sum(allocation.size for allocation in group)
        name = f" for {group[0].name!r}" if group[0].name else ""
        many = f" in {len(group):,} allocations" if len(group) > 1 else ""
        yield Finding(
            "leak",
            Severity.WARNING,
            f"{size:,} bytes of {_CALLS[kind]}{many}{name} are never freed",
            source=made_at,
            evidence=("live when the program ended",),
            next_step="free it with cudaFreeHost" if kind == "host" else "free it with cudaFree",
        )
