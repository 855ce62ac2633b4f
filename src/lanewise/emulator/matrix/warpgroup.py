"""wgmma.mma_async in LLVM IR: where the rows of matrices in shared memory lie, and the product of one warp's 16 rows.

A matrix descriptor (PTX ISA 9.7.15.5.1) names a start, two strides and a swizzle. All layouts are made of groups of
eight rows of 16 bytes, which are fragments of mma: so a row is found by its group, its place in the group, and which of
two such groups along the other dimension it is in.
"""

from __future__ import annotations

from lanewise.emulator.layout import Fault, Launch, MatrixFault, Worker
from lanewise.emulator.matrix import numbers
from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.matrix.multiply import (
    Matrices,
    accumulate,
    each_of_c,
    place_a,
    place_b,
    place_c,
    powers,
    take_d,
)
from lanewise.emulator.matrix.product import Product
from lanewise.emulator.matrix.products import COLUMNS, ROWS
from lanewise.emulator.matrix.rows import transposed

GROUP_ROWS, GROUP_BYTES = 8, 16
CHUNKS = 2  # groups along K: rows of K are 32 bytes
# Bits of a descriptor that stand for nothing are zero: 14, 15, 30, 31, 46 to 48 and 52 to 61.
RESERVED = sum(1 << bit for bit in (14, 15, 30, 31, 46, 47, 48, *range(52, 62)))


def _field(out: Builder, bit: int) -> str:
    """A field of 14 bits, as bytes."""
    cut = out.let(f"and i64 {out.let(f'lshr i64 %descriptor, {bit}')}, {(1 << 14) - 1}")
    return out.let(f"shl i64 {cut}, 4")


def _rows(out: Builder) -> None:
    """`lw_matrix_rows`: addresses of all rows, by group, chunk and row. `major`: the rows run along M or N, not K."""
    start, leading, stride = (_field(out, bit) for bit in (0, 16, 32))
    swizzle = out.let("lshr i64 %descriptor, 62")
    pattern = out.let(f"and i64 {out.let('lshr i64 %descriptor, 49')}, 7")  # line at which the swizzle starts anew
    none = out.let(f"icmp eq i64 {swizzle}, 0")
    halved = out.let(f"sub i64 4, {swizzle}")  # 1: 128 bytes, 2: 64, 3: 32
    log = out.let(f"select i1 {none}, i64 0, i64 {halved}")
    last = out.let(f"sub i64 {out.let(f'shl i64 1, {log}')}, 1")  # of the groups that share a swizzled row
    pitch = out.let(f"shl i64 {GROUP_BYTES}, {log}")
    base = out.let("ptrtoint ptr %shared to i64")
    launch = out.let(f"load ptr, ptr {out.at('%w', 'i8', str(Worker.LAUNCH))}")
    limit = out.let(f"load i64, ptr {out.at(launch, 'i8', str(Launch.SHARED_BYTES))}")
    # Along K: groups a stride apart; chunks next to each other, or the leading offset apart where nothing is swizzled.
    chunk_k = out.let(f"select i1 {none}, i64 {leading}, i64 {GROUP_BYTES}")
    # Along M or N: groups next to each other in a swizzled row, such rows the leading offset apart.
    beyond = out.let(f"select i1 {none}, i64 {stride}, i64 {leading}")
    chunk_m = out.let(f"select i1 {none}, i64 {leading}, i64 {stride}")
    count = out.let(f"mul i64 %groups, {CHUNKS * GROUP_ROWS}")

    def body(i: str, carried: list[str]) -> list[str]:
        row = out.let(f"and i64 {i}, {GROUP_ROWS - 1}")
        chunk = out.let(f"and i64 {out.let(f'lshr i64 {i}, 3')}, 1")
        group = out.let(f"add i64 %first, {out.let(f'lshr i64 {i}, 4')}")
        along_k = out.let(f"add i64 {out.let(f'mul i64 {group}, {stride}')}, {out.let(f'mul i64 {chunk}, {chunk_k}')}")
        inner = out.let(f"shl i64 {out.let(f'and i64 {group}, {last}')}, 4")
        outer = out.let(f"mul i64 {out.let(f'lshr i64 {group}, {log}')}, {beyond}")
        along_m = out.let(f"add i64 {out.let(f'add i64 {inner}, {outer}')}, {out.let(f'mul i64 {chunk}, {chunk_m}')}")
        offset = out.let(f"select i1 %major, i64 {along_m}, i64 {along_k}")
        offset = out.let(f"add i64 {offset}, {out.let(f'mul i64 {row}, {pitch}')}")
        offset = out.let(f"add i64 {offset}, {start}")
        line = out.let(f"sub i64 {out.let(f'lshr i64 {offset}, 7')}, {pattern}")
        turn = out.let(f"and i64 {line}, {last}")
        offset = out.let(f"xor i64 {offset}, {out.let(f'shl i64 {turn}, 4')}")
        out.line(f"store i64 {out.let(f'add i64 {base}, {offset}')}, ptr {out.at('%table', 'i64', i)}, align 8")
        end = out.let(f"add i64 {offset}, {GROUP_BYTES}")
        further = out.let(f"icmp ugt i64 {end}, {carried[0]}")
        return [out.let(f"select i1 {further}, i64 {end}, i64 {carried[0]}")]

    (end,) = out.loop(count, [("i64", "0")], body)
    odd = out.let(f"icmp ne i64 {out.let(f'and i64 %descriptor, {RESERVED}')}, 0")
    outside = out.let(f"icmp ugt i64 {end}, {limit}")
    wrong = out.let(f"or i1 {odd}, {outside}")
    bad, good = out.fresh_label("bad"), out.fresh_label("good")
    out.line(f"br i1 {wrong}, label %{bad}, label %{good}, !prof !1")
    out.label(bad)
    kind = out.let(f"select i1 {odd}, i32 {MatrixFault.RESERVED}, i32 {MatrixFault.OUTSIDE}")
    shown = out.let(f"select i1 {odd}, i64 %descriptor, i64 {end}")
    addresses = out.at("%w", "i8", str(Worker.FAULT_ADDRESSES))
    out.line(f"store <32 x i64> {out.splat(shown, 'i64', 32)}, ptr {addresses}, align 64")
    out.line(f"call void @lw_fault(ptr %x, ptr %w, i32 %site, i32 {Fault.MATRIX}, i32 %mask, i32 {kind})")
    out.line("unreachable")
    out.label(good)


def _fetch(out: Builder, table: str, first: str, target: str, transpose: str) -> None:
    """Eight rows to a register in memory."""
    register = out.let(f"call <32 x i32> @lw_load_rows(ptr {out.at(table, 'i64', first)})")
    chosen = out.let(f"select i1 {transpose}, <32 x i32> {transposed(out, register)}, <32 x i32> {register}")
    out.line(f"store <32 x i32> {chosen}, ptr {target}, align 64")


def _fetch_a(out: Builder) -> None:
    """`lw_matrix_a`: the four registers of a warp's 16 rows; register r has rows 8 (r % 2) and on, chunk r / 2."""
    for r in range(4):
        first = (r % 2 * CHUNKS + r // 2) * GROUP_ROWS
        _fetch(out, "%table", str(first), out.at("%registers", "<32 x i32>", str(r)), "%transpose")


def definitions() -> str:
    """What all of wgmma share."""
    where = "ptr %x, ptr %w, ptr %shared, i64 %descriptor, i64 %first, i64 %groups, i1 %major, ptr %table"
    return function("lw_matrix_rows", f"{where}, i32 %mask, i32 %site", _rows) + function(
        "lw_matrix_a", "ptr %table, ptr %registers, i1 %transpose", _fetch_a
    )


def name(product: Product) -> str:
    """The name of its function."""
    return f"lw_wgmma_{product.name}"


def write(product: Product) -> str:
    """A function that adds a b to d for 16 rows and 8 columns for each group: `registers` are those of a, then those of
    d; `table` has the rows of b."""

    def body(out: Builder) -> None:
        at = Matrices(out, product)
        room = out.let("alloca [2 x <32 x i32>], align 64")
        b = [out.at(room, "<32 x i32>", str(chunk)) for chunk in range(CHUNKS)]
        place_a(out, product.a, 16, [out.at("%registers", "<32 x i32>", str(r)) for r in range(4)], at.a)
        if product.floating:
            powers(out, product.a, at.a, at.a_powers, product.k * ROWS)
        count = len(each_of_c(product.d, 16))

        def group(j: str, _: list[str]) -> list[str]:
            for chunk in range(CHUNKS):
                first = out.let(f"add i64 {out.let(f'mul i64 {j}, {CHUNKS * GROUP_ROWS}')}, {chunk * GROUP_ROWS}")
                _fetch(out, "%table", first, b[chunk], "%transpose")
            place_b(out, product.b, b, at.b)
            if product.floating:
                powers(out, product.b, at.b, at.b_powers, product.k * COLUMNS)
            start = out.let(f"add i64 {out.let(f'mul i64 {j}, {count}')}, 4")
            d0 = out.at("%registers", "<32 x i32>", start)
            d = [out.at(d0, "<32 x i32>", str(r)) for r in range(count)]
            place_c(out, product, d, at.c)
            accumulate(out, product, at)
            take_d(out, product, d, at.c)
            return []

        out.loop("%groups", [], group)

    assert numbers.PARTS[product.a] * 2 * 4 == product.depth, product
    return function(name(product), "ptr %registers, ptr %table, i64 %groups, i1 %transpose", body)
