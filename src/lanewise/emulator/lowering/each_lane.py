"""Accesses lane by lane: one call checks and counts a vector of addresses, others move the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering.address import reaches_cluster
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import Instruction
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def touch(
    t: FunctionTranslator,
    ins: Instruction,
    space: Space,
    address: Quantity,
    bytes_: int,
    site: SiteInfo,
    *,
    is_load: bool,
    mask: str | None = None,
) -> tuple[str, str]:
    """Check and count an access lane by lane; host addresses (<32 x i64>) and the lanes that are on (i32)."""
    out = t.out
    mask = t.mask(ins) if mask is None else mask
    vector = t.vector(address)
    counters, cache = t.site_pointers(site)
    load_flag = "true" if is_load else "false"
    head = f"ptr %x, ptr %w, ptr {counters}"
    tail = f"i32 {mask}, i32 {bytes_}, i32 {site.index}"
    if space in (Space.GLOBAL, Space.CONST):
        call = f"@lw_touch_global(ptr %x, ptr %w, ptr {counters}, ptr {cache}, <32 x i64> {vector}, {tail})"
    elif space == Space.SHARED:
        which = "cluster" if reaches_cluster(ins) else "shared"
        call = f"@lw_touch_{which}({head}, ptr %shared, <32 x i32> {vector}, {tail}, i1 {load_flag})"
    elif space == Space.LOCAL:
        call = f"@lw_touch_local(ptr %x, ptr %w, ptr {counters}, <32 x i32> {vector}, {tail})"
    else:
        call = (
            f"@lw_touch_generic(ptr %x, ptr %w, ptr {counters}, ptr {cache}, ptr %shared, <32 x i64> {vector}, {tail}, "
            f"i1 {load_flag})"
        )
    return out.let(f"call <32 x i64> {call}"), mask


def gather(t: FunctionTranslator, host: str, mask: str, element: str, count: int) -> list[Quantity]:
    name = f"lw_gather_{element}"
    result = []
    for part in range(count):
        at = host if part == 0 else t.out.let(f"add <32 x i64> {host}, splat (i64 {part * int(element[1:]) // 8})")
        result.append(q.varying(t.out.let(f"call <32 x {element}> @{name}(<32 x i64> {at}, i32 {mask})"), element))
    return result


def scatter(t: FunctionTranslator, host: str, mask: str, element: str, sources: list[Quantity]) -> None:
    name = f"lw_scatter_{element}"
    for part, source in enumerate(sources):
        at = host if part == 0 else t.out.let(f"add <32 x i64> {host}, splat (i64 {part * int(element[1:]) // 8})")
        t.out.line(f"call void @{name}(<32 x i64> {at}, <32 x {element}> {t.vector(source)}, i32 {mask})")
