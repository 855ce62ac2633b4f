"""wgmma (PTX ISA 9.7.15): products of a warp group, each warp's 16 of the 64 rows by itself.

Results are in their registers when the instruction has run: a program that reads them before it waits sees what it
would see after waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.emulator import quantity as q
from lanewise.emulator.kinds import Tag, constant
from lanewise.emulator.layout import Fault, MatrixFault, Warp, Worker
from lanewise.emulator.lowering.address import components
from lanewise.emulator.lowering.mma import load_registers, shape_of, store_registers
from lanewise.emulator.matrix import warpgroup
from lanewise.emulator.matrix.product import Product
from lanewise.ptx.syntax import Instruction, Operand, VectorOperand

if TYPE_CHECKING:
    from lanewise.emulator.translate import FunctionTranslator

_REGISTER_BYTES = 128
_GROUP_BYTES = 16 * 8  # of addresses: two chunks of eight rows
_SIGNS = {"f16": 0x80008000, "bf16": 0x80008000, "tf32": 0x80000000, "e4m3": 0x80808080, "e5m2": 0x80808080}
_A_GROUPS = 2  # of eight rows, of each warp


def _descriptor(t: FunctionTranslator, operand: Operand) -> str:
    """The descriptor, which all lanes must agree on."""
    value = t.operand(operand, "b64")
    if value.tag == Tag.UNIFORM:
        return value.text
    out = t.out
    vector = t.vector(value)
    first = out.let(f"extractelement <32 x i64> {vector}, i32 {t.edge('first')}")
    differs = out.let(f"icmp ne <32 x i64> {vector}, {q.splat(out, 'i64', first)}")
    lanes = out.let(f"and i32 {out.let(f'bitcast <32 x i1> {differs} to i32')}, {t.active}")
    bad, good = out.fresh_label("differ"), out.fresh_label("agree")
    out.line(f"br i1 {out.let(f'icmp eq i32 {lanes}, 0')}, label %{good}, label %{bad}, !prof !2")
    out.label(bad)
    addresses = out.let(f"getelementptr i8, ptr %w, i64 {Worker.FAULT_ADDRESSES}")
    out.line(f"store <32 x i64> {vector}, ptr {addresses}, align 64")
    out.line(
        f"call void @lw_fault(ptr %x, ptr %w, i32 {t.fault_site()}, i32 {Fault.MATRIX}, i32 {lanes}, "
        f"i32 {MatrixFault.DIFFERENT})"
    )
    out.line("unreachable")
    out.label(good)
    return first


def _rows(t: FunctionTranslator, operand: Operand, first: str, groups: int, major: bool, table: str) -> None:
    """Fill a table with the addresses of the rows of a matrix in shared memory."""
    descriptor = _descriptor(t, operand)
    t.out.line(
        f"call void @lw_matrix_rows(ptr %x, ptr %w, ptr %shared, i64 {descriptor}, i64 {first}, i64 {groups}, "
        f"i1 {'true' if major else 'false'}, ptr {table}, i32 {t.active}, i32 {t.fault_site()})"
    )


def mma_async(t: FunctionTranslator, ins: Instruction) -> None:
    """wgmma.mma_async.sync.aligned."""
    out = t.out
    _, n, k = shape_of(ins)
    d_type, a_type, b_type = ins.types
    product = Product(16, k, a_type, b_type, d_type, d_type, ins.has("satfinite"), "and" if a_type == "b1" else "")
    d, a, b, scale_d, *rest = ins.operands
    immediates = [constant(operand) or 0 for operand in rest]
    negative = len(immediates) > 1 and immediates[0] * immediates[1] == -1
    transposes = [value == 1 for value in immediates[2:]]
    targets = components(d)
    room = t.room((4 + len(targets)) * _REGISTER_BYTES + max(n // 8, _A_GROUPS) * _GROUP_BYTES)
    registers = out.let(f"getelementptr i8, ptr {room}, i64 {4 * _REGISTER_BYTES}")
    table = out.let(f"getelementptr i8, ptr {room}, i64 {(4 + len(targets)) * _REGISTER_BYTES}")
    if isinstance(a, VectorOperand):
        store_registers(t, room, a.elements, "i32")
    else:
        warp = out.let(f"and i32 {t.load_field(Warp.INDEX, 'i32')}, 3")
        first = out.let(f"zext i32 {out.let(f'mul i32 {warp}, {_A_GROUPS}')} to i64")
        major = transposes.pop(0) if transposes else False
        _rows(t, a, first, _A_GROUPS, major, table)
        out.line(f"call void @lw_matrix_a(ptr {table}, ptr {room}, i1 {'true' if major else 'false'})")
    if negative:
        for r in range(4):
            place = out.let(f"getelementptr <32 x i32>, ptr {room}, i64 {r}")
            value = out.let(f"load <32 x i32>, ptr {place}, align 64")
            turned = out.let(f"xor <32 x i32> {value}, splat (i32 {_SIGNS[a_type] - (1 << 32)})")
            out.line(f"store <32 x i32> {turned}, ptr {place}, align 64")
    major = bool(transposes) and transposes[0]
    _rows(t, b, "0", n // 8, major, table)
    _accumulators(t, registers, targets, scale_d)
    function = warpgroup.name(product)
    out.define(function, warpgroup.write(product))
    out.line(f"call void @{function}(ptr {room}, ptr {table}, i64 {n // 8}, i1 {'true' if major else 'false'})")
    load_registers(t, registers, 0, targets, ins, "i32")


def _accumulators(t: FunctionTranslator, room: str, targets: tuple[Operand, ...], scale_d: Operand) -> None:
    """Put d into memory; zeros where scale-d is false."""
    scale = t.operand(scale_d, "pred")
    if scale.text == "true":
        store_registers(t, room, targets, "i32")
        return
    lanes = t.vector(scale)
    for number, target in enumerate(targets):
        vector = t.vector(t.operand(target, "b32"))
        kept = t.out.let(f"select <32 x i1> {lanes}, <32 x i32> {vector}, <32 x i32> zeroinitializer")
        pointer = t.out.let(f"getelementptr <32 x i32>, ptr {room}, i64 {number}")
        t.out.line(f"store <32 x i32> {kept}, ptr {pointer}, align 64")


def order(t: FunctionTranslator, ins: Instruction) -> None:
    """wgmma.fence, commit_group and wait_group: every product is complete when its instruction has run."""
