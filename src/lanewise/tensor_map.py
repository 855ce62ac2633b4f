"""Tensor maps as arguments of kernels in Python: what cuTensorMapEncodeTiled and its kin make in C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.emulator import tensor_maps
from lanewise.emulator.tensor_maps import ElementType, Interleave, Swizzle
from lanewise.errors import UsageError

_TYPES = {
    "u1": ElementType.UINT8,
    "u2": ElementType.UINT16,
    "u4": ElementType.UINT32,
    "i4": ElementType.INT32,
    "u8": ElementType.UINT64,
    "i8": ElementType.INT64,
    "f2": ElementType.FLOAT16,
    "f4": ElementType.FLOAT32,
    "f8": ElementType.FLOAT64,
}


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map of an array, for a `__grid_constant__ const CUtensorMap` parameter.

    The array's last axis is dimension 0; `box`, `steps` and corners have dimension 0 first, as in CUDA. `type` is an
    `ElementType` where numpy has none (bfloat16, tf32); `swizzle` and `interleave` are bytes: 0, 32, 64 or 128, and 0,
    16 or 32. Where slices of channels are interleaved the last axis is such a slice, and the one before it dimension 0.
    Give `box` for tiles, or `lower`, `upper`, `channels` and `pixels` for im2col.
    """

    array: np.ndarray[Any, Any]
    box: Sequence[int] = ()
    lower: Sequence[int] = ()
    upper: Sequence[int] = ()
    channels: int = 0
    pixels: int = 0
    steps: Sequence[int] = ()
    type: ElementType | None = None
    swizzle: int = 0
    interleave: int = 0
    fill_nan: bool = False

    def encoded(self, address: int) -> bytes:
        """The 128 bytes of the map, with the array at an address of the device. UsageError where it breaks a rule."""
        kind = self.type if self.type is not None else _TYPES.get(self.array.dtype.str[1:])
        if kind is None:
            raise UsageError(f"there is no tensor map of {self.array.dtype}", next_step="give the type of its elements")
        try:
            swizzle = {0: Swizzle.NONE, 32: Swizzle.SPAN_32, 64: Swizzle.SPAN_64, 128: Swizzle.SPAN_128}[self.swizzle]
            interleave = {0: Interleave.NONE, 16: Interleave.BYTES_16, 32: Interleave.BYTES_32}[self.interleave]
        except KeyError as error:
            raise UsageError(
                f"there is no swizzle or interleave of {error} bytes",
                next_step="a swizzle is 0, 32, 64 or 128, an interleave 0, 16 or 32",
            ) from None
        dims, size = tuple(reversed(self.array.shape)), kind.size
        if interleave:
            if dims[:1] != (self.interleave // size,):
                raise UsageError(f"the array's last axis is not a slice of {self.interleave} bytes")
            dims, size = dims[1:], self.interleave
        strides = []
        for dim in dims[:-1]:
            size *= dim
            strides.append(size)
        tensor = tensor_maps.TensorMap(
            type=kind,
            address=address,
            dims=dims,
            strides=tuple(strides),
            steps=tuple(self.steps) or (1,) * len(dims),
            box=tuple(self.box),
            lower=tuple(self.lower),
            upper=tuple(self.upper),
            channels=self.channels,
            pixels=self.pixels,
            interleave=interleave,
            swizzle=swizzle,
            fill=int(self.fill_nan),
            is_im2col=not self.box,
        )
        for what, values, count in (
            ("box", tensor.box, 0 if tensor.is_im2col else tensor.rank),
            ("steps", tensor.steps, tensor.rank),
            ("lower", tensor.lower, tensor.rank - 2 if tensor.is_im2col else 0),
            ("upper", tensor.upper, tensor.rank - 2 if tensor.is_im2col else 0),
        ):
            if len(values) != count:
                raise UsageError(f"{what} has {len(values)} numbers where {count} are due")
        found = tensor_maps.problem(tensor)
        if found is not None:
            raise UsageError(f"no such tensor map can be made: {found}", next_step=f"see {tensor_maps.DOCUMENT}")
        return tensor_maps.encode(tensor)
