"""Calls of an instrument's functions (`layout.Hooks`), written only where the unit's `Events` ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanewise.emulator.layout import Hooks, Launch
from lanewise.emulator.quantity import Quantity
from lanewise.emulator.roots import root
from lanewise.ptx.syntax import Address, Instruction, Operand
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator
    from lanewise.emulator.unit import SiteInfo

# Scopes by the modifiers that name them, as FENCE gives them and checks compare them: the wider, the higher.
SCOPES = {"cta": 1, "cluster": 2, "gl": 3, "gpu": 3, "sys": 4}


def scope_of(ins: Instruction) -> int:
    """The scope an instruction names; 0 where it names none."""
    return next((SCOPES[m] for m in ins.modifiers if m in SCOPES), 0)


def prologue(t: FunctionTranslator) -> None:
    """What a function keeps for its events."""
    if not t.unit.events:
        return
    out = t.out
    out.line("%told = alloca <32 x i64>, align 64")
    out.line(f"%hooksp = getelementptr i8, ptr %launch, i64 {Launch.HOOKS}")
    out.line("%hooks = load ptr, ptr %hooksp")
    out.line(f"%watchp = getelementptr i8, ptr %launch, i64 {Launch.WATCH}")
    out.line("%watch = load ptr, ptr %watchp")


def access(
    t: FunctionTranslator,
    ins: Instruction,
    site: SiteInfo,
    space: Space,
    address: Quantity,
    values: Sequence[Quantity] = (),
    mask: str | None = None,
) -> None:
    """A load, store or atomic that is about to be done. `address` as of its space: an offset where that is shared or
    local memory. `mask`: the lanes that access, where they are fewer than those the instruction acts on."""
    events = t.unit.events
    if not events.accesses or space in (Space.CONST, Space.PARAM):
        return
    _note_range(t, ins, site, space)
    out = t.out
    watched = out.let(f"load i8, ptr {out.let(f'getelementptr i8, ptr %watch, i64 {site.index}')}")
    tell, done = out.fresh_label("tell"), out.fresh_label("told")
    mask = t.mask(ins) if mask is None else mask
    vector = t.vector(address)
    texts = [t.vector(value) for value in values] if events.values else []
    out.line(f"br i1 {out.let(f'icmp ne i8 {watched}, 0')}, label %{tell}, label %{done}")
    out.label(tell)
    if address.type == "i32":
        vector = out.let(f"zext <32 x i32> {vector} to <32 x i64>")
    out.line(f"store <32 x i64> {vector}, ptr %told, align 64")
    for part, text in enumerate(texts):
        at = out.let(f"getelementptr <32 x {values[part].type}>, ptr %scratch, i64 {part}")
        out.line(f"store <32 x {values[part].type}> {text}, ptr {at}, align 16")
    given = "%scratch" if texts else "null"
    listener = _listener(t, Hooks.ACCESS)
    out.line(
        f"call void {listener}(ptr %x, ptr %w, i32 {site.index}, i32 {mask}, i32 {t.active}, ptr %told, ptr {given})"
    )
    out.line(f"br label %{done}")
    out.label(done)


def _note_range(t: FunctionTranslator, ins: Instruction, site: SiteInfo, space: Space) -> None:
    """Which bytes the instruction means, where its address is built from one variable."""
    if space not in (Space.SHARED, Space.LOCAL) or ins.has("shared::cluster"):
        return
    name = root(t.function, next(operand for operand in ins.operands if isinstance(operand, Address)))
    if name is None:
        return
    if space == Space.LOCAL:
        frame = t.unit.frames[id(t.function)]
        size = next((v.size for v in t.function.variables if v.name == name), 0)
        if t.function.is_kernel and name in frame.offsets:  # its frame is the first
            site.range, site.root = (frame.offsets[name], frame.offsets[name] + size), name
        return
    start = t.unit.shared_offset(name, t.unit.program.module_of(t.function))
    if start is not None:
        size = t.unit.shared_size(name, t.unit.program.module_of(t.function))
        site.range, site.root = (start, start + size if size else -1), name


def warp_sync(t: FunctionTranslator, members: Operand, *, orders: bool) -> None:
    """Lanes that have met by the masks they name: bar.warp.sync (`orders` memory) or an exchange."""
    if not t.unit.events.sync:
        return
    vector = t.vector(t.operand(members, "b32"))
    t.out.line(f"store <32 x i32> {vector}, ptr %told, align 64")
    t.out.line(
        f"call void {_listener(t, Hooks.WARP_SYNC)}(ptr %x, ptr %w, i32 {t.fault_site()}, i32 {t.active}, "
        f"i32 {int(orders)}, ptr %told)"
    )


def exchange(t: FunctionTranslator, ins: Instruction) -> None:
    """shfl.sync, vote.sync and the like; the forms without a mask ask nothing of their lanes."""
    if ins.has("sync") and ins.guard is None:
        warp_sync(t, ins.operands[-1], orders=False)


def fence(t: FunctionTranslator, ins: Instruction) -> None:
    """membar and fence."""
    if not t.unit.events.sync:
        return
    scope = scope_of(ins)
    t.out.line(f"call void {_listener(t, Hooks.FENCE)}(ptr %x, ptr %w, i32 {t.mask(ins)}, i32 {scope})")


def _listener(t: FunctionTranslator, which: int) -> str:
    """Every function of the table that an instrument's events reach is there."""
    place = t.out.let(f"getelementptr i8, ptr %hooks, i64 {which}")
    return t.out.let(f"load ptr, ptr {place}")
