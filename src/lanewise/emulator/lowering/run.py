"""Accesses of neighbouring addresses, lane after lane: checked at both ends, counted by closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import SITE_SECTORS
from lanewise.emulator.lowering import lane_pattern, slow
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_PATTERN_CONTIGUOUS = 1 << 2


def is_run(address: Quantity, made: lane_pattern.Plan | None, bytes_: int) -> bool:
    """Whether lane after lane accesses the next `bytes_`, through one index."""
    if made is None or made.pattern or made.relative != tuple(bytes_ * lane for lane in range(32)):
        return False
    return address.tag == Tag.AFFINE or len(address.parts) == 1


def load(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, count: int, site: SiteInfo
) -> list[Quantity]:
    out = t.out
    bytes_ = int(element[1:]) // 8
    need_full = count > 1 or (space == Space.SHARED and bytes_ > 4)
    pointer, slow_way, join = _begin(t, space, address, bytes_ * count, site, need_full=need_full)
    if count == 1:
        fast = [slow.masked_load(t, pointer, element)]
    else:
        whole = out.let(f"load <{32 * count} x {element}>, ptr {pointer}, align {bytes_}")
        fast = []
        for part in range(count):
            picks = ", ".join(f"i32 {lane * count + part}" for lane in range(32))
            kind = f"<{32 * count} x {element}>"
            fast.append(out.let(f"shufflevector {kind} {whole}, {kind} poison, <32 x i32> <{picks}>"))
    fast_end = slow.end_block(t, join)
    out.label(slow_way)
    slow_values = slow.load(t, space, address, element, count, site)
    slow_end = slow.end_block(t, join)
    out.label(join)
    return slow.joined(t, element, fast, fast_end, slow_values, slow_end)


def store(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, sources: list[Quantity], site: SiteInfo
) -> None:
    out = t.out
    count = len(sources)
    bytes_ = int(element[1:]) // 8
    vectors = [t.vector(source) for source in sources]
    need_full = count > 1 or (space == Space.SHARED and bytes_ > 4)
    pointer, slow_way, join = _begin(t, space, address, bytes_ * count, site, need_full=need_full)
    if count == 1:
        slow.masked_store(t, pointer, element, vectors[0])
    else:
        whole, lanes = vectors[0], 32
        parts = vectors
        while len(parts) > 1:  # join pairs end to end, then interleave at once
            kind = f"<{lanes} x {element}>"
            order = ", ".join(f"i32 {i}" for i in range(2 * lanes))
            parts = [
                out.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> <{order}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            lanes *= 2
        whole = parts[0]
        order = ", ".join(f"i32 {part * 32 + lane}" for lane in range(32) for part in range(count))
        kind = f"<{lanes} x {element}>"
        mixed = out.let(f"shufflevector {kind} {whole}, {kind} poison, <{lanes} x i32> <{order}>")
        out.line(f"store {kind} {mixed}, ptr {pointer}, align {bytes_}")
    out.line(f"br label %{join}")
    out.label(slow_way)
    slow.store(t, space, address, element, vectors, site)
    out.line(f"br label %{join}")
    out.label(join)


def _begin(
    t: FunctionTranslator, space: Space, address: Quantity, bytes_: int, site: SiteInfo, *, need_full: bool
) -> tuple[str, str, str]:
    """Branch on whether the lanes' addresses are the run they seem to be and in bounds: (pointer of lane 0, label of
    the slow way, label of the join). The fast way goes on in place and must end at the join."""
    out = t.out
    first, last = t.edge("first"), t.edge("last")
    t.edge("count64")  # here, where it holds for all that follows
    fast, slow, join = out.fresh_label("run"), out.fresh_label("slow"), out.fresh_label("join")
    shape_ok = t.edge("full") if need_full else t.edge("whole")
    if address.tag == Tag.AFFINE:
        stride, index, signed = address.kind.offsets[1], address.text, False
    else:
        stride, index, signed = address.kind.terms[0].offsets[1], address.parts[0].base, address.kind.terms[0].signed
    at_first = out.let(f"add i32 {index}, {out.let(f'mul i32 {first}, {stride}')}")
    at_last = out.let(f"add i32 {index}, {out.let(f'mul i32 {last}, {stride}')}")
    extend = "sext" if signed else "zext"
    wide_first = out.let(f"{extend} i32 {at_first} to i64")
    wide_last = out.let(f"{extend} i32 {at_last} to i64")
    lanes = out.let(f"zext i32 {out.let(f'sub i32 {last}, {first}')} to i64")
    span = out.let(f"mul i64 {lanes}, {stride}")
    ok = out.let(f"icmp eq i64 {out.let(f'sub i64 {wide_last}, {wide_first}')}, {span}")
    ok = out.let(f"and i1 {ok}, {shape_ok}")
    if address.tag == Tag.EXTENDED:
        wide_first, wide_last = (
            q.fold(out, "add", "i64", address.outer, q.fold(out, "mul", "i64", w, address.parts[0].scale))
            for w in (wide_first, wide_last)
        )
    if space == Space.SHARED:
        inside = out.let(f"icmp ule i64 {out.let(f'add i64 {wide_last}, {bytes_}')}, %limit")
    else:
        _, cache = t.site_pointers(site)
        low = out.let(f"load i64, ptr {cache}")
        starts = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr {cache}, i64 1')}")
        inside = out.let(f"icmp ult i64 {out.let(f'sub i64 {wide_first}, {low}')}, {starts}")
        inside_last = out.let(f"icmp ult i64 {out.let(f'sub i64 {wide_last}, {low}')}, {starts}")
        inside = out.let(f"and i1 {inside}, {inside_last}")
    ok = out.let(f"and i1 {ok}, {inside}")
    if bytes_ > 1:
        aligned = out.let(f"icmp eq i64 {out.let(f'and i64 {wide_first}, {bytes_ - 1}')}, 0")
        ok = out.let(f"and i1 {ok}, {aligned}")
    out.line(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !2")
    out.label(fast)
    back = out.let(f"mul i64 {out.let(f'zext i32 {first} to i64')}, {bytes_}")
    base = out.let(f"sub i64 {wide_first}, {back}")
    if space == Space.SHARED:
        pointer = out.let(f"getelementptr i8, ptr %shared, i64 {base}")
    else:
        pointer = out.let(f"inttoptr i64 {base} to ptr")
        _count(t, wide_first, wide_last, bytes_, site)
    site.on_from_block = True
    site.static_pattern |= _PATTERN_CONTIGUOUS
    if space == Space.SHARED:
        site.static_wavefronts = site.static_wavefronts_ideal = max(1, bytes_ // 4)
    return pointer, slow, join


def _count(t: FunctionTranslator, first: str, last: str, bytes_: int, site: SiteInfo) -> None:
    """Sectors of a run: from the first byte's to the last byte's; ideal: as many as its bytes fill."""
    out = t.out
    counters, _ = t.site_pointers(site)
    low = out.let(f"lshr i64 {first}, 5")
    high = out.let(f"lshr i64 {out.let(f'add i64 {last}, {bytes_ - 1}')}, 5")
    sectors = out.let(f"add i64 {out.let(f'sub i64 {high}, {low}')}, 1")
    filled = out.let(f"mul i64 {t.edge('count64')}, {bytes_}")
    ideal = out.let(f"lshr i64 {out.let(f'add i64 {filled}, 31')}, 5")
    out.declare("declare i64 @llvm.umin.i64(i64, i64)")
    ideal = out.let(f"call i64 @llvm.umin.i64(i64 {ideal}, i64 {sectors})")
    pair = out.let(f"insertelement <2 x i64> poison, i64 {sectors}, i32 0")
    pair = out.let(f"insertelement <2 x i64> {pair}, i64 {ideal}, i32 1")
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_SECTORS}")
    old = out.let(f"load <2 x i64>, ptr {pointer}, align 8")
    out.line(f"store <2 x i64> {out.let(f'add <2 x i64> {old}, {pair}')}, ptr {pointer}, align 8")
