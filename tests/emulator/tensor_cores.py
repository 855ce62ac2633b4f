"""What matrix instructions do, in numpy: where elements lie in registers (PTX ISA 9.7.14), and their arithmetic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Raw = npt.NDArray[np.unsignedinteger[npt.NBitBase]]

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
        "s32": 32, "f64": 64}  # fmt: skip
EXPONENT_AND_MANTISSA = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "e4m3": (4, 3),
                         "e5m2": (5, 2)}  # fmt: skip


def elements(kind: str, registers: Raw) -> Raw:
    """(..., registers, 32 lanes) of 32 or 64 bits to (..., registers, 32, parts), lowest bits first."""
    bits = BITS[kind]
    whole = registers.dtype.itemsize * 8
    places = np.arange(0, whole, bits, dtype=registers.dtype)
    cut = registers[..., None] >> places
    return cut & registers.dtype.type((1 << bits) - 1) if bits < whole else cut


def number(kind: str, raw: Raw) -> Array:
    """The values of elements, as doubles."""
    bits = BITS[kind]
    if kind == "f64":
        return raw.view(np.float64)
    if kind == "s32":
        return raw.astype(np.uint32).view(np.int32).astype(np.float64)
    if kind[0] in "sub" and kind != "bf16":
        value = raw.astype(np.int64)
        return (value - ((value >> (bits - 1)) << bits if kind[0] == "s" else 0)).astype(np.float64)
    e, m = EXPONENT_AND_MANTISSA[kind]
    whole = raw.astype(np.int64) >> (13 if kind == "tf32" else 0)
    mantissa, exponent = whole & ((1 << m) - 1), whole >> m & ((1 << e) - 1)
    bias = (1 << (e - 1)) - 1
    normal = exponent > 0
    size = np.ldexp((mantissa + (normal << m)).astype(np.float64), np.where(normal, exponent, 1) - bias - m)
    if kind == "e4m3":
        size = np.where((exponent == 15) & (mantissa == 7), np.nan, size)
    else:
        size = np.where(exponent == (1 << e) - 1, np.where(mantissa == 0, np.inf, np.nan), size)
    return np.where(whole >> (e + m) & 1, -size, size)


def _lanes(parts: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(group, thread in group * parts + part) of each (lane, part)."""
    lane = np.arange(32)[:, None]
    return np.broadcast_to(lane // 4, (32, parts)), lane % 4 * parts + np.arange(parts)


def places_of_a(kind: str, m: int, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(row, column) of each (register, lane, part) of fragment a."""
    bits = BITS[kind]
    parts = max(32 // bits, 1)
    group, column = _lanes(parts)
    halves = m // 8
    rows, columns = [], []
    for register in range(m * k * bits // 1024 if bits < 64 else m * k // 32):
        rows.append(group + 8 * (register % halves))
        columns.append(column + 4 * parts * (register // halves))
    return np.array(rows), np.array(columns)


def places_of_b(kind: str, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(row, column) of each (register, lane, part) of fragment b."""
    columns, rows = places_of_a(kind, 8, k)
    return rows, columns


def places_of_c(kind: str, m: int, n: int = 8) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(row, column) of each (register, lane, part) of fragments c and d."""
    group, column = _lanes(2)
    rows, columns = [], []
    for first in range(0, n, 8):
        for half in range(m // 8):
            for odd in (0, 1) if kind != "f16" else (slice(0, 2),):
                rows.append(np.atleast_2d(group[:, odd].T).T + 8 * half)
                columns.append(np.atleast_2d(column[:, odd].T).T + first)
    return np.array(rows), np.array(columns)


def matrix(kind: str, registers: Raw, places: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> Array:
    """The matrix that fragments (..., registers, 32) hold."""
    rows, columns = places
    values = number(kind, elements(kind, registers))
    result = np.zeros((*registers.shape[:-2], rows.max() + 1, columns.max() + 1))
    result[..., rows, columns] = values
    return result


LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}


def _power(values: Array, kind: str) -> Array:
    """2^exponent, as tensor cores align by it; next to nothing for zeros."""
    exponent = np.frexp(np.abs(values))[1] - 1
    power = np.ldexp(1.0, np.maximum(exponent, LEAST[kind]))
    return np.where(values == 0, 2.0**-300, np.where(np.isfinite(values), power, np.inf))


def fused(a: Array, b: Array, c: Array, kinds: tuple[str, str, str], group: int = 0) -> Array:
    """a (..., m, k) times b (..., k, n) plus c as tensor cores of an H200 sum it: `group` products at once, or all.
    `kinds` are those of a, b, and of c and d."""
    kind_a, kind_b, kind_d = kinds
    eight = kind_a in ("e4m3", "e5m2")
    bits = 13 if eight else 25  # kept below the greatest exponent
    rounded = to_f16 if kind_d == "f16" else cut_to_13_bits if eight else toward_zero
    powers = _power(a, kind_a)[..., None] * _power(b, kind_b)[..., None, :, :]
    with np.errstate(invalid="ignore", over="ignore"):
        products = a[..., None] * b[..., None, :, :]
        for first in range(0, a.shape[-1], group or a.shape[-1]):
            some = slice(first, first + group if group else None)
            most = np.maximum(powers[..., some, :].max(-2), _power(c, kind_d))
            scale = np.where(np.isfinite(most), 2.0**bits / most, 0)
            cut = np.trunc(products[..., some, :] * scale[..., None, :]).sum(-2) + np.trunc(c * scale)
            plain = products[..., some, :].sum(-2) + c
            c = rounded(np.where(np.isfinite(plain), cut * most / 2.0**bits, plain))
    return c


def through_halves(a: Array, b: Array, c: Array, kind_d: str) -> Array:
    """mma.sync of 8-bit floats: two products of halves, then c is added."""
    first = np.arange(a.shape[-1]) % 4 < 2
    total = np.zeros_like(c)
    for some in (first, ~first):
        total = fused(a[..., some], b[..., some, :], total, ("f16", "f16", kind_d))
    with np.errstate(invalid="ignore", over="ignore"):
        return (to_f16 if kind_d == "f16" else to_f32)(total + c)


def toward_zero(values: Array) -> Array:
    """Cut to what an f32 holds."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = values.astype(np.float32)
        above = (np.abs(near.astype(np.float64)) > np.abs(values)) & (np.abs(values) < 2.0**128)
        return np.where(above, np.nextafter(near, np.float32(0)), near).astype(np.float64)


def cut_to_13_bits(values: Array) -> Array:
    """Cut to an f32 without its last ten bits."""
    bits = toward_zero(values).astype(np.float32).view(np.int32) & (-1 << 10)
    return bits.view(np.float32).astype(np.float64)


def to_f16(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float64)


def to_f32(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def exact_or_nan(found: Array, expected: Array) -> bool:
    """Equal, signs of zeros included; any NaN is one."""
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    return bool((same | (np.isnan(found) & np.isnan(expected))).all())


def random_floats(choose: np.random.Generator, kind: str, count: int, spread: int) -> Raw:
    """Raw elements of exponents within `spread` of 1; some zeros, subnormal numbers, infinities and NaNs from 40 on."""
    e, m = EXPONENT_AND_MANTISSA[kind]
    bias = (1 << (e - 1)) - 1
    span = min(spread % 40, bias - 1)
    exponent = choose.integers(bias - span, bias + span + 1, count)
    chance = choose.random(count)
    if spread >= 40:
        exponent = np.where(chance < 0.2, 0, np.where(chance > 0.995, (1 << e) - 1, exponent))
    mantissa = np.where((chance < 0.1) & (spread >= 40), 0, choose.integers(0, 1 << m, count))
    raw = choose.integers(0, 2, count) << (e + m) | exponent << m | mantissa
    return (raw << 13 | choose.integers(0, 1 << 13, count) if kind == "tf32" else raw).astype(np.uint64)


def random_registers(
    choose: np.random.Generator, kind: str, blocks: int, fragment: tuple[int, int], accumulator: bool = False
) -> Raw:
    """(blocks, registers, 32) of a type; blocks differ in how far numbers lie apart."""
    count, bits = fragment
    if kind == "f64":
        return choose.standard_normal((blocks, count, 32)).view(np.uint64)
    if kind not in EXPONENT_AND_MANTISSA:
        raw = choose.integers(0, 1 << 32, (blocks, count, 32), dtype=np.uint32)
        if accumulator:  # near the ends of the range in every other block
            raw[1::2] = 0x7FFFFFFF + (raw[1::2] & 1) - (raw[1::2] >> 20)
        return raw
    per = bits // BITS[kind]
    words = np.zeros((blocks, count, 32), np.uint64)
    for block in range(blocks):
        spread = (0, 1, 3, 8, 20, 39, 40, 43, 50, 70)[block % 10]
        for part in range(per):
            raw = random_floats(choose, kind, count * 32, spread).reshape(count, 32)
            words[block] |= raw << np.uint64(BITS[kind] * part)
    return words.astype(np.uint32)
