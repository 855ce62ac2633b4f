"""Tell an access to the trace of cache lines (`emulator.trace`), where the plan asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.kinds import Tag
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.trace import ATOMIC, KIND_SHIFT, LOAD, LOCAL_BIT, SITE_SHIFT, STORE
from lanewise.ptx.syntax import Instruction
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo

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
