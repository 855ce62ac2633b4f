"""From a launch's raw counters to numbers per block, site and line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lanewise.emulator import layout
from lanewise.emulator.compile import KernelInfo
from lanewise.emulator.counting import PATTERN_CODES
from lanewise.emulator.unit import SiteInfo
from lanewise.records import Pattern

_BROADCAST = 1 << next(code for code, pattern in PATTERN_CODES.items() if pattern is Pattern.BROADCAST)
Counters = npt.NDArray[np.uint64]


def block_counters(info: KernelInfo, counters: Counters) -> npt.NDArray[np.int64]:
    """Per basic block: executions by warps, by threads, divergent branches. Shape (blocks, 4)."""
    count = len(info.blocks) * layout.BLOCK_COUNTERS
    return counters[:count].astype(np.int64).reshape(len(info.blocks), layout.BLOCK_COUNTERS)


def thread_instructions(info: KernelInfo, counters: Counters) -> int:
    """PTX instructions executed, counted per thread."""
    sizes = np.array([block.instructions for block in info.blocks], np.int64)
    return int((block_counters(info, counters)[:, layout.BLOCK_THREADS] * sizes).sum())


def warp_instructions(info: KernelInfo, counters: Counters) -> int:
    """PTX instructions executed, counted per warp."""
    sizes = np.array([block.instructions for block in info.blocks], np.int64)
    return int((block_counters(info, counters)[:, layout.BLOCK_WARPS] * sizes).sum())


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """One site in one launch. `patterns` is a bit set of pattern codes (see `counting.PATTERN_CODES`)."""

    site: SiteInfo
    requests: int
    threads: int
    threads_on: int
    sectors: int
    sectors_ideal: int
    wavefronts: int
    wavefronts_ideal: int
    patterns: int
    stride: int | None
    requests_on: int = 0  # requests with a lane on, as far as each was counted by itself

    @property
    def pattern(self) -> Pattern | None:
        """The worst that was seen."""
        seen = [code for code in PATTERN_CODES if self.patterns >> code & 1]
        return PATTERN_CODES[max(seen)] if seen else None


def _stride(static: int, seen: int) -> int | None:
    """The one stride of all strided requests; None where there is none, or more than one."""
    if static and seen in (0, static):
        return static
    return seen if seen not in (0, -1) and not static else None


def site_counts(info: KernelInfo, counters: Counters) -> list[SiteCounts]:
    """Counts of every site, static costs included."""
    blocks = block_counters(info, counters)
    start = len(info.blocks) * layout.BLOCK_COUNTERS
    result = []
    for site in info.sites:
        first = start + site.index * layout.SITE_COUNTERS
        c = counters[first : first + layout.SITE_COUNTERS].astype(np.int64).tolist()
        requests = int(blocks[site.block, layout.BLOCK_WARPS])
        threads = int(blocks[site.block, layout.BLOCK_THREADS])
        fast, fast_threads = requests - c[layout.SITE_REQUESTS_ON], threads - c[layout.SITE_ON]
        static = site.static_pattern if fast > 0 else 0  # what is counted lane by lane has its pattern noted then
        if static and fast_threads == fast:  # a lone lane each time
            static = _BROADCAST
        patterns = c[layout.SITE_PATTERNS] | static
        stride = c[layout.SITE_STRIDE]
        if site.copy is not None:
            where = layout.staged_counters(site.space)
            requests, threads = (c[n] for n in where)
            c[where[0]] = c[where[1]] = 0
        result.append(
            SiteCounts(
                site,
                requests,
                threads,
                threads if site.on_from_block else c[layout.SITE_ON],
                c[layout.SITE_SECTORS] + site.static_sectors * requests,
                c[layout.SITE_SECTORS_IDEAL] + site.static_sectors * requests,
                c[layout.SITE_WAVEFRONTS] + site.static_wavefronts * requests,
                c[layout.SITE_WAVEFRONTS_IDEAL] + site.static_wavefronts_ideal * requests,
                patterns,
                _stride(site.static_stride if fast > 0 else 0, stride),
                c[layout.SITE_REQUESTS_ON],
            )
        )
    return result
