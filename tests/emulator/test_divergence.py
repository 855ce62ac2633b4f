"""Control flow of any shape in blocks of any shape: each thread does, and counts as, what an interpreter says."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from programs import HEADER, TABLE, WORDS, Program, structured, tangled

import lanewise

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
    for block in range(blocks):
        for linear in range(shape[0] * shape[1] * shape[2]):
            x, y = linear % shape[0], linear // shape[0] % shape[1]
            out = [0] * WORDS
            executed += run([linear, x, block, 7, y, 0], DATA, out)
            results.append(out)
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
