"""Products of matrices in memory, in LLVM IR: c += a b for 16 rows and 8 columns, as the tensor cores of an H200 do it.

Matrices lie by columns: `a[k][16]`, `c[8][16]`; b is `b[k][8]`. Floating-point products are exact, aligned to the
greatest exponent of all products and c, cut there to so many bits, and summed exactly (docs/arithmetic.md).
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.matrix.build import Builder, function

ROWS, COLUMNS = 16, 8
EXPONENT = 0x7FF0000000000000
INFINITY = "splat (double 0x7FF0000000000000)"
TINY = (1023 - 300) << 52  # 2^-300: the power of a zero, below that of any number of the types
D, Q, I = "<8 x double>", "<8 x i64>", "<16 x i32>"  # noqa: E741
HALVES = (0, 1)  # of a column of 16 doubles


def _column(out: Builder, matrix: str, column: str) -> list[str]:
    """The 16 doubles of a column, as two vectors."""
    first = out.let(f"mul i64 {column}, 2")
    pointer = out.at(matrix, D, first)
    return [out.let(f"load {D}, ptr {out.at(pointer, D, str(half))}, align 64") for half in HALVES]


def _scalar(out: Builder, matrix: str, k: str, j: str, element: str = "double") -> str:
    """Element [k][j] of b."""
    place = out.let(f"add i64 {out.let(f'mul i64 {k}, {COLUMNS}')}, {j}")
    return out.let(f"load {element}, ptr {out.at(matrix, element, place)}")


def _columns(out: Builder, write: Callable[[str], None]) -> None:
    """Do something for each column of c."""

    def body(j: str, _: list[str]) -> list[str]:
        write(j)
        return []

    out.loop(str(COLUMNS), [], body)


def _powers(out: Builder) -> None:
    least = out.splat("%least", "i64")

    def body(i: str, _: list[str]) -> list[str]:
        value = out.let(f"load {Q}, ptr {out.at('%value', Q, i)}, align 64")
        size = out.let(f"and {Q} {value}, splat (i64 {(1 << 63) - 1})")
        zero = out.let(f"icmp eq {Q} {size}, zeroinitializer")
        exponent = out.let(f"and {Q} {value}, splat (i64 {EXPONENT})")
        below = out.let(f"icmp slt {Q} {exponent}, {least}")
        raised = out.let(f"select <8 x i1> {below}, {Q} {least}, {Q} {exponent}")
        power = out.let(f"select <8 x i1> {zero}, {Q} splat (i64 {TINY}), {Q} {raised}")
        out.line(f"store {Q} {power}, ptr {out.at('%power', Q, i)}, align 64")
        return []

    out.loop("%vectors", [], body)


def _greatest(out: Builder, j: str, c: list[str]) -> list[str]:
    """The greatest power of two among the products and c, for each row of column j; infinite where one is no number."""
    start = []
    least = out.splat("%least", "i64")
    for half in c:
        bits = out.let(f"and {Q} {out.let(f'bitcast {D} {half} to {Q}')}, splat (i64 {EXPONENT})")
        low = out.let(f"icmp ult {Q} {bits}, {least}")
        raised = out.let(f"select <8 x i1> {low}, {Q} {least}, {Q} {bits}")
        start.append((D, out.let(f"bitcast {Q} {raised} to {D}")))

    def body(k: str, most: list[str]) -> list[str]:
        factor = out.splat(_scalar(out, "%bp", k, j), "double")
        result = []
        for power, old in zip(_column(out, "%ap", k), most, strict=True):
            product = out.let(f"fmul {D} {power}, {factor}")
            more = out.let(f"fcmp ogt {D} {product}, {old}")
            result.append(out.let(f"select <8 x i1> {more}, {D} {product}, {D} {old}"))
        return result

    return out.loop("%k", start, body)


def _dot(out: Builder) -> None:
    out.declare(f"declare {D} @llvm.trunc.v8f64({D})")
    shift = out.splat(out.let(f"shl i64 {out.let('add i64 %bias, 2046')}, 52"), "i64")

    def cut(value: str, scale: str) -> str:
        return out.let(f"call {D} @llvm.trunc.v8f64({D} {out.let(f'fmul {D} {value}, {scale}')})")

    def column(j: str) -> None:
        c = _column(out, "%c", j)
        most = _greatest(out, j, c)
        scales, backs = [], []  # 2^(bias - exponent) and its inverse
        for half in most:
            up = out.let(f"sub {Q} {shift}, {out.let(f'bitcast {D} {half} to {Q}')}")
            scales.append(out.let(f"bitcast {Q} {up} to {D}"))
            backs.append(out.let(f"bitcast {Q} {out.let(f'sub {Q} splat (i64 {2046 << 52}), {up}')} to {D}"))

        def body(k: str, sums: list[str]) -> list[str]:
            factor = out.splat(_scalar(out, "%b", k, j), "double")
            products = [out.let(f"fmul {D} {half}, {factor}") for half in _column(out, "%a", k)]
            return [
                out.let(f"fadd {D} {total}, {cut(product, scale)}")
                for total, product, scale in zip(sums, products, scales, strict=True)
            ]

        sums = out.loop("%k", [(D, cut(half, scale)) for half, scale in zip(c, scales, strict=True)], body)
        sums = [out.let(f"fmul {D} {total}, {back}") for total, back in zip(sums, backs, strict=True)]
        sums = [out.let(f"fadd {D} {total}, zeroinitializer") for total in sums]  # a sum of nothing is +0
        infinite = [out.let(f"fcmp oeq {D} {half}, {INFINITY}") for half in most]
        some = out.let(f"bitcast <8 x i1> {out.let(f'or <8 x i1> {infinite[0]}, {infinite[1]}')} to i8")
        special, done = out.fresh_label("special"), out.fresh_label("done")
        pointer = out.at("%c", "double", out.let(f"mul i64 {j}, {ROWS}"))
        for place, total in zip("01", sums, strict=True):
            out.line(f"store {D} {total}, ptr {out.at(pointer, D, place)}, align 64")
        out.line(f"br i1 {out.let(f'icmp eq i8 {some}, 0')}, label %{done}, label %{special}, !prof !2")
        out.label(special)
        _special(out, j, c, sums, pointer)
        out.line(f"br label %{done}")
        out.label(done)

    _columns(out, column)


def _special(out: Builder, j: str, c: list[str], sums: list[str], pointer: str) -> None:
    """Rows with an infinity or NaN among products and c: what plain sums in double precision say of them."""

    def body(k: str, plain: list[str]) -> list[str]:
        factor = out.splat(_scalar(out, "%b", k, j), "double")
        rows = _column(out, "%a", k)
        return [
            out.let(f"fadd {D} {total}, {out.let(f'fmul {D} {half}, {factor}')}")
            for total, half in zip(plain, rows, strict=True)
        ]

    out.declare(f"declare {D} @llvm.fabs.v8f64({D})")
    for half, total in enumerate(out.loop("%k", [(D, value) for value in c], body)):
        size = out.let(f"call {D} @llvm.fabs.v8f64({D} {total})")
        number = out.let(f"fcmp olt {D} {size}, {INFINITY}")
        kept = out.let(f"select <8 x i1> {number}, {D} {sums[half]}, {D} {total}")
        out.line(f"store {D} {kept}, ptr {out.at(pointer, D, str(half))}, align 64")


def _dot_double(out: Builder) -> None:
    out.declare(f"declare {D} @llvm.fma.v8f64({D}, {D}, {D})")

    def column(j: str) -> None:
        def body(k: str, sums: list[str]) -> list[str]:
            factor = out.splat(_scalar(out, "%b", k, j), "double")
            rows = _column(out, "%a", k)
            return [
                out.let(f"call {D} @llvm.fma.v8f64({D} {half}, {D} {factor}, {D} {total})")
                for half, total in zip(rows, sums, strict=True)
            ]

        sums = out.loop("%k", [(D, half) for half in _column(out, "%c", j)], body)
        pointer = out.at("%c", "double", out.let(f"mul i64 {j}, {ROWS}"))
        for half, total in enumerate(sums):
            out.line(f"store {D} {total}, ptr {out.at(pointer, D, str(half))}, align 64")

    _columns(out, column)


def _integers(out: Builder, product: Callable[[str, str], str], add: Callable[[str, str], str]) -> None:
    """c = add(c, sum of products) for 32-bit elements."""

    def column(j: str) -> None:
        def body(k: str, sums: list[str]) -> list[str]:
            factor = out.splat(_scalar(out, "%b", k, j, "i32"), "i32", ROWS)
            rows = out.let(f"load {I}, ptr {out.at('%a', I, k)}, align 64")
            return [out.let(f"add {I} {sums[0]}, {product(rows, factor)}")]

        (total,) = out.loop("%k", [(I, "zeroinitializer")], body)
        pointer = out.at("%c", I, j)
        old = out.let(f"load {I}, ptr {pointer}, align 64")
        out.line(f"store {I} {add(old, total)}, ptr {pointer}, align 64")

    _columns(out, column)


def _dot_integers(out: Builder, saturate: bool) -> None:
    out.declare(f"declare {I} @llvm.sadd.sat.v16i32({I}, {I})")

    def add(a: str, b: str) -> str:
        return out.let(f"call {I} @llvm.sadd.sat.v16i32({I} {a}, {I} {b})" if saturate else f"add {I} {a}, {b}")

    _integers(out, lambda a, b: out.let(f"mul {I} {a}, {b}"), add)


def _dot_bits(out: Builder, operation: str) -> None:
    out.declare(f"declare {I} @llvm.ctpop.v16i32({I})")
    _integers(
        out,
        lambda a, b: out.let(f"call {I} @llvm.ctpop.v16i32({I} {out.let(f'{operation} {I} {a}, {b}')})"),
        lambda a, b: out.let(f"add {I} {a}, {b}"),
    )


_MATRICES = "ptr %a, ptr %b, ptr %c, i64 %k"


def definitions() -> str:
    """Every product, and `lw_powers`: the powers of two (2^exponent) of a matrix, those of subnormal numbers at least
    `least` (bits of a double)."""
    return "".join(
        (
            function("lw_powers", "ptr %value, ptr %power, i64 %vectors, i64 %least", _powers),
            function("lw_dot", "ptr %a, ptr %ap, ptr %b, ptr %bp, ptr %c, i64 %k, i64 %bias, i64 %least", _dot),
            function("lw_dot_double", _MATRICES, _dot_double),
            function("lw_dot_integer", _MATRICES, lambda out: _dot_integers(out, saturate=False)),
            function("lw_dot_saturated", _MATRICES, lambda out: _dot_integers(out, saturate=True)),
            function("lw_dot_xor", _MATRICES, lambda out: _dot_bits(out, "xor")),
            function("lw_dot_and", _MATRICES, lambda out: _dot_bits(out, "and")),
        )
    )
