"""Devices: one data file each (`devices/*.toml`), every value with its source.

A file has `name`, `aliases`, `compute_capability`, a table `sources` (key -> status and text) and the tables `values`
and `rates`, where each value is written `[value, "source key"]`. What depends on the compute capability alone comes
from `capabilities.toml`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lanewise.errors import UsageError
from lanewise.hardware.capability import Limits, limits
from lanewise.hardware.rates import Rates

_ROUNDING = 1.01  # datasheets round; more than this over what clocks and units give is a contradiction
_SHORTFALL = 0.9
_MOST = 1e15  # of anything
_ACCESSES = (32, 64, 128)  # bytes of DRAM that may be read at once


class Status(StrEnum):
    """How a value is known."""

    DATASHEET = "datasheet"
    DOCUMENTATION = "documentation"
    MEASURED = "measured"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Values:
    """What a device file's table `values` holds: the fields, in their units."""

    sm_count: int
    sm_clock_khz: int  # boost
    memory_clock_khz: int  # two transfers a clock and pin
    memory_bus_bits: int
    memory_bytes: int
    memory_bandwidth_gb_s: float  # 10^9 bytes
    fp32_tflops: float
    l2_bytes: int
    persisting_l2_bytes: int
    copy_engines: int
    ecc: bool
    gpu_direct_rdma: bool
    memory_pool_handle_types: int  # bits of cudaMemAllocationHandleType
    pci_device_id: int  # device in the upper half, vendor in the lower
    cluster_sms: tuple[int, ...] = ()  # multiprocessors of each group that runs clusters of more than two blocks


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device. `key` is what `--device` takes; `origins` has the source of each field of `values` and `rates`."""

    key: str
    name: str
    aliases: tuple[str, ...]
    limits: Limits
    values: Values
    rates: Rates
    origins: Mapping[str, Origin]

    @property
    def compute_capability(self) -> tuple[int, int]:
        return self.limits.compute_capability

    @property
    def arch(self) -> str:
        """The architecture that code for this device is compiled for, as `sm_90`."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    @property
    def coarse(self) -> bool:
        """Whether most of what times depend on is estimated."""
        known = [self.origins[field.name].status for field in fields(Rates)]
        return 2 * known.count(Status.ESTIMATED) > len(known)

    @property
    def peak_fp32_tflops(self) -> float:
        """Two operations a lane and clock: 2 x lanes x SMs x clock."""
        return 2 * self.limits.fp32_lanes * self.values.sm_count * self.values.sm_clock_khz / 1e9

    @property
    def peak_bandwidth_gb_s(self) -> float:
        """Two transfers a clock and pin: 2 x memory clock x bus width / 8."""
        return 2 * self.values.memory_clock_khz * self.values.memory_bus_bits / 8 / 1e6


def names() -> tuple[str, ...]:
    """The devices that come with the package, in alphabetical order."""
    return tuple(sorted(_shipped()))


def load(name_or_path: str) -> DeviceSpec:
    """A device by name or alias (case, blanks and hyphens do not matter), or from a file of one's own (`my.toml`).

    UsageError for an unknown name, with the nearest ones and all names, and for a broken or contradictory file.
    """
    if name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the device file {name_or_path}: {error}") from error
        return parse(text, path.stem, name_or_path)
    shipped = _shipped()
    known = {_plain(spelling): spec for spec in shipped.values() for spelling in (spec.key, spec.name, *spec.aliases)}
    found = known.get(_plain(name_or_path))
    if found is not None:
        return found
    near = difflib.get_close_matches(_plain(name_or_path), known, n=3, cutoff=0.6)
    nearest = sorted({known[spelling].key for spelling in near})
    meant = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
    raise UsageError(
        f"unknown device {name_or_path!r}{meant}",
        next_step=f"Devices: {', '.join(names())}. Or give a device file of your own, ending in .toml.",
    )


def parse(text: str, key: str, where: str) -> DeviceSpec:
    """A device from the text of its file; `where` names the file in messages (UsageError)."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(where, str(error)) from error
    expected = {"name", "aliases", "compute_capability", "sources", "values", "rates"}
    if set(data) != expected:
        raise _wrong(where, _difference("key", expected, set(data)))
    if not isinstance(data["name"], str) or not data["name"]:
        raise _wrong(where, f"name = {data['name']!r}: a name is text and not empty")
    if not isinstance(data["aliases"], list) or not all(isinstance(alias, str) for alias in data["aliases"]):
        raise _wrong(where, f"aliases = {data['aliases']!r}: a list of names is wanted")
    sources = _sources(data["sources"], where)
    values, origins = _table("values", Values, data["values"], sources, where)
    rates, origins_of_rates = _table("rates", Rates, data["rates"], sources, where)
    spec = DeviceSpec(
        key,
        data["name"],
        tuple(data["aliases"]),
        _limits(data["compute_capability"], where),
        Values(**values),
        Rates(**rates),
        {**origins, **origins_of_rates},
    )
    _check(spec, where)
    return spec


@cache
def _shipped() -> dict[str, DeviceSpec]:
    found = {}
    for entry in files("lanewise.hardware").joinpath("devices").iterdir():
        if entry.name.endswith(".toml"):
            key = entry.name.removesuffix(".toml")
            found[key] = parse(entry.read_text(encoding="utf-8"), key, entry.name)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _wrong(where: str, what: str) -> UsageError:
    return UsageError(f"device file {where}: {what}", next_step="Correct the file; `devices/h200.toml` shows the form.")


def _difference(what: str, expected: set[str], found: set[str]) -> str:
    missing, unknown = sorted(expected - found), sorted(found - expected)
    parts = [f"{what} {name} is missing" for name in missing] + [f"unknown {what} {name}" for name in unknown]
    return "; ".join(parts)


def _sources(table: Any, where: str) -> dict[str, Origin]:
    if not isinstance(table, dict):
        raise _wrong(where, f"sources = {table!r}: a table is wanted")
    sources = {}
    for key, entry in table.items():
        if not isinstance(entry, dict) or set(entry) != {"status", "text"} or not isinstance(entry["text"], str):
            raise _wrong(where, f"sources.{key} = {entry!r}: a table of status and text is wanted")
        if entry["status"] not in list(Status):
            raise _wrong(where, f"sources.{key}.status = {entry['status']!r}: one of {', '.join(Status)} is wanted")
        sources[key] = Origin(Status(entry["status"]), entry["text"])
    return sources


_MAY_BE_ZERO = frozenset(
    (
        "persisting_l2_bytes",
        "event_us",
        "mma_clocks",
        "tensor_fp16_tflops",
        "tensor_tf32_tflops",
        "tensor_fp8_tflops",
        "tensor_int8_tops",
        "tensor_fp64_tflops",
    )
)


def _table(
    name_of_table: str, kind_of_table: type[Values] | type[Rates], table: Any, sources: dict[str, Origin], where: str
) -> tuple[dict[str, Any], dict[str, Origin]]:
    """The values of one table and their sources."""
    if not isinstance(table, dict):
        raise _wrong(where, f"{name_of_table} = {table!r}: a table is wanted")
    kinds = {field.name: str(field.type) for field in fields(kind_of_table)}
    optional = {field.name for field in fields(kind_of_table) if field.default is not MISSING}
    if set(table) | optional != set(kinds):
        raise _wrong(where, _difference("value", set(kinds) - optional, set(table) - optional))
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for name, kind in kinds.items():
        if name not in table:
            continue
        entry, spelled = table[name], f"{name_of_table}.{name}"
        if not isinstance(entry, list) or len(entry) != 2:
            raise _wrong(where, f"{spelled} = {entry!r}: [value, source] is wanted")
        value, source = entry
        if source not in sources:
            raise _wrong(where, f"{spelled}: its source {source!r} is not among sources")
        if kind.startswith("tuple"):
            if not isinstance(value, list) or not all(isinstance(item, int) and item > 0 for item in value):
                raise _wrong(where, f"{spelled} = {value!r}: a list of positive numbers is wanted")
            values[name], origins[name] = tuple(value), sources[source]
            continue
        accepted = {"int": (int,), "float": (int, float), "bool": (bool,)}[kind]
        if not isinstance(value, accepted) or (kind != "bool" and isinstance(value, bool)):
            raise _wrong(where, f"{spelled} = {value!r}: {kind} is wanted")
        if kind != "bool" and not (value > 0 or (value == 0 and name in _MAY_BE_ZERO)):
            raise _wrong(where, f"{spelled} = {value!r}: it must be positive")
        if kind != "bool" and value > _MOST:
            raise _wrong(where, f"{spelled} = {value!r}: no device has more than {_MOST:.0e}")
        values[name], origins[name] = value, sources[source]
    return values, origins


def _limits(text: Any, where: str) -> Limits:
    match = re.fullmatch(r"(\d+)\.(\d)", text) if isinstance(text, str) else None
    if match is None:
        raise _wrong(where, f'compute_capability = {text!r}: text such as "9.0" is wanted')
    try:
        return limits(int(match[1]), int(match[2]))
    except UsageError as error:
        raise _wrong(where, f"compute_capability = {text!r}: {error.message}") from error


def _check(spec: DeviceSpec, where: str) -> None:
    """Refuse values that contradict each other."""
    values = spec.values
    roofs = (
        ("fp32_tflops", values.fp32_tflops, spec.peak_fp32_tflops, "2 x lanes x SMs x clock"),
        ("memory_bandwidth_gb_s", values.memory_bandwidth_gb_s, spec.peak_bandwidth_gb_s, "2 x memory clock x bus / 8"),
    )
    for name, stated, computed, formula in roofs:
        if not _SHORTFALL * computed <= stated <= _ROUNDING * computed:
            raise _wrong(where, f"values.{name} = {stated}: {formula} gives {computed:.4g}")
    if values.persisting_l2_bytes > values.l2_bytes:
        raise _wrong(
            where, f"values.persisting_l2_bytes = {values.persisting_l2_bytes}: above l2_bytes {values.l2_bytes}"
        )
    rates = spec.rates
    most = (
        ("l2_reuse_bytes", rates.l2_reuse_bytes, "l2_bytes", values.l2_bytes),
        ("dram_gb_s", rates.dram_gb_s, "memory_bandwidth_gb_s", _ROUNDING * values.memory_bandwidth_gb_s),
        ("fma_rate", rates.fma_rate, "issue_rate", rates.issue_rate),
        ("l1_latency", rates.l1_latency, "l2_latency", rates.l2_latency),
        ("l2_latency", rates.l2_latency, "dram_latency", rates.dram_latency),
        ("constant_cache_bytes", rates.constant_cache_bytes, "the constant memory of a kernel,", 65536),
        ("coalescing_sms", rates.coalescing_sms, "sm_count", values.sm_count),
        ("l2_slices", rates.l2_slices, "the lines of the L2,", values.l2_bytes / 128),
    )
    for name, value, bound, limit in most:
        if value > limit:
            raise _wrong(where, f"rates.{name} = {value}: above {bound} {limit:.6g}")
    if rates.dram_access_bytes not in _ACCESSES:
        raise _wrong(where, f"rates.dram_access_bytes = {rates.dram_access_bytes}: one of 32, 64 and 128 is wanted")
    if sum(values.cluster_sms) > values.sm_count:
        raise _wrong(
            where, f"values.cluster_sms = {list(values.cluster_sms)}: together above sm_count {values.sm_count}"
        )
    if values.l2_bytes >= values.memory_bytes:
        raise _wrong(where, f"values.l2_bytes = {values.l2_bytes}: not below memory_bytes {values.memory_bytes}")
