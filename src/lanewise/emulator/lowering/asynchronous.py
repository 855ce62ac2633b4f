"""Copies from global to shared memory that land later (PTX ISA 9.7.9.25.3). What they do is in `emulator.copies`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.kinds import constant
from lanewise.emulator.layout import AsyncQueue
from lanewise.emulator.lowering import events, mbarrier
from lanewise.emulator.lowering.address import address_of, array_name
from lanewise.emulator.lowering.tell import tell
from lanewise.ptx import function_register_type
from lanewise.ptx.syntax import Instruction, Operand, Register
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def copy_bytes(ins: Instruction) -> int:
    """The bytes that each lane of a cp.async writes."""
    size = constant(ins.operands[2])
    assert size is not None
    return size


def wrong_constant(ins: Instruction) -> str | None:
    """What is wrong with a constant that an instruction takes; None where nothing is."""
    if ins.has("wait_group") and constant(ins.operands[0]) is None:
        return "the number of groups is a constant (PTX ISA 9.7.9.25.3.3)"
    if not ins.has("shared", "shared::cta") or not ins.has("ca", "cg"):
        return None
    sizes = (16,) if ins.has("cg") else (4, 8, 16)
    if constant(ins.operands[2]) in sizes:
        return None
    return f"the size of a copy is the constant {', '.join(map(str, sizes))} (PTX ISA 9.7.9.25.3.1)"


def copy(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async: checked and counted now, as a load of global and a store to shared memory; moved when waited for."""
    size = copy_bytes(ins)
    out = t.out
    mask = t.mask(ins)
    target = address_of(t, ins.operands[0], wide=False)
    address = address_of(t, ins.operands[1], wide=True)
    source = t.vector(address)
    read = _read(t, ins, size)
    place = t.fault_site()
    load = t.new_site(ins, Space.GLOBAL, AccessKind.LOAD, 8 * size, array_name(t, ins.operands[1]))
    store = t.new_site(ins, Space.SHARED, AccessKind.STORE, 8 * size, array_name(t, ins.operands[0]))
    reads = out.let(f"bitcast <32 x i1> {out.let(f'icmp ne <32 x i32> {read}, zeroinitializer')} to i32")
    events.access(t, ins, load, Space.GLOBAL, address, mask=out.let(f"and i32 {reads}, {mask}"))
    events.access(t, ins, store, Space.SHARED, target)
    tell(t, ins, load, address)
    loads, cache = t.site_pointers(load)
    stores, _ = t.site_pointers(store)
    out.line(
        f"call void @lw_async_copy(ptr %x, ptr %w, ptr {loads}, ptr {cache}, ptr {stores}, ptr %shared, "
        f"<32 x i64> {source}, <32 x i32> {t.vector(target)}, <32 x i32> {read}, i32 {mask}, i32 {size}, "
        f"i32 {load.index}, i32 {store.index}, i32 {place}, i32 {_way(t, ins)})"
    )


def _read(t: FunctionTranslator, ins: Instruction, size: int) -> str:
    """Bytes that each lane reads (<32 x i32>): all, as many as an operand says, or none where a predicate holds."""
    operand = _fewer(ins)
    if operand is None:
        return f"splat (i32 {size})"
    if isinstance(operand, Register) and function_register_type(t.function, operand.name) == "pred":
        ignored = t.vector(t.operand(operand, "pred"))
        return t.out.let(f"select <32 x i1> {ignored}, <32 x i32> zeroinitializer, <32 x i32> splat (i32 {size})")
    return t.vector(t.operand(operand, "u32"))


def _way(t: FunctionTranslator, ins: Instruction) -> int:
    """How a copy goes, as `lw_copy_count` is told."""
    if not ins.has("cg"):
        return 0
    operand = _fewer(ins)
    ignores = isinstance(operand, Register) and function_register_type(t.function, operand.name) == "pred"
    return 1 if operand is None or ignores or constant(operand) == copy_bytes(ins) else 2


def _fewer(ins: Instruction) -> Operand | None:
    rest = ins.operands[3:-1] if ins.has("L2::cache_hint") else ins.operands[3:]
    return rest[0] if rest else None


def commit(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.commit_group: each lane's copies so far are a group."""
    mask = t.mask(ins)
    events.copies(t, mask, events.COMMITTED)
    t.out.line(f"call void @lw_async_commit(ptr %x, i32 {mask}, i64 {AsyncQueue.COMMITTED})")


def wait(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.wait_group and wait_all: the copies of each lane's groups land, but for the last few."""
    everything = ins.has("wait_all")
    pending = (0 if everything else constant(ins.operands[0])) or 0
    mask = t.mask(ins)
    events.copies(t, mask, events.LANDED if everything else events.LANDED_BUT, pending)
    t.out.line(
        f"call void @lw_async_wait(ptr %x, ptr %w, i32 {mask}, i32 {pending}, i1 {'true' if everything else 'false'})"
    )


def arrive(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.mbarrier.arrive: arrivals when the copies so far have landed. Unless `.noinc`, each is one more that the
    phase waits for."""
    mask = t.mask(ins)
    host = mbarrier.hosts(t, ins, ins.operands[0], mask)
    events.copies(t, mask, events.LANDED)  # whoever waits there comes after them
    events.meet(t, host, mask, arrives=True)
    place = t.fault_site()
    if not ins.has("noinc"):
        t.out.line(f"call void @lw_mbarrier_more(ptr %x, ptr %w, <32 x i64> {host}, i32 {mask}, i32 {place})")
    t.out.line(
        f"call void @lw_async_push(ptr %x, ptr %w, <32 x i64> {host}, <32 x i64> zeroinitializer, "
        f"<32 x i32> zeroinitializer, i32 {mask}, i32 0, i32 {place})"
    )
