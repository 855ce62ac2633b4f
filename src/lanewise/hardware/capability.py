"""Limits of a multiprocessor by compute capability, read from `capabilities.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lanewise.errors import UsageError

WARP_SIZE = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """What a multiprocessor (SM) of one compute capability can hold; memory in bytes, registers of 32 bits.

    Registers are handed to a warp in multiples of `register_unit`, each warp within one of the `warp_unit` partitions
    of the SM. `register_pool`, where set, is the part of the SM's registers that one block draws from. A block pays
    `shared_reserved` bytes of shared memory on top of its own, rounded up to `shared_unit`; `shared_carveouts` are the
    sizes of shared memory that the driver can choose; the rest of the `l1_array_bytes` is L1.
    """

    compute_capability: tuple[int, int]
    fp32_lanes: int  # fused multiply-adds a clock and SM
    fp32_per_fp64: int
    max_threads_per_block: int
    max_block_dim: tuple[int, int, int]
    max_grid_dim: tuple[int, int, int]
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    registers_per_thread: int
    register_unit: int
    warp_unit: int
    shared_per_sm: int
    shared_per_block: int
    shared_per_block_optin: int
    shared_reserved: int
    shared_unit: int
    shared_carveouts: tuple[int, ...]
    l1_array_bytes: int
    register_pool: int | None = None

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // WARP_SIZE


def limits(major: int, minor: int) -> Limits:
    """The limits of a compute capability, 5.0 to 12.1; UsageError for one that is not in the table."""
    table = _table()
    found = table.get((major, minor))
    if found is None:
        known = ", ".join(f"{a}.{b}" for a, b in table)
        raise UsageError(
            f"no limits are known for compute capability {major}.{minor}", next_step=f"Use one of: {known}."
        )
    return found


def arch_names() -> tuple[str, ...]:
    """The architectures that nvcc 13 compiles for, as `--arch` takes them (`nvcc --list-gpu-code`)."""
    numbers = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
    return tuple(f"sm_{number}" for number in numbers)


@cache
def _table() -> dict[tuple[int, int], Limits]:
    text = files("lanewise.hardware").joinpath("capabilities.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    common = data.pop("common")
    table = {}
    for key, row in data.items():
        major, minor = (int(part) for part in key.split("."))
        values: dict[str, Any] = {**common, **row}
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        table[major, minor] = Limits(compute_capability=(major, minor), **values)
    return table
