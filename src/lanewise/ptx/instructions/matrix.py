"""Matrix instructions of a warp, a warp group and tensor memory (PTX ISA 9.7.14 to 9.7.16): known, not run yet."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_REASON = "tensor-core instructions are not run yet"
_warp = partial(group("Matrices of a warp"), reason=_REASON, convergence="warp")
_warpgroup = partial(group("Matrices of a warp group"), reason=_REASON, convergence="warp", destinations=0)
_tensor = partial(group("Tensor memory"), reason=_REASON, destinations=0)

_WMMA = "m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128"
_SHARED = "shared|shared::cta"
_MMA = "m8n8k4|m8n8k16|m8n8k32|m8n8k128|m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256"
_SPARSE = "sp|sp::ordered_metadata"
_SCALED = "kind::mxf4|kind::mxf4nvf4|kind::mxf8f6f4 block_scale scale_vec::1X|scale_vec::2X|scale_vec::4X?"
_KIND = "kind::f16|kind::tf32|kind::f8f6f4|kind::i8"
_MX_KIND = "kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4"
_SCALE_SIZE = "scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32?"
_COLLECTOR_A = "|".join(f"collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")) + "?"
_COLLECTOR_B = "|".join(
    f"collector::b{index}::{use}" for index in range(4) for use in ("fill", "use", "lastuse", "discard")
) + "?"  # fmt: skip
_TENSOR_SHAPES = "16x64b|16x128b|16x256b|32x32b|16x32bx2"
_COUNTS = "x1|x2|x4|x8|x16|x32|x64|x128"


def _mma(prefix: str) -> tuple[str, ...]:
    """The types of mma and mma.sp: halves, other floats, doubles, integers, and block-scaled floats."""
    start = f"{prefix} sync aligned {_MMA}"
    return (
        f"{start} row|col row|col f16|f32 f16 f16 f16|f32 : ...",
        f"{start} row col f32 tf32|bf16 tf32|bf16 f32 : ...",
        f"{start} row col kind::f8f6f4? f16|f32 F8F6F4 F8F6F4 f16|f32 : ...",
        f"{start} row col {_SCALED} f32 F8F6F4 F8F6F4 f32 ue8m0|ue4m3 : ...",
        f"{start} row col RND? f64 f64 f64 f64 : ...",
        f"{start} row col satfinite? s32 u8|s8|u4|s4 u8|s8|u4|s4 s32 : ...",
    )


def _wgmma(prefix: str, *depths: int) -> tuple[str, ...]:
    """wgmma.mma_async for K of halves, tf32, bytes and bits."""
    shapes = ["|".join(f"m64n{columns}k{depth}" for columns in range(8, 257, 8)) for depth in depths]
    start = f"{prefix} sync aligned"
    forms = [
        f"{start} {shapes[0]} f16|f32 f16 f16 : ...",
        f"{start} {shapes[0]} f32 bf16 bf16 : ...",
        f"{start} {shapes[1]} f32 tf32 tf32 : ...",
        f"{start} {shapes[2]} f16|f32 e4m3|e5m2 e4m3|e5m2 : ...",
        f"{start} {shapes[2]} satfinite? s32 s8|u8 s8|u8 : ...",
    ]
    if len(shapes) > 3:
        forms.append(f"{start} {shapes[3]} s32 b1 b1 and popc : ...")
    return tuple(forms)


SPECS: tuple[InstructionSpec, ...] = (
    *(
        _warp(
            f"wmma.load.{matrix}",
            "9.7.14.4.3",
            f"Load matrix {matrix}",
            None,
            f"sync aligned row|col {_WMMA} global|{_SHARED}? {types} : {{T}} [] u32?",
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
    ),
    _warp(
        "mma",
        "9.7.14.5.14",
        "Multiply and add matrices",
        None,
        *_mma(""),
        f"sync aligned {_MMA} row col s32 b1 b1 s32 xor|and popc : ...",
    ),
    _warp("mma.sp", "9.7.14.6.3", "Multiply and add, sparse matrix a", None, *_mma(_SPARSE), fixed=""),
    _warp(
        "ldmatrix",
        "9.7.14.5.15",
        "Load matrices",
        None,
        f"sync aligned m8n8|m16n16 x1|x2|x4 trans? {_SHARED}? b16|b8 : ...",
        f"sync aligned m8n16|m16n16 x1|x2|x4 trans? {_SHARED}? b8x16 b6x16_p32|b4x16_p64 : ...",
    ),
    _warp(
        "stmatrix",
        "9.7.14.5.16",
        "Store matrices",
        None,
        f"sync aligned m8n8|m16n8 x1|x2|x4 trans? {_SHARED}? b16|b8 : ...",
        destinations=0,
    ),
    _warp("movmatrix", "9.7.14.5.17", "Transpose a matrix", None, "sync aligned m8n8 trans b16 : b32 b32"),
    _warpgroup("wgmma.mma_async", "9.7.15.5.2", "Multiply and add matrices", None, *_wgmma("", 16, 8, 32, 256)),
    _warpgroup("wgmma.mma_async.sp", "9.7.15.6.4", "Multiply and add, sparse matrix a", None, *_wgmma("", 32, 16, 64)),
    _warpgroup("wgmma.fence", "9.7.15.7.1", "Order register accesses", None, "sync aligned :"),
    _warpgroup("wgmma.commit_group", "9.7.15.7.2", "Close a group", None, "sync aligned :"),
    _warpgroup("wgmma.wait_group", "9.7.15.7.3", "Wait for groups", None, "sync aligned : u32"),
    _tensor("tcgen05.alloc", "9.7.16.7.1", "Allocate", None, "GROUP sync aligned shared::cta? b32 : [] u32"),
    _tensor("tcgen05.dealloc", "9.7.16.7.1", "Free", None, "GROUP sync aligned b32 : u32 u32"),
    _tensor("tcgen05.relinquish_alloc_permit", "9.7.16.7.1", "End allocation", None, "GROUP sync aligned :"),
    _tensor("tcgen05.ld", "9.7.16.8.3", "Load", None, f"sync aligned {_TENSOR_SHAPES} {_COUNTS} pack::16b? b32 : ..."),
    _tensor(
        "tcgen05.ld.red",
        "9.7.16.8.3",
        "Load and reduce",
        None,
        f"sync aligned 32x32b|16x32bx2 {_COUNTS} min|max abs? NaN? f32|u32|s32 : ...",
    ),
    _tensor(
        "tcgen05.st", "9.7.16.8.4", "Store", None, f"sync aligned {_TENSOR_SHAPES} {_COUNTS} unpack::16b? b32 : ..."
    ),
    _tensor("tcgen05.wait", "9.7.16.8.5", "Wait", None, "wait::ld|wait::st sync aligned :", fixed=""),
    _tensor(
        "tcgen05.cp",
        "9.7.16.9.2",
        "Copy from shared memory",
        None,
        "GROUP 128x256b|4x256b|128x128b|64x128b|32x128b warpx2::02_13|warpx2::01_23|warpx4? : [] b64",
        "GROUP 128x256b|4x256b|128x128b|64x128b|32x128b warpx2::02_13|warpx2::01_23|warpx4? b8x16"
        " b6x16_p32|b4x16_p64 : [] b64",
    ),
    _tensor("tcgen05.shift", "9.7.16.9.3", "Shift rows", None, "GROUP down : []"),
    *(
        _tensor(
            f"tcgen05.mma{sparse}",
            section,
            f"Multiply and add matrices{words}",
            None,
            f"GROUP {_KIND} ashift? {_COLLECTOR_A} : ...",
            f"GROUP {_MX_KIND} block_scale {_SCALE_SIZE} {_COLLECTOR_A} : ...",
        )
        for sparse, section, words in (("", "9.7.16.10.9.1", ""), (".sp", "9.7.16.10.9.2", ", sparse matrix a"))
    ),
    *(
        _tensor(
            f"tcgen05.mma.ws{sparse}",
            section,
            f"Multiply and add, weights stationary{words}",
            None,
            f"cta_group::1 {_KIND} {_COLLECTOR_B} : ...",
        )
        for sparse, section, words in (("", "9.7.16.10.9.3", ""), (".sp", "9.7.16.10.9.4", ", sparse matrix a"))
    ),
    _tensor(
        "tcgen05.fence",
        "9.7.16.11.1",
        "Order against other threads",
        None,
        "fence::before_thread_sync|fence::after_thread_sync :",
        fixed="",
    ),
    _tensor(
        "tcgen05.commit",
        "9.7.16.12.1",
        "Tell an mbarrier when done",
        None,
        "GROUP mbarrier::arrive::one shared::cluster? multicast::cluster? b64 : [] u16?",
    ),
)
