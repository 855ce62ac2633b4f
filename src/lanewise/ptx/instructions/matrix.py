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
    "sync aligned m8n8k4 row|col row|col f32 f16 f16 f32 : {f32*8} {b32*2} {b32*2} {f32*8}",
    "sync aligned m8n8k4 row|col row|col f16 f16 f16 f16 : {b32*4} {b32*2} {b32*2} {b32*4}",
    "sync aligned m8n8k4 row|col row|col f32 f16 f16 f16 : {f32*8} {b32*2} {b32*2} {b32*4}",
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

_CUBES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
# Of each type of a and b: its shapes, and the types of c and d.
_WMMA = (
    ("f16", _CUBES, ("f16", "f32")),
    ("bf16", _CUBES, ("f32",)),
    ("s8", _CUBES, ("s32",)),
    ("u8", _CUBES, ("s32",)),
    ("tf32", ((16, 16, 8),), ("f32",)),
    ("f64", ((8, 8, 4),), ("f64",)),
    ("s4", ((8, 8, 32),), ("s32",)),
    ("u4", ((8, 8, 32),), ("s32",)),
    ("b1", ((8, 8, 128),), ("s32",)),
)


_PARTS_OF_BYTES = ("s4", "u4", "b1")


def _name(shape: tuple[int, int, int]) -> str:
    return "m{}n{}k{}".format(*shape)


def _held(kind: str, rows: int, columns: int) -> str:
    """The registers of a fragment of wmma."""
    if kind == "f64":
        return f"{{f64*{rows * columns // 32}}}"
    if kind in ("f32", "s32"):
        return f"{{{kind}*{rows * columns // 32}}}"
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}[kind]
    return f"{{b32*{rows * columns * bits // 1024}}}"


def _operand(matrix: str, kind: str, shape: tuple[int, int, int]) -> str:
    """The same of a or b; those of halves take eight registers always."""
    m, n, k = shape
    return "{b32*8}" if kind == "f16" else _held(kind, *((m, k) if matrix == "a" else (k, n)))


def _layout(matrix: str, kind: str) -> str:
    """Elements of less than a byte lie by rows in a, by columns in b."""
    return {"a": "row", "b": "col"}[matrix] if kind in _PARTS_OF_BYTES else "row|col"


_MEMORY = f"global|{_SHARED}?"
_LOADS = {
    **{
        matrix: tuple(
            f"sync aligned {_layout(matrix, kind)} {_name(shape)} {_MEMORY} {kind} : "
            f"{_operand(matrix, kind, shape)} [] u32?"
            for kind, shapes, _ in _WMMA
            for shape in shapes
        )
        for matrix in "ab"
    },
    "c": tuple(
        dict.fromkeys(
            f"sync aligned row|col {_name(shape)} {_MEMORY} {kind} : {_held(kind, *shape[:2])} [] u32?"
            for _, shapes, results in _WMMA
            for shape in shapes
            for kind in results
        )
    ),
}
_STORES = tuple(f"{form.partition(' : ')[0]} : [] {form.partition(' : ')[2].split()[0]} u32?" for form in _LOADS["c"])


def _wmma_forms() -> tuple[str, ...]:
    found = []
    for kind, shapes, results in _WMMA:
        layouts = "row col" if kind in _PARTS_OF_BYTES else "row|col row|col"
        for shape in shapes:
            a, b = (_operand(matrix, kind, shape) for matrix in "ab")
            for d in results:
                for c in results:
                    words = {
                        "f16": f"{d} {c}",
                        "f64": "rn? f64 f64 f64 f64",
                        "b1": "s32 b1 b1 s32",
                    }.get(kind, f"{d} {kind} {kind} {c}")
                    head = "xor|and popc " if kind == "b1" else ""
                    tail = " satfinite?" if d == "s32" and kind != "b1" else ""
                    held = [_held(result, *shape[:2]) for result in (d, c)]
                    found.append(
                        f"{head}sync aligned {layouts} {_name(shape)} {words}{tail} : {held[0]} {a} {b} {held[1]}"
                    )
    return tuple(found)


SPECS: tuple[InstructionSpec, ...] = (
    *(
        _warp(f"wmma.load.{matrix}", "9.7.14.4.3", f"Load matrix {matrix}", "wmma.load", *forms)
        for matrix, forms in _LOADS.items()
    ),
    _warp("wmma.store.d", "9.7.14.4.4", "Store matrix d", "wmma.store", *_STORES, destinations=0),
    _warp("wmma.mma", "9.7.14.4.5", "Multiply and add matrices", "wmma.mma", *_wmma_forms()),
    _warp("mma", "9.7.14.5.14", "Multiply and add matrices", "mma.mma", *_MMA_FORMS),
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
