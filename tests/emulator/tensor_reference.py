"""Copies of boxes of tensors, element by element in Python: what `emulator.tensor_copies` must do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from lanewise.emulator.tensor_maps import ElementType, TensorMap

Bytes = npt.NDArray[np.uint8]


def places(tensor: TensorMap, start: Sequence[int], offsets: Sequence[int] = ()) -> Iterator[tuple[int, ...]]:
    """Coordinates of dimensions 1 and up that a copy goes through, in the order of its rows in shared memory."""
    if not tensor.is_im2col:
        ranges = [
            range(at, at + size, step)
            for at, size, step in zip(start[1:], tensor.box[1:], tensor.steps[1:], strict=True)
        ]
        for reversed_place in product(*reversed(ranges)):
            yield tuple(reversed(reversed_place))
        return
    current = list(start[1:])
    for _ in range(tensor.pixels):
        moved = [at + offset for at, offset in zip(current[:-1], offsets, strict=True)]
        yield (*moved, current[-1])
        for d, lower in enumerate(tensor.lower):
            current[d] += tensor.steps[d + 1]
            if current[d] < tensor.dims[d + 1] + tensor.upper[d]:
                break
            current[d] = lower
        else:
            current[-1] += tensor.steps[-1]


def swizzled(tensor: TensorMap, offset: int) -> int:
    """Where a byte of shared memory goes: 16-byte chunks are exchanged by the number of the 128-byte line."""
    return offset ^ ((offset >> 7 & (1 << tensor.swizzle) - 1) << 4)


def unit(tensor: TensorMap) -> int:
    """Bytes that an index of dimension 0 stands for: an element, or a slice of channels."""
    return 16 << tensor.interleave - 1 if tensor.interleave else ElementType(tensor.type).size


def elements(
    tensor: TensorMap, start: Sequence[int], offsets: Sequence[int] = (), place: int = 0
) -> Iterator[tuple[int, int | None]]:
    """For each element (of slices of 32 bytes: each half) its offset in shared memory, and that from the start of the
    tensor; None outside it."""
    size = unit(tensor)
    stretch = 1
    if tensor.interleave:
        stretch = tensor.steps[0]
        tensor = replace(tensor, box=(-(-tensor.box[0] // stretch), *tensor.box[1:-2], 1, tensor.box[-1]))
    span = 16 << tensor.swizzle if tensor.swizzle else 0
    pitch = max(tensor.row * size, span)
    for number, coordinates in enumerate(places(tensor, start, offsets)):
        inside = all(0 <= at < dim for at, dim in zip(coordinates, tensor.dims[1:], strict=True))
        row = sum(at * stride for at, stride in zip(coordinates, tensor.strides, strict=True))
        for i in range(tensor.row):
            x = start[0] + i * stretch
            there = inside and 0 <= x < tensor.dims[0]
            for part in range(0, size, 16):
                shared = swizzled(tensor, place + number * pitch + i * size + part)
                yield shared, row + x * size + part if there else None


def load(
    tensor: TensorMap, memory: Bytes, room: Bytes, start: Sequence[int], offsets: Sequence[int] = (), place: int = 0
) -> None:
    """Shared memory after a load; `memory` starts at the tensor's address."""
    size = min(unit(tensor), 16)
    for shared, at in elements(tensor, start, offsets, place):
        room[shared : shared + size] = outside(tensor) if at is None else loaded(tensor, memory[at : at + size])


def outside(tensor: TensorMap) -> Bytes:
    """What an element outside the tensor reads as."""
    return np.resize(np.array([0xF7, 0x7F], np.uint8) if tensor.fill else np.zeros(2, np.uint8), min(unit(tensor), 16))


def loaded(tensor: TensorMap, element: Bytes) -> Bytes:
    """An element as it comes to shared memory: tf32 is rounded to the nearest, ties away from zero."""
    if tensor.type < ElementType.TFLOAT32:
        return element
    word = int(element.view(np.uint32)[0])
    if word >> 23 & 0xFF != 0xFF:
        word = (word + 0x1000) & 0xFFFFE000
    return np.array([word], np.uint32).view(np.uint8)


def store(
    tensor: TensorMap, memory: Bytes, room: Bytes, start: Sequence[int], offsets: Sequence[int] = (), place: int = 0
) -> None:
    """Global memory after a store."""
    size = min(unit(tensor), 16)
    for shared, at in elements(tensor, start, offsets, place):
        if at is not None:
            memory[at : at + size] = room[shared : shared + size]
