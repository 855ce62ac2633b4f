"""The slow way of an access: lane by lane through one call, which checks, counts and moves the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.unit import SiteInfo
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def _call(t: FunctionTranslator, name: str, space: Space, address: Quantity, bytes_: int, site: SiteInfo, count: int,
          result: str) -> str:  # fmt: skip
    counters, cache = t.site_pointers(site)
    shared = space == Space.SHARED
    vector = f"<32 x i32> {t.vector(address)}" if shared else f"<32 x i64> {t.vector(address)}"
    head = f"ptr %x, ptr %w, ptr {counters}, ptr {'%shared' if shared else cache}"
    where = "shared" if shared else "global"
    off = f", i64 {site.static_wavefronts}, i64 {site.static_wavefronts_ideal}" if shared else ""
    return (
        f"call {result} @lw_{name}_{where}({head}, {vector}, i32 {t.active}, i32 {bytes_}, i32 {site.index}, "
        f"i32 {count}, ptr %scratch{off})"
    )


def load(t: FunctionTranslator, space: Space, address: Quantity, element: str, count: int, site: SiteInfo) -> list[str]:
    """The components as vectors."""
    out = t.out
    bytes_ = int(element[1:]) // 8 * count
    out.line(_call(t, f"slow_load_{element}", space, address, bytes_, site, count, "void"))
    values = []
    for part in range(count):
        at = out.let(f"getelementptr <32 x {element}>, ptr %scratch, i64 {part}")
        values.append(out.let(f"load <32 x {element}>, ptr {at}, align 16"))
    return values


def store(
    t: FunctionTranslator, space: Space, address: Quantity, element: str, vectors: list[str], site: SiteInfo
) -> None:
    """Store the components, given as vectors."""
    out = t.out
    bytes_ = int(element[1:]) // 8 * len(vectors)
    for part, vector in enumerate(vectors):
        at = out.let(f"getelementptr <32 x {element}>, ptr %scratch, i64 {part}")
        out.line(f"store <32 x {element}> {vector}, ptr {at}, align 16")
    out.line(_call(t, f"slow_store_{element}", space, address, bytes_, site, len(vectors), "void"))


def correct_partial(t: FunctionTranslator, address: Quantity, bytes_: int, site: SiteInfo) -> None:
    """A 16-byte broadcast by less than a full warp: replace the static cost by the true one."""
    out = t.out
    some, done = out.fresh_label("some"), out.fresh_label("done")
    out.line(f"br i1 {t.edge_here('full')}, label %{done}, label %{some}, !prof !2")
    out.label(some)
    counters, _ = t.site_pointers(site)
    off = f"i64 {site.static_wavefronts}, i64 {site.static_wavefronts_ideal}"
    out.line(f"call void @lw_undo_static(ptr {counters}, {off})")
    out.line(
        f"call void @lw_count_shared(ptr {counters}, <32 x i32> {t.vector(address)}, i32 {t.active}, "
        f"i32 {bytes_}, i1 true)"
    )
    out.line(f"br label %{done}")
    out.label(done)


def end_block(t: FunctionTranslator, join: str) -> str:
    """Close the current LLVM block with a jump to `join`; returns the label of the block that jumps."""
    here = t.out.fresh_label("end")
    t.out.line(f"br label %{here}")
    t.out.label(here)
    t.out.line(f"br label %{join}")
    return here


def joined(
    t: FunctionTranslator, element: str, fast: list[str], fast_end: str, slow: list[str], slow_end: str
) -> list[Quantity]:
    """The values of both ways, after the join."""
    return [
        q.varying(t.out.let(f"phi <32 x {element}> [ {a}, %{fast_end} ], [ {b}, %{slow_end} ]"), element)
        for a, b in zip(fast, slow, strict=True)
    ]


def masked_load(t: FunctionTranslator, pointer: str, element: str) -> str:
    """Neighbouring elements for the active lanes; `pointer` is lane 0's."""
    kind, name = f"<32 x {element}>", f"llvm.masked.load.v32{element}.p0"
    t.out.declare(f"declare {kind} @{name}(ptr, <32 x i1>, {kind})")
    size = int(element[1:]) // 8
    return t.out.let(
        f"call {kind} @{name}(ptr align {size} {pointer}, <32 x i1> {t.active_lanes}, {kind} zeroinitializer)"
    )


def masked_store(t: FunctionTranslator, pointer: str, element: str, vector: str) -> None:
    kind, name = f"<32 x {element}>", f"llvm.masked.store.v32{element}.p0"
    t.out.declare(f"declare void @{name}({kind}, ptr, <32 x i1>)")
    size = int(element[1:]) // 8
    t.out.line(f"call void @{name}({kind} {vector}, ptr align {size} {pointer}, <32 x i1> {t.active_lanes})")
