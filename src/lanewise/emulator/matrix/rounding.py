"""How a tensor core rounds what it has summed, in LLVM IR: the doubles of `c[8][16]`, in place.

`zero` leaves numbers that an f32 holds, cut toward zero; `short` the same with 13 bits after the point; `odd` leaves
such numbers that round to f16 as the exact ones do (a lost remainder is kept as the last bit). Past the greatest f32
there is only infinity.
"""

from __future__ import annotations

from lanewise.emulator.matrix.build import Builder, function

VECTORS = 16  # of 8 doubles
D, F, Q, W = "<8 x double>", "<8 x float>", "<8 x i64>", "<8 x i32>"


def _round(out: Builder, odd: bool = False, lost_bits: int = 0) -> None:
    out.declare(f"declare {D} @llvm.fabs.v8f64({D})")

    def body(i: str, _: list[str]) -> list[str]:
        pointer = out.at("%c", D, i)
        value = out.let(f"load {D}, ptr {pointer}, align 64")
        near = out.let(f"fptrunc {D} {value} to {F}")
        wide = out.let(f"fpext {F} {near} to {D}")
        size, exact = (out.let(f"call {D} @llvm.fabs.v8f64({D} {v})") for v in (wide, value))
        finite = out.let(f"fcmp olt {D} {exact}, splat (double 0x47F0000000000000)")  # 2^128
        above = out.let(f"and <8 x i1> {out.let(f'fcmp ogt {D} {size}, {exact}')}, {finite}")
        bits = out.let(f"bitcast {F} {near} to {W}")
        lower = out.let(f"add {W} {bits}, {out.let(f'sext <8 x i1> {above} to {W}')}")
        if odd:
            back = out.let(f"fpext {F} {out.let(f'bitcast {W} {lower} to {F}')} to {D}")
            lost = out.let(f"fcmp one {D} {back}, {value}")
            lost = out.let(f"and <8 x i1> {lost}, {finite}")
            lower = out.let(f"or {W} {lower}, {out.let(f'zext <8 x i1> {lost} to {W}')}")
        if lost_bits:
            lower = out.let(f"and {W} {lower}, splat (i32 {-1 << lost_bits})")
        result = out.let(f"fpext {F} {out.let(f'bitcast {W} {lower} to {F}')} to {D}")
        out.line(f"store {D} {result}, ptr {pointer}, align 64")
        return []

    out.loop(str(VECTORS), [], body)


def _to_f16(out: Builder) -> None:
    """The nearest numbers that an f16 holds, of numbers left by `odd`."""

    def body(i: str, _: list[str]) -> list[str]:
        pointer = out.at("%c", D, i)
        value = out.let(f"load {D}, ptr {pointer}, align 64")
        half = out.let(f"fptrunc {F} {out.let(f'fptrunc {D} {value} to {F}')} to <8 x half>")
        wide = out.let(f"fpext {F} {out.let(f'fpext <8 x half> {half} to {F}')} to {D}")
        out.line(f"store {D} {wide}, ptr {pointer}, align 64")
        return []

    out.loop(str(VECTORS), [], body)


def definitions() -> str:
    return (
        function("lw_round_zero", "ptr %c", _round)
        + function("lw_round_short", "ptr %c", lambda out: _round(out, lost_bits=10))
        + function("lw_round_odd", "ptr %c", lambda out: _round(out, odd=True))
        + function("lw_to_f16", "ptr %c", _to_f16)
    )
