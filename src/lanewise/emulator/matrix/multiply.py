"""One matrix instruction of a warp as a function in LLVM IR: fragments to matrices, the product, the result back.

The functions take `ptr %registers`: a, b, c and then room for d, 32 lanes of 32 bits a register (64 for doubles).
"""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.emulator.matrix import numbers
from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.matrix.product import LEAST, Product
from lanewise.emulator.matrix.products import COLUMNS, ROWS

DEPTH = 64  # the most elements (words, of bits) of a row of a


def registers(kind: str, rows: int, columns: int) -> int:
    """Registers of a fragment of so many elements."""
    return rows * columns // (32 * numbers.PARTS[kind]) if kind != "b1" else rows * columns // 1024


def _place(out: Builder, kind: str, register: str, matrix: str, pitch: int) -> None:
    out.line(f"call void @lw_place_{kind}(ptr {register}, ptr {matrix}, i64 {pitch})")


def _register(out: Builder, kind: str, number: int) -> str:
    return out.let(f"getelementptr i8, ptr %registers, i64 {number * (256 if kind == 'f64' else 128)}")


def _spot(out: Builder, kind: str, matrix: str, index: int) -> str:
    return out.at(matrix, numbers.element(kind), str(index))


def place_a(out: Builder, kind: str, m: int, sources: Sequence[str], matrix: str) -> None:
    """Register r of a holds rows 8 (r % 2) and on (all of 8 rows: none), and the next columns for every two."""
    width = 4 * numbers.PARTS[kind]
    halves = m // 8
    for r, source in enumerate(sources):
        _place(out, kind, source, _spot(out, kind, matrix, r // halves * width * ROWS + 8 * (r % halves)), ROWS)


def place_b(out: Builder, kind: str, sources: Sequence[str], matrix: str) -> None:
    """Register r of b holds the next rows, lane 4 g + t column g."""
    for r, source in enumerate(sources):
        _place(out, kind, source, _spot(out, kind, matrix, r * 4 * numbers.PARTS[kind] * COLUMNS), COLUMNS)


def place_c(out: Builder, product: Product, sources: Sequence[str], matrix: str) -> None:
    for source, (spot, pitch) in zip(sources, each_of_c(product.c, product.m), strict=True):
        _place(out, product.c, source, _spot(out, product.c, matrix, spot), pitch)


def take_d(out: Builder, product: Product, targets: Sequence[str], matrix: str) -> None:
    for target, (spot, pitch) in zip(targets, each_of_c(product.d, product.m), strict=True):
        place = _spot(out, product.d, matrix, spot)
        out.line(f"call void @lw_take_{product.d}(ptr {place}, ptr {target}, i64 {pitch})")


def each_of_c(kind: str, m: int) -> list[tuple[int, int]]:
    """Of each register of c: where its first element goes in the matrix, and the pitch."""
    if numbers.PARTS[kind] == 2:
        return [(8 * half, ROWS) for half in range(m // 8)]
    return [(8 * half + ROWS * odd, 2 * ROWS) for half in range(m // 8) for odd in (0, 1)]


def room(out: Builder, count: int, element: str) -> str:
    """Native stack for a matrix; to be asked for at the start of a function."""
    return out.let(f"alloca [{count} x {element}], align 64")


def powers(out: Builder, kind: str, matrix: str, power: str, values: int) -> None:
    """Write the powers of two of a matrix of floats."""
    least = (1023 + LEAST[kind]) << 52
    out.line(f"call void @lw_powers(ptr {matrix}, ptr {power}, i64 {values // 8}, i64 {least})")


class Matrices:
    """Room for a, b and c of a product, and for the powers of a and b where they are floats."""

    def __init__(self, out: Builder, product: Product) -> None:
        element = product.element
        self.a = room(out, DEPTH * ROWS, element)
        self.b = room(out, DEPTH * COLUMNS, element)
        self.c = room(out, ROWS * COLUMNS, element)
        if product.floating:
            self.a_powers = room(out, DEPTH * ROWS, element)
            self.b_powers = room(out, DEPTH * COLUMNS, element)


def accumulate(out: Builder, product: Product, at: Matrices) -> None:
    """c += a b as the tensor cores do it for these types."""
    operands = f"ptr {at.a}, ptr {at.b}, ptr {at.c}, i64 {product.depth}"
    if product.a == "f64":
        out.line(f"call void @lw_dot_double({operands})")
    elif product.operation:
        out.line(f"call void @lw_dot_{product.operation}({operands})")
    elif not product.floating:
        out.line(f"call void @lw_dot_{'saturated' if product.saturate else 'integer'}({operands})")
    else:
        step = product.group or product.k
        least = (1023 + LEAST[product.accumulator]) << 52
        for first in range(0, product.k, step):
            a, ap = (out.at(matrix, "double", str(first * ROWS)) for matrix in (at.a, at.a_powers))
            b, bp = (out.at(matrix, "double", str(first * COLUMNS)) for matrix in (at.b, at.b_powers))
            parts = f"ptr {a}, ptr {ap}, ptr {b}, ptr {bp}, ptr {at.c}"
            out.line(f"call void @lw_dot({parts}, i64 {step}, i64 {product.bias}, i64 {least})")
            out.line(f"call void @{product.rounding}(ptr {at.c})")


def name(product: Product) -> str:
    """The name of its function."""
    return f"lw_mma_{product.name}"


def write(product: Product) -> str:
    """The text of the function of a product."""

    def body(out: Builder) -> None:
        element = product.element
        at = Matrices(out, product)
        na, nb = registers(product.a, product.m, product.k), registers(product.b, 8, product.k)
        nc, nd = (len(each_of_c(kind, product.m)) for kind in (product.c, product.d))
        if product.m < ROWS:
            out.line(f"store [{ROWS * COLUMNS} x {element}] zeroinitializer, ptr {at.c}, align 64")
            out.line(f"store [{DEPTH * ROWS} x {element}] zeroinitializer, ptr {at.a}, align 64")
        sources = [_register(out, product.a, r) for r in range(na + nb + nc + nd)]
        place_a(out, product.a, product.m, sources[:na], at.a)
        place_b(out, product.b, sources[na : na + nb], at.b)
        place_c(out, product, sources[na + nb : na + nb + nc], at.c)
        if product.floating:
            powers(out, product.a, at.a, at.a_powers, product.k * ROWS)
            powers(out, product.b, at.b, at.b_powers, product.k * COLUMNS)
        accumulate(out, product, at)
        take_d(out, product, sources[na + nb + nc :], at.c)

    return function(name(product), "ptr %registers", body)
