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
from lanewise.model.demand import Demand
from lanewise.records import Finding, Tried

NAME = "fuse_kernels"
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
    written, read = thinned(history.trace, level), thinned(subject.trace, level)
    stores, loads = _of_kind(written, STORE), _of_kind(read, LOAD)
    own = np.isin(_keys(loads), _keys(stores))
    # What another warp wrote is not there yet when both kernels are one.
    if not len(loads) or own.mean() < _MUCH or np.isin(loads["line"], stores["line"]).sum() != own.sum():
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
        after_us=max(0.0, subject.retime(_without(subject, sites)) - subject.spec.rates.launch_us),
        tried=Tried.ESTIMATED,
        rung="pointwise fused",
    )


def _of_kind(trace: Trace, kind: int) -> npt.NDArray[np.void]:
    return np.asarray(trace.records[(trace.records["what"] >> KIND_SHIFT & 3) == kind])


def _keys(records: npt.NDArray[np.void]) -> npt.NDArray[np.uint64]:
    """Line and warp in one number."""
    return records["line"].astype(np.uint64) << np.uint64(32) | records["warp"].astype(np.uint64)


def _without(subject: Subject, sites: frozenset[int]) -> Demand:
    """The launch without these loads: their values are in registers."""
    kept = tuple(c for c in subject.costs.accesses if c.site is None or c.site.site.index not in sites)
    traffic = replace(subject.traffic, sites={n: site for n, site in subject.traffic.sites.items() if n not in sites})
    return subject.asked(costs=replace(subject.costs, accesses=kept), traffic=traffic)


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
