"""Barriers of a block and of a warp, and fences (PTX ISA 9.7.13.1 to 9.7.13.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag
from lanewise.emulator.layout import Warp
from lanewise.emulator.lowering import events
from lanewise.ptx.syntax import Instruction, Operand

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def _scalar(t: FunctionTranslator, operand: Operand | None) -> str:
    """A barrier number or thread count: all lanes have the same, or the first active lane's stands for them."""
    if operand is None:
        return "0"
    value = t.operand(operand, "u32")
    if value.tag == Tag.UNIFORM:
        return value.text
    return t.out.let(f"extractelement <32 x i32> {t.vector(value)}, i32 {t.edge('first')}")


def _arrive(t: FunctionTranslator, ins: Instruction, number: str, count: str, true: str, *, wait: bool) -> None:
    mask = t.mask(ins)
    call = f", i32 {number}, i32 {count}, i32 {mask}, i32 {true}, i32 {int(wait)}, i32 {t.fault_site()}"
    if ins.guard is None:
        t.call_out("lw_barrier", call)
        return
    some, done = t.out.fresh_label("some"), t.out.fresh_label("done")
    t.out.line(f"br i1 {t.out.let(f'icmp ne i32 {mask}, 0')}, label %{some}, label %{done}")
    t.out.label(some)
    t.call_out("lw_barrier", call)
    t.out.line(f"br label %{done}")
    t.out.label(done)


def bar(t: FunctionTranslator, ins: Instruction) -> None:
    """bar.sync and barrier.sync: wait for all threads of the block, or for a count of them."""
    operands = ins.operands
    number = _scalar(t, operands[0])
    count = _scalar(t, operands[1] if len(operands) > 1 else None)
    _arrive(t, ins, number, count, t.active, wait=True)


def arrive(t: FunctionTranslator, ins: Instruction) -> None:
    """bar.arrive: count without waiting."""
    _arrive(t, ins, _scalar(t, ins.operands[0]), _scalar(t, ins.operands[1]), t.active, wait=False)


def barrier_red(t: FunctionTranslator, ins: Instruction) -> None:
    """bar.red.{popc,and,or}: a barrier that reduces a predicate over all threads."""
    number = _scalar(t, ins.operands[1])
    count = _scalar(t, ins.operands[2] if len(ins.operands) > 3 else None)
    predicate = t.operand(ins.operands[-1], "pred")
    bits = t.out.let(f"bitcast <32 x i1> {t.vector(predicate)} to i32")
    true = t.out.let(f"and i32 {bits}, {t.mask(ins)}")
    _arrive(t, ins, number, count, true, wait=True)
    result = t.load_field(Warp.BARRIER_RESULT, "i32")
    if ins.has("popc"):
        total = t.out.let(f"and i32 {result}, 2147483647")
        t.write(ins.operands[0], q.uniform(total, "i32"), ins)
        return
    if ins.has("and"):
        holds = t.out.let(f"icmp sge i32 {result}, 0")
    else:
        holds = t.out.let(f"icmp ne i32 {t.out.let(f'and i32 {result}, 2147483647')}, 0")
    t.write(ins.operands[0], q.uniform(holds, "i1"), ins)


def warp_sync(t: FunctionTranslator, ins: Instruction) -> None:
    """bar.warp.sync: the block gave way to the lanes of the warp before it came here (see `translate._park`)."""
    events.warp_sync(t, ins.operands[0], orders=True)


def membar(t: FunctionTranslator, ins: Instruction) -> None:
    """membar and fence of every scope and proxy."""
    events.fence(t, ins)
    t.out.line("fence seq_cst")
