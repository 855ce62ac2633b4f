"""Bulk copies and reductions, without tensors (PTX ISA 9.7.9.25.4 and .6). What they do is in `emulator.bulk`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.bulk import reducer
from lanewise.emulator.kinds import constant
from lanewise.emulator.layout import AsyncQueue
from lanewise.emulator.lowering import atomics, tell
from lanewise.emulator.lowering.address import address_of
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

WIDTH_BITS = 128  # bytes move in units of 16


def copy(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk: global to shared memory, shared to global, or to another block's shared memory."""
    _issue(t, ins, "lw_bulk_copy")


def reduce(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.reduce.async.bulk: each element is an atomic operation where it lands."""
    _issue(t, ins, reducer(atomics.operation_of(ins), ins.type))


def prefetch(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk.prefetch: caches are not modelled."""


def commit(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk.commit_group: each lane's bulk copies so far are a group."""
    t.out.line(f"call void @lw_async_commit(ptr %x, i32 {t.mask(ins)}, i64 {AsyncQueue.BULK_COMMITTED})")


def wait(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk.wait_group: the groups of each lane land, but for the last few. With `.read` too: nobody can tell
    whether what was read has been written."""
    pending = constant(ins.operands[0])
    t.out.line(f"call void @lw_bulk_wait(ptr %x, ptr %w, i32 {t.mask(ins)}, i32 {pending}, i1 false)")


def directions(ins: Instruction) -> tuple[Space, Space]:
    """(to, from): the two state spaces that the instruction names, in order."""
    spaces = [m.split("::")[0] for m in ins.modifiers if m.split("::")[0] in ("shared", "global")]
    return Space(spaces[0]), Space(spaces[1])


def _issue(t: FunctionTranslator, ins: Instruction, move: str) -> None:
    to, source = directions(ins)
    first, second, size, *rest = ins.operands
    sizes = f"<32 x i32> {t.vector(t.operand(size, 'u32'))}"
    target = _address(t, first, to)
    origin = _address(t, second, source)
    if to == Space.GLOBAL:
        mask = "zeroinitializer"
        if ins.has("cp_mask"):
            mask, move = t.vector(t.operand(rest[-1], "b16")), "lw_bulk_copy_masked"
        kind = AccessKind.ATOMIC if ins.has("reduce") else AccessKind.STORE
        site = t.new_site(ins, Space.GLOBAL, kind, WIDTH_BITS)
        _call(t, ins, "lw_bulk_store", site, f"{target}, {origin}, {sizes}, <32 x i16> {mask}", move)
        return
    word = _address(t, rest[0], Space.SHARED)
    arguments = f"{target}, {origin}, {sizes}, {word}"
    if source == Space.SHARED:
        site = t.new_site(ins, Space.SHARED, AccessKind.LOAD, WIDTH_BITS)
        _call(t, ins, "lw_bulk_across", site, arguments, move)
        return
    site = t.new_site(ins, Space.GLOBAL, AccessKind.LOAD, WIDTH_BITS)
    if ins.has("multicast::cluster"):
        ranks = t.vector(t.operand(rest[1], "b16"))
        _call(t, ins, "lw_bulk_multicast", site, f"{arguments}, <32 x i16> {ranks}", move)
        return
    _call(t, ins, "lw_bulk_load", site, arguments, move)


def _address(t: FunctionTranslator, operand: Operand, space: Space) -> str:
    wide = space == Space.GLOBAL
    return f"<32 x {'i64' if wide else 'i32'}> {t.vector(address_of(t, operand, wide))}"


def _call(t: FunctionTranslator, ins: Instruction, name: str, site: SiteInfo, arguments: str, move: str) -> None:
    counters, _ = t.site_pointers(site)
    t.out.line(
        f"call void @{name}(ptr %x, ptr %w, ptr {counters}, {arguments}, ptr @{move}, i32 {tell.what(t, site)}, "
        f"i32 {t.mask(ins)}, i32 {t.fault_site()})"
    )
