"""The special registers (PTX ISA chapter 10)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """`uniform` names the largest group of threads that all read the same value at a time: "grid", "cluster", "block",
    "warp" or "thread" (no group). `vector`: read by component, `.x`, `.y`, `.z` (and `.w`, always 0)."""

    name: str
    type: str
    section: str
    uniform: str
    vector: bool = False
    reason: str | None = None  # why this version cannot read it; None where it can


_NO_EVENTS = "performance monitor counters have no meaning here"
_NO_ENVIRONMENT = "driver-defined registers are not set here"
_GRID = (1, 2)  # where cooperative_groups expects the workspace of grid.sync()

_TABLE: tuple[SpecialRegister, ...] = (
    SpecialRegister("%tid", "u32", "10.1", "thread", vector=True),
    SpecialRegister("%ntid", "u32", "10.2", "grid", vector=True),
    SpecialRegister("%laneid", "u32", "10.3", "thread"),
    SpecialRegister("%warpid", "u32", "10.4", "warp"),
    SpecialRegister("%nwarpid", "u32", "10.5", "grid"),
    SpecialRegister("%ctaid", "u32", "10.6", "block", vector=True),
    SpecialRegister("%nctaid", "u32", "10.7", "grid", vector=True),
    SpecialRegister("%smid", "u32", "10.8", "block"),
    SpecialRegister("%nsmid", "u32", "10.9", "grid"),
    SpecialRegister("%gridid", "u64", "10.10", "grid"),
    SpecialRegister("%is_explicit_cluster", "pred", "10.11", "grid"),
    SpecialRegister("%clusterid", "u32", "10.12", "cluster", vector=True),
    SpecialRegister("%nclusterid", "u32", "10.13", "grid", vector=True),
    SpecialRegister("%cluster_ctaid", "u32", "10.14", "block", vector=True),
    SpecialRegister("%cluster_nctaid", "u32", "10.15", "grid", vector=True),
    SpecialRegister("%cluster_ctarank", "u32", "10.16", "block"),
    SpecialRegister("%cluster_nctarank", "u32", "10.17", "grid"),
    SpecialRegister("%lanemask_eq", "u32", "10.18", "thread"),
    SpecialRegister("%lanemask_le", "u32", "10.19", "thread"),
    SpecialRegister("%lanemask_lt", "u32", "10.20", "thread"),
    SpecialRegister("%lanemask_ge", "u32", "10.21", "thread"),
    SpecialRegister("%lanemask_gt", "u32", "10.22", "thread"),
    SpecialRegister("%clock", "u32", "10.23", "warp"),
    SpecialRegister("%clock_hi", "u32", "10.23", "warp"),
    SpecialRegister("%clock64", "u64", "10.24", "warp"),
    *(SpecialRegister(f"%pm{i}", "u32", "10.25", "warp", reason=_NO_EVENTS) for i in range(8)),
    *(SpecialRegister(f"%pm{i}_64", "u64", "10.26", "warp", reason=_NO_EVENTS) for i in range(8)),
    *(
        SpecialRegister(f"%envreg{i}", "b32", "10.27", "grid", reason=None if i in _GRID else _NO_ENVIRONMENT)
        for i in range(32)
    ),
    SpecialRegister("%globaltimer", "u64", "10.28", "warp"),
    SpecialRegister("%globaltimer_lo", "u32", "10.28", "warp"),
    SpecialRegister("%globaltimer_hi", "u32", "10.28", "warp"),
    SpecialRegister("%reserved_smem_offset_begin", "b32", "10.29", "grid"),
    SpecialRegister("%reserved_smem_offset_end", "b32", "10.29", "grid"),
    SpecialRegister("%reserved_smem_offset_cap", "b32", "10.29", "grid"),
    SpecialRegister("%reserved_smem_offset_0", "b32", "10.29", "grid"),
    SpecialRegister("%reserved_smem_offset_1", "b32", "10.29", "grid"),
    SpecialRegister("%total_smem_size", "u32", "10.30", "grid"),
    SpecialRegister("%aggr_smem_size", "u32", "10.31", "grid"),
    SpecialRegister("%dynamic_smem_size", "u32", "10.32", "grid"),
    SpecialRegister("%current_graph_exec", "u64", "10.33", "grid"),
)

SPECIAL_REGISTERS: dict[str, SpecialRegister] = {entry.name: entry for entry in _TABLE}
SPECIAL_VECTORS: frozenset[str] = frozenset(entry.name for entry in _TABLE if entry.vector)
