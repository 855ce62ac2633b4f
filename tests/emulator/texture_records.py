"""Textures without a host program: records and tiled arrays in device memory, and kernels that read them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

import lanewise
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.textures.record import GEOMETRIES, TEXTURE_MAGIC, Decode, Texture

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]
WRAP, CLAMP, MIRROR, BORDER = range(4)
# geometry -> the coordinates of tex as registers
COORDINATES = {"1d": "%f0", "2d": "%f0, %f1", "3d": "%f0, %f1, %f2, %f2", "a1d": "%r4, %f0",
               "a2d": "%r4, %f0, %f1, %f1", "cube": "%f0, %f1, %f2, %f2", "acube": "%r4, %f0, %f1, %f2"}  # fmt: skip
AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
TYPES = {Decode.U8: np.uint8, Decode.U16: np.uint16, Decode.S8: np.int8, Decode.S16: np.int16, Decode.F16: np.float16,
         Decode.UNORM8: np.uint8, Decode.UNORM16: np.uint16, Decode.SNORM8: np.int8, Decode.SNORM16: np.int16,
         Decode.SRGB8: np.uint8}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """A texture: `texels` of shape (layers or slices, rows, columns, channels), and how it is read."""

    geometry: str
    decode: Decode
    texels: npt.NDArray[np.generic]
    linear: bool = False
    normalized: bool = False
    modes: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    border: tuple[int, int, int, int] = (0, 0, 0, 0)  # bits of the channels


def place(memory: DeviceMemory, setting: Setting, *, magic: int = TEXTURE_MAGIC, tiled: bool = True) -> int:
    """Lay the texels out in tiles, or as linear memory, and describe them; returns the handle."""
    depth, height, width, channels = setting.texels.shape
    element = setting.texels.itemsize * channels
    pitch = -(-width * element // 64) * 64
    rows = -(-height // 8) * 8 if tiled else height
    array = memory.allocate(pitch * rows * depth, kind="array")
    data = memoryview(bytearray(pitch * rows * depth))
    raw = setting.texels.reshape(depth, height, -1).view(np.uint8).reshape(depth, height, width * element)
    for z, y in np.ndindex(depth, height):
        for x in range(width * element):
            at = pitch * rows * z + x
            if tiled:
                tile = pitch * rows * z + y // 8 * pitch * 8 + x // 64 * 512
                at = tile + x % 64 // 32 * 256 + y % 8 // 2 * 64 + x % 32 // 16 * 32 + y % 2 * 16 + x % 16
            data[at] = int(raw[z, y, x])
    memory.write(array.base, bytes(data))
    record = bytearray(Texture.SIZE)
    fields = {
        Texture.WIDTH: width, Texture.HEIGHT: height, Texture.DEPTH: depth, Texture.TILED: int(tiled),
        Texture.GEOMETRY: GEOMETRIES.index(setting.geometry), Texture.ELEMENT: element, Texture.CHANNELS: channels,
        Texture.DECODE: setting.decode, Texture.LINEAR: int(setting.linear),
        Texture.NORMALIZED: int(setting.normalized),
    }  # fmt: skip
    fields |= {Texture.ADDRESS + 4 * axis: mode for axis, mode in enumerate(setting.modes)}
    fields |= {Texture.BORDER + 4 * channel: bits for channel, bits in enumerate(setting.border)}
    for offset, value in fields.items():
        struct.pack_into("<I", record, offset, value)
    wide = ((Texture.MAGIC, magic), (Texture.BASE, array.base), (Texture.PITCH, pitch), (Texture.SLICE, pitch * rows))
    for offset, value in wide:
        struct.pack_into("<Q", record, offset, value)
    handle = memory.allocate(Texture.SIZE, kind="texture" if magic == TEXTURE_MAGIC else "surface")
    memory.write(handle.base, bytes(record))
    return handle.base


_HEAD = """.version 8.6
.target sm_90
.address_size 64
"""
_BODY = """.visible .entry {name}(.param .u64 handle, .param .u64 given, .param .u64 results, .param .u32 count) {{
 .reg .pred %p<2>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<12>;
 ld.param.u64 %d0, [handle]; ld.param.u64 %d1, [given]; ld.param.u64 %d2, [results]; ld.param.u32 %r0, [count];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;
 setp.ge.u32 %p1, %r1, %r0;
 @%p1 bra DONE;
 mul.wide.u32 %d3, %r1, 16; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
 {load}
 {text}
 st.global.v4.b32 [%d5], {{%r8, %r9, %r10, %r11}};
DONE:
 ret;
}}
"""
FLOATS = "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d4]; mov.b32 %f0, %r5; mov.b32 %f1, %r6; mov.b32 %f2, %r7;"
WHOLE = "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d4];"


def kernel(name: str, text: str, load: str = FLOATS) -> str:
    """A kernel that runs `text` for each row of `given`: a layer (%r4), then x, y and z (%f0 to %f2, or %r5 to %r7).
    Results are %r8 to %r11; %d0 is the handle."""
    return _BODY.format(name=name, text=text, load=load)


@cache
def module() -> lanewise.api.Module:
    text = _HEAD
    for geometry, coordinates in COORDINATES.items():
        text += kernel(
            f"tex_{geometry}", f"tex.{geometry}.v4.u32.f32 {{%r8, %r9, %r10, %r11}}, [%d0, {{{coordinates}}}];"
        )
    for channel in "rgba":
        text += kernel(
            f"tld4_{channel}", f"tld4.{channel}.2d.v4.u32.f32 {{%r8, %r9, %r10, %r11}}, [%d0, {{%f0, %f1}}];"
        )
    text += kernel("fetch_1d", "tex.1d.v4.u32.s32 {%r8, %r9, %r10, %r11}, [%d0, {%r5}];", WHOLE)
    asked = ("width", "height", "channel_data_type", "channel_order")
    text += kernel("query", " ".join(f"txq.{name}.b32 %r{8 + n}, [%d0];" for n, name in enumerate(asked)), WHOLE)
    for mode in ("zero", "clamp", "trap"):
        text += kernel(
            f"suld_{mode}",
            f"suld.b.2d.v2.b16.{mode} {{%h0, %h1}}, [%d0, {{%r5, %r6}}]; cvt.u32.u16 %r8, %h0; cvt.u32.u16 %r9, %h1; "
            f"suld.b.2d.b32.{mode} %r10, [%d0, {{%r5, %r6}}]; mov.u32 %r11, 0;",
            WHOLE,
        )
        text += kernel(
            f"sust_{mode}",
            f"sust.b.2d.b32.{mode} [%d0, {{%r5, %r6}}], %r7; mov.u32 %r8, 0; mov.u32 %r9, 0; mov.u32 %r10, 0; "
            "mov.u32 %r11, 0;",
            WHOLE,
        )
    text += kernel(
        "sured",
        "sured.b.2d.add.u32.clamp [%d0, {%r5, %r6}], %r7; sured.b.2d.max.s32.zero [%d0, {%r5, %r6}], %r7; "
        "mov.u32 %r8, 0; mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;",
        WHOLE,
    )
    return lanewise.compile(text)


def memory() -> DeviceMemory:
    return module()["query"].device.memory


def run(name: str, handle: int, given: npt.NDArray[np.uint32]) -> tuple[Words, lanewise.Record]:
    """Results of a kernel, four words a row of `given`; and the record of the launch."""
    count = len(given)
    results = np.full((count, 4), 0xCDCDCDCD, np.uint32)
    record = module()[name][-(-count // 32), 32](np.uint64(handle), given, results, np.uint32(count))
    return results, record


def rows(layer: npt.NDArray[np.int64], *axes: npt.NDArray[np.float32]) -> Words:
    """Rows for a kernel with float coordinates."""
    given = np.zeros((len(layer), 4), np.uint32)
    given[:, 0] = layer.astype(np.int32).view(np.uint32)
    for axis, values in enumerate(axes):
        given[:, 1 + axis] = values.astype(np.float32).view(np.uint32)
    return given
