"""The accesses of a launch as a programmer sees them: all copies of one access on one line together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lanewise.advice import names
from lanewise.advice.subject import Subject
from lanewise.emulator.trace import SITE_SHIFT
from lanewise.hardware.coalescing import LINE_BYTES, SECTOR_BYTES
from lanewise.records import AccessKind, Pattern, SourceLine, Space
from lanewise.sass.costs import AccessCost


@dataclass(frozen=True, slots=True)
class Group:
    """Machine instructions that make the accesses of one kind to one array on one line; `array` as the source calls it,
    where that is known. Counts are sums over the launch. `sites`: indices of the accesses of PTX, as they are counted
    and as the trace names them."""

    source: SourceLine | None
    ptx_line: int
    space: Space
    kind: AccessKind
    array: str | None
    costs: tuple[AccessCost, ...]
    sites: frozenset[int]

    @property
    def requests(self) -> int:
        return sum(cost.requests for cost in self.costs)

    @property
    def sectors(self) -> int:
        return sum(cost.sectors or 0 for cost in self.costs)

    @property
    def sectors_ideal(self) -> int:
        return sum(cost.sectors_ideal or 0 for cost in self.costs)

    @property
    def wavefronts(self) -> int:
        return sum(cost.wavefronts or 0 for cost in self.costs)

    @property
    def wavefronts_ideal(self) -> int:
        return sum(cost.wavefronts_ideal or 0 for cost in self.costs)

    @property
    def bytes_asked(self) -> int:
        """By all lanes that took part."""
        return sum(cost.threads_on * cost.access.instruction.width_bits // 8 for cost in self.costs)

    @property
    def width_bytes(self) -> int:
        """That a lane accesses at once."""
        return max(cost.access.instruction.width_bits for cost in self.costs) // 8

    @property
    def stride_bytes(self) -> int | None:
        """The one distance of neighbouring lanes, where all have it."""
        strides = {None if cost.site is None else cost.site.stride for cost in self.costs}
        return strides.pop() if len(strides) == 1 else None

    @property
    def pattern(self) -> Pattern | None:
        """The worst that was seen; None where nothing was."""
        order = (Pattern.BROADCAST, Pattern.CONTIGUOUS, Pattern.STRIDED, Pattern.SCATTERED)
        seen = [cost.site.pattern for cost in self.costs if cost.site is not None and cost.site.pattern is not None]
        return max(seen, key=order.index, default=None)

    @property
    def lanes(self) -> float:
        """That took part in a request, on average."""
        return sum(cost.threads_on for cost in self.costs) / self.requests


def groups(subject: Subject, *spaces: Space) -> list[Group]:
    """Groups of the spaces, in the order of the machine code; accesses that never ran are left out."""
    every: list[Group] | None = subject.remembered.get("groups")
    if every is None:
        every = subject.remembered["groups"] = _groups(subject)
    return [group for group in every if group.space in spaces]


def _groups(subject: Subject) -> list[Group]:
    found: dict[object, list[AccessCost]] = {}
    arrays: dict[object, str | None] = {}
    for cost in subject.costs.accesses:
        memory = cost.access.instruction.memory
        if cost.requests == 0 or memory is None or cost.site is None:
            continue
        site = cost.site.site
        array = names.array(subject.function, subject.sources, site)
        source = site.source
        place = (source.outermost.file, source.outermost.line) if source is not None else site.ptx_line
        key = (place, cost.space, site.kind, array)
        found.setdefault(key, []).append(cost)
        arrays[key] = array
    # What is counted again for the machine code is in the trace as the access of its line.
    traced = {(site.module, site.ptx_line): site.index for site in subject.sites if site.recount is None}
    return [_group(tuple(costs), arrays[key], traced) for key, costs in found.items()]


def _group(costs: tuple[AccessCost, ...], array: str | None, traced: Mapping[tuple[int, int], int]) -> Group:
    assert costs[0].site is not None
    site = costs[0].site.site
    own = [cost.site.site for cost in costs if cost.site is not None]
    indices = {s.index for s in own} | {traced[key] for s in own if (key := (s.module, s.ptx_line)) in traced}
    return Group(site.source, site.ptx_line, costs[0].space, site.kind, array, costs, frozenset(indices))


def together(members: Sequence[Group]) -> Group:
    """Groups of one array and kind as one, at the place of the first."""
    return replace(
        members[0],
        costs=tuple(cost for group in members for cost in group.costs),
        sites=frozenset().union(*(group.sites for group in members)),
    )


def footprint(subject: Subject, sites: frozenset[int]) -> int:
    """Bytes of the distinct sectors that accesses touch in the launch; an estimate where a share of the lines was
    followed, of one line of them at least."""
    key = f"footprint {sorted(sites)}"
    if key not in subject.remembered:
        subject.remembered[key] = _footprint(subject, sites)
    found: int = subject.remembered[key]
    return found


_SECTORS = np.array([mask.bit_count() for mask in range(1 << LINE_BYTES // SECTOR_BYTES)], np.uint8)


def records_of(subject: Subject, sites: frozenset[int]) -> npt.NDArray[np.void]:
    """What the trace of lines has of accesses."""
    if "sites of records" not in subject.remembered:
        subject.remembered["sites of records"] = subject.trace.records["what"] >> SITE_SHIFT
    of_records: npt.NDArray[np.uint32] = subject.remembered["sites of records"]
    wanted = np.zeros(1 + max(len(subject.sites), int(of_records.max(initial=0))), bool)
    wanted[list(sites)] = True
    return np.asarray(subject.trace.records[wanted[of_records]])


def sectors_of(masks: npt.NDArray[np.uint32]) -> int:
    """Sectors that lines of the trace name, by their `what`."""
    return int(_SECTORS[masks & len(_SECTORS) - 1].sum(dtype=np.int64))


def _footprint(subject: Subject, sites: frozenset[int]) -> int:
    of_sites = records_of(subject, sites)
    order = np.argsort(of_sites["line"], kind="stable")
    lines, masks = of_sites["line"][order], of_sites["what"][order]
    if not len(lines):
        return LINE_BYTES << subject.trace.level
    starts = np.flatnonzero(np.r_[True, lines[1:] != lines[:-1]])
    touched = np.bitwise_or.reduceat(masks, starts)
    return sectors_of(touched) * SECTOR_BYTES << subject.trace.level
