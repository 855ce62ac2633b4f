"""A texture of f32 on the emulated device: the CUDA array in its tiles, and the record that its handle points to."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.textures.record import (
    GEOMETRIES,
    TEXTURE_MAGIC,
    TILE_BYTES,
    TILE_ROWS,
    TILE_SIZE,
    AddressMode,
    Decode,
    Texture,
)
from lanewise.ladder.expressions import cdiv

Array = np.ndarray[Any, np.dtype[Any]]


def make(memory: DeviceMemory, image: Array, name: str) -> tuple[int, tuple[int, ...]]:
    """A texture object over a copy of `image` (rows x columns, f32): its handle, and the bases to free afterwards.

    Unfiltered, read by whole coordinates, clamped at the edges: cudaReadModeElementType of a two-dimensional array.
    """
    rows, columns = image.shape
    pitch = cdiv(4 * columns, TILE_BYTES) * TILE_BYTES
    tiled = np.zeros(pitch * cdiv(rows, TILE_ROWS) * TILE_ROWS, np.uint8)
    y, x = np.meshgrid(np.arange(rows), 4 * np.arange(columns), indexing="ij")
    tiled.view(np.float32)[offset(x, y, pitch) // 4] = image
    array = memory.allocate(max(1, tiled.nbytes), name=name)
    memory.write(array.base, tiled.tobytes())
    record = bytearray(Texture.SIZE)
    for at, value in ((Texture.MAGIC, TEXTURE_MAGIC), (Texture.BASE, array.base), (Texture.PITCH, pitch)):
        struct.pack_into("<Q", record, at, value)
    struct.pack_into("<Q", record, Texture.SLICE, tiled.nbytes)
    for at, value in (
        (Texture.WIDTH, columns),
        (Texture.HEIGHT, rows),
        (Texture.DEPTH, 1),
        (Texture.GEOMETRY, GEOMETRIES.index("2d")),
        (Texture.TILED, 1),
        (Texture.ELEMENT, 4),
        (Texture.CHANNELS, 1),
        (Texture.DECODE, Decode.WORD),
        *((Texture.ADDRESS + 4 * axis, AddressMode.CLAMP) for axis in range(3)),
    ):
        struct.pack_into("<I", record, at, value)
    handle = memory.allocate(Texture.SIZE, name=f"texture object of {name}")
    memory.write(handle.base, bytes(record))
    return handle.base, (array.base, handle.base)


def offset(x: Array, y: Array, pitch: int) -> Array:
    """Bytes from the start of a tiled array to byte `x` of row `y`: `emulator/textures/record.py` has the tiles."""
    of_tile = y // TILE_ROWS * (pitch * TILE_ROWS) + x // TILE_BYTES * TILE_SIZE
    in_tile = x % TILE_BYTES // 32 * 256 + y % TILE_ROWS // 2 * 64 + x % 32 // 16 * 32 + y % 2 * 16 + x % 16
    at: Array = of_tile + in_tile
    return at
