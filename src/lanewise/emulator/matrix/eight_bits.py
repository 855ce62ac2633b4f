"""mma.sync of 8-bit floats as sm_90 does it, in LLVM IR: two products of halves, one after the other, then c is added.

There is no such instruction in the machine: of each register the lower two elements become the halves of the first
product, the upper two those of the second (in the listing: F2FP.F16.E4M3.UNPACK_B, HMMA, HMMA, FADD or HADD2).
"""

from __future__ import annotations

from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.matrix.multiply import (
    Matrices,
    accumulate,
    each_of_c,
    name,
    place_a,
    place_b,
    place_c,
    powers,
    registers,
    take_d,
)
from lanewise.emulator.matrix.product import EIGHT_BITS, Product
from lanewise.emulator.matrix.products import COLUMNS, ROWS

_WHOLE, _SHORT = "<32 x i32>", "<32 x i16>"
VECTORS = ROWS * COLUMNS // 8


def _half(out: Builder, kind: str, byte: str) -> str:
    """The f16 of an 8-bit float in the lower bits (<32 x i32>)."""
    if kind == "e5m2":
        return out.let(f"shl {_WHOLE} {byte}, splat (i32 8)")
    # The bits of an e4m3 in the place of an f16 make a number that is too small by 2^8, even a subnormal one.
    size = out.let(f"and {_WHOLE} {byte}, splat (i32 127)")
    bits = out.let(f"trunc {_WHOLE} {out.let(f'shl {_WHOLE} {size}, splat (i32 7)')} to {_SHORT}")
    small = out.let(f"fpext <32 x half> {out.let(f'bitcast {_SHORT} {bits} to <32 x half>')} to <32 x float>")
    scaled = out.let(f"fmul <32 x float> {small}, splat (float 256.0)")
    bits = out.let(f"bitcast <32 x half> {out.let(f'fptrunc <32 x float> {scaled} to <32 x half>')} to {_SHORT}")
    wide = out.let(f"zext {_SHORT} {bits} to {_WHOLE}")
    no_number = out.let(f"icmp eq {_WHOLE} {size}, splat (i32 127)")
    wide = out.let(f"select <32 x i1> {no_number}, {_WHOLE} splat (i32 {0x7FFF}), {_WHOLE} {wide}")
    sign = out.let(f"shl {_WHOLE} {out.let(f'and {_WHOLE} {byte}, splat (i32 128)')}, splat (i32 8)")
    return out.let(f"or {_WHOLE} {wide}, {sign}")


def _unpack(out: Builder, kind: str) -> None:
    register = out.let(f"load {_WHOLE}, ptr %register, align 64")
    halves = []
    for part in range(4):
        byte = out.let(f"lshr {_WHOLE} {register}, splat (i32 {8 * part})")
        halves.append(_half(out, kind, out.let(f"and {_WHOLE} {byte}, splat (i32 255)")))
    for pair in (0, 1):
        upper = out.let(f"shl {_WHOLE} {halves[2 * pair + 1]}, splat (i32 16)")
        place = out.at("%pairs", _WHOLE, str(pair))
        out.line(f"store {_WHOLE} {out.let(f'or {_WHOLE} {upper}, {halves[2 * pair]}')}, ptr {place}, align 64")


def _add(out: Builder) -> None:
    """The doubles of %from to those of %to: exact enough to be rounded to f32 or f16 once."""

    def body(i: str, _: list[str]) -> list[str]:
        place = out.at("%to", "<8 x double>", i)
        values = [out.let(f"load <8 x double>, ptr {p}, align 64") for p in (place, out.at("%from", "<8 x double>", i))]
        out.line(f"store <8 x double> {out.let(f'fadd <8 x double> {values[0]}, {values[1]}')}, ptr {place}, align 64")
        return []

    out.loop(str(VECTORS), [], body)


def definitions() -> str:
    """`lw_unpack_*(register, pairs)` writes two registers of halves; `lw_add_matrix`."""
    return function("lw_add_matrix", "ptr %to, ptr %from", _add) + "".join(
        function(f"lw_unpack_{kind}", "ptr %register, ptr %pairs", lambda out, kind=kind: _unpack(out, kind))  # type: ignore[misc]
        for kind in EIGHT_BITS
    )


def write(product: Product) -> str:
    """The text of the function of a product, as `multiply.write`."""
    halves = Product(product.m, product.k // 2, "f16", "f16", product.c, product.d)

    def body(out: Builder) -> None:
        at = Matrices(out, halves)
        sum_ = out.let(f"alloca [{ROWS * COLUMNS} x double], align 64")
        na, nb = registers(product.a, product.m, product.k), registers(product.b, 8, product.k)
        nc = len(each_of_c(product.c, product.m))
        room = out.let(f"alloca [{2 * (na + nb)} x {_WHOLE}], align 64")
        sources = [out.at("%registers", _WHOLE, str(r)) for r in range(na + nb + 2 * nc)]
        pairs = []
        for r, kind in enumerate([product.a] * na + [product.b] * nb):
            pairs.append([out.at(room, _WHOLE, str(2 * r + pair)) for pair in (0, 1)])
            out.line(f"call void @lw_unpack_{kind}(ptr {sources[r]}, ptr {pairs[r][0]})")
        place_c(out, product, sources[na + nb : na + nb + nc], sum_)
        out.line(f"store [{ROWS * COLUMNS} x double] zeroinitializer, ptr {at.c}, align 64")
        for pair in (0, 1):
            place_a(out, "f16", product.m, [places[pair] for places in pairs[:na]], at.a)
            place_b(out, "f16", [places[pair] for places in pairs[na:]], at.b)
            powers(out, "f16", at.a, at.a_powers, halves.k * ROWS)
            powers(out, "f16", at.b, at.b_powers, halves.k * COLUMNS)
            accumulate(out, halves, at)
            if product.d == "f16":
                out.line(f"call void @lw_to_f16(ptr {at.c})")
        out.line(f"call void @lw_add_matrix(ptr {sum_}, ptr {at.c})")
        if product.d == "f16":
            out.line(f"call void @lw_round_odd(ptr {sum_})")
        take_d(out, product, sources[na + nb + nc :], sum_)

    return function(name(product), "ptr %registers", body)
