"""Special registers (PTX ISA chapter 10): where their values come from. Kinds are in `kinds.special`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lanewise.emulator.kinds import special as kind_of
from lanewise.emulator.layout import Block, Launch, Warp
from lanewise.emulator.moving import lane_vector
from lanewise.emulator.quantity import Quantity, uniform, varying
from lanewise.emulator.unit import RESERVED_SHARED_BYTES

if TYPE_CHECKING:
    from lanewise.emulator.values import ValueTranslator

_WARP_FIELDS = {
    "%ctaid.x": Warp.CTAID_X,
    "%ctaid.y": Warp.CTAID_Y,
    "%ctaid.z": Warp.CTAID_Z,
    "%warpid": Warp.INDEX,
}
_LAUNCH_FIELDS = {
    "%ntid.x": Launch.BLOCK_X,
    "%ntid.y": Launch.BLOCK_Y,
    "%ntid.z": Launch.BLOCK_Z,
    "%nctaid.x": Launch.GRID_X,
    "%nctaid.y": Launch.GRID_Y,
    "%nctaid.z": Launch.GRID_Z,
    "%dynamic_smem_size": Launch.DYNAMIC_SHARED,
    "%total_smem_size": Launch.SHARED_BYTES,
    "%aggr_smem_size": Launch.SHARED_BYTES,
    "%nclusterid.x": Launch.CLUSTERS_X,
    "%nclusterid.y": Launch.CLUSTERS_Y,
    "%nclusterid.z": Launch.CLUSTERS_Z,
    "%cluster_nctaid.x": Launch.CLUSTER_X,
    "%cluster_nctaid.y": Launch.CLUSTER_Y,
    "%cluster_nctaid.z": Launch.CLUSTER_Z,
    "%cluster_nctarank": Launch.CLUSTER_BLOCKS,
}
_CONSTANTS = {"%smid": 0, "%nsmid": 1}
_GRID_WORKSPACE = {"%envreg1": 32, "%envreg2": 0}  # halves of its address: what cooperative_groups reads
_RESERVED = dict.fromkeys(("begin", "0", "1"), 0) | dict.fromkeys(("end", "cap"), RESERVED_SHARED_BYTES)
_BY_CLUSTER = {"clusterid": "udiv", "cluster_ctaid": "urem"}  # what is done to %ctaid and %cluster_nctaid
_LANE_MASKS: dict[str, Callable[[int], int]] = {
    "%lanemask_eq": lambda lane: 1 << lane,
    "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1,
    "%lanemask_gt": lambda lane: (0xFFFFFFFF << (lane + 1)) & 0xFFFFFFFF,
    "%lanemask_ge": lambda lane: (0xFFFFFFFF << lane) & 0xFFFFFFFF,
}
_CLOCKS = ("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi")
CLOCK_STEP = 64  # clocks read one after the other differ by this: deterministic, and loops that wait for time end


def read(t: ValueTranslator, name: str) -> Quantity:
    """The value of a special register in the warp that runs."""
    if name.startswith("%tid."):
        return _tid(t, name)
    if name == "%laneid":
        return Quantity(kind_of(name, t.shape), "i32", "0")
    if name in _WARP_FIELDS:
        return uniform(t.load_field(_WARP_FIELDS[name], "i32"), "i32")
    if name in _LAUNCH_FIELDS:
        return t.unit.launch_field(t, _LAUNCH_FIELDS[name])
    if name in _LANE_MASKS:
        return varying(lane_vector("i32", map(_LANE_MASKS[name], range(32))), "i32")
    if name in _CLOCKS:
        return _clock(t, name)
    if name == "%nwarpid":
        return uniform(t.out.let(f"trunc i64 {t.load_field(8, 'i64', _block(t))} to i32"), "i32")
    if name == "%gridid":
        return uniform(t.load_field(Launch.GRID_ID, "i64", "%launch"), "i64")
    if name in _CONSTANTS:
        return uniform(str(_CONSTANTS[name]), "i32")
    if name == "%cluster_ctarank":
        return uniform(t.out.let(f"trunc i64 {t.load_field(Block.RANK, 'i64', _block(t))} to i32"), "i32")
    if name == "%is_explicit_cluster":
        flag = t.load_field(Launch.CLUSTER_EXPLICIT, "i64", "%launch")
        return uniform(t.out.let(f"trunc i64 {flag} to i1"), "i1")
    if name in _GRID_WORKSPACE:
        address = t.load_field(Launch.GRID_WORKSPACE, "i64", "%launch")
        return uniform(
            t.out.let(f"trunc i64 {t.out.let(f'lshr i64 {address}, {_GRID_WORKSPACE[name]}')} to i32"), "i32"
        )
    if name.startswith("%reserved_smem_offset_"):
        return uniform(str(_RESERVED[name.rpartition("_")[2]]), "i32")
    family, _, axis = name[1:].partition(".")
    if axis == "w" or (family in ("tid", "ntid", "ctaid", "nctaid") and axis not in "xyz"):
        return uniform("0", "i32")
    if family in _BY_CLUSTER:
        block, size = (read(t, f"%{source}.{axis}").text for source in ("ctaid", "cluster_nctaid"))
        return uniform(t.out.let(f"{_BY_CLUSTER[family]} i32 {block}, {size}"), "i32")
    raise AssertionError(f"special register {name} passed the check for unsupported code")


def _block(t: ValueTranslator) -> str:
    return t.load_field(Warp.BLOCK, "ptr")


def _tid(t: ValueTranslator, name: str) -> Quantity:
    axis = name[-1]
    if axis == "w":
        return uniform("0", "i32")
    if t.shape.row == 0:
        table = t.load_field(Warp.TIDS, "ptr")
        return varying(t.load_field(128 * "xyz".index(axis), "<32 x i32>", table), "i32")
    base = t.load_field({"x": Warp.TID_X, "y": Warp.TID_Y, "z": Warp.TID_Z}[axis], "i32")
    if t.shape.row != 32 and axis == "x":
        base = "0"
    return Quantity(kind_of(name, t.shape), "i32", base)


def _clock(t: ValueTranslator, name: str) -> Quantity:
    pointer = t.field_pointer("%x", Warp.CLOCK)
    now = t.out.let(f"add i64 {t.out.let(f'load i64, ptr {pointer}')}, {CLOCK_STEP}")
    t.out.line(f"store i64 {now}, ptr {pointer}")
    if name in ("%clock64", "%globaltimer"):
        return uniform(now, "i64")
    if name.endswith("_hi"):
        now = t.out.let(f"lshr i64 {now}, 32")
    return uniform(t.out.let(f"trunc i64 {now} to i32"), "i32")
