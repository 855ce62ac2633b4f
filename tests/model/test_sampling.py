"""Launches of real kernels followed whole, and by a share of their lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lanewise.device
from lanewise import session
from lanewise.emulator.trace import thinned
from lanewise.model.launch import DeviceModel, Modelled
from lanewise.request import RunRequest

LEVELS = (0, 1, 2, 3)
KERNELS = ("add", "strided", "neighbours", "transpose", "product", "count", "spilled")


@pytest.fixture(scope="module")
def launches() -> dict[str, list[Modelled]]:
    """Each launch at each level, caches cold."""
    found: dict[str, list[Modelled]] = {}

    class Levels(DeviceModel):
        def launch(self, record: Any, *rest: Any) -> Modelled | None:
            machine, costs, sites, trace, counted = rest
            assert trace.level == 0
            self.cold = True
            made = [
                super(Levels, self).launch(record, machine, costs, sites, thinned(trace, level), counted)
                for level in LEVELS
            ]
            found[record.kernel.partition("(")[0]] = [one for one in made if one is not None]
            return made[0]

    kept = lanewise.device.DeviceModel
    lanewise.device.DeviceModel = Levels  # type: ignore[misc]
    try:
        assert session.run_program(RunRequest((Path(__file__).with_name("sampled.cu"),))).exit_code == 0
    finally:
        lanewise.device.DeviceModel = kept  # type: ignore[misc]
    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("level", LEVELS[1:])
def test_a_share_tells_the_same_within_two_percent(
    launches: dict[str, list[Modelled]], kernel: str, level: int
) -> None:
    whole, part = launches[kernel][0], launches[kernel][level]
    assert part.memory.share == 1 / 2**level
    assert part.timing.time_us == pytest.approx(whole.timing.time_us, rel=0.02)
    for field in ("l1_hit_rate", "l2_hit_rate"):
        assert getattr(part.memory, field) == pytest.approx(getattr(whole.memory, field), abs=0.02), field
    for field in ("l2_read_bytes", "l2_write_bytes", "dram_read_bytes"):
        assert getattr(part.memory, field) == pytest.approx(getattr(whole.memory, field), rel=0.02, abs=1 << 16), field
