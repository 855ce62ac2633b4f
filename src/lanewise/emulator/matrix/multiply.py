"""One matrix instruction of a warp as a function in LLVM IR: fragments to matrices, the product, the result back.

The functions take `ptr %registers`: a, b, c and then room for d, 32 lanes of 32 bits a register (64 for doubles).
"""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.emulator.matrix import numbers
from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.matrix.products import COLUMNS, ROWS

DEPTH = 64  # the most elements (words, of bits) of a row of a


@dataclass(frozen=True, slots=True)
class Product:
    """d = a b + c of m x 8 x k: types of a, b, c and d. `operation` is that of bits (xor, and)."""

    m: int
    k: int
    a: str
    b: str
    c: str
    d: str
    saturate: bool = False
    operation: str = ""

    @property
    def name(self) -> str:
        saturated = "_sat" if self.saturate else ""
        return f"lw_mma_m{self.m}n8k{self.k}_{self.a}_{self.b}_{self.c}_{self.d}{saturated}{self.operation}"

    @property
    def depth(self) -> int:
        """Elements that are multiplied one by one: bits go by words."""
        return self.k // 32 if self.a == "b1" else self.k


def registers(kind: str, rows: int, columns: int) -> int:
    """Registers of a fragment of so many elements."""
    return rows * columns // (32 * numbers.PARTS[kind]) if kind != "b1" else rows * columns // 1024


def _place(out: Builder, kind: str, register: str, matrix: str, pitch: int) -> None:
    out.line(f"call void @lw_place_{kind}(ptr {register}, ptr {matrix}, i64 {pitch})")


def _register(out: Builder, kind: str, number: int) -> str:
    return out.let(f"getelementptr i8, ptr %registers, i64 {number * (256 if kind == 'f64' else 128)}")


def _spot(out: Builder, kind: str, matrix: str, index: int) -> str:
    return out.at(matrix, numbers.element(kind), str(index))


def place_a(out: Builder, kind: str, m: int, count: int, first: int, matrix: str) -> None:
    """Register r of a holds rows 8 (r % 2) and on (all of 8 rows: none), and the next columns for every two."""
    width = 4 * numbers.PARTS[kind]
    halves = m // 8
    for r in range(count):
        spot = _spot(out, kind, matrix, r // halves * width * ROWS + 8 * (r % halves))
        _place(out, kind, _register(out, kind, first + r), spot, ROWS)


def place_b(out: Builder, kind: str, count: int, first: int, matrix: str) -> None:
    """Register r of b holds the next rows, lane 4 g + t column g."""
    for r in range(count):
        spot = _spot(out, kind, matrix, r * 4 * numbers.PARTS[kind] * COLUMNS)
        _place(out, kind, _register(out, kind, first + r), spot, COLUMNS)


def each_of_c(kind: str, m: int) -> list[tuple[int, int]]:
    """Of each register of c: where its first element goes in the matrix, and the pitch."""
    if numbers.PARTS[kind] == 2:
        return [(8 * half, ROWS) for half in range(m // 8)]
    return [(8 * half + ROWS * odd, 2 * ROWS) for half in range(m // 8) for odd in (0, 1)]


GROUP = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}  # products that are summed at once
BIAS = 25  # bits kept below the greatest exponent
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14}  # exponent of subnormal numbers


def sums(out: Builder, product: Product, a: str, b: str, c: str) -> None:
    """c += a b as tensor cores sum."""
    powers = []
    for kind, matrix, width in ((product.a, a, ROWS), (product.b, b, COLUMNS)):
        power = out.let(f"alloca [{DEPTH * width} x double], align 64")
        least = (1023 + LEAST[kind]) << 52
        vectors = product.k * width // 8
        out.line(f"call void @lw_powers(ptr {matrix}, ptr {power}, i64 {vectors}, i64 {least})")
        powers.append(power)
    step = min(GROUP[product.a], product.k)
    for first in range(0, product.k, step):
        pa, pap = (out.at(matrix, "double", str(first * ROWS)) for matrix in (a, powers[0]))
        pb, pbp = (out.at(matrix, "double", str(first * COLUMNS)) for matrix in (b, powers[1]))
        out.line(f"call void @lw_dot(ptr {pa}, ptr {pap}, ptr {pb}, ptr {pbp}, ptr {c}, i64 {step}, i64 {BIAS})")
        out.line(f"call void @lw_round_{'odd' if product.d == 'f16' else 'zero'}(ptr {c})")


def write(product: Product) -> str:
    """The text of the function of a product."""

    def body(out: Builder) -> None:
        floating = numbers.element(product.a) == "double" and product.a != "f64"
        element = numbers.element(product.a)
        a = out.let(f"alloca [{DEPTH * ROWS} x {element}], align 64")
        b = out.let(f"alloca [{DEPTH * COLUMNS} x {element}], align 64")
        c = out.let(f"alloca [{ROWS * COLUMNS} x {element}], align 64")
        na, nb = registers(product.a, product.m, product.k), registers(product.b, 8, product.k)
        nc = len(each_of_c(product.c, product.m))
        if product.m < ROWS:
            out.line(f"store [{ROWS * COLUMNS} x {element}] zeroinitializer, ptr {c}, align 64")
            out.line(f"store [{DEPTH * ROWS} x {element}] zeroinitializer, ptr {a}, align 64")
        place_a(out, product.a, product.m, na, 0, a)
        place_b(out, product.b, nb, na, b)
        for r, (spot, pitch) in enumerate(each_of_c(product.c, product.m)):
            register = _register(out, product.c, na + nb + r)
            _place(out, product.c, register, _spot(out, product.c, c, spot), pitch)
        matrices = f"ptr {a}, ptr {b}, ptr {c}, i64 {product.depth}"
        if floating:
            sums(out, product, a, b, c)
        elif product.a == "f64":
            out.line(f"call void @lw_dot_double({matrices})")
        elif product.operation:
            out.line(f"call void @lw_dot_{product.operation}({matrices})")
        else:
            out.line(f"call void @lw_dot_{'saturated' if product.saturate else 'integer'}({matrices})")
        for r, (spot, pitch) in enumerate(each_of_c(product.d, product.m)):
            register = _register(out, product.d, na + nb + nc + r)
            out.line(
                f"call void @lw_take_{product.d}(ptr {_spot(out, product.d, c, spot)}, ptr {register}, i64 {pitch})"
            )

    return function(product.name, "ptr %registers", body)
