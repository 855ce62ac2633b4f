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
        f"a box lies at a multiple of 128 bytes, of an interleave of 32 bytes at one of 256 ({_ISA})",
    ),
    TensorFault.SHARED: (
        "a box at byte {:,} of shared memory goes beyond its end",
        "give the launch as many bytes of shared memory as the boxes take",
    ),
    TensorFault.BARRIER: (
        "the mbarrier of a copy, at byte {:,} of shared memory, is misaligned or outside",
        "an mbarrier is 8 bytes of shared memory at a multiple of 8 (PTX ISA 9.7.13.15.2)",
    ),
    TensorFault.GLOBAL: (
        "a copy of a box goes out of bounds of the memory that the tensor map names, at {:#x}",
        "dimensions and strides of the map must fit the allocation",
    ),
}


def words(kind: int, number: int, memory: DeviceMemory) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step) of a fault."""
    message, next_step = _WORDS[kind]
    evidence: tuple[str, ...] = ()
    if kind == TensorFault.GLOBAL and (near := memory.nearest(number)) is not None:
        evidence = (f"nearest allocation: {near.id} of {near.size:,} bytes ({near.kind}) at {near.base:#x}",)
    check = "bounds" if kind in (TensorFault.GLOBAL, TensorFault.SHARED) else "tensor map"
    return check, message.format(number), evidence, next_step
