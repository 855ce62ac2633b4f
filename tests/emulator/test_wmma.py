"""wmma against numpy: fragments element by element, products of every shape and type, both layouts, strides, spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from fragment_kernels import HEADER, kernel, run, vector
from tensor_cores import BITS, Array, Raw, elements, exact_or_nan, fused, number, random_registers

import lanewise
from lanewise.emulator.matrix.fragments import fragment
from lanewise.errors import KernelFault

Shape = tuple[int, int, int]
CUBES: tuple[Shape, ...] = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
TYPES: dict[str, tuple[tuple[Shape, ...], tuple[str, ...]]] = {
    "f16": (CUBES, ("f16", "f32")),
    "bf16": (CUBES, ("f32",)),
    "s8": (CUBES, ("s32",)),
    "u8": (CUBES, ("s32",)),
    "tf32": (((16, 16, 8),), ("f32",)),
    "f64": (((8, 8, 4),), ("f64",)),
    "s4": (((8, 8, 32),), ("s32",)),
    "b1": (((8, 8, 128),), ("s32",)),
}
PADDING = 16  # elements between rows


def name_of(shape: Shape) -> str:
    return "m{}n{}k{}".format(*shape)


def size(matrix: str, shape: Shape) -> tuple[int, int]:
    m, n, k = shape
    return {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))


def registers(matrix: str, shape: Shape, kind: str) -> tuple[int, int]:
    return len(fragment(matrix, shape, kind)), 64 if kind == "f64" else 32


@dataclass(frozen=True)
class Form:
    """Load a, b and c, multiply, store d."""

    shape: Shape
    kind: str
    c: str
    d: str
    layouts: tuple[str, str, str]  # of a, of b, of c and d
    words: str = ""

    @property
    def name(self) -> str:
        parts = (name_of(self.shape), self.kind, self.c, self.d, *self.layouts, self.words.replace(".", "_"))
        return "_".join(parts)

    def pitch(self, matrix: str) -> int:
        rows, columns = size(matrix, self.shape)
        fast = columns if self.layout(matrix) == "row" else rows
        return fast + (PADDING if BITS[self.kind] >= 8 else 0)

    def layout(self, matrix: str) -> str:
        return self.layouts["abc".index(matrix)]

    def text(self) -> str:
        name = name_of(self.shape)
        fragments = [
            registers(m, self.shape, k) for m, k in zip("abcc", (self.kind, self.kind, self.c, self.d), strict=True)
        ]
        lines = [
            f".reg .b{bits} %{m}_<{count}>;" for m, (count, bits) in zip("abcd", fragments, strict=True)
        ] + [".reg .b64 %p_<4>; cvta.to.global.u64 %p_0, %more; add.u64 %p_1, %p_0, 8192;",
             "add.u64 %p_2, %p_0, 16384; add.u64 %p_3, %p_0, 24576;"]  # fmt: skip
        for number_, (m, kind) in enumerate((("a", self.kind), ("b", self.kind), ("c", self.c))):
            lines.append(
                f"wmma.load.{m}.sync.aligned.{self.layout(m)}.{name}.global.{kind} "
                f"{vector(m, fragments[number_])}, [%p_{number_}], {self.pitch(m)};"
            )
        types = {"f16": f"{self.d}.{self.c}"}.get(self.kind, f"{self.d}.{self.kind}.{self.kind}.{self.c}")
        head, tail = (self.words, "") if self.kind == "b1" else ("", self.words)
        held = [vector(m, f) for m, f in zip("dabc", (fragments[3], *fragments[:3]), strict=True)]
        lines += [
            f"wmma.mma{head}.sync.aligned.{self.layouts[0]}.{self.layouts[1]}.{name}.{types}{tail} {', '.join(held)};",
            f"wmma.store.d.sync.aligned.{self.layouts[2]}.{name}.global.{self.d} [%p_3], {held[0]}, {self.pitch('c')};",
        ]
        return kernel(self.name, lines, [(1, 32)], [])


def _forms() -> list[Form]:
    found = []
    for kind, (shapes, results) in TYPES.items():
        for shape in shapes:
            layouts = [("row", "col", "row")]
            if BITS[kind] >= 8:
                layouts += [("col", "row", "col"), ("row", "row", "row"), ("col", "col", "col")]
            for number_, layout in enumerate(layouts[: 4 if kind in ("f16", "s8") else 2]):
                c, d = results[number_ % len(results)], results[number_ // 2 % len(results)]
                words = {"b1": ".xor.popc", "u8": ".satfinite"}.get(kind, "")
                found.append(Form(shape, kind, c, d, layout, words))
    return found


FORMS = _forms()


@cache
def module() -> lanewise.api.Module:
    return lanewise.compile(HEADER + "".join(form.text() for form in FORMS))


def from_memory(memory: Raw, kind: str, form: Form, matrix: str) -> Array:
    """The numbers of a matrix as it lies in memory."""
    bits = BITS[kind]
    rows, columns = size(matrix, form.shape)
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    slow, fast = (row, column) if form.layout(matrix) == "row" else (column, row)
    index = slow * form.pitch(matrix) + fast
    words = memory.view(np.uint64 if kind == "f64" else np.uint32)
    return number(kind, elements(kind, words).reshape(-1)[index] if bits < 32 or kind == "b1" else words[index])


def expected(form: Form, a: Array, b: Array, c: Array) -> Array:
    if form.kind == "f64":
        for k in range(form.shape[2]):
            c = c + a[:, k, None] * b[None, k]  # inputs are small integers: exact
        return c
    if form.kind == "b1":
        return c + a.sum(-1)[:, None] + b.sum(0)[None] - 2 * (a @ b)
    if form.d == "s32":
        exact = a @ b + c
        return exact.clip(-(2.0**31), 2.0**31 - 1) if form.words else (exact + 2.0**31) % 2.0**32 - 2.0**31
    sums = fused(a, b, c, (form.kind, form.kind, "f16" if form.c == form.d == "f16" else "f32"),
                 4 if form.kind == "tf32" else 0)  # fmt: skip
    with np.errstate(over="ignore"):
        return sums.astype(np.float16).astype(np.float64) if form.d == "f16" else sums


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_products_of_matrices_in_memory(form: Form) -> None:
    choose = np.random.default_rng(len(form.name))
    memory = np.zeros(32768, np.uint8)
    for place, kind in enumerate((form.kind, form.kind, form.c)):
        if kind == "f64":
            part = choose.integers(-50, 50, 1024).astype(np.float64).view(np.uint8)
        else:
            part = random_registers(choose, kind, 1, (64, 32), accumulator=place == 2).reshape(-1).view(np.uint8)
        memory[8192 * place : 8192 * (place + 1)] = part[:8192]
    a, b, c = (
        from_memory(memory[8192 * place : 8192 * (place + 1)], kind, form, matrix)
        for place, (matrix, kind) in enumerate((("a", form.kind), ("b", form.kind), ("c", form.c)))
    )
    run(module(), form.name, [np.zeros((1, 1, 32), np.uint32)], (0, 32), memory)
    assert exact_or_nan(from_memory(memory[24576:], form.d, form, "c"), expected(form, a, b, c))


def load_kernel(name: str, matrix: str, shape: Shape, kind: str, space: str, arguments: Sequence[str]) -> str:
    held = registers(matrix, shape, kind)
    body = [
        ".shared .align 32 .b8 room[4096]; .reg .b32 %s, %w, %step; .reg .b64 %p, %g; .reg .pred %again;",
        "mov.u32 %s, room; mad.lo.u32 %s, %thread, 4, %s; mad.wide.u32 %p, %thread, 4, %more; mov.u32 %step, 0;",
        "FILL: ld.global.b32 %w, [%p]; st.shared.b32 [%s], %w; add.u64 %p, %p, 128; add.u32 %s, %s, 128;",
        "add.u32 %step, %step, 1; setp.lt.u32 %again, %step, 32; @%again bra FILL;",
        "mov.u32 %s, room; add.u32 %s, %s, %i0_0; cvt.u64.u32 %g, %i0_0; add.u64 %p, %more, %g;",
        "mov.u64 %g, room; cvta.shared.u64 %g, %g;",
        f"wmma.load.{matrix}.sync.aligned.row.{name_of(shape)}{space}.{kind} {vector('o0', held)}, {arguments[0]};",
    ]
    return kernel(name, body, [(1, 32)], [held])


@cache
def spaces() -> lanewise.api.Module:
    shape = (16, 16, 16)
    return lanewise.compile(
        HEADER
        + load_kernel("from_global", "a", shape, "f16", ".global", ["[%p]"])
        + load_kernel("from_shared", "a", shape, "f16", ".shared", ["[%s]"])
        + load_kernel("from_generic", "a", shape, "f16", "", ["[%g]"])
    )


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_elements_of_a_are_those_of_mma(space: str) -> None:
    """The fragment of m16n16k16 is that of mma.m16n8k16, twice."""
    memory = np.arange(2048, dtype=np.uint16).view(np.uint8)
    found = run(spaces(), f"from_{space}", [np.zeros((1, 1, 32), np.uint32)], (8, 32), memory)
    halves = elements("f16", found[0])
    for lane in range(32):
        for i in range(16):
            row = lane // 4 + 8 * (i // 2 % 2)
            column = lane % 4 * 2 + i % 2 + 8 * (i // 4 % 2)
            assert halves[i // 2, lane, i % 2] == 16 * row + column


def test_a_matrix_out_of_bounds_is_a_fault() -> None:
    start = np.full((1, 1, 32), 4096 - 128, np.uint32)
    with pytest.raises(KernelFault, match="out-of-bounds read of 4 bytes in global memory"):
        run(spaces(), "from_global", [start], (8, 32), np.zeros(4096, np.uint8))
    with pytest.raises(KernelFault, match="out-of-bounds read of 4 bytes in shared memory"):
        run(spaces(), "from_shared", [start], (8, 32), np.zeros(4096, np.uint8))
