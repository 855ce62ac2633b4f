"""Mbarrier objects: make, arrive, expect bytes, wait (PTX ISA 9.7.13.15). What they do is in `emulator.mbarriers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import SHARED_WINDOW
from lanewise.emulator.lowering import events
from lanewise.emulator.lowering.address import address_of, space_of
from lanewise.emulator.mbarriers import DROP, MAX_COUNT, NO_COMPLETE, PHASE_SHIFT
from lanewise.ptx.syntax import Instruction, Operand
from lanewise.records import Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def hosts(
    t: FunctionTranslator,
    ins: Instruction,
    operand: Operand,
    mask: str,
    space: Space | None = None,
    *,
    in_cluster: bool = False,
) -> str:
    """Host addresses (<32 x i64>) of the objects that an address operand names, checked. `space`: where the operand is
    an offset in shared memory whatever the instruction's first state space is. `in_cluster`: objects of other blocks of
    the cluster will do."""
    wide = (space or space_of(ins)) != Space.SHARED
    address = t.vector(address_of(t, operand, wide))
    if wide:
        offsets = t.out.let(f"sub <32 x i64> {address}, splat (i64 {SHARED_WINDOW})")
    else:
        offsets = t.out.let(f"zext <32 x i32> {address} to <32 x i64>")
    which = "lw_cluster_mbarriers" if in_cluster else "lw_mbarrier_hosts"
    return t.out.let(
        f"call <32 x i64> @{which}(ptr %x, ptr %w, ptr %shared, <32 x i64> {offsets}, i32 {mask}, i32 {t.fault_site()})"
    )


def _counts(t: FunctionTranslator, operand: Operand | None) -> str:
    """A count as <32 x i64>; one where there is none."""
    if operand is None:
        return "splat (i64 1)"
    return t.out.let(f"zext <32 x i32> {t.vector(t.operand(operand, 'u32'))} to <32 x i64>")


def init(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.init: an object that waits for a number of arrivals."""
    _make(t, ins, t.vector(t.operand(ins.operands[1], "u32")), made=True)


def inval(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.inval: the memory may serve for something else."""
    _make(t, ins, "zeroinitializer", made=False)


def _make(t: FunctionTranslator, ins: Instruction, counts: str, *, made: bool) -> None:
    mask = t.mask(ins)
    host = hosts(t, ins, ins.operands[0], mask)
    t.out.line(
        f"call void @lw_mbarrier_make(ptr %x, ptr %w, <32 x i64> {host}, <32 x i32> {counts}, "
        f"i1 {'true' if made else 'false'}, i32 {mask}, i32 {t.fault_site()})"
    )


def _each(t: FunctionTranslator, ins: Instruction, address: Operand, arrivals: str, bytes_: str, flags: int) -> str:
    mask = t.mask(ins)
    host = hosts(t, ins, address, mask, in_cluster=True)
    if arrivals != "zeroinitializer":
        events.meet(t, host, mask, arrives=True)
    return t.out.let(
        f"call <32 x i64> @lw_mbarrier_each(ptr %x, ptr %w, <32 x i64> {host}, <32 x i64> {arrivals}, "
        f"<32 x i64> {bytes_}, i32 {flags}, i32 {mask}, i32 {t.fault_site()})"
    )


def expect_tx(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.expect_tx: the phase lasts until more bytes have come."""
    _each(t, ins, ins.operands[0], "zeroinitializer", _counts(t, ins.operands[1]), 0)


def complete_tx(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.complete_tx: bytes count as come, without a copy."""
    less = t.out.let(f"sub <32 x i64> zeroinitializer, {_counts(t, ins.operands[1])}")
    _each(t, ins, ins.operands[0], "zeroinitializer", less, 0)


def arrive(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.arrive and arrive_drop, with a count, or with bytes to expect first."""
    target, address, *rest = ins.operands
    count = rest[0] if rest else None
    flags = (DROP if ins.has("arrive_drop") else 0) | (NO_COMPLETE if ins.has("noComplete") else 0)
    if ins.has("expect_tx"):
        state = _each(t, ins, address, "splat (i64 1)", _counts(t, count), flags)
    else:
        state = _each(t, ins, address, _counts(t, count), "zeroinitializer", flags)
    t.write(target, q.varying(state, "i64"), ins)


def wait(t: FunctionTranslator, ins: Instruction) -> None:
    """mbarrier.test_wait and try_wait, of the phase of a state or of a parity: has it ended? Both give way to other
    warps before they say no; a hint for how long changes nothing."""
    predicate, address, phase = ins.operands[:3]
    out = t.out
    if ins.has("parity"):
        odd = out.let(f"trunc <32 x i32> {t.vector(t.operand(phase, 'u32'))} to <32 x i1>")
    else:
        state = t.vector(t.operand(phase, "b64"))
        shifted = out.let(f"lshr <32 x i64> {state}, splat (i64 {PHASE_SHIFT})")
        odd = out.let(f"trunc <32 x i64> {shifted} to <32 x i1>")
    parity = out.let(f"bitcast <32 x i1> {odd} to i32")
    mask = t.mask(ins)
    host = hosts(t, ins, address, mask)
    done = out.let(
        f"call i32 @lw_mbarrier_wait(ptr %x, ptr %w, ptr %cnt, ptr %cache, ptr %shared, <32 x i64> {host}, "
        f"i32 {parity}, i32 {mask}, i32 {t.fault_site()})"
    )
    events.meet(t, host, done, arrives=False)
    kind = t.analysis.kind(predicate)
    if kind is not None and kind.tag == Tag.UNIFORM:
        t.write(predicate, q.uniform(out.let(f"icmp ne i32 {done}, 0"), "i1"), ins)
        return
    t.write(predicate, q.varying(out.let(f"bitcast i32 {done} to <32 x i1>"), "i1"), ins)


def pending_count(e: Elementwise, ins: Instruction, state: Value) -> Value:
    """mbarrier.pending_count: arrivals that were missing when a state was taken."""
    return e.cast("trunc", e.op("and", state, e.const("i64", MAX_COUNT)), "i32")
