"""Loads and stores of shared memory with lanes at constant distances: checked by group, counted when translated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.lowering import lane_pattern, slow
from lanewise.emulator.lowering.lane_pattern import Plan
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.shared_groups import SharedGroup
from lanewise.emulator.unit import SiteInfo
from lanewise.hardware import banks
from lanewise.hardware import pattern as patterns
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

FULL = 0xFFFFFFFF


def check(t: FunctionTranslator, group: SharedGroup) -> None:
    """Emit the group's flag and pointer, where the first of its accesses stands."""
    if group.flag:
        return
    out = t.out
    base = t.read(group.base)
    base32 = out.let(f"trunc i64 {base.text} to i32") if base.type == "i64" else base.text
    wide = out.let(f"zext i32 {base32} to i64")
    low, high = group.low, group.high
    if group.uniform:
        ok = out.let("icmp eq i1 true, true")
        first = last = wide
    elif group.run and not group.need_full:
        # Any warp without gaps: look at its first and last lane. The base itself may wrap below zero.
        ends = [
            out.let(f"add i32 {base32}, {out.let(f'mul i32 {t.edge(e)}, {group.bytes_}')}") for e in ("first", "last")
        ]
        first, last = (out.let(f"zext i32 {end} to i64") for end in ends)
        between = out.let(f"sub i32 {t.edge('last')}, {t.edge('first')}")
        span = out.let(f"mul i64 {out.let(f'zext i32 {between} to i64')}, {group.bytes_}")
        ok = out.let(f"icmp eq i64 {out.let(f'sub i64 {last}, {first}')}, {span}")
        ok = out.let(f"and i1 {ok}, {t.edge('whole')}")
        skipped = out.let(f"zext i32 {t.edge('first')} to i64")
        back = out.let(f"mul i64 {skipped}, {group.bytes_}")
        wide = out.let(f"sub i64 {first}, {back}")
    else:
        ok = t.edge("full")
        first = last = wide
        low, high = low + min(group.relative), high + max(group.relative)
    if low < 0:
        ok = out.let(f"and i1 {ok}, {out.let(f'icmp sge i64 {first}, {-low}')}")
    end = out.let(f"add i64 {last}, {high}")
    ok = out.let(f"and i1 {ok}, {out.let(f'icmp sle i64 {end}, %limit')}")
    if group.align > 1:
        bits = out.let(f"and i64 {wide}, {group.align - 1}")
        ok = out.let(f"and i1 {ok}, {out.let(f'icmp eq i64 {bits}, 0')}")
    group.flag = ok
    group.pointer = out.let(f"getelementptr i8, ptr %shared, i64 {wide}")


def _cost(group: SharedGroup, bytes_: int, kind: AccessKind, site: SiteInfo) -> None:
    """What one execution by a full warp costs (by one without gaps, for runs of up to 4 bytes)."""
    relative = group.relative
    low = min(relative)
    places = [r - low for r in relative]
    site.on_from_block = True
    site.static_wavefronts = max(1, banks.wavefronts(places, FULL, bytes_, kind))
    site.static_wavefronts_ideal = min(site.static_wavefronts, max(1, bytes_ // 4))
    pattern, stride = patterns.classify(places, FULL, bytes_)
    assert pattern is not None
    code = lane_pattern.CODES[pattern]
    site.static_pattern |= 1 << code
    if stride is not None and code == 3:
        site.static_stride = stride


def load(
    t: FunctionTranslator, group: SharedGroup, address: Quantity, offset: int, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    """The components of a load of the group."""
    out = t.out
    bytes_ = int(element[1:]) // 8 * count
    check(t, group)
    _cost(group, bytes_, AccessKind.LOAD, site)
    if group.early and t.checked is not None:
        return _load_checked(t, group, address, offset, element, count, site)
    fast, slow_way, join = out.fresh_label("fast"), out.fresh_label("slow"), out.fresh_label("join")
    out.line(f"br i1 {group.flag}, label %{fast}, label %{slow_way}, !prof !2")
    out.label(fast)
    if group.uniform:
        values = _load_uniform(t, group, address, offset, element, count, site, bytes_)
        fast_end = slow.end_block(t, join)
        out.label(slow_way)
        vectors = slow.load(t, Space.SHARED, address, element, count, site)
        first = t.edge_here("first")
        slow_values = [out.let(f"extractelement <32 x {element}> {v}, i32 {first}") for v in vectors]
        slow_end = slow.end_block(t, join)
        out.label(join)
        return [
            q.uniform(out.let(f"phi {element} [ {a}, %{fast_end} ], [ {b}, %{slow_end} ]"), element)
            for a, b in zip(values, slow_values, strict=True)
        ]
    values = _load_lanes(t, group, offset, element, count)
    fast_end = slow.end_block(t, join)
    out.label(slow_way)
    slow_values = slow.load(t, Space.SHARED, address, element, count, site)
    slow_end = slow.end_block(t, join)
    out.label(join)
    return slow.joined(t, element, values, fast_end, slow_values, slow_end)


def _load_uniform(
    t: FunctionTranslator,
    group: SharedGroup,
    address: Quantity,
    offset: int,
    element: str,
    count: int,
    site: SiteInfo,
    bytes_: int,
) -> list[str]:
    size = int(element[1:]) // 8
    if bytes_ > 8:
        slow.correct_partial(t, address, bytes_, site)
    values = []
    for part in range(count):
        at = t.out.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + part * size}")
        values.append(t.out.let(f"load {element}, ptr {at}, align {size}"))
    return values


def _load_lanes(t: FunctionTranslator, group: SharedGroup, offset: int, element: str, count: int) -> list[str]:
    out = t.out
    if group.run and not group.need_full:
        at = out.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset}")
        return [slow.masked_load(t, at, element)]
    base = out.let(f"ptrtoint ptr {group.pointer} to i64")
    plan = Plan(tuple(r + offset for r in group.relative), ())
    return lane_pattern.load(t, Space.GLOBAL, plan, [base], element, count)


def _load_checked(
    t: FunctionTranslator, group: SharedGroup, address: Quantity, offset: int, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    """A load in one of the two translations of its block."""
    if not t.checked:
        vectors = slow.load(t, Space.SHARED, address, element, count, site)
        if not group.uniform:
            return [q.varying(v, element) for v in vectors]
        first = t.edge_here("first")
        return [q.uniform(t.out.let(f"extractelement <32 x {element}> {v}, i32 {first}"), element) for v in vectors]
    if group.uniform:
        bytes_ = int(element[1:]) // 8 * count
        return [q.uniform(v, element) for v in _load_uniform(t, group, address, offset, element, count, site, bytes_)]
    return [q.varying(v, element) for v in _load_lanes(t, group, offset, element, count)]


def _store_lanes(t: FunctionTranslator, group: SharedGroup, offset: int, element: str, vectors: list[str]) -> None:
    out = t.out
    if group.run and not group.need_full:
        at = out.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset}")
        slow.masked_store(t, at, element, vectors[0])
        return
    base = out.let(f"ptrtoint ptr {group.pointer} to i64")
    plan = Plan(tuple(r + offset for r in group.relative), ())
    lane_pattern.store(t, Space.GLOBAL, plan, [base], element, vectors)


def store(
    t: FunctionTranslator,
    group: SharedGroup,
    address: Quantity,
    offset: int,
    element: str,
    sources: list[Quantity],
    site: SiteInfo,
) -> None:
    """A store of the group."""
    out = t.out
    count = len(sources)
    bytes_ = int(element[1:]) // 8 * count
    vectors = [t.vector(source) for source in sources]
    check(t, group)
    _cost(group, bytes_, AccessKind.STORE, site)
    if group.early and t.checked is not None:
        if t.checked:
            _store_lanes(t, group, offset, element, vectors)
        else:
            slow.store(t, Space.SHARED, address, element, vectors, site)
        return
    fast, slow_way, join = out.fresh_label("fast"), out.fresh_label("slow"), out.fresh_label("join")
    out.line(f"br i1 {group.flag}, label %{fast}, label %{slow_way}, !prof !2")
    out.label(fast)
    _store_lanes(t, group, offset, element, vectors)
    out.line(f"br label %{join}")
    out.label(slow_way)
    slow.store(t, Space.SHARED, address, element, vectors, site)
    out.line(f"br label %{join}")
    out.label(join)
