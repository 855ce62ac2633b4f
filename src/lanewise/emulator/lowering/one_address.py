"""Accesses of all lanes to one address: checked once, a constant cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering import slow
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_PATTERN_BROADCAST = 1 << 1


def load(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    bytes_ = int(element[1:]) // 8
    pointer = _check(t, space, address, bytes_ * count, site)
    charge(t, space, address, bytes_ * count, site)
    values = []
    for part in range(count):
        at = pointer if part == 0 else t.out.let(f"getelementptr i8, ptr {pointer}, i64 {part * bytes_}")
        values.append(q.uniform(t.out.let(f"load {element}, ptr {at}, align {bytes_}"), element))
    return values


def charge(t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo) -> None:
    """What a broadcast costs: one sector; one wavefront up to 8 bytes a lane, two for 16 (hardware/banks.py)."""
    site.on_from_block = True
    site.static_pattern |= _PATTERN_BROADCAST
    if space != Space.SHARED:
        site.static_sectors = 1
    elif bytes_ <= 8:
        site.static_wavefronts = site.static_wavefronts_ideal = 1
    else:
        site.static_wavefronts = site.static_wavefronts_ideal = 2
        slow.correct_partial(t, address, bytes_, site)


def _check(t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo) -> str:
    """Check the one address of all lanes; returns a pointer."""
    out = t.out
    asks, good, bad, told = (out.fresh_label(name) for name in ("asks", "ok", "slow", "told"))
    out.line(f"br label %{asks}")
    out.label(asks)
    if space == Space.SHARED:
        wide = out.let(f"zext i32 {address.text} to i64")
        inside = out.let(f"icmp ule i64 {out.let(f'add i64 {wide}, {bytes_}')}, %limit")
        aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {wide}, {bytes_ - 1}')}, 0")
        pointer = out.let(f"getelementptr i8, ptr %shared, i64 {wide}")
        out.line(f"br i1 {out.let(f'and i1 {inside}, {aligned}')}, label %{good}, label %{bad}, !prof !2")
        out.label(bad)
        counters, _ = t.site_pointers(site)
        hosts = out.let(
            f"call <32 x i64> @lw_touch_shared(ptr %x, ptr %w, ptr {counters}, ptr %shared, "
            f"<32 x i32> {t.vector(address)}, i32 {t.active}, i32 {bytes_}, i32 {site.index}, i1 true)"
        )
        other = out.let(f"extractelement <32 x i64> {hosts}, i32 {t.edge_here('first')}")
    else:
        _, cache = t.site_pointers(site)
        low = out.let(f"load i64, ptr {cache}")
        starts = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr {cache}, i64 1')}")
        inside = out.let(f"icmp ult i64 {out.let(f'sub i64 {address.text}, {low}')}, {starts}")
        if bytes_ > 1:
            aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {address.text}, {bytes_ - 1}')}, 0")
            inside = out.let(f"and i1 {inside}, {aligned}")
        pointer = out.let(f"inttoptr i64 {address.text} to ptr")
        out.line(f"br i1 {inside}, label %{good}, label %{bad}, !prof !2")
        out.label(bad)
        other = out.let(
            f"call i64 @lw_check_one(ptr %x, ptr %w, ptr {cache}, i64 {address.text}, i32 {t.active}, i32 {bytes_}, "
            f"i32 {site.index})"
        )
    other = out.let(f"inttoptr i64 {other} to ptr")
    out.line(f"br label %{told}")
    out.label(told)
    out.line(f"br label %{good}")
    out.label(good)
    return out.let(f"phi ptr [ {pointer}, %{asks} ], [ {other}, %{told} ]")
