"""One launch on one device: caches, units, time. What `device.py` asks for after each launch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.trace import Trace
from lanewise.emulator.unit import SiteInfo
from lanewise.errors import LanewiseError
from lanewise.hardware.coalescing import SECTOR_BYTES
from lanewise.hardware.device import DeviceSpec
from lanewise.model import few_lines, routes
from lanewise.model.atomics import joined_atomics
from lanewise.model.caches import JOINED, PAST, Caches, CacheShape, Traffic
from lanewise.model.demand import Demand, demand
from lanewise.model.placement import Placement
from lanewise.model.spills import spills
from lanewise.model.time import Timing, timing
from lanewise.records import AccessKind, LaunchRecord, MemoryTraffic, Roof, Space
from lanewise.sass.costs import AccessCost, MachineCosts
from lanewise.sass.executions import Line
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassInstruction

_COALESCING_TURNS = 2


@dataclass(frozen=True, slots=True)
class Modelled:
    """What the model says of one launch, and what it says it from."""

    timing: Timing
    memory: MemoryTraffic
    roof: Roof
    caches: str
    placed: Placement
    traffic: Traffic
    demand: Demand


class DeviceModel:
    """A device and what launches left in its L2. `cold`: nothing is left.

    Raises EnvironmentProblem where there is no C compiler for the caches.
    """

    def __init__(self, spec: DeviceSpec, *, cold: bool = False, caches: Caches | None = None) -> None:
        """`caches`: of such a device, in place of empty ones."""
        self.spec = spec
        self.cold = cold
        rates = spec.rates
        self._caches = caches or Caches(
            CacheShape(
                spec.values.sm_count,
                int(rates.l2_reuse_bytes),
                int(rates.dram_access_bytes),
                int(rates.l2_slices),
                int(rates.coalescing_sms),
                _COALESCING_TURNS,
            )
        )

    def fork(self) -> DeviceModel:
        """A model whose caches hold the same and go on by themselves."""
        return DeviceModel(self.spec, cold=self.cold, caches=self._caches.fork())

    def launch(
        self,
        record: LaunchRecord,
        machine: MachineKernel,
        costs: MachineCosts,
        sites: tuple[SiteInfo, ...],
        trace: Trace,
        counted: Sequence[SiteCounts],
    ) -> Modelled | None:
        """None where the launch cannot be placed on the device."""
        placed = Placement.of(self.spec, record)
        if placed is None:
            return None
        if self.cold:
            self._caches.flush()
        traffic = self._traffic(placed, machine, costs, sites, trace)
        asked = demand(machine, costs, sites, traffic, counted, placed, self.spec)
        timed = timing(self.spec, placed, asked, cold=self.cold)
        caches = "cold" if self.cold else "warm"
        below = _memory(sites, traffic)
        return Modelled(timed, below, _roof(self.spec, asked, timed), caches, placed, traffic, asked)

    def _traffic(
        self, placed: Placement, machine: MachineKernel, costs: MachineCosts, sites: tuple[SiteInfo, ...], trace: Trace
    ) -> Traffic:
        lines = {access.line for access in machine.accesses if access.ptx is not None}
        useful = [s for s in sites if s.recount is None and (machine.suffix(s.module), s.ptx_line) in lines]
        widths = [0] * len(sites)
        joined = joined_atomics(machine)
        carrying = {access.line: access.instruction for access in machine.accesses if access.ptx is not None}
        for site in useful:
            line = (machine.suffix(site.module), site.ptx_line)
            widths[site.index] = JOINED if line in joined else _width(site, carrying[line])
        site_of_line = {(machine.suffix(site.module), site.ptx_line): site.index for site in useful}
        spilled = spills(machine, site_of_line, len(sites))
        traffic = self._caches.launch(
            trace,
            blocks=placed.blocks,
            warps_per_block=placed.warps_per_block,
            blocks_per_sm=placed.blocks_per_sm,
            l1_bytes=placed.l1_bytes,
            widths=widths,
            spills=[spill for of_one in spilled.values() for spill in of_one],
        )
        if traffic.share == 1:
            return traffic
        past = [site.index for site in useful if widths[site.index] == PAST]
        return few_lines.corrected(traffic, _loads(costs, machine, useful), past)


def _loads(costs: MachineCosts, machine: MachineKernel, sites: Sequence[SiteInfo]) -> dict[int, tuple[int, int]]:
    """By site, the sectors and requests of loads from global memory, as machine code has them. Left out are lines of
    PTX with several sites: copies in an unrolled loop that are followed one by one."""
    by_line: dict[Line | None, list[AccessCost]] = defaultdict(list)
    for cost in costs.accesses:
        if cost.space == Space.GLOBAL and not routes.by_engine(cost.access.instruction):
            by_line[cost.access.line].append(cost)
    of_line = Counter((machine.suffix(site.module), site.ptx_line) for site in sites)
    return {
        site.index: (sum(c.sectors or 0 for c in found), sum(c.requests for c in found))
        for site in sites
        if site.kind == AccessKind.LOAD
        and site.space in (Space.GLOBAL, Space.GENERIC)
        and of_line[line := (machine.suffix(site.module), site.ptx_line)] == 1
        and (found := by_line.get(line))
    }


def _width(site: SiteInfo, instruction: SassInstruction) -> int:
    """What the caches are told of a site: how it goes, or what a lane of its records moves."""
    if routes.past_the_l1(instruction):
        return PAST
    return SECTOR_BYTES if routes.by_engine(instruction) else max(1, (site.told_bits or site.width_bits) // 8)


def _memory(sites: tuple[SiteInfo, ...], traffic: Traffic) -> MemoryTraffic:
    every = list(traffic.sites.items())
    sectors, l1 = sum(s.sectors for _, s in every), sum(s.l1_hits for _, s in every)
    l2, l2_hits = sum(s.l2_sectors for _, s in every), sum(s.l2_hits for _, s in every)
    written = sum(s.l2_sectors for n, s in every if n < len(sites) and sites[n].kind == AccessKind.STORE)
    return MemoryTraffic(
        l1_hit_rate=round(l1 / sectors, 4) if sectors else None,
        l2_hit_rate=round(l2_hits / l2, 4) if l2 else None,
        l2_read_bytes=round((l2 - written) * SECTOR_BYTES),
        l2_write_bytes=round(written * SECTOR_BYTES),
        dram_read_bytes=round((sum(s.dram_sectors for _, s in every) + traffic.filled_sectors) * SECTOR_BYTES),
        dram_write_bytes=round(traffic.written_sectors * SECTOR_BYTES),
        share=traffic.share,
    )


def _roof(spec: DeviceSpec, asked: Demand, timed: Timing) -> Roof:
    seconds = timed.time_us * 1e-6
    moved = asked.dram_bytes * asked.warps
    # The roof of the unit that does most of the operations.
    tensors = 2 * asked.tensor_flops > asked.flops and asked.tensor_tflops
    peak = 1000 * (asked.tensor_tflops if tensors else spec.peak_fp32_tflops)
    return Roof(
        dram_gb_s=round(moved / seconds / 1e9, 2),
        dram_roof_gb_s=spec.rates.dram_gb_s,
        gflops=round(asked.flops / seconds / 1e9, 2),
        gflops_roof=round(peak, 1),
        flops=asked.flops,
        flops_per_byte=round(asked.flops / moved, 4) if moved else None,
        l2_gb_s=round((asked.l2_read_bytes + asked.l2_write_bytes) * asked.warps / seconds / 1e9, 2),
        l2_roof_gb_s=spec.rates.l2_read_gb_s,
    )


def coarse(spec: DeviceSpec) -> str:
    """The note for a report of a device that is mostly guessed."""
    return (
        f"times of the {spec.name} are coarse: most of what they depend on is estimated (`lanewise devices {spec.key}`)"
    )


def unavailable(error: LanewiseError) -> str:
    """The note for a report without times."""
    return f"no caches and no times: {error.message}"
