"""st.async and red.async to shared memory of the cluster (PTX ISA 9.7.9.12, 9.7.13.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator.bulk import reducer
from lanewise.emulator.layout import SHARED_WINDOW
from lanewise.emulator.lowering.address import address_of, array_name, components, space_of
from lanewise.emulator.lowering.atomics import operation_of
from lanewise.emulator.quantity import Quantity, varying
from lanewise.emulator.remote_stores import RemoteStore
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Operand
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator


def store(t: FunctionTranslator, ins: Instruction) -> None:
    """st.async: values of a lane, in a vector or alone."""
    _send(t, ins, AccessKind.STORE, "lw_bulk_copy")


def reduce(t: FunctionTranslator, ins: Instruction) -> None:
    """red.async: one value of a lane is combined into memory."""
    _send(t, ins, AccessKind.ATOMIC, reducer(operation_of(ins), ins.type))


def _send(t: FunctionTranslator, ins: Instruction, kind: AccessKind, move: str) -> None:
    target, value, barrier = ins.operands
    values = components(value)
    size = TYPE_BITS[ins.type] // 8
    bytes_ = size * len(values)
    mask = t.mask(ins)
    site = t.new_site(ins, Space.SHARED, kind, 8 * bytes_, array_name(t, target))
    counters, _ = t.site_pointers(site)
    address = _offsets(t, ins, target)
    host = t.out.let(
        f"call <32 x i64> @lw_touch_cluster(ptr %x, ptr %w, ptr {counters}, ptr %shared, <32 x i32> "
        f"{t.vector(address)}, i32 {mask}, i32 {bytes_}, i32 {site.index}, i1 false)"
    )
    _put(t, RemoteStore.TO, "i64", host)
    _put(t, RemoteStore.WORDS, "i32", t.vector(_offsets(t, ins, barrier)))
    for number, part in enumerate(values):
        offset = RemoteStore.VALUES + RemoteStore.VALUES_SIZE * number
        _put(t, offset, f"i{8 * size}", t.vector(t.operand(part, ins.type)))
    t.out.line(
        f"call void @lw_remote_store(ptr %x, ptr %w, ptr %scratch, ptr @{move}, i64 {size}, i64 {len(values)}, "
        f"i32 {mask}, i32 {t.fault_site()})"
    )


def _offsets(t: FunctionTranslator, ins: Instruction, operand: Operand) -> Quantity:
    """Addresses in shared::cluster, 32 bits wide: as they are, or of generic ones."""
    if space_of(ins) == Space.SHARED:
        return address_of(t, operand, wide=False)
    wide = t.vector(address_of(t, operand, wide=True))
    offset = t.out.let(f"sub <32 x i64> {wide}, splat (i64 {SHARED_WINDOW})")
    return varying(t.out.let(f"trunc <32 x i64> {offset} to <32 x i32>"), "i32")


def _put(t: FunctionTranslator, offset: int, element: str, vector: str) -> None:
    t.out.line(f"store <32 x {element}> {vector}, ptr {t.field_pointer('%scratch', offset)}, align 64")
