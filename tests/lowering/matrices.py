"""The list of matrix instructions that a card ran, with their inputs: registers, and memory for wmma and wgmma.

Inputs come from numpy's frozen generator (RandomState), seeded by the name of a case, so that the card and the emulator
see the same bits. Numbers are drawn in sixteen modes: exponents all alike or spread, mantissas of zeros or ones, zeros,
subnormals, numbers near the greatest, infinities and NaN, exact cancellation.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Raw = npt.NDArray[np.uint64]
Fragment = tuple[int, int]  # registers, bits of each

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8,
        "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23),
          "f64": (11, 52)}  # fmt: skip
IMAGE = 8192  # bytes of memory that a wmma load or store has to itself
SHARED = 49152  # bytes of shared memory of a wgmma case: one of four images
_SPAN = {0: 0, 1: 1 + 1, 2: 5, 3: 10, 5: 10, 12: 1, 13: 12, 15: 4}


@dataclass(frozen=True)
class Case:
    """One instruction: `text` is PTX with registers %i<operand>_<n> and %o0_<n>; `kind` says what the inputs are."""

    name: str
    kind: str  # registers, load, store, group
    text: str
    inputs: tuple[Fragment, ...]
    output: Fragment
    kinds: tuple[str, ...]  # types of the inputs, c last; of a load or store its one
    blocks: int
    details: dict[str, int] = field(default_factory=dict, compare=False, hash=False)

    @property
    def threads(self) -> int:
        return 128 if self.kind == "group" else 32


def vector(prefix: str, count: int) -> str:
    return "{" + ",".join(f"%{prefix}_{n}" for n in range(count)) + "}"


def _registers(name: str, text: str, fragments: tuple[Fragment, ...], d: Fragment, kinds: tuple[str, ...],
               blocks: int) -> Case:  # fmt: skip
    operands = ",".join((vector("o0", d[0]), *(vector(f"i{n}", f[0]) for n, f in enumerate(fragments))))
    return Case(name, "registers", f"{text} {operands};", fragments, d, kinds, blocks)


def _held(rows: int, columns: int, kind: str) -> Fragment:
    if kind == "f64":
        return rows * columns // 32, 64
    return rows * columns * BITS[kind] // 1024, 32


def _mma(m: int, k: int, a: str, b: str, c: str, head: str = "", tail: str = "") -> Case:
    name = f"m{m}n8k{k}_{a}_{b}_{c}{head}{tail}".replace(".", "_")
    text = f"mma.sync.aligned.m{m}n8k{k}.row.col{head}.{c}.{a}.{b}.{c}{tail}"
    fragments = (_held(m, k, a), _held(k, 8, b), _held(m, 8, c))
    return _registers(name, text, fragments, fragments[2], (a, b, c), 16)


def mma_cases() -> Iterator[Case]:
    for k in (8, 16):
        for c in ("f32", "f16"):
            yield _mma(16, k, "f16", "f16", c)
        yield _mma(16, k, "bf16", "bf16", "f32")
        yield _mma(16, k // 2, "tf32", "tf32", "f32")
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for c in ("f32", "f16"):
                for k in (16, 32):
                    yield _mma(16, k, a, b, c)
    for m, k in ((8, 4), (16, 4), (16, 8), (16, 16)):
        yield _mma(m, k, "f64", "f64", "f64")
    for bits, shapes in ((8, ((8, 16), (16, 16), (16, 32))), (4, ((8, 32), (16, 32), (16, 64)))):
        for m, k in shapes:
            for a in (f"s{bits}", f"u{bits}"):
                for head in ("", ".satfinite"):
                    yield _mma(m, k, a, a, "s32", head)
    for m, k in ((8, 128), (16, 128), (16, 256)):
        for operation in ("xor", "and"):
            yield _mma(m, k, "b1", "b1", "s32", "", f".{operation}.popc")
    for a in ("row", "col"):
        for b in ("row", "col"):
            for d, c in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
                held = {"f32": (8, 32), "f16": (4, 32)}
                text = f"mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c}"
                fragments = ((2, 32), (2, 32), held[c])
                yield _registers(f"m8n8k4_{a}_{b}_{d}_{c}", text, fragments, held[d], ("f16", "f16", c), 16)


_CUBES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
_WMMA = (
    *((kind, _CUBES, results) for kind, results in (("f16", ("f16", "f32")), ("bf16", ("f32",)), ("s8", ("s32",)),
                                                    ("u8", ("s32",)))),
    ("tf32", ((16, 16, 8),), ("f32",)),
    ("f64", ((8, 8, 4),), ("f64",)),
    ("s4", ((8, 8, 32),), ("s32",)),
    ("b1", ((8, 8, 128),), ("s32",)),
)  # fmt: skip


def _wmma_held(matrix: str, shape: tuple[int, int, int], kind: str) -> Fragment:
    m, n, k = shape
    if kind == "f16" and matrix in "ab":
        return 8, 32
    return _held(*{"a": (m, k), "b": (k, n)}.get(matrix, (m, n)), kind)


def wmma_cases() -> Iterator[Case]:
    for kind, shapes, results in _WMMA:
        both = ("row", "col") if BITS[kind] >= 8 else ("",)
        for shape in shapes:
            m, n, k = shape
            name = "m{}n{}k{}".format(*shape)
            sizes = {"a": (m, k), "b": (k, n), "c": (m, n)}
            for matrix, types in (("a", (kind,)), ("b", (kind,)), ("c", results)):
                for one in types:
                    for layout in both if matrix != "c" else ("row", "col"):
                        lies = layout or {"a": "row", "b": "col"}[matrix]
                        stride = sizes[matrix][lies == "row"]
                        held = _wmma_held(matrix, shape, one)
                        text = f"sync.aligned.{lies}.{name}.global.{one}"
                        load = f"wmma.load.{matrix}.{text} {vector('o0', held[0])},[%memory],{stride};"
                        case = f"{matrix}_{name}_{one}_{lies}"
                        yield Case(f"load_{case}", "load", load, (), held, (one,), 16)
                        if matrix == "c" and kind in ("f16", "s8", "tf32", "f64"):
                            store = f"wmma.store.d.{text} [%memory],{vector('i0', held[0])},{stride};"
                            yield Case(f"store_{case}", "store", store, (held,), (0, 32), (one,), 16)
            a, b = (_wmma_held(matrix, shape, kind) for matrix in "ab")
            for d in results:
                for c in results:
                    types = f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}"
                    head, tail = (".xor.popc", "") if kind == "b1" else ("", ".satfinite" if kind == "u8" else "")
                    fragments = (a, b, _wmma_held("c", shape, c))
                    text = f"wmma.mma{head}.sync.aligned.row.col.{name}.{types}{tail}"
                    yield _registers(f"wmma_{name}_{kind}_{d}_{c}", text, fragments, _wmma_held("c", shape, d),
                                     (kind, kind, c), 16)  # fmt: skip


def _group(n: int, a: str, b: str, d: str, tail: str = "", from_registers: bool = False, words: str = "") -> Case:
    k = 256 if a == "b1" else 256 // BITS[a]
    count = n * BITS[d] // 64
    held = vector("i2", 4) if from_registers else "%i0_0"
    operands = f"{vector('o0', count)},{held},%i1_0,%yes{tail}"
    name = f"group_n{n}_{a}_{b}_{d}_{'r' if from_registers else 's'}{re.sub('[^0-9m]', '', tail.replace('-', 'm'))}"
    text = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{words} {operands};"
    blocks = {8: 32, 16: 64, 64: 32}.get(n, 16)
    return Case(name, "group", text, ((1, 64), (1, 64), (4, 32), (count, 32)), (count, 32), (a, b, d), blocks,
                {"n": n})  # fmt: skip


def group_cases() -> Iterator[Case]:
    for n in (8, 16, 64, 128, 256):
        for transposes in ("0,0", "0,1", "1,0", "1,1") if n in (16, 64) else ("0,0",):
            yield _group(n, "f16", "f16", "f32", f",1,1,{transposes}")
    for signs in ("-1,1", "1,-1", "-1,-1"):
        yield _group(16, "f16", "f16", "f32", f",{signs},0,0")
    yield _group(16, "f16", "f16", "f16", ",1,1,0,0")
    yield _group(16, "f16", "f16", "f32", ",1,1,0", True)
    yield _group(16, "bf16", "bf16", "f32", ",1,1,0,0")
    yield _group(16, "bf16", "bf16", "f32", ",1,1,1", True)
    for registers in (False, True):
        yield _group(16, "tf32", "tf32", "f32", ",1,1", registers)
        yield _group(16, "e4m3", "e4m3", "f32", ",1,1", registers)
        yield _group(16, "s8", "s8", "s32", "", registers)
        yield _group(16, "b1", "b1", "s32", "", registers, ".and.popc")
    yield _group(16, "e5m2", "e4m3", "f32", ",1,1")
    yield _group(16, "e4m3", "e5m2", "f16", ",1,1")
    yield _group(16, "u8", "s8", "s32")


def all_cases() -> list[Case]:
    """Each once: several types of wmma have one accumulator."""
    return list({case.name: case for case in (*mma_cases(), *wmma_cases(), *group_cases())}.values())


# ---------------------------------------------------------------------- inputs
def _random_words(draw: np.random.RandomState, count: int) -> Raw:
    return np.frombuffer(draw.bytes(8 * count), np.uint64)


def floats(draw: np.random.RandomState, kind: str, count: int, mode: int, accumulator: bool = False) -> Raw:
    """Raw elements of a floating type."""
    e, m = FLOATS[kind]
    bias, top = (1 << (e - 1)) - 1, (1 << e) - (kind != "e4m3") - 1
    sign = draw.randint(0, 2, count).astype(np.uint64)
    mantissa = _random_words(draw, count) & np.uint64((1 << m) - 1)
    span = (30 if mode % 2 else 3) if accumulator else _SPAN.get(mode, 3)
    exponent = bias + draw.randint(-span, span + 1, count)
    if mode == 4:
        exponent = draw.randint(0, top, count)
    elif mode == 5:
        mantissa = np.zeros(count, np.uint64)
    elif mode == 6:
        mantissa = np.full(count, (1 << m) - 1, np.uint64)
    elif mode == 8:
        low = max(2, bias - 20) if accumulator and kind == "f32" else min(top, bias)
        exponent = np.where(draw.rand(count) < 0.5, 0, draw.randint(0, low, count))
    elif mode == 9:
        exponent = top - 1 - draw.randint(0, 3, count)
    elif mode == 12:
        mantissa = draw.randint(0, 2, count).astype(np.uint64) << np.uint64(m - 1)
    elif mode == 14 and accumulator:
        exponent = bias + draw.randint(5, 31, count)
    exponent = np.clip(exponent, 0 if mode in (4, 8) else 1, top - 1)
    raw = sign << np.uint64(e + m) | exponent.astype(np.uint64) << np.uint64(m) | mantissa
    share = {7: 0.5, 11: 0.7 if accumulator else 1.0, 13: 0.75, 15: 1.0 if accumulator else 0.0}.get(mode, 0.0)
    raw = np.where(draw.rand(count) < share, sign << np.uint64(e + m), raw)
    if mode == 10:
        chance, infinite = draw.rand(count), np.uint64(((1 << e) - 1) << m) | sign << np.uint64(e + m)
        raw = np.where(chance < 0.02, infinite, np.where(chance > 0.985, infinite | mantissa, raw))
    if kind == "tf32":
        low = _random_words(draw, count) & np.uint64(0x1FFF)
        raw = raw << np.uint64(13) | (low if mode % 3 == 1 else np.uint64(0))
    return raw


def elements(draw: np.random.RandomState, kind: str, size: int, mode: int, accumulator: bool = False) -> Bytes:
    """So many bytes of elements of a type."""
    if kind == "s32":
        near = draw.randint(0, 40000, size // 4)
        found = {1: np.frombuffer(draw.bytes(size), np.int32), 2: 2**31 - 1 - near, 3: near - 2**31}
        return found.get(mode % 4, near - 20000).astype(np.int64).astype(np.int32).view(np.uint8)
    if kind not in FLOATS:
        return np.frombuffer(draw.bytes(size), np.uint8)
    word = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[BITS[kind]]
    return floats(draw, kind, size * 8 // BITS[kind], mode, accumulator).astype(word).view(np.uint8)


def digits(kind: str, size: int) -> Bytes:
    """16 images of `size` bytes: in image n each element is bit n of its index."""
    bits = BITS[kind]
    index = np.arange(size * 8 // bits)
    images = []
    for n in range(16):
        bit = (index >> n & 1).astype(np.uint8)
        if bits >= 8:
            wide = np.zeros((len(bit), bits // 8), np.uint8)
            wide[:, 0] = bit
            images.append(wide.reshape(-1))
        else:
            shifted = bit.reshape(-1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
            images.append(np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8))
    return np.concatenate(images)


def descriptor(start: int, leading: int, stride: int, base: int, swizzle: int) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62


def _descriptors(draw: np.random.RandomState, block: int, n: int) -> tuple[int, int]:
    """Of a and b, for a start of shared memory at 0: every swizzle; strides and starts regular, then any."""
    swizzle, way = block // 4 % 4, block // 16
    widest = 2048 if n <= 16 else 1024 if n <= 64 else 512

    def one(first: int) -> int:
        leading, stride = (16 * int(draw.randint(1, widest // 16 + 1)) for _ in range(2))
        start, base = first + 16 * int(draw.randint(0, 256)), 0
        if way == 0:
            start = first
            leading, stride = (128, 256) if swizzle == 0 else (widest // 2, 1024 if n <= 64 else 512)
        elif way == 1:
            start = start // 1024 * 1024
        elif way == 2:
            start = start // 128 * 128
            base = start // 128 & 7
        return descriptor(start, leading, stride, base, swizzle)

    return one(0), one(20480 if n <= 64 else 18432)


def make(case: Case) -> tuple[Bytes, Bytes]:
    """The registers of all blocks, (block, operand, register, thread), and the memory."""
    draw = np.random.RandomState(zlib.crc32(case.name.encode()))
    if case.kind == "load":
        return np.zeros(16, np.uint8), digits(case.kinds[0], IMAGE)
    if case.kind == "store":
        count, bits = case.inputs[0]
        return digits(case.kinds[0], count * bits // 8 * 32), np.full(16 * IMAGE, 0xFF, np.uint8)
    parts, memory = [], np.zeros(16, np.uint8)
    if case.kind == "group":
        memory = np.concatenate([elements(draw, case.kinds[0], SHARED, mode) for mode in (12, 0, 1, 4)])
    for block in range(case.blocks):
        if case.kind == "group":
            for word in _descriptors(draw, block, case.details["n"]):
                parts.append(np.full(128, word, np.uint64).view(np.uint8))
            parts.append(elements(draw, case.kinds[0], 4 * 128 * 4, (1, 2, 3, 10)[block % 4]))
            parts.append(elements(draw, case.kinds[2], case.inputs[3][0] * 512, (0, 1, 2, 3, 14, 15)[block % 6], True))
            continue
        for n, ((count, bits), kind) in enumerate(zip(case.inputs, case.kinds, strict=True)):
            parts.append(elements(draw, kind, count * bits // 8 * 32, block % 16, n == 2))
    return np.concatenate(parts), memory


# ---------------------------------------------------------------------- code
_GROUP = """ .shared .align 1024 .b8 room[49152];
 .reg .b32 %to,%word,%step; .reg .b64 %from,%start; .reg .pred %again,%yes;
 mov.u32 %to,room; mad.lo.u32 %to,%thread,4,%to; and.b32 %word,%block,3; mad.wide.u32 %from,%word,49152,%memory;
 mad.wide.u32 %from,%thread,4,%from; mov.u32 %step,0;
FILL: ld.global.b32 %word,[%from]; st.shared.b32 [%to],%word; add.u64 %from,%from,512; add.u32 %to,%to,512;
 add.u32 %step,%step,1; setp.lt.u32 %again,%step,96; @%again bra FILL;
 fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %yes,0,0;
 mov.u32 %word,room; shr.u32 %word,%word,4; cvt.u64.u32 %start,%word;
 add.u64 %i0_0,%i0_0,%start; add.u64 %i1_0,%i1_0,%start;"""


def kernel(case: Case) -> str:
    """`.entry case(inputs, outputs, memory)`."""
    lines = [
        f".visible .entry {case.name}(.param .u64 pin, .param .u64 pout, .param .u64 pmemory) {{",
        " .reg .b64 %in,%out,%memory,%at; .reg .b32 %thread,%block;",
        " ld.param.u64 %in,[pin]; ld.param.u64 %out,[pout]; ld.param.u64 %memory,[pmemory];",
        " mov.u32 %thread,%tid.x; mov.u32 %block,%ctaid.x;",
    ]
    moves: dict[str, list[str]] = {}
    for pointer, prefix, fragments in (("in", "i", case.inputs), ("out", "o", (case.output,))):
        moves[pointer] = []
        size = 0
        for n, (count, bits) in enumerate(fragments):
            lines += [f" .reg .b{bits} %{prefix}{n}_<{count}>;"] if count else []
            for r in range(count):
                register = f"%{prefix}{n}_{r}"
                text = (
                    f"ld.global.b{bits} {register},[%at];" if prefix == "i" else f"st.global.b{bits} [%at],{register};"
                )
                moves[pointer].append(
                    f" mad.wide.u32 %at,%thread,{bits // 8},%{pointer}; add.u64 %at,%at,{size}; {text}"
                )
                size += bits // 8 * case.threads
        lines.append(f" mad.wide.u32 %{pointer},%block,{size},%{pointer};")
    lines += moves["in"]
    if case.kind == "group":
        lines += [_GROUP, *(f" mov.b32 %o0_{r},%i3_{r};" for r in range(case.output[0]))]
        lines += [" wgmma.fence.sync.aligned;", f" {case.text}", " wgmma.commit_group.sync.aligned;",
                  " wgmma.wait_group.sync.aligned 0;"]  # fmt: skip
    else:
        lines += [f" mad.wide.u32 %memory,%block,{IMAGE},%memory;"] if case.kind != "registers" else []
        lines.append(f" {case.text}")
    return "\n".join([*lines, *moves["out"], " ret;", "}\n"])


HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def without_payloads(case: Case, output: Bytes) -> Bytes:
    """Doubles that are no number, all alike: a card keeps the payload of one operand or another."""
    if "f64" not in case.kinds or case.kind != "registers":
        return output
    values = output.view(np.float64).copy()
    values[np.isnan(values)] = np.nan
    return values.view(np.uint8)
