"""Clusters: their barrier, and addresses of their shared memory (PTX ISA 9.7.13.3, 9.7.9.23, 9.7.9.24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.kinds import UNIFORM, VARYING, Tag
from lanewise.emulator.layout import RANK_SHIFT, Block, Warp
from lanewise.emulator.lowering import events
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Instruction, Operand

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def barrier(t: FunctionTranslator, ins: Instruction) -> None:
    """barrier.cluster.arrive and barrier.cluster.wait, lane by lane; the lanes of a warp meet before a wait."""
    mask = t.mask(ins)
    if ins.has("arrive"):
        t.out.line("fence seq_cst")
        events.meet(t, _cluster(t), mask, arrives=True)
        t.out.line(f"call void @lw_cluster_arrive(ptr %x, ptr %w, i32 {mask}, i32 {t.fault_site()})")
        return
    t.call_out("lw_cluster_wait", f", i32 {mask}, i32 {t.fault_site()}")
    events.meet(t, _cluster(t), mask, arrives=False)


def _cluster(t: FunctionTranslator) -> str:
    """What stands for the barrier of the cluster, for each lane (<32 x i64>)."""
    first = t.load_field(Block.CLUSTER, "ptr", t.load_field(Warp.BLOCK, "ptr"))
    return q.splat(t.out, "i64", t.out.let(f"ptrtoint ptr {first} to i64"))


def mapa(t: FunctionTranslator, ins: Instruction) -> None:
    """mapa: the same address in the block of the cluster with a given rank; in the own block, the address itself."""
    e, (address, rank) = _operands(t, (ins.operands[1], ins.type), (ins.operands[2], "u32"))
    other = e.op("shl", e.op("add", rank, e.const("i32", 1)), e.const("i32", RANK_SHIFT))
    which = e.select(e.icmp("eq", rank, _own_rank(t, e)), e.const("i32", 0), other)
    offset = e.op("and", address, e.const(address.type, ~((1 << 32) - (1 << RANK_SHIFT))))
    _write(t, ins, e, e.op("or", offset, e.resize(which, address.type)))


def getctarank(t: FunctionTranslator, ins: Instruction) -> None:
    """getctarank: the rank of the block of the cluster that an address belongs to."""
    e, (address,) = _operands(t, (ins.operands[1], ins.type))
    rank = e.op("lshr", e.resize(address, "i32"), e.const("i32", RANK_SHIFT))
    other = e.op("sub", rank, e.const("i32", 1))
    _write(t, ins, e, e.select(e.icmp("eq", rank, e.const("i32", 0)), _own_rank(t, e), other))


def _own_rank(t: FunctionTranslator, e: Elementwise) -> Value:
    rank = t.load_field(Block.RANK, "i64", t.load_field(Warp.BLOCK, "ptr"))
    text = t.out.let(f"trunc i64 {rank} to i32")
    return Value(text if e is t.e1 else q.splat(t.out, "i32", text), "i32")


def _operands(t: FunctionTranslator, *operands: tuple[Operand, str]) -> tuple[Elementwise, tuple[Value, ...]]:
    """Operands (with their PTX types) as scalars where all of them are uniform, else as vectors."""
    values = [t.operand(operand, ptx_type) for operand, ptx_type in operands]
    if all(value.tag == Tag.UNIFORM for value in values):
        return t.e1, tuple(Value(value.text, value.type) for value in values)
    return t.e32, tuple(Value(t.vector(value), value.type) for value in values)


def _write(t: FunctionTranslator, ins: Instruction, e: Elementwise, value: Value) -> None:
    t.write(ins.operands[0], Quantity(UNIFORM if e is t.e1 else VARYING, value.type, value.text), ins)
