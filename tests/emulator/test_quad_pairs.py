"""mma.m8n8k4 of halves: four small products a warp, in the order of sums of sm_90's machine code."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from fragment_kernels import HEADER, kernel, run, vector
from tensor_cores import Array, Raw, elements, exact_or_nan, number, random_registers, to_f16, to_f32

import lanewise

LAYOUTS = list(product(("row", "col"), repeat=2))
TYPES = [("f32", "f32"), ("f16", "f16"), ("f32", "f16")]  # of d and c
COUNT = {"f32": 8, "f16": 4}
LANE = np.arange(32)
PAIR, UPPER = LANE % 16 // 4, np.where(LANE < 16, 0, 4)


@cache
def module() -> lanewise.api.Module:
    text = HEADER
    for (a, b), (d, c) in product(LAYOUTS, TYPES):
        fragments = [(2, 32), (2, 32), (COUNT[c], 32)]
        held = [vector("o0", (COUNT[d], 32)), *(vector(f"i{n}", f) for n, f in enumerate(fragments))]
        line = f"mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c} {', '.join(held)};"
        text += kernel(f"{a}_{b}_{d}_{c}", [line], fragments, [(COUNT[d], 32)])
    return lanewise.compile(text)


def values(kind: str, registers: Raw) -> Array:
    """(blocks, elements, 32) of what each lane holds."""
    found = number(kind, elements(kind, registers))
    return np.moveaxis(found, -1, -2).reshape(registers.shape[0], -1, 32)


def places_of_c(kind: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """(row, column) of each element, after the figures of PTX ISA 9.7.14.5.1."""
    if kind == "f16":
        return [(LANE % 4 + UPPER, np.full(32, i)) for i in range(8)]
    return [((LANE & 1) + (i & 2) + UPPER, (i & 4) + (LANE & 2) + (i & 1)) for i in range(8)]


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_products_of_quad_pairs(layouts: tuple[str, str], types: tuple[str, str]) -> None:
    choose = np.random.default_rng(9)
    d_kind, c_kind = types
    blocks = 10
    raw = [random_registers(choose, "f16", blocks, (2, 32)) for _ in range(2)]
    raw.append(random_registers(choose, c_kind, blocks, (COUNT[c_kind], 32), accumulator=True))
    found = run(module(), "_".join((*layouts, *types)), raw, (COUNT[d_kind], 32))

    a, b, c = (values(kind, r) for kind, r in zip(("f16", "f16", c_kind), raw, strict=True))
    whole_a, whole_b = np.zeros((blocks, 4, 8, 4)), np.zeros((blocks, 4, 4, 8))
    whole_c, whole_d = np.zeros((2, blocks, 4, 8, 8))
    for i in range(4):
        rows, columns = (LANE % 4 + UPPER, i) if layouts[0] == "row" else (i + UPPER, LANE % 4)
        whole_a[:, PAIR, rows, columns] = a[:, i]
        rows, columns = (LANE % 4, i + UPPER) if layouts[1] == "row" else (i, LANE % 4 + UPPER)
        whole_b[:, PAIR, rows, columns] = b[:, i]
    for kind, whole, each in ((c_kind, whole_c, c), (d_kind, whole_d, values(d_kind, found))):
        for i, (rows, columns) in enumerate(places_of_c(kind)):
            whole[:, PAIR, rows, columns] = each[:, i]

    with np.errstate(invalid="ignore", over="ignore"):
        p = [whole_a[..., k, None] * whole_b[..., k, None, :] for k in range(4)]
        if d_kind == "f32":
            total = to_f32(p[0] + 0.0)
            for k in (1, 2, 3):
                total = to_f32(total + p[k])
            expected = to_f32(total + whole_c)
        else:
            low, high = (to_f32(to_f32(p[k]) + p[k + 1]) for k in (0, 2))
            expected = to_f16(to_f32(to_f32(low + whole_c) + high))
    assert exact_or_nan(whole_d, expected)
