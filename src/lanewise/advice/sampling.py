"""Requests as they were made: an instrument writes down where the lanes of a few blocks went."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from lanewise.demangle import demangle
from lanewise.emulator import layout_header
from lanewise.emulator.instrument import Events, LaunchStart
from lanewise.emulator.layout import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from lanewise.emulator.lowering.events import WATCH_ACCESS
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.banks import wavefronts
from lanewise.hardware.coalescing import WARP, sectors
from lanewise.records import LaneSample, Space
from lanewise.toolchain import native

BLOCKS = 4  # of a launch that are looked at
OF_A_WARP = 16  # requests of a site that are kept, over all blocks
_WARPS = 32  # of a block
REQUEST = np.dtype([("site", "<u4"), ("mask", "<u4"), ("warp", "<u4"), ("block", "<u4"), ("at", "<u8", (WARP,))])
_ALIKE = 128  # bytes: requests whose first addresses are such multiples apart cost the same
_FOLLOWED = frozenset((Space.GLOBAL, Space.SHARED))


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a warp: `addresses` of its 32 lanes, of which those in `mask` took part; offsets in the block's
    shared memory, or addresses of global memory."""

    site: int  # index in `KernelInfo.sites`
    mask: int
    warp: int
    block: int
    addresses: tuple[int, ...]


class Sampler:
    """Implements `emulator.instrument.Instrument` for one launch on one thread."""

    def __init__(self) -> None:
        self._library = _library()
        self._table = np.zeros(self._library.lw_sample_size(), np.uint8)
        self._requests: npt.NDArray[np.void] = np.zeros(0, REQUEST)
        self._left: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._watch: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.sites: tuple[SiteInfo, ...] = ()
        self.requests: tuple[Request, ...] = ()  # in the order they were made

    @property
    def events(self) -> Events:
        return Events(accesses=True)

    def begin(self, start: LaunchStart) -> tuple[int, int]:
        self.sites = start.info.sites
        wanted = [site.recount is None and site.space in _FOLLOWED for site in self.sites]
        self._watch = np.array([WATCH_ACCESS if w else 0 for w in wanted] or [0], np.uint8)
        self._left = np.repeat(np.array([OF_A_WARP if w else 0 for w in wanted] or [0], np.uint32), _WARPS)
        self._requests = np.zeros(OF_A_WARP * _WARPS * max(1, sum(wanted)), REQUEST)
        self._library.lw_sample_begin(
            self._table.ctypes.data, self._requests.ctypes.data, len(self._requests), self._left.ctypes.data
        )
        return self._table.ctypes.data, self._watch.ctypes.data

    def end(self) -> None:
        taken = self._library.lw_sample_taken(self._table.ctypes.data, self._requests.ctypes.data)
        columns = [self._requests[name][:taken].tolist() for name in ("site", "mask", "warp", "block", "at")]
        made = (
            Request(site, mask, warp, block, tuple(at)) for site, mask, warp, block, at in zip(*columns, strict=True)
        )
        self.requests = tuple(r for r in made if not (self.sites[r.site].generic and _leaves_global(r)))
        self._requests = np.zeros(0, REQUEST)


@cache
def _library() -> ctypes.CDLL:
    texts = {**native.sources("lanewise.advice", "runtime"), "layout.h": layout_header.text()}
    library = native.library("samples", "the instrument that samples accesses", texts)
    library.lw_sample_begin.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
    library.lw_sample_taken.restype = library.lw_sample_size.restype = ctypes.c_uint64
    library.lw_sample_taken.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library


def active(request: Request) -> tuple[int, ...]:
    """The lanes that took part."""
    return tuple(lane for lane in range(WARP) if request.mask >> lane & 1)


def _leaves_global(request: Request) -> bool:
    """Whether lanes of a generic address are in shared or local memory."""
    addresses = [request.addresses[lane] for lane in active(request)]
    return any(0 <= a - window < WINDOW_BYTES for a in addresses for window in (SHARED_WINDOW, LOCAL_WINDOW))


def worst(requests: Iterable[Request], cost: Callable[[Request], int]) -> Request | None:
    """The costliest request; of equal ones the first of those with the most lanes."""
    return max(requests, key=lambda r: (cost(r), r.mask.bit_count()), default=None)


def samples(requests: Iterable[Request], sites: Sequence[SiteInfo]) -> tuple[LaneSample, ...]:
    """Of each access that was sampled its costliest request, in the order of PTX."""
    by_site: dict[int, dict[object, Request]] = {}
    for r in requests:
        first = min(r.addresses[lane] for lane in active(r))
        alike = (r.mask, first % _ALIKE, tuple(address - first for address in r.addresses))
        by_site.setdefault(r.site, {}).setdefault(alike, r)
    found = []
    for index in sorted(by_site, key=lambda index: (sites[index].module, sites[index].ptx_line, index)):
        request = worst(by_site[index].values(), partial(_passes, sites[index]))
        if request is not None:
            found.append(lane_sample(request, sites[index]))
    return tuple(found)


def _passes(site: SiteInfo, request: Request) -> int:
    width = site.width_bits // 8
    if site.space == Space.SHARED:
        return wavefronts(request.addresses, request.mask, width, site.kind)
    return sectors(request.addresses, request.mask, width)


def lane_sample(request: Request, site: SiteInfo) -> LaneSample:
    """The request as records keep it; addresses from the lowest one."""
    on = active(request)
    base = min(request.addresses[lane] for lane in on)
    source = site.source
    return LaneSample(
        file=source.file if source else None,
        line=source.line if source else None,
        ptx_line=site.ptx_line,
        space=site.space,
        kind=site.kind,
        width_bits=site.width_bits,
        base=base,
        lanes=tuple(request.addresses[lane] - base if request.mask >> lane & 1 else None for lane in range(WARP)),
        array=demangle(site.array) if site.array else None,
    )
