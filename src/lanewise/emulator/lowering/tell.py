"""Tell an access to the trace of cache lines (`emulator.trace`), where the plan asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.kinds import Lanes, Tag
from lanewise.emulator.lowering import lane_pattern
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.trace import ATOMIC, KIND_SHIFT, LOAD, LOCAL_BIT, SITE_SHIFT, STORE
from lanewise.hardware import banks
from lanewise.ptx.syntax import Instruction
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo


def _banks(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity) -> None:
    """The L1 has the banks of shared memory: what a request takes there is counted in place of wavefronts. One address
    takes one, neighbouring lanes what their bytes fill."""
    bytes_ = site.width_bits // 8
    made = None if ins.guard is not None else lane_pattern.plan(address)
    if address.tag == Tag.UNIFORM or (made is not None and not made.pattern and usable(made.relative, bytes_)):
        relative = _ONE_ADDRESS if made is None or address.tag == Tag.UNIFORM else made.relative
        lowest = min(relative)
        offsets = [offset - lowest for offset in relative]
        site.static_wavefronts = banks.wavefronts(offsets, lane_pattern.FULL, bytes_, AccessKind.LOAD)
        return
    counters, _ = t.site_pointers(site)
    t.out.line(
        f"call void @lw_trace_banks(ptr {counters}, <32 x i64> {t.vector(address)}, i32 {t.mask(ins)}, i32 {bytes_})"
    )


def usable(relative: Lanes, bytes_: int) -> bool:
    """Whether lanes at these distances are aligned as the rules of banks ask."""
    return bytes_ in (1, 2, 4, 8, 16) and not any(offset % bytes_ for offset in relative)


_ONE_ADDRESS = (0,) * 32
_KINDS = {AccessKind.LOAD: LOAD, AccessKind.STORE: STORE, AccessKind.ATOMIC: ATOMIC}


def what(t: FunctionTranslator, site: SiteInfo) -> int:
    """Kind and site of an access for a helper that tells it; -1 where nothing is traced."""
    return _KINDS[site.kind] << KIND_SHIFT | site.index << SITE_SHIFT if t.unit.plan.trace else -1


def tell(t: FunctionTranslator, ins: Instruction, site: SiteInfo, address: Quantity) -> None:
    """Called before the access is done, for loads, stores and atomics."""
    if not t.unit.plan.trace:
        return
    what = _KINDS[site.kind] << KIND_SHIFT | site.index << SITE_SHIFT
    if site.space in (Space.GLOBAL, Space.GENERIC):
        lanes = f"<32 x i64> {t.vector(address)}, i32 {t.mask(ins)}"
        if site.kind != AccessKind.ATOMIC:
            _banks(t, ins, site, address)
        name = "lw_trace_atomic" if site.kind == AccessKind.ATOMIC else "lw_trace"
        t.out.line(f"call void @{name}(ptr %x, ptr %w, {lanes}, i32 {what})")
    elif site.space == Space.CONST and address.tag != Tag.UNIFORM:
        counters, _ = t.site_pointers(site)
        t.out.line(f"call void @lw_trace_constants(ptr {counters}, <32 x i64> {t.vector(address)}, i32 {t.mask(ins)})")
    elif site.space == Space.LOCAL:
        what |= 1 << LOCAL_BIT
        t.out.line(
            f"call void @lw_trace_local(ptr %x, ptr %w, <32 x i32> {t.vector(address)}, i32 {t.mask(ins)}, i32 {what}, "
            f"i32 {site.width_bits // 8})"
        )
