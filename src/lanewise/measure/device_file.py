"""The text of a device file made of measured values."""

from __future__ import annotations

from collections.abc import Mapping

from lanewise.hardware import device
from lanewise.hardware.capability import limits
from lanewise.hardware.rates import Rates
from lanewise.measure.driver import Driver

# CUdevice_attribute, of the CUDA driver API reference.
_ATTRIBUTES = {"sm_count": 16, "sm_clock_khz": 13, "memory_clock_khz": 36, "memory_bus_bits": 37, "l2_bytes": 38,
               "persisting_l2_bytes": 108, "copy_engines": 40, "ecc": 32, "gpu_direct_rdma": 116,
               "memory_pool_handle_types": 119}  # fmt: skip
_MAJOR, _MINOR = 75, 76


def device_file(driver: Driver, found: Mapping[str, float]) -> str:
    """A device file of the driver's device: attributes, `found` by micro-benchmarks, and for what neither says the
    values of the NVIDIA H200, marked as estimated."""
    major, minor = driver.attribute(_MAJOR), driver.attribute(_MINOR)
    raw = {name: driver.attribute(number) for name, number in _ATTRIBUTES.items()}
    bandwidth = 2 * raw["memory_clock_khz"] * raw["memory_bus_bits"] / 8 / 1e6
    lanes = limits(major, minor).fp32_lanes
    values: dict[str, str] = {}
    for name, value in raw.items():
        flag = name in ("ecc", "gpu_direct_rdma")
        values[name] = f'[{str(bool(value)).lower() if flag else value}, "attributes"]'
    values["memory_bytes"] = f'[{driver.memory_bytes}, "attributes"]'
    values["memory_bandwidth_gb_s"] = f'[{bandwidth:.1f}, "peaks"]'
    values["fp32_tflops"] = f'[{2 * lanes * raw["sm_count"] * raw["sm_clock_khz"] / 1e9:.1f}, "peaks"]'
    values["pci_device_id"] = '[1, "unknown"]'
    like = device.load("h200").rates
    rates = {
        name: f'[{found[name]:.10g}, "benchmarks"]' if name in found else f'[{getattr(like, name):.10g}, "h200"]'
        for name in Rates.__dataclass_fields__
    }
    ordered = [name for name in device.Values.__dataclass_fields__ if name in values]
    return "\n".join(
        [
            f'name = "{driver.name}"',
            "aliases = []",
            f'compute_capability = "{major}.{minor}"',
            "",
            *_source("attributes", "measured", "cuDeviceGetAttribute and cuDeviceTotalMem on the card"),
            *_source("peaks", "documentation", "clocks, units and bus width as the driver says them, multiplied"),
            *_source("unknown", "estimated", "not asked for: the PCI bus number of no device"),
            *_source("benchmarks", "measured", "lanewise devices --measure: micro-benchmarks on the card"),
            *_source("h200", "estimated", "not measured by micro-benchmarks: the value of the NVIDIA H200"),
            "[values]",
            *(f"{name} = {values[name]}" for name in ordered),
            "",
            "[rates]",
            *(f"{name} = {text}" for name, text in rates.items()),
            "",
        ]
    )


def _source(key: str, status: str, text: str) -> list[str]:
    return [f"[sources.{key}]", f'status = "{status}"', f'text = "{text}"', ""]
