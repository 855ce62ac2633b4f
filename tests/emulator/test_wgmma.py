"""wgmma.mma_async against numpy: every type, descriptors of every swizzle, transposes, signs, accumulators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from fragment_kernels import HEADER, kernel, run, vector
from tensor_cores import (
    BITS,
    Array,
    Raw,
    exact_or_nan,
    fused,
    matrix,
    number,
    places_of_a,
    places_of_c,
    random_registers,
)

import lanewise
from lanewise.errors import KernelFault

SHARED_BYTES = 49152
DEPTH = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
PITCH = {0: 16, 1: 128, 2: 64, 3: 32}  # bytes of a row, by swizzle mode
FILL = """.shared .align 1024 .b8 room[49152];
.reg .b32 %to, %word, %step; .reg .b64 %from; .reg .pred %again, %scale;
mov.u32 %to, room; mad.lo.u32 %to, %thread, 4, %to; mad.wide.u32 %from, %thread, 4, %more; mov.u32 %step, 0;
FILL: ld.global.b32 %word, [%from]; st.shared.b32 [%to], %word; add.u64 %from, %from, 512; add.u32 %to, %to, 512;
add.u32 %step, %step, 1; setp.lt.u32 %again, %step, 96; @%again bra FILL;
bar.sync 0;"""


@dataclass(frozen=True)
class Form:
    n: int
    a: str
    b: str
    d: str
    registers: bool = False  # a comes from registers
    signs: tuple[int, int] = (1, 1)
    transposes: tuple[int, int] = (0, 0)
    words: str = ""

    @property
    def name(self) -> str:
        tail = "".join(map(str, (*self.signs, *self.transposes))).replace("-", "m")
        source = "r" if self.registers else "s"
        return f"n{self.n}_{self.a}_{self.b}_{self.d}_{source}{tail}{self.words}".replace(".", "_")

    @property
    def count(self) -> int:
        return self.n * BITS[self.d] // 64

    def text(self) -> str:
        immediates = []
        if self.a not in ("s8", "u8", "b1"):
            immediates = [str(sign) for sign in self.signs]
            if BITS[self.a] == 16:
                immediates += [str(t) for t in self.transposes[1 if self.registers else 0 :]]
        operands = [vector("o0", (self.count, 32)), vector("i2", (4, 32)) if self.registers else "%i0_0", "%i1_0"]
        body = [
            FILL,
            *(f"mov.b32 %o0_{r}, %i3_{r};" for r in range(self.count)),
            "setp.ne.u32 %scale, %i4_0, 0; wgmma.fence.sync.aligned;",
            f"wgmma.mma_async.sync.aligned.m64n{self.n}k{DEPTH[self.a]}.{self.d}.{self.a}.{self.b}{self.words} "
            f"{', '.join([*operands, '%scale', *immediates])};",
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        ]
        inputs = [(1, 64), (1, 64), (4, 32), (self.count, 32), (1, 32)]
        return kernel(self.name, body, inputs, [(self.count, 32)], threads=128)


FORMS = [
    *(Form(16, t, t, "f32", r) for t in ("f16", "bf16", "tf32") for r in (False, True)),
    *(Form(16, a, b, d) for a, b, d in (("e4m3", "e4m3", "f32"), ("e5m2", "e4m3", "f16"), ("e4m3", "e5m2", "f32"))),
    Form(24, "s8", "u8", "s32", True),
    Form(24, "u8", "s8", "s32"),
    Form(16, "u8", "u8", "s32", words=".satfinite"),
    *(Form(16, "b1", "b1", "s32", r, words=".and.popc") for r in (False, True)),
    Form(8, "f16", "f16", "f32"),
    Form(64, "f16", "f16", "f16"),
    Form(128, "bf16", "bf16", "f32", True),
    *(Form(16, "f16", "f16", "f32", signs=signs) for signs in ((-1, 1), (1, -1), (-1, -1))),
    *(Form(48, "f16", "f16", "f32", transposes=t) for t in ((0, 1), (1, 0), (1, 1))),
    Form(16, "bf16", "bf16", "f32", True, transposes=(0, 1)),
]


@cache
def module() -> lanewise.api.Module:
    return lanewise.compile(HEADER + "".join(form.text() for form in FORMS))


def descriptor(start: int, leading: int, stride: int, swizzle: int) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62


def operand(memory: Raw, word: int, kind: str, rows: int, transposed: bool) -> Array:
    """(rows, k) of the matrix that a descriptor names, element by element, after the ISA's canonical layouts."""
    bits, depth = BITS[kind], DEPTH[kind]
    start, leading, stride = ((word >> bit & 0x3FFF) << 4 for bit in (0, 16, 32))
    swizzle = word >> 62
    pitch = PITCH[swizzle]
    row, k = np.meshgrid(np.arange(rows), np.arange(depth), indexing="ij")
    if transposed:  # rows of memory run along M or N
        piece, inner = row // 8, row % 8 * 2
        if swizzle:
            places = piece % (pitch // 16) * 16 + piece // (pitch // 16) * leading + k // 8 * stride
        else:
            places = piece * stride + k // 8 * leading
        places = start + places + k % 8 * pitch
    else:
        byte = k * bits // 8
        piece, inner = byte // 16, byte % 16
        places = start + row // 8 * stride + row % 8 * pitch + piece * (16 if swizzle else leading)
    places ^= (places >> 7 & (pitch // 16 - 1)) << 4
    places += inner
    if bits == 1:
        return (memory[places] >> (k % 8).astype(np.uint8) & 1).astype(np.float64)
    raw = sum(memory[places + byte].astype(np.uint64) << np.uint64(8 * byte) for byte in range(bits // 8))
    return number(kind, np.asarray(raw))


def image(choose: np.random.Generator, kind: str) -> Raw:
    """Shared memory full of numbers of a type."""
    words = random_registers(choose, kind, 8, (SHARED_BYTES // 1024, 32))
    return words.reshape(-1).view(np.uint8)


def of_warps(registers: Raw) -> Raw:
    """(..., registers, 128 threads) to (..., 4 warps, registers, 32)."""
    return np.moveaxis(registers.reshape(*registers.shape[:-1], 4, 32), -2, -3)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_products(form: Form) -> None:
    choose = np.random.default_rng(len(form.name) + form.n)
    memory = image(choose, form.a)
    words = []
    for swizzle in range(4):
        strides = (8 * PITCH[swizzle], 1024) if form.n <= 64 else (512, 512)
        a = descriptor(1024 * swizzle, *(strides if swizzle else (256, 2048)), swizzle)
        words.append((a, descriptor(20480, *(strides[::-1] if swizzle else (512, 128 * 3)), swizzle)))
    blocks = len(words)
    a_registers = random_registers(choose, form.a, blocks, (4 * 4, 32)).reshape(blocks, 4, 128)
    d_registers = random_registers(choose, form.d, blocks, (form.count * 4, 32), accumulator=True)
    d_registers = d_registers.reshape(blocks, form.count, 128)
    scale = np.ones((blocks, 1, 128), np.uint32)
    scale[0] = form.a == "b1"
    descriptors = [
        np.repeat(np.array(column, np.uint64), 128).reshape(blocks, 1, 128) for column in zip(*words, strict=True)
    ]
    found = run(module(), form.name, [*descriptors, a_registers, d_registers, scale], (form.count, 32), memory)

    places = places_of_c(form.d, 16, form.n)
    c = matrix(form.d, of_warps(d_registers), places).reshape(blocks, 64, form.n) * scale[:, :, :1]
    d = matrix(form.d, of_warps(found), places).reshape(blocks, 64, form.n)
    for block, (word_a, word_b) in enumerate(words):
        if form.registers:
            depth = DEPTH[form.a]
            a = matrix(form.a, of_warps(a_registers[block]), places_of_a(form.a, 16, depth)).reshape(64, depth)
        else:
            a = operand(memory, word_a, form.a, 64, bool(form.transposes[0]))
        b = operand(memory, word_b, form.b, form.n, bool(form.transposes[1])).T
        if form.d == "s32":
            exact = a @ b + c[block]
            low, high = -(2.0**31), 2.0**31 - 1
            expected = exact.clip(low, high) if "sat" in form.words else (exact - low) % 2**32 + low
        else:
            expected = fused(a * form.signs[0] * form.signs[1], b, c[block], (form.a, form.b, form.d))
        assert exact_or_nan(d[block], expected), f"swizzle {word_a >> 62}"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (descriptor(SHARED_BYTES - 256, 128, 256, 0), "reaches beyond the block's shared memory"),
        (1 << 52 | descriptor(0, 128, 256, 0), "stand for nothing are set"),
    ],
)
def test_a_bad_descriptor_is_a_fault(word: int, message: str) -> None:
    form = FORMS[0]
    words = [np.full((1, 1, 128), w, np.uint64) for w in (word, descriptor(0, 128, 256, 0))]
    zeros = [np.zeros((1, count, 128), np.uint32) for count in (4, form.count, 1)]
    with pytest.raises(KernelFault, match=message) as caught:
        run(module(), form.name, [*words, *zeros], (form.count, 32), np.zeros(SHARED_BYTES, np.uint8))
    assert "PTX ISA 9.7.15.5.1" in (caught.value.finding.next_step or "")


def test_threads_that_disagree_on_a_descriptor_are_a_fault() -> None:
    form = FORMS[0]
    word = descriptor(0, 128, 256, 0)
    words = [np.full((1, 1, 128), word, np.uint64) for _ in range(2)]
    words[1][0, 0, 37] += 1
    zeros = [np.zeros((1, count, 128), np.uint32) for count in (4, form.count, 1)]
    with pytest.raises(KernelFault, match="different matrix descriptors"):
        run(module(), form.name, [*words, *zeros], (form.count, 32), np.zeros(SHARED_BYTES, np.uint8))
