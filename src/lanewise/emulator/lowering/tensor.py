"""Copies of boxes of tensors (PTX ISA 9.7.9.25.5). What they do is in `emulator.tensor_queue` and `tensor_copies`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.lowering import tell
from lanewise.emulator.lowering.address import address_of, array_name, components
from lanewise.emulator.lowering.bulk import WIDTH_BITS
from lanewise.emulator.tensor_copies import REDUCTIONS
from lanewise.emulator.tensor_layout import TensorIssue, TensorOperation
from lanewise.emulator.tensor_maps import MAX_RANK
from lanewise.ptx.syntax import Address, Instruction, Operand, Register, Symbol, TensorAddress
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def copy(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk.tensor: from global to shared memory with an mbarrier, or back with a group."""
    if not ins.has("bulk_group"):
        shared, tensor, barrier, *rest = ins.operands
        _issue(t, ins, tensor, shared, barrier, rest, TensorOperation.LOAD)
        return
    tensor, shared = ins.operands[:2]
    _issue(t, ins, tensor, shared, None, [], TensorOperation.STORE)


def reduce(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.reduce.async.bulk.tensor: shared memory is combined into global memory, element by element."""
    tensor, shared = ins.operands[:2]
    which = next(number for number, name in enumerate(REDUCTIONS) if ins.has(name))
    _issue(t, ins, tensor, shared, None, [], TensorOperation.REDUCE + which)


def prefetch(t: FunctionTranslator, ins: Instruction) -> None:
    """cp.async.bulk.prefetch.tensor: no value changes; the box is checked and its sectors are counted."""
    tensor, *rest = ins.operands
    _issue(t, ins, tensor, None, None, rest, TensorOperation.PREFETCH)


def _issue(
    t: FunctionTranslator,
    ins: Instruction,
    tensor: Operand,
    shared: Operand | None,
    barrier: Operand | None,
    rest: list[Operand],
    operation: int,
) -> None:
    """Lay the operands out for `lw_tensor_lanes`. `rest`: offsets of im2col, blocks of a multicast, a cache policy."""
    assert isinstance(tensor, TensorAddress)
    base = tensor.base
    if not isinstance(base, Address):
        assert isinstance(base, Register | Symbol)
        base = Address(base, 0)
    kinds = {
        TensorOperation.LOAD: AccessKind.LOAD,
        TensorOperation.PREFETCH: AccessKind.LOAD,
        TensorOperation.STORE: AccessKind.STORE,
    }
    kind = kinds.get(operation, AccessKind.ATOMIC)
    site = t.new_site(ins, Space.GLOBAL, kind, WIDTH_BITS, array_name(t, base))
    _put(t, TensorIssue.MAPS, "i64", t.vector(address_of(t, base, wide=True)))
    for offset, operand in ((TensorIssue.TO, shared), (TensorIssue.BARRIERS, barrier)):
        address = "zeroinitializer" if operand is None else t.vector(address_of(t, operand, wide=False))
        _put(t, offset, "i32", address)
    for number in range(MAX_RANK):
        given = number < len(tensor.coordinates)
        value = t.vector(t.operand(tensor.coordinates[number], "s32")) if given else "zeroinitializer"
        _put(t, TensorIssue.COORDINATES + 128 * number, "i32", value)
    im2col = any(modifier.startswith("im2col") for modifier in ins.modifiers)
    left = list(rest)
    offsets: tuple[Operand, ...] = ()
    if ins.has("im2col"):
        offsets = components(left[0])
        left = left[1:]
    for number in range(3):
        wide = "zeroinitializer"
        if number < len(offsets):
            wide = t.out.let(f"zext <32 x i16> {t.vector(t.operand(offsets[number], 'u16'))} to <32 x i32>")
        _put(t, TensorIssue.OFFSETS + 128 * number, "i32", wide)
    multicast = ins.has("multicast::cluster")
    if multicast:
        blocks = t.out.let(f"zext <32 x i16> {t.vector(t.operand(left[0], 'u16'))} to <32 x i32>")
        _put(t, TensorIssue.BLOCKS, "i32", blocks)
    counters, cache = t.site_pointers(site)
    rank = len(tensor.coordinates)
    t.out.line(
        f"call void @lw_tensor_lanes(ptr %x, ptr %w, ptr {counters}, ptr {cache}, ptr %scratch, i32 {t.mask(ins)}, "
        f"i32 {rank}, i32 {int(im2col)}, i32 {operation}, i1 {'true' if multicast else 'false'}, "
        f"i32 {tell.what(t, site)}, i32 {t.fault_site()})"
    )


def _put(t: FunctionTranslator, offset: int, element: str, vector: str) -> None:
    t.out.line(f"store <32 x {element}> {vector}, ptr {t.field_pointer('%scratch', offset)}, align 64")


def nothing(t: FunctionTranslator, ins: Instruction) -> None:
    """fence.proxy.tensormap, prefetch.tensormap: maps are read when a copy is issued."""
