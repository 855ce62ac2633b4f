"""A measured device as a file: what the driver says, what was measured, and what is taken over, each marked."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

import pytest

from lanewise.hardware import device
from lanewise.hardware.device import Status
from lanewise.measure.device_file import device_file
from lanewise.measure.driver import Driver

H200 = device.load("h200")
ATTRIBUTES = {75: 9, 76: 0, 16: 132, 13: 1_980_000, 36: 3_201_000, 37: 6016, 38: 62_914_560, 108: 39_321_600, 40: 3,
              32: 1, 116: 1, 119: 9}  # fmt: skip


class Card:
    name = "A card"
    memory_bytes = 150_109_880_320

    def attribute(self, number: int) -> int:
        return ATTRIBUTES[number]


def made(**found: float) -> device.DeviceSpec:
    return device.parse(device_file(cast(Driver, Card()), found), "mine", "mine.toml")


def test_a_file_of_measured_values_is_a_device() -> None:
    spec = made(**asdict(H200.rates))
    assert spec.rates == H200.rates
    assert spec.name == "A card"
    assert spec.values.sm_count == 132
    assert spec.values.fp32_tflops == pytest.approx(H200.values.fp32_tflops, rel=0.01)


def test_what_was_not_measured_is_marked_as_estimated() -> None:
    spec = made(l1_latency=30.5)
    assert spec.rates.l1_latency == 30.5
    assert spec.origins["l1_latency"].status is Status.MEASURED
    assert spec.rates.l2_latency == H200.rates.l2_latency
    assert spec.origins["l2_latency"].status is Status.ESTIMATED


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dram_gb_s", 9000.0, "rates.dram_gb_s = 9000: above memory_bandwidth_gb_s"),
        ("l2_reuse_bytes", 1e9, "rates.l2_reuse_bytes = 1000000000: above l2_bytes"),
        ("l1_latency", 400.0, "rates.l1_latency = 400: above l2_latency"),
        ("fma_rate", -1.0, "rates.fma_rate = -1: it must be positive"),
    ],
)
def test_contradictions_are_refused_by_name_value_and_rule(name: str, value: float, words: str) -> None:
    with pytest.raises(device.UsageError) as caught:
        made(**{name: value})
    assert caught.value.message.startswith(f"device file mine.toml: {words}")
