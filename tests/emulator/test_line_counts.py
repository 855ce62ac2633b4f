"""Executions of source lines by warps and threads, branches and divergent ones; local memory: counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.hardware import coalescing
from lanewise.records import LineCounts, Space

pytestmark = pytest.mark.machine_code

SOURCE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;
 .loc 1 1 0
 ld.param.u64 %d1, [o];
 ld.param.u32 %r5, [n];
 mov.u32 %r1, %tid.x;
 and.b32 %r2, %r1, 3;
 mov.u32 %r3, 0;
 .loc 1 2 0
 setp.ge.u32 %p1, %r1, %r5;
 @%p1 bra JOIN;
 .loc 1 3 0
 add.u32 %r3, %r3, 100;
JOIN:
 .loc 1 4 0
 setp.eq.u32 %p2, %r2, 0;
 @%p2 bra DONE;
LOOP:
 .loc 1 5 0
 add.u32 %r3, %r3, 1;
 @%p1 add.u32 %r3, %r3, 1;
 sub.u32 %r2, %r2, 1;
 .loc 1 6 0
 setp.ne.u32 %p2, %r2, 0;
 @%p2 bra LOOP;
DONE:
 .loc 1 7 0
 mul.wide.u32 %d2, %r1, 4;
 add.u64 %d2, %d2, %d1;
 st.global.u32 [%d2], %r3;
 ret;
}
.file 1 "k.cu"
"""


def test_lines_of_a_divergent_kernel() -> None:
    o, t = np.zeros(64, np.int32), np.arange(64)
    record = lanewise.compile(SOURCE)["k"][1, 64](o, np.uint32(40))
    assert np.array_equal(o, 100 * (t < 40) + (t % 4) * (1 + (t >= 40)))
    assert record.lines == (
        LineCounts("k.cu", 1, 2 * 5, 64 * 5),
        LineCounts("k.cu", 2, 2 * 2, 64 * 2, branches=2, divergent_branches=1),  # threads 40 to 63 leave
        LineCounts("k.cu", 3, 2 * 1, 40 * 1),
        LineCounts("k.cu", 4, 2 * 2, 64 * 2, branches=2, divergent_branches=2),
        LineCounts("k.cu", 5, 2 * 3 * 3, 96 * 3),  # 3 rounds a warp; 0 to 3 rounds a thread: 96 in all
        LineCounts("k.cu", 6, 2 * 3 * 2, 96 * 2, branches=6, divergent_branches=4),  # all lanes left in the last
        LineCounts("k.cu", 7, 2 * 4, 64 * 4),
    )
    assert record.launch.ptx_instructions == sum(line.ptx_instructions for line in record.lines)
    assert record.launch.ptx_thread_instructions == sum(line.ptx_thread_instructions for line in record.lines)


@pytest.mark.parametrize("block", [32, 20, 70])
def test_local_memory(block: int) -> None:
    source = """__global__ void k(int* o, int n) {
      int a[16];
      for (int i = 0; i < 16; i++) a[(i * n) & 15] = i;
      o[threadIdx.x] =
        a[threadIdx.x * n & 15];
    }"""
    o = np.zeros(block, np.int32)
    record = lanewise.compile(source)["k"][1, block](o, np.int32(3))
    t = np.arange(block)
    assert np.array_equal(o, (t * 3 * 11) % 16)  # 3 * 11 = 1 modulo 16
    (load,) = [a for a in record.accesses if a.space == Space.LOCAL and a.opcode.startswith("ld")]
    warps = [range(first, min(first + 32, block)) for first in range(0, block, 32)]
    expected = sum(
        coalescing.local_sectors([4 * (x * 3 & 15) for x in warp] + [0] * (32 - len(warp)), (1 << len(warp)) - 1, 4)
        for warp in warps
    )
    assert (load.requests, load.threads, load.sectors) == (len(warps), block, expected)


def test_every_instruction_that_is_written_counts() -> None:
    header = ".version 8.0\n.target sm_80\n.address_size 64\n"
    for body, instructions in (("{ ret; }", 1), ("{ }", 0), ("{ .reg .b32 %r<2>; mov.u32 %r1, 1; }", 1)):
        launch = lanewise.compile(f"{header}.visible .entry k() {body}")["k"][3, 40]().launch
        assert (launch.ptx_thread_instructions, launch.ptx_instructions) == (120 * instructions, 6 * instructions)
