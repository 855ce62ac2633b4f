"""Everything that a rule may look at of one launch, and what the launch would take with other counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lanewise.advice.history import History
from lanewise.advice.tries import Tries
from lanewise.emulator.counts import SiteCounts
from lanewise.emulator.trace import Trace
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware.device import DeviceSpec
from lanewise.model.caches import Traffic
from lanewise.model.demand import Demand, demand
from lanewise.model.launch import Modelled
from lanewise.model.placement import Placement
from lanewise.model.time import timing
from lanewise.ptx.syntax import Function
from lanewise.records import LaunchRecord
from lanewise.sass.costs import MachineCosts
from lanewise.sass.kernel import MachineKernel


@dataclass(frozen=True, slots=True)
class Subject:
    """One launch that was carried out to its end and modelled."""

    record: LaunchRecord
    spec: DeviceSpec
    function: Function  # PTX of the kernel
    machine: MachineKernel
    costs: MachineCosts
    sites: tuple[SiteInfo, ...]
    counted: Sequence[SiteCounts]  # of the sites
    trace: Trace
    modelled: Modelled
    sources: Mapping[str, str]  # texts by path
    before: History  # launches before this one
    cold: bool
    tries: Tries  # experiments with the launch
    remembered: dict[str, Any] = field(default_factory=dict)  # what several rules ask for

    @property
    def time_us(self) -> float:
        return self.modelled.timing.time_us

    def busy(self, unit: str) -> float:
        """The share of the launch's time that a unit works."""
        return next((u.share for u in self.modelled.timing.units if u.name == unit), 0.0)

    @property
    def placed(self) -> Placement:
        return self.modelled.placed

    @property
    def traffic(self) -> Traffic:
        return self.modelled.traffic

    @property
    def demand(self) -> Demand:
        return self.modelled.demand

    def asked(
        self,
        *,
        costs: MachineCosts | None = None,
        traffic: Traffic | None = None,
        counted: Sequence[SiteCounts] | None = None,
        placed: Placement | None = None,
    ) -> Demand:
        """What the launch asks of the units; with what is given in place of its own."""
        return demand(
            self.machine,
            costs or self.costs,
            self.sites,
            traffic or self.traffic,
            self.counted if counted is None else counted,
            placed or self.placed,
            self.spec,
        )

    def retime(self, asked: Demand, placed: Placement | None = None) -> float:
        """Modelled microseconds of a launch that asks for this, on this device."""
        return timing(self.spec, placed or self.placed, asked, cold=self.cold).time_us
