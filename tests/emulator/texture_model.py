"""The texture unit of an H200 in numpy: positions, weights, sums. Written from measurements, for single reads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from texture_records import AXES, BORDER, CLAMP, MIRROR, TYPES, WRAP, Setting

from lanewise.emulator.textures.record import Decode

Ints = npt.NDArray[np.int64]


def expected(setting: Setting, layer: Ints, *axes: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """What each read gives, four words a row."""
    depth, height, width, channels = setting.texels.shape
    count = AXES[setting.geometry]
    lines = list(zip(axes, (width, height, depth), setting.modes, strict=False))[:count]
    slices = (
        np.minimum(layer.astype(np.uint32), depth - 1).astype(np.int64) if setting.geometry[0] == "a" else 0 * layer
    )
    positions = [position(values, size, mode, setting.normalized) for values, size, mode in lines]
    result = np.zeros((len(layer), 4), np.uint32)
    if not setting.linear:
        places = [
            settle(np.floor(p).astype(np.int64), size, mode)
            for p, (_, size, mode) in zip(positions, lines, strict=True)
        ]
        for channel in range(channels):
            raw = read(setting, channel, slices, [p for p, _ in places], [inside for _, inside in places])
            result[:, channel] = decode(setting.decode, raw)
        return result
    low, high, shares = [], [], []
    for p, (_, size, mode) in zip(positions, lines, strict=True):
        fixed = np.floor(p * 256 - 127.5).astype(np.int64)
        low.append(settle(fixed >> 8, size, mode))
        high.append(settle((fixed >> 8) + 1, size, mode))
        same = (low[-1][0] == high[-1][0]) & (mode == CLAMP)
        shares.append(np.where(same, 0, fixed & 255))
    if count == 1:
        border = setting.modes[1] == BORDER and setting.geometry == "1d"
        nothing = np.zeros_like(layer)
        low.append((nothing, np.full(len(layer), not border)))
        high.append((nothing, np.full(len(layer), True)))
        shares.append(nothing + (128 if border else 0))
    weights = split(*shares)
    for channel in range(channels):
        raws = []
        for corner in range(len(weights)):
            chosen = [high[axis] if corner >> axis & 1 else low[axis] for axis in range(len(low))]
            places, inside = [p for p, _ in chosen][: max(count, 1)], [i for _, i in chosen]
            raws.append(read(setting, channel, slices, places, inside))
        result[:, channel] = combine(setting.decode, channel, raws, weights)
    return result


def position(values: npt.NDArray[np.float32], size: int, mode: int, normalized: bool) -> npt.NDArray[np.float64]:
    """In texels. Normalized ones have 21 bits behind the point, in large textures 22 or 23."""
    small = ~(np.abs(values) >= np.float32(2.0**-126))
    given = np.where(small, np.float32(0), values).astype(np.float64)
    if not normalized:
        return np.clip(given, -(2.0**31), 2.0**31)
    bits = 21 + (size > 8192) + (size > 65536)
    if mode in (WRAP, MIRROR):
        period = 2 if mode == MIRROR else 1
        with np.errstate(invalid="ignore"):
            given = given - period * np.floor(given / period)
        given = np.where(np.isnan(given), 0, given)
        given = np.minimum(np.floor(given * 2.0**bits) / 2.0**bits, period - 2.0**-bits)
    else:
        given = np.floor(np.clip(given, -(2.0**31), 2.0**31) * 2.0**bits) / 2.0**bits
    return np.clip(given * size, -(2.0**31), 2.0**31)


def settle(index: Ints, size: int, mode: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    inside = (index >= 0) & (index < size)
    clamped = np.clip(index, 0, size - 1)
    if mode == WRAP:
        return np.where(inside, index, np.where(index < 0, size - 1, 0)), inside | True
    if mode == MIRROR:
        return np.maximum(np.where(index < size, index, 2 * size - 1 - index), 0), inside | True
    return clamped, inside | (mode != BORDER)


def read(setting: Setting, channel: int, slices: Ints, places: list[Ints], inside: list[npt.NDArray[np.bool_]]) -> Ints:
    """Bits of a channel, or the border's."""
    x, y, z = (*places, 0 * slices, slices)[:3] if len(places) < 3 else places
    texel = setting.texels[z if len(places) > 2 else slices, y if len(places) > 1 else 0 * slices, x, channel]
    bits = texel.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[texel.itemsize]).astype(np.int64)
    return np.where(np.logical_and.reduce(inside), bits, setting.border[channel])


def split(x: Ints, y: Ints, z: Ints | None = None) -> list[Ints]:
    """Weights of the corners, x fastest: depth first, then across, then down."""

    def part(total: Ints, share: Ints) -> Ints:
        return (total * share + 128) >> 8

    result = []
    for total in [0 * x + 256] if z is None else [256 - z, z]:
        right = part(total, x)
        left = total - right
        lower_right, upper_left = part(right, y), part(left, 256 - y)
        result += [upper_left, right - lower_right, left - upper_left, lower_right]
    return result


def number(kind: Decode, raw: Ints) -> npt.NDArray[np.generic]:
    narrow = {1: np.uint8, 2: np.uint16}[np.dtype(TYPES[kind]).itemsize]
    return raw.astype(narrow).view(TYPES[kind])


def decode(kind: Decode, raw: Ints) -> npt.NDArray[np.uint32]:
    if kind == Decode.WORD:
        return raw.astype(np.uint32)
    value = number(kind, raw)
    if kind in (Decode.U8, Decode.U16, Decode.S8, Decode.S16):
        return value.astype(np.int32).view(np.uint32)
    if kind == Decode.F16:
        return value.astype(np.float32).view(np.uint32)
    most = {Decode.UNORM8: 255, Decode.UNORM16: 65535, Decode.SNORM8: 127, Decode.SNORM16: 32767}[kind]
    return np.maximum(value.astype(np.float32) / np.float32(most), np.float32(-1)).view(np.uint32)


def combine(kind: Decode, channel: int, raws: list[Ints], weights: list[Ints]) -> npt.NDArray[np.uint32]:
    """The weighted mean, as bits."""
    if kind in (Decode.UNORM8, Decode.UNORM16, Decode.SNORM16):
        scale = 257 if kind == Decode.UNORM8 else 1
        numbers = [np.maximum(number(kind, raw).astype(np.int64) * scale, -32767) for raw in raws]
        total = (sum(w * n for w, n in zip(weights, numbers, strict=True)) + 128) >> 8
        most = 32767 if kind == Decode.SNORM16 else 65535
        return (total / most).astype(np.float32).view(np.uint32)
    if kind == Decode.SNORM8:
        total = np.asarray(sum(w * number(kind, r).astype(np.int64) for w, r in zip(weights, raws, strict=True)))
        wide = total + ((total + 64 + 16 * (total >> 12)) >> 7)
        return (np.maximum(wide, -32767) / 32767).astype(np.float32).view(np.uint32)
    half = kind == Decode.F16
    values = [(number(kind, r) if half else r.astype(np.uint32).view(np.float32)).astype(np.float64) for r in raws]
    total = sum(aligned(values[at : at + 4], weights[at : at + 4], half) for at in range(0, len(values), 4))
    return rounded(np.asarray(total), half).astype(np.float32).view(np.uint32)


def aligned(values: list[npt.NDArray[np.float64]], weights: list[Ints], half: bool) -> npt.NDArray[np.float64]:
    """Cut to 15 or 28 bits below the exponent of the largest texel that counts."""
    exponents = [np.where((v != 0) & (w > 0), np.frexp(v)[1], -126) for v, w in zip(values, weights, strict=True)]
    largest = np.maximum.reduce(exponents)
    if half:
        largest = np.maximum(largest, -13)
    step = 2.0 ** (largest - (15 if half else 28)).astype(np.float64)
    total = sum(w * np.trunc(v / step) for v, w in zip(values, weights, strict=True))
    return np.asarray(total * step / 256)


def rounded(value: npt.NDArray[np.float64], half: bool) -> npt.NDArray[np.float64]:
    """To nearest, ties away from zero."""
    exponent = np.frexp(value)[1] - (11 if half else 24)
    step = 2.0 ** np.maximum(exponent, -24 if half else -149).astype(np.float64)
    return np.copysign(np.floor(np.abs(value) / step + 0.5) * step, value)
