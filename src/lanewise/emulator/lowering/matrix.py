"""ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5.15 to 17): 8 x 8 matrices of 16-bit elements.

Lane l names row l % 8 of matrix l / 8. In a register lane 4 r + t holds elements 2 t and 2 t + 1 of row r (of column r
where transposed). Each matrix is one phase: its eight rows of 16 bytes go through the banks at once, as in an access of
16 bytes a lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.layout import SHARED_WINDOW, WINDOW_BYTES
from lanewise.emulator.lowering import events
from lanewise.emulator.lowering.address import address_of, array_name, components, space_of
from lanewise.emulator.lowering.each_lane import touch
from lanewise.emulator.lowering.recount import recount
from lanewise.emulator.matrix.rows import transposed
from lanewise.emulator.quantity import Quantity
from lanewise.ptx.syntax import Instruction
from lanewise.records import AccessKind, Space

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

ROW_BYTES = 16
TABLE_BYTES = 32 * 8
_WHOLE = "<32 x i32>"


def _count(ins: Instruction) -> int:
    return next(int(word[1:]) for word in ins.modifiers if word in ("x1", "x2", "x4"))


def shared_offset(t: FunctionTranslator, ins: Instruction, operand: int) -> Quantity:
    """The address operand as an offset in shared memory; without a state space it is a generic address there."""
    if space_of(ins) == Space.SHARED:
        return address_of(t, ins.operands[operand], wide=False)
    out = t.out
    generic = t.vector(address_of(t, ins.operands[operand], wide=True))
    offset = out.let(f"sub <32 x i64> {generic}, splat (i64 {SHARED_WINDOW})")
    inside = out.let(f"icmp ult <32 x i64> {offset}, splat (i64 {WINDOW_BYTES})")
    low = out.let(f"trunc <32 x i64> {offset} to <32 x i32>")
    return q.varying(
        out.let(f"select <32 x i1> {inside}, <32 x i32> {low}, <32 x i32> splat (i32 {-ROW_BYTES})"), "i32"
    )


def _rows(t: FunctionTranslator, ins: Instruction, operand: int, kind: AccessKind) -> str:
    """Check and count the rows; a table of 32 pointers to them. Lanes that are off name a row of zeros elsewhere."""
    out = t.out
    count = _count(ins)
    address = shared_offset(t, ins, operand)
    site = t.new_site(ins, Space.SHARED, kind, 8 * ROW_BYTES, array_name(t, ins.operands[operand]))
    naming = t.mask(ins) if count == 4 else out.let(f"and i32 {t.mask(ins)}, {(1 << 8 * count) - 1}")
    recount(t, ins, site, address)
    told = address if count == 4 else q.varying(t.vector(address), address.type)  # lanes that name no row read nothing
    events.access(t, ins, site, Space.SHARED, told, mask=naming)
    host, _ = touch(t, ins, Space.SHARED, address, ROW_BYTES, site, is_load=False, mask=naming)
    table = t.room(TABLE_BYTES + ROW_BYTES)
    spare = out.let(f"getelementptr i8, ptr {table}, i64 {TABLE_BYTES}")
    out.line(f"store <4 x i32> zeroinitializer, ptr {spare}, align 16")
    nowhere = q.splat(out, "i64", out.let(f"ptrtoint ptr {spare} to i64"))
    on = out.let(f"bitcast i32 {naming} to <32 x i1>")
    chosen = out.let(f"select <32 x i1> {on}, <32 x i64> {host}, <32 x i64> {nowhere}")
    out.line(f"store <32 x i64> {chosen}, ptr {table}, align 64")
    return table


def ldmatrix(t: FunctionTranslator, ins: Instruction) -> None:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16."""
    table = _rows(t, ins, 1, AccessKind.LOAD)
    for matrix, target in enumerate(components(ins.operands[0])):
        rows = t.out.let(f"getelementptr i64, ptr {table}, i64 {8 * matrix}")
        register = t.out.let(f"call {_WHOLE} @lw_load_rows(ptr {rows})")
        t.write(target, q.varying(transposed(t.out, register) if ins.has("trans") else register, "i32"), ins)


def stmatrix(t: FunctionTranslator, ins: Instruction) -> None:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16."""
    sources = [t.vector(t.operand(source, "b32")) for source in components(ins.operands[1])]
    table = _rows(t, ins, 0, AccessKind.STORE)
    for matrix, register in enumerate(sources):
        whole = transposed(t.out, register) if ins.has("trans") else register
        rows = t.out.let(f"getelementptr i64, ptr {table}, i64 {8 * matrix}")
        t.out.line(f"call void @lw_store_rows(ptr {rows}, {_WHOLE} {whole})")


def movmatrix(t: FunctionTranslator, ins: Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16."""
    source = t.vector(t.operand(ins.operands[1], "b32"))
    t.write(ins.operands[0], q.varying(transposed(t.out, source), "i32"), ins)
