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
