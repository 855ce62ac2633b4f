"""Kernels launched from Python: results and counts, the expectation beside the line it concerns."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.errors import KernelFault
from lanewise.records import Pattern, Space

GEMM = """
__global__ void gemm(const float* A, const float* B, float* C, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float s = 0;
  for (int k = 0; k < n; k++) s += A[row * n + k] * B[k * n + col];
  C[row * n + col] = s;
}
"""


@pytest.mark.parametrize(("n", "block"), [(64, (32, 32)), (48, (16, 16)), (37, (32, 8)), (5, (3, 7)), (1, (1, 1))])
def test_gemm_of_any_block_shape(n: int, block: tuple[int, int]) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    grid = (-(-n // block[0]), -(-n // block[1]))
    lanewise.compile(GEMM)["gemm"][grid, block](a, b, c, np.int32(n))
    assert np.array_equal(c, a @ b)


def test_sectors_of_the_two_operands_of_a_gemm() -> None:
    n = 64
    zeros = np.zeros((n, n), np.float32)
    record = lanewise.compile(GEMM)["gemm"][(2, 2), (32, 32)](zeros, zeros, zeros.copy(), np.int32(n))
    loads = {a.pattern: a for a in record.accesses if a.opcode.startswith("ld") and a.requests}
    assert loads[Pattern.BROADCAST].sectors == loads[Pattern.BROADCAST].requests  # A[row * n + k]: 1 sector
    assert loads[Pattern.CONTIGUOUS].sectors == 4 * loads[Pattern.CONTIGUOUS].requests  # B[k * n + col]: 4


def test_a_read_past_the_end_names_the_index() -> None:
    kernel = lanewise.compile("__global__ void k(int* a) { a[threadIdx.x] += 1; }")["k"]
    with pytest.raises(KernelFault) as fault:
        kernel[1, 64](np.zeros(60, np.int32))
    assert any("indices 60 to 63; valid are 0 to 59" in line for line in fault.value.finding.evidence)


def test_shared_memory_conflicts_are_counted() -> None:
    source = """
    __global__ void k(int* out) {
      __shared__ int s[1024];
      for (int i = threadIdx.x; i < 1024; i += 32) s[i] = i;
      __syncthreads();
      out[threadIdx.x] = s[threadIdx.x * 32];  // 32 lanes, one bank
    }"""
    out = np.zeros(32, np.int32)
    record = lanewise.compile(source)["k"][1, 32](out)
    assert out.tolist() == [32 * lane for lane in range(32)]
    (load,) = [a for a in record.accesses if a.space == Space.SHARED and a.opcode.startswith("ld")]
    assert (load.requests, load.wavefronts, load.wavefronts_ideal) == (1, 32, 1)


MOVES = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
 .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .pred %p<2>;
 ld.param.u64 %d1, [out];
 mov.u32 %r1, %tid.x;
 mov.u32 %r2, 7;
 mad.lo.u32 %r3, %r1, 3, 1;
 mov.u32 %r4, %ctaid.x;
 mov.v4.b32 {%r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4};
 mov.v2.u32 {%r5, %r6}, {%r6, %r5};
 setp.lt.u32 %p1, %r1, 5;
 @%p1 mov.v2.u32 {%r7, %r8}, {%r2, %r1};
 mul.wide.u32 %d2, %r1, 16;
 add.u64 %d1, %d1, %d2;
 st.global.v4.u32 [%d1], {%r5, %r6, %r7, %r8};
 ret;
}
"""


def test_vectors_of_registers_are_moved() -> None:
    out = np.zeros((32, 4), np.uint32)
    lanewise.compile(MOVES)["k"][1, 32](out)
    assert out.tolist() == [[7, t, 7 if t < 5 else 3 * t + 1, t if t < 5 else 0] for t in range(32)]
