"""Matrix instructions of a warp (PTX ISA 9.7.14): mma, wmma, ldmatrix, stmatrix, movmatrix.

A fragment is a vector of registers; the number of registers is the matrix's bits over 32 lanes of 32 bits (64 for
doubles), except where wmma and the mma of Volta keep elements in several lanes.
"""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_warp = partial(group("Matrices of a warp"), convergence="warp")
_sparse = partial(_warp, reason="sparse matrices are not run")
_later = partial(_warp, reason="no card up to sm_90 has it")

_SHARED = "shared|shared::cta"
_SPARSE = "sp|sp::ordered_metadata"
_SCALED = "kind::mxf4|kind::mxf4nvf4|kind::mxf8f6f4 block_scale scale_vec::1X|scale_vec::2X|scale_vec::4X?"
_MMA = "m8n8k4|m8n8k16|m8n8k32|m8n8k128|m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256"


def _fragments(shape: tuple[int, int, int], bits: int, result: str) -> str:
    """The operands d, a, b, c of mma: a and b of elements of so many bits, c and d of type `result`."""
    m, n, k = shape
    held = {"f16": ("b32", 64), "f64": ("f64", 32)}.get(result, (result, 32))
    d = f"{{{held[0]}*{m * n // held[1]}}}"
    if bits == 64:
        a, b = f"{{f64*{m * k // 32}}}", f"{{f64*{n * k // 32}}}"
    else:
        a, b = (f"{{b32*{rows * k * bits // 1024}}}" for rows in (m, n))
    return f"{d} {a} {b} {d}"


def _mma_form(words: str, shape: tuple[int, int, int], bits: int, result: str) -> str:
    m, n, k = shape
    return f"sync aligned m{m}n{n}k{k} row col {words} : {_fragments(shape, bits, result)}"


_BYTES = "s8|u8"
_NIBBLES = "s4|u4"
_EIGHT = "e4m3|e5m2"

_MMA_FORMS = (
    *(_mma_form(f"{r} f16 f16 {r}", (16, 8, k), 16, r) for k in (8, 16) for r in ("f16", "f32")),
    *(_mma_form("f32 bf16 bf16 f32", (16, 8, k), 16, "f32") for k in (8, 16)),
    *(_mma_form("f32 tf32 tf32 f32", (16, 8, k), 32, "f32") for k in (4, 8)),
    *(_mma_form(f"{r} {_EIGHT} {_EIGHT} {r}", (16, 8, k), 8, r) for k in (16, 32) for r in ("f16", "f32")),
    *(_mma_form("rn? f64 f64 f64 f64", shape, 64, "f64") for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
    *(
        _mma_form(f"satfinite? s32 {kinds} {kinds} s32", (m, 8, k), bits, "s32")
        for kinds, bits, shapes in (
            (_BYTES, 8, ((8, 16), (16, 16), (16, 32))),
            (_NIBBLES, 4, ((8, 32), (16, 32), (16, 64))),
        )
        for m, k in shapes
    ),
    *(_mma_form("s32 b1 b1 s32 xor|and popc", (m, 8, k), 1, "s32") for m, k in ((8, 128), (16, 128), (16, 256))),
)

_WMMA = "m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128"

SPECS: tuple[InstructionSpec, ...] = (
    *(
        _warp(
            f"wmma.load.{matrix}",
            "9.7.14.4.3",
            f"Load matrix {matrix}",
            None,
            f"sync aligned row|col {_WMMA} global|{_SHARED}? {types} : {{T}} [] u32?",
            reason="not run yet",
        )
        for matrix, types in (
            ("a", "f16|bf16|tf32|f64|s8|u8|s4|u4|b1"),
            ("b", "f16|bf16|tf32|f64|s8|u8|s4|u4|b1"),
            ("c", "f16|f32|f64|s32"),
        )
    ),
    _warp(
        "wmma.store.d",
        "9.7.14.4.4",
        "Store matrix d",
        None,
        f"sync aligned row|col {_WMMA} global|{_SHARED}? f16|f32|f64|s32 : [] {{T}} u32?",
        reason="not run yet",
        destinations=0,
    ),
    _warp(
        "wmma.mma",
        "9.7.14.4.5",
        "Multiply and add matrices",
        None,
        f"sync aligned row|col row|col {_WMMA} satfinite? f16|f32 f16|f32 : {{T}} {{T}} {{T}} {{T}}",
        f"sync aligned row|col row|col {_WMMA} f32 bf16|tf32 bf16|tf32 f32 : {{T}} {{T}} {{T}} {{T}}",
        f"sync aligned row|col row|col {_WMMA} RND? f64 f64 f64 f64 : {{T}} {{T}} {{T}} {{T}}",
        f"sync aligned row|col row|col {_WMMA} s32 s8|u8|s4|u4 s8|u8|s4|u4 s32 satfinite? : {{T}} {{T}} {{T}} {{T}}",
        f"xor|and popc sync aligned row col {_WMMA} s32 b1 b1 s32 : {{T}} {{T}} {{T}} {{T}}",
        reason="not run yet",
    ),
    _warp("mma", "9.7.14.5.14", "Multiply and add matrices", "mma.mma", *_MMA_FORMS),
    _warp(
        "mma.m8n8k4",
        "9.7.14.5.1",
        "Multiply and add four pairs of matrices of halves",
        None,
        "sync aligned m8n8k4 row|col row|col f32 f16 f16 f32 : {f32*8} {b32*2} {b32*2} {f32*8}",
        "sync aligned m8n8k4 row|col row|col f16 f16 f16 f16 : {b32*4} {b32*2} {b32*2} {b32*4}",
        "sync aligned m8n8k4 row|col row|col f32 f16 f16 f16 : {f32*8} {b32*2} {b32*2} {b32*4}",
        fixed="",
        reason="not run yet",
    ),
    _later(
        "mma.kind",
        "9.7.14.5.14",
        "Multiply and add matrices of fewer bits, or scaled",
        None,
        f"sync aligned {_MMA} row col kind::f8f6f4 f16|f32 F8F6F4 F8F6F4 f16|f32 : ...",
        f"sync aligned {_MMA} row col {_SCALED} f32 F8F6F4 F8F6F4 f32 ue8m0|ue4m3 : ...",
        fixed="",
    ),
    _sparse(
        "mma.sp",
        "9.7.14.6.3",
        "Multiply and add, sparse matrix a",
        None,
        f"{_SPARSE} sync aligned {_MMA} row col f16|f32 f16 f16 f16|f32 : ...",
        f"{_SPARSE} sync aligned {_MMA} row col f32 tf32|bf16 tf32|bf16 f32 : ...",
        f"{_SPARSE} sync aligned {_MMA} row col kind::f8f6f4? f16|f32 F8F6F4 F8F6F4 f16|f32 : ...",
        f"{_SPARSE} sync aligned {_MMA} row col {_SCALED} f32 F8F6F4 F8F6F4 f32 ue8m0|ue4m3 : ...",
        f"{_SPARSE} sync aligned {_MMA} row col satfinite? s32 u8|s8|u4|s4 u8|s8|u4|s4 s32 : ...",
        fixed="",
    ),
    _warp(
        "ldmatrix",
        "9.7.14.5.15",
        "Load matrices",
        "matrix.ldmatrix",
        *(f"sync aligned m8n8 x{count} trans? {_SHARED}? b16 : {{b32*{count}}} []" for count in (1, 2, 4)),
    ),
    _later(
        "ldmatrix.b8",
        "9.7.14.5.15",
        "Load matrices of bytes and less",
        None,
        f"sync aligned m16n16 x1|x2 trans {_SHARED}? b8 : ...",
        f"sync aligned m8n16|m16n16 x1|x2|x4 trans? {_SHARED}? b8x16 b6x16_p32|b4x16_p64 : ...",
        fixed="",
    ),
    _warp(
        "stmatrix",
        "9.7.14.5.16",
        "Store matrices",
        "matrix.stmatrix",
        *(f"sync aligned m8n8 x{count} trans? {_SHARED}? b16 : [] {{b32*{count}}}" for count in (1, 2, 4)),
        destinations=0,
    ),
    _later(
        "stmatrix.b8",
        "9.7.14.5.16",
        "Store matrices of bytes",
        None,
        f"sync aligned m16n8 x1|x2|x4 trans {_SHARED}? b8 : ...",
        fixed="",
        destinations=0,
    ),
    _warp(
        "movmatrix", "9.7.14.5.17", "Transpose a matrix", "matrix.movmatrix", "sync aligned m8n8 trans b16 : b32 b32"
    ),
)
