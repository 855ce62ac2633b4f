"""What is wrong with a copy of a box of a tensor, in words, with the section that states the rule."""

from __future__ import annotations

from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.tensor_layout import TensorFault
from lanewise.emulator.tensor_maps import DOCUMENT

_ISA = "PTX ISA 9.7.9.25.5.2"
_ENCODE = "make it with cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, and pass it as a __grid_constant__ parameter"

# By kind: what is wrong ("{}" is the number at fault), what to do.
_WORDS: dict[int, tuple[str, str]] = {
    TensorFault.MAP: ("the tensor map at {:#x} is none: it was never made, or written over", f"{_ENCODE} ({DOCUMENT})"),
    TensorFault.NO_MAP: ("the address of a tensor map, {:#x}, is in no memory of the device", _ENCODE),
    TensorFault.MAP_ALIGNMENT: (
        "the address of a tensor map, {:#x}, is misaligned",
        f"a tensor map lies at a multiple of 64 ({DOCUMENT})",
    ),
    TensorFault.RANK: (
        "the tensor map has rank {}, and the copy another",
        f"the number of dimensions of the instruction is the rank of the map ({_ISA})",
    ),
    TensorFault.MODE: (
        "the tensor map and the copy are of different modes",
        f".tile goes with cuTensorMapEncodeTiled, .im2col with cuTensorMapEncodeIm2col ({_ISA})",
    ),
    TensorFault.ALIGNMENT: (
        "the place of a box in shared memory, byte {:,}, is misaligned",
        f"a box lies at a multiple of 128 bytes ({_ISA})",
    ),
    TensorFault.SHARED: (
        "a box at byte {:,} of shared memory goes beyond its end",
        "give the launch as many bytes of shared memory as the boxes take",
    ),
    TensorFault.TYPE: (
        "the reduction does not take a tensor of data type {} (CUtensorMapDataType)",
        "add, min and max take integers and floats, inc and dec UINT32, and, or, xor integers (PTX ISA 9.7.9.25.5.3)",
    ),
    TensorFault.COORDINATE: (
        "the innermost coordinate of a box, {}, is misaligned",
        "times the size of an element it is a multiple of 16 bytes; an H200 ends with cudaErrorIllegalInstruction",
    ),
    TensorFault.PIXEL: (
        "a column of pixels starts at coordinate {}, outside the box between the map's corners",
        f"start within it; an H200 ends with cudaErrorIllegalInstruction ({_ISA}, im2col mode)",
    ),
    TensorFault.NEGATIVE: (
        "a store or reduction of a box starts at coordinate {}",
        "what goes to global memory starts within the tensor (CUDA C++ programming guide, tensor memory access)",
    ),
    TensorFault.CORNER: (
        "a store or reduction of pixels goes beyond the tensor: a corner of its map is {}",
        "corners of what goes to global memory are 0 or inside the tensor; an H200 ends with "
        "cudaErrorIllegalInstruction",
    ),
    TensorFault.INTERLEAVE: (
        "im2col copies of interleaved tensors are not run yet (interleave {})",
        "use a tensor with CU_TENSOR_MAP_INTERLEAVE_NONE",
    ),
    TensorFault.GLOBAL: (
        "a copy of a box goes out of bounds of the memory that the tensor map names, at {:#x}",
        "dimensions and strides of the map must fit the allocation",
    ),
}


def words(kind: int, number: int, memory: DeviceMemory) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step) of a fault."""
    message, next_step = _WORDS[kind]
    if kind in (TensorFault.COORDINATE, TensorFault.PIXEL, TensorFault.NEGATIVE, TensorFault.CORNER) and number >> 63:
        number -= 1 << 64
    evidence: tuple[str, ...] = ()
    if kind == TensorFault.GLOBAL and (near := memory.nearest(number)) is not None:
        evidence = (f"nearest allocation: {near.id} of {near.size:,} bytes ({near.kind}) at {near.base:#x}",)
    check = "bounds" if kind in (TensorFault.GLOBAL, TensorFault.SHARED) else "tensor map"
    return check, message.format(number), evidence, next_step
