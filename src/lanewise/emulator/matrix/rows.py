"""Eight rows of 16 bytes to the register of a warp that holds them one after the other, and back, in LLVM IR."""

from __future__ import annotations

from lanewise.emulator.ir import Emitter
from lanewise.emulator.matrix.build import Builder, function
from lanewise.emulator.moving import lane_vector

_ROW = "<4 x i32>"
_TRANSPOSED = lane_vector("i32", (row * 8 + column for column in range(8) for row in range(8)))


def transposed(out: Emitter, register: str) -> str:
    """The fragment (<32 x i32>) of the transposed 8 x 8 matrix of 16-bit elements."""
    halves = out.let(f"bitcast <32 x i32> {register} to <64 x i16>")
    moved = out.let(f"shufflevector <64 x i16> {halves}, <64 x i16> poison, <64 x i32> {_TRANSPOSED}")
    return out.let(f"bitcast <64 x i16> {moved} to <32 x i32>")


def _pointer(out: Builder, row: int) -> str:
    address = out.let(f"load i64, ptr {out.at('%table', 'i64', str(row))}")
    return out.let(f"inttoptr i64 {address} to ptr")


def _joined(out: Builder, parts: list[str], lanes: int) -> str:
    """Vectors end to end."""
    while len(parts) > 1:
        order = lane_vector("i32", range(2 * lanes))
        kind = f"<{lanes} x i32>"
        parts = [
            out.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> {order}")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def _load(out: Builder) -> None:
    rows = [out.let(f"load {_ROW}, ptr {_pointer(out, row)}, align 16") for row in range(8)]
    out.line(f"ret <32 x i32> {_joined(out, rows, 4)}")


def _store(out: Builder) -> None:
    for row in range(8):
        picks = lane_vector("i32", range(4 * row, 4 * row + 4))
        part = out.let(f"shufflevector <32 x i32> %register, <32 x i32> poison, <4 x i32> {picks}")
        out.line(f"store {_ROW} {part}, ptr {_pointer(out, row)}, align 16")


def definitions() -> str:
    """`lw_load_rows(table of 8 addresses)` and `lw_store_rows`."""
    return function("lw_load_rows", "ptr %table", _load, "<32 x i32>") + function(
        "lw_store_rows", "ptr %table, <32 x i32> %register", _store
    )
