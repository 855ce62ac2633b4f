"""One memory access at addresses of our choosing, and what must come of it: the oracle of the bounds checks.

Every lane's address is `base + tid * stride` plus a constant in the instruction, so that one compiled kernel serves
any number of cases. A launch must fault if, and only if, some lane's bytes are not within one live allocation, the
block's shared memory or the thread's stack frame, or its address is not a multiple of the access's size.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from lanewise.emulator.engine import Engine
from lanewise.emulator.launch import Limits
from lanewise.emulator.layout import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.program import Program
from lanewise.ptx import parse

SHARED_BYTES, LOCAL_BYTES, ARRAY_BYTES = 1024, 48, 1000
M64, M32 = (1 << 64) - 1, (1 << 32) - 1
FORMS = ("affine", "wide", "loaded", "uniform", "split")
OFFSETS = (0, 4, -4, 16, -1, 4096, 2**31 - 1, -(2**31))
INTERESTING = (
    0, 1, 4, 8, 16, 32, 128, 4095, 4096, 2**31 - 1, 2**31, 2**32 - 4, 2**32, 2**40, 2**47 - 4, 2**47, 2**61,
    2**63 - 16, 2**63, 2**64 - 4, 2**64 - 128, 2**64 - 4096,
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """One kernel: how the address is made, and the access. `space` "" is a generic access."""

    kind: str  # "ld", "st", "atom"
    space: str
    bits: int
    vector: int
    form: str
    offset: int

    @property
    def size(self) -> int:
        return self.bits * self.vector // 8

    def ptx(self, name: str) -> str:
        space = f".{self.space}" if self.space else ""
        narrow = self.space in ("shared", "local")
        address = "%r9" if narrow else "%a"
        place = f"[{address}{self.offset:+d}]"
        registers = [f"%v{n}" for n in range(self.vector)]
        group = f"{{{', '.join(registers)}}}" if self.vector > 1 else registers[0]
        vector = f".v{self.vector}" if self.vector > 1 else ""
        access = {
            "ld": f"ld{space}{vector}.b{self.bits} {group}, {place};",
            "st": f"st{space}{vector}.b{self.bits} {place}, {group};",
            "atom": f"atom{space}.exch.b{self.bits} %v0, {place}, %v1;",
        }[self.kind]
        made = {
            "affine": "mad.lo.u64 %a, %t, %s, %b;",
            "wide": "cvt.u32.u64 %r2, %s;\n mul.wide.s32 %a, %r1, %r2;\n add.u64 %a, %a, %b;",
            "loaded": "mad.lo.u64 %a, %t, %s, %b;\n ld.param.u64 %o, [p];\n mad.lo.u64 %o, %t, 8, %o;\n"
            " st.global.u64 [%o], %a;\n ld.global.u64 %a, [%o];",
            "uniform": "mov.u64 %a, %b;",
            "split": "mad.lo.u64 %a, %t, %s, %b;\n setp.lt.u32 %q, %r1, 7;\n @%q bra SKIP;",
        }[self.form]
        width = max(self.bits, 16)
        values = "\n".join(f" mov.b{width} {r}, 0;" for r in [f"%v{n}" for n in range(max(2, self.vector))])
        return f"""
.visible .entry {name}(.param .u64 p, .param .u64 base, .param .u64 stride) {{
 .reg .b64 %a, %t, %s, %b, %o; .reg .b32 %r<10>; .reg .b{width} %v<9>; .reg .pred %q;
 .shared .align 16 .b8 mine[{SHARED_BYTES}];
 .local .align 16 .b8 own[{LOCAL_BYTES}];
 ld.param.u64 %b, [base];
 ld.param.u64 %s, [stride];
 mov.u32 %r1, %tid.x;
 cvt.u64.u32 %t, %r1;
{values}
 {made}
 cvt.u32.u64 %r9, %a;
 mov.u32 %r3, mine;
 mov.u32 %r4, own;
 {access}
SKIP:
 ret;
}}"""

    def allowed(self, base: int, stride: int, ranges: list[tuple[int, int]]) -> bool:
        """Whether no lane does wrong. `ranges`: [begin, end) of live device memory."""
        return all(self._fits(a, ranges) for a in self.addresses(base, stride))

    def addresses(self, base: int, stride: int) -> list[int]:
        if self.form == "uniform":
            stride = 0
        if self.form == "wide":
            stride = (stride & M32) - ((stride & M32) >> 31 << 32)
        lanes = range(7, 32) if self.form == "split" else range(32)
        whole = [(base + lane * stride) & M64 for lane in lanes]
        if self.space in ("shared", "local"):
            return [((a & M32) + self.offset) & M32 for a in whole]
        return [(a + self.offset) & M64 for a in whole]

    def _fits(self, address: int, ranges: list[tuple[int, int]]) -> bool:
        if address % self.size:
            return False
        end = address + self.size
        if self.space == "shared":
            return end <= SHARED_BYTES
        if self.space == "local":
            return end <= LOCAL_BYTES
        if self.space == "":
            # The block's own memory, and the same memory as that of rank 0 in the cluster of one block.
            for window in (SHARED_WINDOW, SHARED_WINDOW + (1 << RANK_SHIFT)):
                if address >= window and end <= window + SHARED_BYTES:
                    return True
            if address >= LOCAL_WINDOW and end <= LOCAL_WINDOW + LOCAL_BYTES:
                return True
        return any(begin <= address and end <= stop for begin, stop in ranges)


def shapes(count: int, seed: int) -> list[Shape]:
    """Kernels to try, the same for the same seed."""
    chance = random.Random(seed)
    made: list[Shape] = []
    while len(made) < count:
        kind = chance.choice(("ld", "st", "ld", "st", "atom"))
        space = chance.choice(("global", "shared", "local", "", ""))
        bits = chance.choice((8, 16, 32, 64)) if kind != "atom" else chance.choice((32, 64))
        vector = chance.choice((1, 1, 2, 4)) if kind != "atom" else 1
        shape = Shape(kind, space, bits, vector, chance.choice(FORMS), chance.choice(OFFSETS))
        if shape.size <= 16 and not (kind == "atom" and space == "local"):
            made.append(shape)
    return made


class Bench:
    """A device with a few allocations, and memory of this process that no kernel may touch."""

    def __init__(self, made: list[Shape]) -> None:
        self.memory = DeviceMemory(1 << 30)
        self.engine = Engine(self.memory, Limits(seconds=20, threads=1))
        text = ".version 8.0\n.target sm_80\n.address_size 64\n"
        text += "\n".join(shape.ptx(f"k{number}") for number, shape in enumerate(made))
        self.shapes = made
        self.program: Program = self.engine.load([parse(text)])
        self.scratch = self.memory.allocate(32 * 8)
        self.arrays = [self.memory.allocate(size) for size in (ARRAY_BYTES, 4096, 16, ARRAY_BYTES)]
        gone = self.memory.allocate(8192)
        self.memory.free(gone.base)
        self.host = np.full(1 << 16, 0x5A, np.uint8)
        ranges = self.memory.table().reshape(-1, 2)
        self.ranges = [(int(begin), int(end)) for begin, end in ranges]
        self.bases = [a.base for a in self.arrays] + [a.end for a in self.arrays]
        self.bases += [gone.base, SHARED_WINDOW, SHARED_WINDOW + SHARED_BYTES, LOCAL_WINDOW, LOCAL_WINDOW + LOCAL_BYTES]
        self.bases += [SHARED_WINDOW + (1 << 24), LOCAL_WINDOW + (1 << 24), self.memory.base, 0, 0, SHARED_BYTES]
        self.bases += [self.memory.base + self.memory.size, LOCAL_BYTES, self.host.ctypes.data + 256]

    def case(self, chance: random.Random, shape: Shape) -> tuple[int, int]:
        """A base and a stride: near the edge of something, often such that some lane sits exactly on it."""
        stride = chance.choice(
            (0, shape.size, shape.size, -shape.size, 4, 1, 2 * shape.size, 32, chance.choice(INTERESTING),
             -chance.choice(INTERESTING), chance.getrandbits(64), M64 // 31 + 1, (1 << 59), (1 << 60) + shape.size)
        )  # fmt: skip
        edge = chance.choice(self.bases) if chance.random() < 0.8 else chance.choice(INTERESTING)
        lane = chance.choice((0, 0, 7, 31, 31, chance.randrange(32)))
        near = chance.choice((0, 0, 0, shape.size, -shape.size, 1, -1, 2, 4, -4, 8, 16, chance.randrange(-64, 64)))
        return (edge + near - lane * stride - shape.offset) & M64, stride & M64

    def run(self, number: int, base: int, stride: int) -> bool:
        """Whether the launch ended well."""
        params = b"".join(v.to_bytes(8, "little") for v in (self.scratch.base, base, stride))
        return self.engine.launch(self.program, f"k{number}", (1, 1, 1), (32, 1, 1), 0, params).fault is None


def check(kernels: int, cases: int, seed: int) -> list[str]:
    """Every case whose outcome is not the oracle's, in words."""
    bench = Bench(shapes(kernels, seed))
    chance = random.Random(seed)
    wrong: list[str] = []
    for number, shape in enumerate(bench.shapes):
        for _ in range(cases):
            base, stride = bench.case(chance, shape)
            expected = shape.allowed(base, stride, bench.ranges)
            if bench.run(number, base, stride) != expected:
                wrong.append(f"{shape} base {base:#x} stride {stride:#x}: expected {'no ' if expected else 'a '}fault")
    if not (bench.host == 0x5A).all():
        wrong.append("memory of the process was written")
    return wrong
