"""The caches of a device, fed launch after launch with the lines that kernels asked for (`caches.c`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache as remember
from importlib.resources import files

import numpy as np

from lanewise.emulator.trace import APART, RECORD, SITE_SHIFT, Trace, thinned
from lanewise.hardware.coalescing import LINE_BYTES, SECTOR_BYTES
from lanewise.toolchain import native

_POINTER = ctypes.c_void_p


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What of a device the caches depend on. `coalescing_sms` SMs share their requests to the L2 where they ask for the
    same within `coalescing_turns`; `dram_bytes` is the least that is read from DRAM at once."""

    sm_count: int
    l2_bytes: int
    dram_bytes: int
    slices: int
    coalescing_sms: int
    coalescing_turns: int


@dataclass(frozen=True, slots=True)
class SiteTraffic:
    """What became of the requests of one memory site; sectors of 32 bytes in lines of 128, estimated where a share was
    followed.

    `merged` were asked of the L2 together with another SM's. The last three are requests by the furthest place that one
    of their sectors came from."""

    sectors: float
    lines: float
    l1_hits: float
    merged: float
    l2_sectors: float
    l2_hits: float
    dram_sectors: float
    from_l1: float
    from_l2: float
    from_dram: float

    def scaled(self, by: float) -> SiteTraffic:
        """All of it, `by` times."""
        return SiteTraffic(*(by * getattr(self, column) for column in SITE_COLUMNS))


SITE_COLUMNS = tuple(column.name for column in fields(SiteTraffic))


@dataclass(frozen=True, slots=True)
class Traffic:
    """One launch: by site, sectors written to DRAM, those of them that were written in part and so had to be read
    first, the most that atomics ask of one slice of the L2 (lanes one after another), and the share of all lines that
    was followed."""

    sites: dict[int, SiteTraffic]
    written_sectors: float
    filled_sectors: float
    atomic_steps: float
    share: float


@dataclass(frozen=True, slots=True)
class Spill:
    """A load or store of one word of local memory that follows each request of a site: a register that is kept there.
    What becomes of it is given as that of site `row`, which is behind those of the kernel."""

    after: int
    word: int
    kind: int  # trace.LOAD or STORE
    row: int


PAST = 254  # in place of the width of a load: it goes past the L1
JOINED = 255  # in place of the width of an atomic: one lane does it for all that are at one address
MOST = 1 << 24  # accesses that are followed one by one


class Caches:
    """The L2 with what earlier launches left in it. Needs the host's C compiler once (EnvironmentProblem)."""

    def __init__(self, shape: CacheShape, *, like: Caches | None = None) -> None:
        """`like`: with what others hold."""
        self._library = _library()
        self._shape = shape
        self._state = self._library.lw_caches_make(
            shape.sm_count,
            shape.coalescing_sms,
            shape.coalescing_turns,
            shape.dram_bytes // SECTOR_BYTES,
            shape.slices,
        )
        if like is not None and self._library.lw_caches_copy(self._state, like._state):
            raise MemoryError("no room for a copy of the caches")

    def fork(self) -> Caches:
        """Caches that hold the same, and go on by themselves."""
        return Caches(self._shape, like=self)

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state:
            self._library.lw_caches_free(state)

    def flush(self) -> None:
        """Nothing is cached: the next launch starts cold."""
        self._library.lw_caches_flush(self._state)

    def launch(
        self,
        trace: Trace,
        *,
        blocks: int,
        warps_per_block: int,
        blocks_per_sm: int,
        l1_bytes: int,
        widths: Sequence[int],
        spills: Sequence[Spill] = (),
    ) -> Traffic:
        """Follow one launch. `widths[site]` are the bytes that a lane accesses, 0 where machine code has no access."""
        flags = np.array(widths, np.uint8)
        rows = max([len(widths), *(spill.row + 1 for spill in spills)])
        trace = thinned(trace, _level(trace, spills))
        if spills and trace.level:
            trace = _completed(trace, spills, blocks, warps_per_block)
        after = sorted(spills, key=lambda spill: spill.after)  # stable: as they stand in the code
        table = np.array([(s.word, s.kind, s.row) for s in after], np.uint32).reshape(-1, 3)
        first = np.searchsorted([s.after for s in after], np.arange(len(widths) + 1)).astype(np.uint32)
        counts = np.zeros((rows, len(SITE_COLUMNS)), np.uint64)
        below = np.zeros(3, np.uint64)
        records = np.ascontiguousarray(trace.records)
        failed = self._library.lw_caches_run(
            self._state, records.ctypes.data, len(records), trace.level, blocks, warps_per_block, blocks_per_sm,
            l1_bytes // LINE_BYTES, self._shape.l2_bytes // LINE_BYTES, flags.ctypes.data, len(widths),
            table.ctypes.data, first.ctypes.data, counts.ctypes.data, below.ctypes.data,
        )  # fmt: skip
        if failed:
            raise MemoryError("the caches of a launch do not fit this machine's memory")
        scale = float(1 << trace.level)
        sites = {n: SiteTraffic(*(scale * float(v) for v in row)) for n, row in enumerate(counts) if row.any()}
        return Traffic(sites, scale * float(below[0]), scale * float(below[1]), scale * float(below[2]), 1 / scale)


def _completed(trace: Trace, spills: Sequence[Spill], blocks: int, warps_per_block: int) -> Trace:
    """A trace of a share of the lines, with records without sectors for requests that are not followed but have spilled
    words behind them that are. Which site a request is of is taken from the warps in which it is followed."""
    records, mask = trace.records, (1 << trace.level) - 1
    site_at = np.full(int(records["order"].max(initial=0)) + 1, -1, np.int64)
    site_at[records["order"]] = records["what"] >> SITE_SHIFT
    after = np.array([s.after for s in spills])
    words = np.array([s.word for s in spills])
    missing = []
    for warp in range(warps_per_block):
        sites = np.unique(after[(words + APART * warp & mask) == 0])
        orders = np.flatnonzero(np.isin(site_at, sites))
        ids = np.arange(blocks, dtype=np.uint64) << np.uint64(5) | np.uint64(warp)
        missing.append((ids[:, None] << np.uint64(32) | orders.astype(np.uint64)[None, :]).ravel())
    there = records["warp"].astype(np.uint64) << np.uint64(32) | records["order"]
    keys = np.setdiff1d(np.concatenate(missing), there)
    added = np.zeros(len(keys), RECORD)
    added["order"], added["warp"] = keys & np.uint64(0xFFFFFFFF), keys >> np.uint64(32)
    added["what"] = site_at[added["order"]] << SITE_SHIFT
    every = np.concatenate([records, added])
    return Trace(every[np.argsort(every["order"], kind="stable")], trace.level)


def _level(trace: Trace, spills: Sequence[Spill]) -> int:
    """The level at which the records and the spills behind them are few enough."""
    if not spills:
        return trace.level
    behind = np.bincount([spill.after for spill in spills])
    sites = trace.records["what"] >> SITE_SHIFT
    requests = np.bincount(sites, minlength=len(behind))[: len(behind)]
    total = len(trace.records) + int((requests * behind).sum())
    return trace.level + max(0, (total // MOST).bit_length())


@remember
def _library() -> ctypes.CDLL:
    source = files("lanewise.model").joinpath("caches.c").read_text(encoding="utf-8")
    library = native.library("caches", "the model of caches", {"caches.c": source})
    whole, pointer = ctypes.c_uint32, _POINTER
    library.lw_caches_make.restype = pointer
    library.lw_caches_make.argtypes = [whole] * 5
    library.lw_caches_copy.argtypes = [pointer, pointer]
    library.lw_caches_free.argtypes = library.lw_caches_flush.argtypes = [pointer]
    library.lw_caches_run.argtypes = [pointer, pointer, *[whole] * 7, pointer, whole, *[pointer] * 4]
    return library
