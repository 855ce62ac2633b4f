"""What the check runtime is told of a kernel: its memory instructions and the source lines of all that it may name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lanewise.checks.library import MOST_LINES, SITE
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.instrument import LaunchStart
from lanewise.emulator.lowering.events import SCOPES, WATCH_ACCESS, WATCH_DEFINED
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import TYPE_BITS
from lanewise.records import AccessKind, SourceLine, Space

_SPACES = {Space.GLOBAL: 0, Space.SHARED: 1, Space.LOCAL: 2}
_ELSEWHERE = 3
_KINDS = {AccessKind.LOAD: 0, AccessKind.STORE: 1, AccessKind.ATOMIC: 2}
_VOLATILE, _ACQUIRE, _RELEASE, _GENERIC, _ASYNC = 1, 2, 4, 8, 16
_BOTH = ("acq_rel", "sc")


@dataclass(frozen=True, slots=True)
class Place:
    """A source line, or a line of PTX where there is none."""

    source: SourceLine | None
    ptx_line: int


@dataclass(slots=True)
class Tables:
    """`sites` (library.SITE), `distances` (of a site's lanes) and `places` (line numbers) as the runtime reads them;
    `lines` say what a number is."""

    sites: npt.NDArray[np.void]
    distances: npt.NDArray[np.int32]
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
    distances = np.zeros((max(1, len(info.sites)), 32), np.int32)
    for site in info.sites:
        sites[site.index] = _row(site, number(site.source, site.ptx_line), shared_bytes)
        if site.distances:
            distances[site.index] = site.distances
    places = np.array([number(source, line) for _, line, source in info.places] or [0], np.uint16)
    return Tables(sites, distances, places, lines)


def _row(site: SiteInfo, line: int, shared_bytes: int) -> tuple[int, ...]:
    modifiers = site.opcode.split(".")[1:]
    types = [modifier for modifier in modifiers if modifier in TYPE_BITS]
    bytes_ = (site.told_bits or site.width_bits) // 8
    element = min(bytes_, TYPE_BITS[types[-1]] // 8) if types else bytes_
    flags = _VOLATILE if "volatile" in modifiers else 0
    atomic = site.kind == AccessKind.ATOMIC
    if "acquire" in modifiers or (atomic and any(m in modifiers for m in _BOTH)):
        flags |= _ACQUIRE
    if "release" in modifiers or (atomic and any(m in modifiers for m in _BOTH)):
        flags |= _RELEASE
    if site.generic and site.space == Space.GLOBAL:
        flags |= _GENERIC
    if site.opcode.startswith("cp.async") and site.space == Space.SHARED:
        flags |= _ASYNC
    low, high = site.range or (0, 0)
    high = shared_bytes if high < 0 else high
    space = _SPACES.get(site.space, _ELSEWHERE)
    near, far = (min(site.distances), max(site.distances)) if site.distances else (0, 0)
    return (
        space, _KINDS[site.kind], bytes_, element, _scope(site, modifiers), flags, line, low, high, near, far
    )  # fmt: skip


def _scope(site: SiteInfo, modifiers: list[str]) -> int:
    """The scope of a strong access (PTX ISA, memory consistency model: 8.4); 0 of a weak one."""
    named = next((SCOPES[m] for m in modifiers if m in SCOPES), 0)
    if "volatile" in modifiers or "mmio" in modifiers:
        return SCOPES["sys"]
    if site.kind == AccessKind.ATOMIC or any(m in modifiers for m in ("relaxed", "acquire", "release")):
        return named or SCOPES["gpu"]
    return 0


def synchronises(info: KernelInfo) -> bool:
    """Whether a kernel has what could order it with others while both run: fences, accesses that acquire or release."""
    words = {word for site in info.sites for word in site.opcode.split(".")}
    return info.fences or bool(words & {"acquire", "release", "acq_rel", "sc"})


def watched(
    info: KernelInfo, start: LaunchStart, memory: DeviceMemory, defined: frozenset[int] | None, *, all_reads: bool
) -> npt.NDArray[np.uint8]:
    """One byte a site (`events.WATCH_*`): what the runtime wants to be told of its accesses.

    Memory that no instruction of the kernel writes cannot be raced for: its reads are left out where it is known which
    allocation they mean, unless `all_reads` are wanted. `defined`: allocations all bytes of which are defined; None:
    definedness is not followed.
    """
    watch = np.zeros(max(1, len(info.sites)), np.uint8)
    reaches = [site for site in info.sites if site.recount is None and site.space == Space.GLOBAL]
    written: set[int | None] = {_allocation(site, start, memory) for site in reaches if site.kind != AccessKind.LOAD}
    for site in info.sites:
        if site.recount is not None or site.space not in _SPACES:
            continue
        meant = _allocation(site, start, memory) if site.space == Space.GLOBAL else None
        read_only = meant is not None and None not in written and meant not in written
        if site.space != Space.LOCAL and (all_reads or not (read_only and site.kind == AccessKind.LOAD)):
            watch[site.index] |= WATCH_ACCESS
        if defined is not None and (meant is None or meant not in defined):
            watch[site.index] |= WATCH_DEFINED
    return watch


def _allocation(site: SiteInfo, start: LaunchStart, memory: DeviceMemory) -> int | None:
    """Number of the allocation that a site's addresses are built from; None where it is not known."""
    if site.pointer is None:
        return None
    how, where = site.pointer
    address = int.from_bytes(start.params[where : where + 8], "little") if how == "param" else where
    allocation = memory.find(address)
    return None if allocation is None else allocation.id
