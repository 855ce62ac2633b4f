"""Tell an access to the trace of cache lines (`emulator.trace`), where the plan asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.kinds import Lanes, Tag
from lanewise.emulator.layout import SITE_WAVEFRONTS
from lanewise.emulator.lowering import lane_pattern
from lanewise.emulator.lowering.lane_pattern import Plan
from lanewise.emulator.quantity import Quantity, fold
from lanewise.emulator.trace import ATOMIC, KIND_SHIFT, LOAD, LOCAL_BIT, SITE_SHIFT, STORE
from lanewise.hardware import banks
from lanewise.hardware.coalescing import LINE_BYTES
from lanewise.ptx.syntax import Instruction
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo


def _banks(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, bytes_: int) -> None:
    """The L1 has the banks of shared memory: what a request takes there is counted in place of wavefronts. One address
    takes one, neighbouring lanes what their bytes fill."""
    made = None if ins.guard is not None else lane_pattern.plan(address)
    if address.tag == Tag.UNIFORM or (made is not None and not made.pattern and usable(made.relative, bytes_)):
        relative = _ONE_ADDRESS if made is None or address.tag == Tag.UNIFORM else made.relative
        lowest = min(relative)
        offsets = [offset - lowest for offset in relative]
        site.static_wavefronts = banks.wavefronts(offsets, lane_pattern.FULL, bytes_, AccessKind.LOAD)
        return
    counters, _ = t.site_pointers(site)
    join = ""
    if made is not None and made.pattern and bytes_ >= 4 and usable(made.relative, bytes_):
        join = _banks_of_groups(t, address, made, bytes_, counters)
    t.out.line(
        f"call void @lw_trace_banks(ptr {counters}, <32 x i64> {t.vector(address)}, i32 {t.mask(ins)}, i32 {bytes_})"
    )
    if join:
        t.out.line(f"br label %{join}")
        t.out.label(join)


def _banks_of_groups(t: FunctionTranslator, address: Quantity, made: Plan, bytes_: int, counters: str) -> str:
    """Groups of lanes so far apart that they share no word: what they take depends on their step modulo the banks.
    Code goes on where that does not hold; returns the label of what comes after."""
    out = t.out
    ok = t.edge("full")
    _, step, holds = lane_pattern.base_of(t, address)
    rest = out.let(f"and i64 {step}, {bytes_ - 1}")
    aligned = out.let(f"icmp eq i64 {rest}, 0")
    for condition in (*holds, aligned, lane_pattern.apart(t, made, step, bytes_)):
        ok = out.let(f"and i1 {ok}, {condition}")
    extent = max(made.relative) - min(made.relative)
    far = (extent // banks.WAVEFRONT_BYTES + 2) * banks.WAVEFRONT_BYTES
    counts = []
    for ahead in range(0, banks.WAVEFRONT_BYTES, bytes_):
        offsets = [r + (far + ahead) * p for r, p in zip(made.relative, made.pattern, strict=True)]
        lowest = min(offsets)
        counts.append(banks.wavefronts([o - lowest for o in offsets], lane_pattern.FULL, bytes_, AccessKind.LOAD))
    known, other, join = (out.fresh_label(name) for name in ("known", "other", "passes"))
    out.line(f"br i1 {ok}, label %{known}, label %{other}")
    out.label(known)
    pointer = out.let(f"getelementptr i64, ptr {counters}, i64 {SITE_WAVEFRONTS}")
    old = out.let(f"load i64, ptr {pointer}")
    new = out.let(f"add i64 {old}, {lane_pattern.looked_up(t, counts, step, bytes_)}")
    out.line(f"store i64 {new}, ptr {pointer}")
    out.line(f"br label %{join}")
    out.label(other)
    return join


def usable(relative: Lanes, bytes_: int) -> bool:
    """Whether lanes at these distances are aligned as the rules of banks ask."""
    return bytes_ in (1, 2, 4, 8, 16) and not any(offset % bytes_ for offset in relative)


_ONE_ADDRESS = (0,) * 32
_KINDS = {AccessKind.LOAD: LOAD, AccessKind.STORE: STORE, AccessKind.ATOMIC: ATOMIC}


def what(t: FunctionTranslator, site: SiteInfo) -> int:
    """Kind and site of an access for a helper that tells it; -1 where nothing is traced."""
    return _KINDS[site.kind] << KIND_SHIFT | site.index << SITE_SHIFT if t.unit.plan.trace else -1


def _pass_unfollowed(t: FunctionTranslator, address: Quantity, mask: str) -> str:
    """Where a few scalars say which lines the lanes are in: go on only if one of them is followed. Returns the label of
    what comes after, "" where the lanes must be looked at one by one."""
    out = t.out
    holds: list[str] = []
    if address.tag == Tag.UNIFORM:
        ends = [address.text]
    else:
        made = lane_pattern.plan(address)
        if made is None or len(made.groups) > lane_pattern.MAX_GROUPS:
            return ""
        extents = [[made.relative[n] for n in lanes] for _, lanes in made.groups]
        if any(max(extent) - min(extent) > LINE_BYTES for extent in extents):  # a line between the ends
            return ""
        base, step, holds = lane_pattern.base_of(t, address)
        ends = []
        for (value, _), extent in zip(made.groups, extents, strict=True):
            group = lane_pattern.at(t, base, step, value) if value else base
            ends += [fold(out, "add", "i64", group, str(offset)) for offset in sorted({min(extent), max(extent)})]
    keeps = "false"
    for end in ends:
        keeps = out.let(f"or i1 {keeps}, {out.let(f'call i1 @lw_trace_keeps(ptr %w, i64 {end})')}")
    for condition in holds:
        keeps = out.let(f"or i1 {keeps}, {out.let(f'xor i1 {condition}, true')}")
    followed, passed, join = (out.fresh_label(name) for name in ("followed", "passed", "told"))
    out.line(f"br i1 {keeps}, label %{followed}, label %{passed}")
    out.label(passed)
    out.line(f"call void @lw_trace_pass(ptr %x, i32 {mask})")
    out.line(f"br label %{join}")
    out.label(followed)
    return join


def tell(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity, *, bits: int = 0) -> None:
    """Called before the access is done, for loads, stores and atomics; `bits` of a lane where the site has several."""
    if not t.unit.plan.trace:
        return
    what = _KINDS[site.kind] << KIND_SHIFT | site.index << SITE_SHIFT
    if site.space in (Space.GLOBAL, Space.GENERIC):
        if site.kind != AccessKind.ATOMIC:
            _banks(t, ins, site, address, (bits or site.width_bits) // 8)
        name = "lw_trace_atomic" if site.kind == AccessKind.ATOMIC else "lw_trace"
        mask = t.mask(ins)
        join = "" if site.kind == AccessKind.ATOMIC else _pass_unfollowed(t, address, mask)
        t.out.line(f"call void @{name}(ptr %x, ptr %w, <32 x i64> {t.vector(address)}, i32 {mask}, i32 {what})")
        if join:
            t.out.line(f"br label %{join}")
            t.out.label(join)
    elif site.space == Space.CONST and address.tag != Tag.UNIFORM:
        counters, _ = t.site_pointers(site)
        t.out.line(f"call void @lw_trace_constants(ptr {counters}, <32 x i64> {t.vector(address)}, i32 {t.mask(ins)})")
    elif site.space == Space.LOCAL:
        what |= 1 << LOCAL_BIT
        t.out.line(
            f"call void @lw_trace_local(ptr %x, ptr %w, <32 x i32> {t.vector(address)}, i32 {t.mask(ins)}, i32 {what}, "
            f"i32 {site.width_bits // 8})"
        )
