"""Textures and surfaces in device memory: the record that a handle points to, and how arrays lie in memory.

A handle is the address of a record of `Texture.SIZE` bytes. CUDA arrays are stored in tiles of 64 bytes by 8 rows
(those of one row too), and in a tile each sector of 32 bytes is 16 bytes of two neighbouring rows, so that threads that
are close to each other in two dimensions share sectors. (How NVIDIA lays arrays out is not published; this layout is
the one that their open documentation of display surfaces calls block linear, and it reproduces the measured sectors.)
"""

from __future__ import annotations

from enum import IntEnum

TEXTURE_MAGIC = 0x4C57_5445_5854_0001
SURFACE_MAGIC = 0x4C57_5355_5246_0001

TILE_BYTES = 64  # of a row of a tile
TILE_ROWS = 8
TILE_SIZE = TILE_BYTES * TILE_ROWS


class Texture:
    """Offsets of the record; 32-bit integers where nothing else is said."""

    MAGIC = 0  # u64
    BASE = 8  # u64: address of the first byte
    WIDTH = 16  # elements
    HEIGHT = 20  # rows; 1 where there is one dimension
    DEPTH = 24  # slices or layers; faces are layers
    GEOMETRY = 28
    PITCH = 32  # u64: bytes from one row to the next
    SLICE = 40  # u64: bytes from one slice or layer to the next
    TILED = 48  # 1: in tiles
    ELEMENT = 52  # bytes
    CHANNELS = 56
    DECODE = 60
    ADDRESS = 64  # of x, y, z
    LINEAR = 76  # 1: linear filtering
    NORMALIZED = 80  # 1: coordinates are fractions of the extent
    BORDER = 88  # four channels, as bits of what a read gives
    DATA_TYPE = 104  # what txq and suq answer (PTX ISA 5.3)
    ORDER = 108
    SIZE = 128


class Decode(IntEnum):
    """How the bits of a channel become the 32 bits that a read gives."""

    U8 = 0
    U16 = 1
    WORD = 2
    S8 = 3
    S16 = 4
    F16 = 5
    UNORM8 = 6
    UNORM16 = 7
    SNORM8 = 8
    SNORM16 = 9
    SRGB8 = 10


class AddressMode(IntEnum):
    """As cudaTextureAddressMode."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube")


def c_header() -> str:
    """The record as the C side of the runtime library sees it (`texture_record.h`)."""
    fields = {name: value for name, value in vars(Texture).items() if name.isupper()}
    lines = [f"#define TEXTURE_{name} {value}" for name, value in fields.items()]
    lines += [f"#define DECODE_{item.name} {item.value}" for item in Decode]
    lines += [f"#define GEOMETRY_{name.upper()} {number}" for number, name in enumerate(GEOMETRIES)]
    lines += [f"#define TEXTURE_MAGIC_NUMBER {TEXTURE_MAGIC}ull", f"#define SURFACE_MAGIC_NUMBER {SURFACE_MAGIC}ull"]
    lines += [f"#define TILE_BYTES {TILE_BYTES}u", f"#define TILE_ROWS {TILE_ROWS}u"]
    return "\n".join(lines) + "\n"
