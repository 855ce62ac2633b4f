"""Control flow of any shape in blocks of any shape: each thread does, and counts as, what an interpreter says."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from programs import HEADER, TABLE, WORDS, Program, structured, tangled

import lanewise

pytestmark = pytest.mark.machine_code

PROGRAMS = [*(structured(seed) for seed in range(14)), *(tangled(seed) for seed in range(6))]
SHAPES = [(32, 1, 1), (16, 16, 1), (5, 7, 3), (33, 1, 1), (1, 1, 1), (8, 4, 2), (64, 2, 1)]
DATA = [random.Random(1).getrandbits(32) >> random.Random(n).randrange(32) for n in range(TABLE)]


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(HEADER + "".join(program.ptx() for program in PROGRAMS))


@cache
def expected(program: int, shape: tuple[int, int, int], blocks: int) -> tuple[np.ndarray, int]:
    """What threads store, and how many instructions all of them execute."""
    run = PROGRAMS[program].interpreter()
    results, executed = [], 0
    threads = shape[0] * shape[1] * shape[2]
    for block in range(blocks):
        for first in range(0, threads, 32):
            warp = range(first, min(first + 32, threads))
            outs = [[0] * WORDS for _ in warp]
            lanes = {}
            for lane, linear in enumerate(warp):
                x, y = linear % shape[0], linear // shape[0] % shape[1]
                lanes[lane] = run([linear, x, block, 7, y, 0], DATA, outs[lane])
            ballot: int | None = None
            while lanes:
                votes = 0
                for lane in list(lanes):
                    try:
                        votes |= lanes[lane].send(ballot) << lane
                    except StopIteration as end:
                        executed += end.value
                        del lanes[lane]
                ballot = votes
            results += outs
    return np.array(results, np.uint32), executed


def check(module: lanewise.Module, number: int, shape: tuple[int, int, int], blocks: int = 2) -> None:
    program: Program = PROGRAMS[number]
    threads = blocks * shape[0] * shape[1] * shape[2]
    out = np.zeros((threads, WORDS), np.uint32)
    record = module[program.name][blocks, shape](out, np.array(DATA, np.uint32), np.zeros(blocks << 15, np.uint8))
    results, executed = expected(number, shape, blocks)
    assert np.array_equal(out, results)
    launch = record.launch
    assert launch.ptx_thread_instructions == executed
    assert launch.ptx_thread_instructions / 32 <= launch.ptx_instructions <= launch.ptx_thread_instructions
    for access in record.accesses:
        assert access.requests <= access.threads <= 32 * access.requests
        assert access.threads_on <= access.threads


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[program.name for program in PROGRAMS])
def test_programs_in_every_block_shape(module: lanewise.Module, number: int) -> None:
    for shape in SHAPES:
        check(module, number, shape)


SWITCH = """
.visible .entry switched(.param .u64 o, .param .u32 mask, .param .u64 null) {
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;
 ld.param.u64 %d1, [o];
 ld.param.u32 %r4, [mask];
 ld.param.u64 %d3, [null];
 mov.u32 %r1, %tid.x;
 and.b32 %r2, %r1, %r4;
 setp.lt.u32 %p1, %r1, 24;
 T: .branchtargets A, B, C, D;
 mov.u32 %r3, 9;
 @%p1 brx.idx %r2, T;      // lanes 24 to 31 go on with 9
 bra E;
A:
 ret;                      // 0
B:
 ld.global.u32 %r3, [%d3]; // faults if it runs, even for no lane
 mov.u32 %r3, 1;
 bra E;
C:
 mov.u32 %r3, 2;           // and on to D: 12
D:
 add.u32 %r3, %r3, 10;
E:
 mul.wide.u32 %d2, %r1, 4;
 add.u64 %d2, %d2, %d1;
 st.global.u32 [%d2], %r3;
 ret;
}
"""


def test_a_guarded_switch() -> None:
    kernel = lanewise.compile(HEADER + SWITCH)["switched"]
    lane = np.arange(32)
    for mask, values in ((2, [0, None, 12, 19]), (0, [0])):
        o = np.zeros(32, np.int32)
        kernel[1, 32](o, np.uint32(mask), np.uint64(0))  # index 0 or 2: never B
        assert o.tolist() == [9 if t >= 24 else values[t & mask] for t in lane]
    o = np.zeros(32, np.int32)
    kernel[1, 32](o, np.uint32(3), np.zeros(1, np.int32))
    assert o.tolist() == [9 if t >= 24 else [0, 1, 12, 19][t & 3] for t in lane]


def test_a_block_that_no_lane_goes_to_does_not_run() -> None:
    o = np.zeros(24, np.int32)
    record = lanewise.compile(HEADER + SWITCH)["switched"][1, 24](o, np.uint32(0), np.uint64(0))
    assert record.launch.ptx_instructions == 9  # 7 before the branch, it, and ret
