"""Tensor memory of sm_100 and its matrix instructions (PTX ISA 9.7.16): known, not run."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_tensor = partial(group("Tensor memory"), reason="cards up to sm_90 have no tensor memory", destinations=0)

_KIND = "kind::f16|kind::tf32|kind::f8f6f4|kind::i8"
_MX_KIND = "kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4"
_SCALE_SIZE = "scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32?"
_COLLECTOR_A = "|".join(f"collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")) + "?"
_COLLECTOR_B = "|".join(
    f"collector::b{index}::{use}" for index in range(4) for use in ("fill", "use", "lastuse", "discard")
) + "?"  # fmt: skip
_TENSOR_SHAPES = "16x64b|16x128b|16x256b|32x32b|16x32bx2"
_COUNTS = "x1|x2|x4|x8|x16|x32|x64|x128"


SPECS: tuple[InstructionSpec, ...] = (
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
