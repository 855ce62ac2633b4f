"""What the check runtime is told of a kernel: its memory instructions and the source lines of all that it may name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lanewise.checks.library import MOST_LINES, SITE
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.lowering.events import SCOPES
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import TYPE_BITS
from lanewise.records import AccessKind, SourceLine, Space

_SPACES = {Space.GLOBAL: 0, Space.SHARED: 1, Space.LOCAL: 2}
_ELSEWHERE = 3
_KINDS = {AccessKind.LOAD: 0, AccessKind.STORE: 1, AccessKind.ATOMIC: 2}
_VOLATILE, _ACQUIRE, _RELEASE, _GENERIC, _RANGE = 1, 2, 4, 8, 16
_BOTH = ("acq_rel", "sc")


@dataclass(frozen=True, slots=True)
class Place:
    """A source line, or a line of PTX where there is none."""

    source: SourceLine | None
    ptx_line: int


@dataclass(slots=True)
class Tables:
    """`sites` (library.SITE) and `places` (line numbers) as the runtime reads them; `lines` say what a number is."""

    sites: npt.NDArray[np.void]
    places: npt.NDArray[np.uint16]
    lines: list[Place]


def tables(info: KernelInfo, shared_bytes: int) -> Tables:
    """The tables of a kernel for a launch with `shared_bytes` of shared memory a block."""
    lines: list[Place] = []
    numbers: dict[tuple[object, ...], int] = {}

    def number(source: SourceLine | None, ptx_line: int) -> int:
        key = (source.outermost.file, source.outermost.line) if source is not None else (None, ptx_line)
        if key not in numbers:
            if len(lines) >= MOST_LINES - 1:
                return MOST_LINES - 1
            numbers[key] = len(lines)
            lines.append(Place(source, ptx_line))
        return numbers[key]

    sites = np.zeros(max(1, len(info.sites)), SITE)
    for site in info.sites:
        sites[site.index] = _row(site, number(site.source, site.ptx_line), shared_bytes)
    places = np.array([number(source, line) for _, line, source in info.places] or [0], np.uint16)
    return Tables(sites, places, lines)


def _row(site: SiteInfo, line: int, shared_bytes: int) -> tuple[int, ...]:
    modifiers = site.opcode.split(".")[1:]
    types = [modifier for modifier in modifiers if modifier in TYPE_BITS]
    element = TYPE_BITS[types[-1]] // 8 if types else site.width_bits // 8
    flags = _VOLATILE if "volatile" in modifiers else 0
    atomic = site.kind == AccessKind.ATOMIC
    if "acquire" in modifiers or (atomic and any(m in modifiers for m in _BOTH)):
        flags |= _ACQUIRE
    if "release" in modifiers or (atomic and any(m in modifiers for m in _BOTH)):
        flags |= _RELEASE
    if site.generic and site.space == Space.GLOBAL:
        flags |= _GENERIC
    low, high = site.range or (0, 0)
    if site.range is not None:
        flags |= _RANGE
        high = shared_bytes if high < 0 else high
    space = _SPACES.get(site.space, _ELSEWHERE)
    return (space, _KINDS[site.kind], site.width_bits // 8, element, _scope(site, modifiers), flags, line, low, high)


def _scope(site: SiteInfo, modifiers: list[str]) -> int:
    """The scope of a strong access (PTX ISA, memory consistency model: 8.4); 0 of a weak one."""
    named = next((SCOPES[m] for m in modifiers if m in SCOPES), 0)
    if "volatile" in modifiers or "mmio" in modifiers:
        return SCOPES["sys"]
    if site.kind == AccessKind.ATOMIC or any(m in modifiers for m in ("relaxed", "acquire", "release")):
        return named or SCOPES["gpu"]
    return 0


def watched(info: KernelInfo, sites: npt.NDArray[np.void], *, races: bool, ranges: bool) -> npt.NDArray[np.uint8]:
    """One byte a site: whether the runtime wants to be told of its accesses."""
    watch = np.zeros(max(1, len(info.sites)), np.uint8)
    for site in info.sites:
        if site.recount is not None:
            continue
        raced = races and (site.generic or site.space in (Space.GLOBAL, Space.SHARED))
        ranged = ranges and site.range is not None
        watch[site.index] = raced or ranged
    assert len(sites) == len(watch)
    return watch
