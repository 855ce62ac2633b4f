"""A kernel that reads what the one before it has just written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lanewise.advice.groups import sectors_of
from lanewise.advice.rule import Rule, advice, say
from lanewise.advice.subject import Subject
from lanewise.emulator.trace import KIND_SHIFT, LOAD, SITE_SHIFT, STORE, Trace, thinned
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.records import Finding, LaunchRecord, Tried

NAME = "fuse_kernels"
_MANY, _FEWER = 100_000, 5  # of so many records of the trace, a share of 2 ** -5 of the lines is looked at first
_MUCH = 0.25  # share of the lines that a launch loads which the one before it must have written


def find(subject: Subject) -> Iterable[Finding]:
    history, record = subject.before, subject.record
    if not history.launches or history.trace is None:
        return
    last = history.launches[-1]
    if last.symbol == record.symbol or last.stream != record.stream:
        return
    if (last.grid, last.block) != (record.grid, record.block):
        return
    level = max(history.trace.level, subject.trace.level)
    few = level + (_FEWER if len(subject.trace.records) > _MANY else 0)
    if not _meet(thinned(history.trace, few), thinned(subject.trace, few)):
        return
    written, read = thinned(history.trace, level), thinned(subject.trace, level)
    stores, loads = _of_kind(written, STORE), _of_kind(read, LOAD)
    own = np.isin(loads["line"], stores["line"])
    if not len(loads) or own.mean() < _MUCH:
        return
    # What another warp wrote is not there yet when both kernels are one.
    if not np.isin(_keys(loads[own]), _keys(stores)).all():
        return
    sites = frozenset(int(site) for site in np.unique(loads["what"][own] >> SITE_SHIFT))
    saved = sectors_of(loads["what"][own]) * SECTOR_BYTES << level
    yield advice(
        NAME,
        record,
        message=say("fuse_kernels.message", kernel=last.kernel.split("(")[0].removeprefix("void "), bytes=f"{saved:,}"),
        evidence=[say("fuse_kernels.own")],
        change=say("fuse_kernels.change"),
        next_step=say("fuse_kernels.fuse"),
        price=say("fuse_kernels.price"),
        after_us=_further(subject, last, sites, _still_written(stores, read, level)),
        tried=Tried.ESTIMATED,
        rung="pointwise fused",
    )


def _meet(written: Trace, read: Trace) -> bool:
    """Whether any line that is read was written."""
    return bool(np.isin(_of_kind(read, LOAD)["line"], _of_kind(written, STORE)["line"]).any())


def _of_kind(trace: Trace, kind: int) -> npt.NDArray[np.void]:
    return np.asarray(trace.records[(trace.records["what"] >> KIND_SHIFT & 3) == kind])


def _keys(records: npt.NDArray[np.void]) -> npt.NDArray[np.uint64]:
    """Line and warp in one number."""
    return records["line"].astype(np.uint64) << np.uint64(32) | records["warp"].astype(np.uint64)


def _still_written(stores: npt.NDArray[np.void], read: Trace, level: int) -> float:
    """Bytes that the kernel before wrote and this one does not write over: others may want them."""
    kept = ~np.isin(stores["line"], _of_kind(read, STORE)["line"])
    return float(sectors_of(stores["what"][kept]) * SECTOR_BYTES << level)


def _further(subject: Subject, last: LaunchRecord, sites: frozenset[int], written: float) -> float:
    """What the work of this kernel adds to the one before it: the time of one that loads what that one loads, does the
    instructions of both and stores what this one stores, less the time of that one. Elements are loaded in place of
    those that were passed on, which are as many."""
    asked, before_us = subject.demand, last.time_us
    if before_us is None or not last.instructions or len(sites) == 0:
        return subject.time_us
    each, bytes_each = last.instructions / asked.warps, written / asked.warps
    both = replace(
        asked,
        issue_cycles=asked.issue_cycles + each,
        walk=replace(asked.walk, cycles=asked.walk.cycles + each),
        l1_cycles=asked.l1_cycles + bytes_each / subject.spec.rates.l1_bytes,
        l2_write_bytes=asked.l2_write_bytes + bytes_each,
        dram_bytes=asked.dram_bytes + bytes_each,
        dram_cost=asked.dram_cost + bytes_each,
    )
    return max(0.0, subject.retime(both) - before_us)


RULE = Rule(
    name=NAME,
    title="Kernels to be fused",
    what="A kernel reads what the one before it has just written, each warp what it wrote itself.",
    why="Between two kernels every value goes to memory and comes back, and the second has to be started. In one "
    "kernel it stays in a register.",
    before="scale<<<blocks, 256>>>(y, x);\nshift<<<blocks, 256>>>(z, y);",
    after="scale_and_shift<<<blocks, 256>>>(z, x);  // y[i] in a register",
    rung="pointwise fused",
    find=find,
)
