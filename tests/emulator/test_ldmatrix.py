"""ldmatrix, stmatrix and movmatrix element by element, and what their rows cost."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from fragment_kernels import HEADER, kernel, run, vector

import lanewise
from lanewise.errors import KernelFault
from lanewise.hardware import banks
from lanewise.records import AccessKind

COUNTS = (1, 2, 4)
SHARED = """.shared .align 128 .b8 tile[8192];
.reg .b32 %tile, %row, %word, %step; .reg .pred %again; .reg .b64 %from;"""
FILL = """mov.u32 %tile, tile; mov.u32 %step, 0;
FILL: mad.lo.u32 %word, %thread, 4, %tile; add.u32 %word, %word, %step; mad.wide.u32 %from, %thread, 4, %more;
cvt.u64.u32 %at, %step; add.u64 %from, %from, %at; ld.global.b32 %row, [%from]; st.shared.b32 [%word], %row;
add.u32 %step, %step, 128; setp.lt.u32 %again, %step, 8192; @%again bra FILL;
bar.sync 0; add.u32 %row, %tile, %i0_0;"""
DRAIN = """bar.sync 0; mov.u32 %step, 0;
DRAIN: mad.lo.u32 %word, %thread, 4, %tile; add.u32 %word, %word, %step; mad.wide.u32 %from, %thread, 4, %more;
cvt.u64.u32 %at, %step; add.u64 %from, %from, %at; ld.shared.b32 %row, [%word]; st.global.b32 [%from], %row;
add.u32 %step, %step, 128; setp.lt.u32 %again, %step, 8192; @%again bra DRAIN;"""


@cache
def module() -> lanewise.api.Module:
    text = HEADER
    for count in COUNTS:
        for trans in ("", ".trans"):
            name = f"x{count}{trans.replace('.', '_')}"
            load = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {vector('o0', (count, 32))}, [%row];"
            store = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%row], {vector('i1', (count, 32))};"
            text += kernel(f"load_{name}", [SHARED, FILL, load], [(1, 32)], [(count, 32)])
            text += kernel(f"store_{name}", [SHARED, FILL, store, DRAIN], [(1, 32), (count, 32)], [])
    text += kernel("transpose", ["movmatrix.sync.aligned.m8n8.trans.b16 %o0_0, %i0_0;"], [(1, 32)], [(1, 32)])
    return lanewise.compile(text)


def rows(seed: int) -> np.ndarray:
    """A row of 16 bytes for each lane, some of them twice."""
    return (np.random.default_rng(seed).integers(0, 512, (1, 1, 32)) * 16).astype(np.uint32)


def matrices(memory: np.ndarray, starts: np.ndarray, count: int, trans: bool) -> np.ndarray:
    """(count, 8, 8) of 16 bits."""
    found = np.array([memory[s : s + 16].view(np.uint16) for s in starts.reshape(-1)[: 8 * count]])
    whole = found.reshape(count, 8, 8)
    return whole.transpose(0, 2, 1) if trans else whole


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("trans", ["", "_trans"])
def test_ldmatrix_puts_two_neighbours_of_a_row_in_each_lane(count: int, trans: str) -> None:
    memory = np.random.default_rng(3).integers(0, 256, 8192, dtype=np.uint8)
    starts = rows(count)
    found = run(module(), f"load_x{count}{trans}", [starts], (count, 32), memory)
    expected = matrices(memory, starts, count, bool(trans)).reshape(count, -1).copy().view(np.uint32)
    assert (found[0] == expected).all()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("trans", ["", "_trans"])
def test_stmatrix_is_the_way_back(count: int, trans: str) -> None:
    choose = np.random.default_rng(4)
    memory = choose.integers(0, 256, 8192, dtype=np.uint8)
    starts = (choose.permutation(512)[:32] * 16).astype(np.uint32).reshape(1, 1, 32)
    registers = choose.integers(0, 1 << 32, (1, count, 32), dtype=np.uint32)
    expected = memory.copy()
    whole = registers[0].view(np.uint16).reshape(count, 8, 8)
    for place, row in zip(starts[0, 0], (whole.transpose(0, 2, 1) if trans else whole).reshape(-1, 8), strict=False):
        expected[place : place + 16] = row.copy().view(np.uint8)
    run(module(), f"store_x{count}{trans}", [starts, registers], (0, 32), memory)
    assert (memory == expected).all()


def test_movmatrix_transposes() -> None:
    registers = np.random.default_rng(5).integers(0, 1 << 32, (3, 1, 32), dtype=np.uint32)
    found = run(module(), "transpose", [registers], (1, 32))
    assert (
        found.view(np.uint16).reshape(3, 8, 8) == registers.view(np.uint16).reshape(3, 8, 8).transpose(0, 2, 1)
    ).all()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_matrix_go_through_the_banks_together(count: int, seed: int) -> None:
    starts = rows(seed) if seed else (np.arange(32, dtype=np.uint32) * 128).reshape(1, 1, 32)  # 0: all in one bank
    results = np.zeros((1, count, 32), np.uint32)
    record = module()[f"load_x{count}"][1, 32](starts, results, np.zeros(8192, np.uint8))
    access = next(a for a in record.accesses if a.opcode.startswith("ldmatrix"))
    lanes = [int(s) for s in starts.reshape(-1)]
    expected = sum(
        banks.wavefronts(lanes, 0xFF << 8 * matrix, 16, AccessKind.STORE) for matrix in range(count)
    )  # no phases merge
    assert (access.requests, access.threads_on, access.wavefronts) == (1, 8 * count, expected)
    assert access.wavefronts_ideal == count
    if seed == 0:
        assert access.wavefronts == 8 * count


def test_a_row_out_of_bounds_is_a_fault() -> None:
    starts = np.full((1, 1, 32), 8192, np.uint32)
    with pytest.raises(KernelFault, match=r"out-of-bounds read of 16 bytes in shared memory"):
        run(module(), "load_x1", [starts], (1, 32), np.zeros(8192, np.uint8))
    starts[...] = 8
    with pytest.raises(KernelFault, match="misaligned"):
        run(module(), "load_x1", [starts], (1, 32), np.zeros(8192, np.uint8))
