"""Tensor maps: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make, and the rules that they check.

A map is 128 opaque bytes; the layout here is this emulator's own (`Layout`). Rules: CUDA driver API, "Tensor Map Object
Management"; what the documentation leaves open is as an H200 with a driver for CUDA 13.0 does it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from math import prod

BYTES = 128
ALIGNMENT = 64  # of a map in memory
MAX_RANK = 5
MAX_BOX = 256
MAX_STEP = 8
MAX_PIXELS = 1024
MAX_BYTES = 228 << 10  # of a box: the shared memory of a multiprocessor; no documentation says so, an H200 does
DOCUMENT = "CUDA driver API, Tensor Map Object Management"


class ElementType(IntEnum):
    """CUtensorMapDataType, as far as compute capability 9.0 has it."""

    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    INT32 = 3
    UINT64 = 4
    INT64 = 5
    FLOAT16 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    BFLOAT16 = 9
    FLOAT32_FTZ = 10
    TFLOAT32 = 11
    TFLOAT32_FTZ = 12

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return _SIZES[self]

    @property
    def is_float(self) -> bool:
        return self >= ElementType.FLOAT16


_SIZES = dict(zip(ElementType, (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4), strict=True))


class Interleave(IntEnum):
    """CUtensorMapInterleave: slices of 16 or 32 bytes of channels are the innermost dimension."""

    NONE = 0
    BYTES_16 = 1
    BYTES_32 = 2


class Swizzle(IntEnum):
    """CUtensorMapSwizzle: chunks of 16 bytes are exchanged within spans of 32, 64 or 128 bytes."""

    NONE = 0
    SPAN_32 = 1
    SPAN_64 = 2
    SPAN_128 = 3

    @property
    def span(self) -> int:
        return 16 << self if self else 0


@dataclass(frozen=True, slots=True)
class TensorMap:
    """One tensor and the box or the column of pixels that a copy moves. Dimension 0 is the innermost.

    `strides` are the bytes from one index to the next of dimensions 1 and up. Tiled maps have a `box`; im2col maps have
    `lower` and `upper` (corners of the box of pixels, for the dimensions between the first and the last), `channels`
    and `pixels`.
    """

    type: int
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    steps: tuple[int, ...]
    box: tuple[int, ...] = ()
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    is_im2col: bool = False

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def row(self) -> int:
        """Elements of the innermost dimension that a copy moves at each place."""
        return self.channels if self.is_im2col else self.box[0]

    @property
    def rows(self) -> int:
        """Places that a copy moves: boxes count every `steps`-th index."""
        if self.is_im2col:
            return self.pixels
        return prod(-(-size // step) for size, step in zip(self.box[1:], self.steps[1:], strict=True))


class Layout:
    """Where the fields of an encoded map lie."""

    MAGIC = 0  # u32
    IM2COL, TYPE, RANK, SIZE = 4, 5, 6, 7  # u8; the size of what an index of dimension 0 stands for
    ADDRESS = 8  # u64
    STRIDES = 16  # u64 x 4
    LAST = 48  # u32 x 5: size of each dimension less 1
    INTERLEAVE, SWIZZLE, FILL, PROMOTION = 68, 69, 70, 71  # u8
    BOX = 72  # u16 x 5; of an im2col map: channels, pixels
    STEPS = 82  # u8 x 5
    LOWER, UPPER = 88, 94  # i16 x 3
    CHECK = 124  # u32


MAGIC = 0x4D57_4C54
_FORMAT = struct.Struct("<I4BQ4Q5I4B5H5Bx3h3h24xI")
assert _FORMAT.size == BYTES


def checksum(data: bytes) -> int:
    """Of the words before it: a map that was written over is found."""
    total = 0
    for word in struct.unpack("<31I", data[: Layout.CHECK]):
        total = (total * 31 + word) & 0xFFFFFFFF
    return total


def encode(tensor: TensorMap) -> bytes:
    """The bytes of a map that `problem` finds nothing wrong with."""

    def padded(values: tuple[int, ...], count: int, value: int) -> tuple[int, ...]:
        return (*values, *(value,) * (count - len(values)))

    box, size, steps = tensor.box, ElementType(tensor.type).size, tensor.steps
    if not tensor.interleave:
        steps = (1, *steps[1:])  # dimension 0 has none
    if tensor.is_im2col:
        box = (tensor.channels, tensor.pixels)
    elif tensor.interleave:  # an index of dimension 0 is a slice; of the one but last dimension one slice is moved
        box, size = (-(-box[0] // steps[0]), *box[1:-2], 1, box[-1]), 16 << tensor.interleave - 1
    body = _FORMAT.pack(
        MAGIC,
        int(tensor.is_im2col),
        tensor.type,
        tensor.rank,
        size,
        tensor.address,
        *padded(tensor.strides, 4, 0),
        *(size - 1 for size in padded(tensor.dims, 5, 1)),
        tensor.interleave,
        tensor.swizzle,
        tensor.fill,
        tensor.promotion,
        *padded(box, 5, 1),
        *padded(steps, 5, 1),
        *padded(tensor.lower, 3, 0),
        *padded(tensor.upper, 3, 0),
        0,
    )
    return body[: Layout.CHECK] + struct.pack("<I", checksum(body))


def decode(data: bytes) -> TensorMap | None:
    """The map that `encode` made; None where the bytes are not one."""
    if len(data) != BYTES:
        return None
    fields = _FORMAT.unpack(data)
    if fields[0] != MAGIC or fields[-1] != checksum(data):
        return None
    im2col, kind, rank, _, address = fields[1:6]
    strides, last, modes, box, steps = fields[6:10], fields[10:15], fields[15:19], fields[19:24], fields[24:29]
    lower, upper = fields[29:32], fields[32:35]
    pixels = rank - 2 if im2col else 0
    return TensorMap(
        type=kind,
        address=address,
        dims=tuple(size + 1 for size in last[:rank]),
        strides=strides[: rank - 1],
        steps=steps[:rank],
        box=() if im2col else box[:rank],
        lower=lower[:pixels],
        upper=upper[:pixels],
        channels=box[0] if im2col else 0,
        pixels=box[1] if im2col else 0,
        interleave=modes[0],
        swizzle=modes[1],
        promotion=modes[3],
        fill=modes[2],
        is_im2col=bool(im2col),
    )


def problem(tensor: TensorMap) -> str | None:
    """The rule that a map breaks, in words; None where it breaks none."""
    for rule in (_kinds, _rank, _address, _dimensions, _steps, _im2col if tensor.is_im2col else _tiled, _row, _fill):
        found = rule(tensor)
        if found is not None:
            return found
    return None


def _kinds(tensor: TensorMap) -> str | None:
    for what, value, values in (
        ("tensorDataType", tensor.type, len(ElementType)),
        ("interleave", tensor.interleave, len(Interleave)),
        ("swizzle", tensor.swizzle, len(Swizzle)),
        ("l2Promotion", tensor.promotion, 4),
        ("oobFill", tensor.fill, 2),
    ):
        if not 0 <= value < values:
            return f"{what} = {value}, and compute capability 9.0 has 0 to {values - 1}"
    return None


def _rank(tensor: TensorMap) -> str | None:
    least = 3 if tensor.is_im2col or tensor.interleave else 1
    if not least <= tensor.rank <= MAX_RANK:
        why = " of an im2col or interleaved tensor" if least == 3 else ""
        return f"tensorRank = {tensor.rank}, and that{why} is {least} to {MAX_RANK}"
    return None


def _address(tensor: TensorMap) -> str | None:
    unit = 32 if tensor.interleave == Interleave.BYTES_32 else 16
    if tensor.address % unit:
        return f"globalAddress {tensor.address:#x} is not a multiple of {unit}"
    for number, stride in enumerate(tensor.strides):
        if stride % unit:
            return f"globalStrides[{number}] = {stride:,} bytes is not a multiple of {unit}"
        if stride >= 1 << 40:
            return f"globalStrides[{number}] = {stride:,} bytes is not less than 2^40"
    return None


def _dimensions(tensor: TensorMap) -> str | None:
    for number, size in enumerate(tensor.dims):
        if not 1 <= size <= 1 << 32:
            return f"globalDim[{number}] = {size:,}, and a dimension is 1 to 2^32"
    return None


def _steps(tensor: TensorMap) -> str | None:
    for number, step in enumerate(tensor.steps):
        if not 1 <= step <= MAX_STEP:
            return f"elementStrides[{number}] = {step}, and a step is 1 to {MAX_STEP}"
    return None


def _tiled(tensor: TensorMap) -> str | None:
    for number, size in enumerate(tensor.box):
        if not 1 <= size <= MAX_BOX:
            return f"boxDim[{number}] = {size}, and a box has 1 to {MAX_BOX} elements in each dimension"
    return None


def _im2col(tensor: TensorMap) -> str | None:
    low = {3: -32768, 4: -128, 5: -16}[tensor.rank]
    for what, corner in (("pixelBoxLowerCorner", tensor.lower), ("pixelBoxUpperCorner", tensor.upper)):
        for number, offset in enumerate(corner):
            if not low <= offset < -low:
                return f"{what}[{number}] = {offset}, and at rank {tensor.rank} a corner is {low} to {-low - 1}"
    for number, (lower, upper) in enumerate(zip(tensor.lower, tensor.upper, strict=True)):
        size = tensor.dims[number + 1]
        if size + upper - lower < 1:
            return f"the box of pixels is empty: from {lower} to {size} + {upper} in dimension {number + 1}"
    if not 1 <= tensor.channels <= MAX_BOX:
        return f"channelsPerPixel = {tensor.channels}, and it is 1 to {MAX_BOX}"
    if not 1 <= tensor.pixels <= MAX_PIXELS:
        return f"pixelsPerColumn = {tensor.pixels}, and it is 1 to {MAX_PIXELS}"
    return None


def _row(tensor: TensorMap) -> str | None:
    """The innermost dimension of the box: whole chunks of 16 bytes, within the span of the swizzle."""
    bytes_ = tensor.row * ElementType(tensor.type).size
    what = "channelsPerPixel" if tensor.is_im2col else "boxDim[0]"
    if bytes_ % 16:
        return f"{what} x element size = {bytes_} bytes is not a multiple of 16"
    if tensor.rows * bytes_ > MAX_BYTES:
        return f"{tensor.rows} x {bytes_} = {tensor.rows * bytes_:,} bytes of a box > {MAX_BYTES:,}, what a SM has"
    if tensor.interleave:
        return None
    span = Swizzle(tensor.swizzle).span
    if span and bytes_ > span:
        return f"{what} x element size = {bytes_} bytes > {span}, the span of the swizzle"
    return None


def _fill(tensor: TensorMap) -> str | None:
    if tensor.fill and not ElementType(tensor.type).is_float:
        return f"oobFill asks for NaN, and {ElementType(tensor.type).name} is no type of floats"
    return None
