"""Kernels that must and must not be told to keep a tile of what they read."""

from __future__ import annotations

from functools import cache

import pytest
from kernels import kernels, of_rule

from lanewise.records import LaunchRecord

SOURCE = """
extern "C" __global__ void product(const float* A, const float* B, float* C, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[y * n + k] * B[k * n + x];
    C[y * n + x] = sum;
}
template <int T> __device__ void tiled(const float* A, const float* B, float* C, int n) {
    __shared__ float a[T][T], b[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < n; t += T) {
        a[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[y * n + x] = sum;
}
extern "C" __global__ void tiled_32(const float* A, const float* B, float* C, int n) { tiled<32>(A, B, C, n); }
extern "C" __global__ void tiled_16(const float* A, const float* B, float* C, int n) { tiled<16>(A, B, C, n); }
extern "C" __global__ void three_points(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[max(i - 1, 0)] + in[i] + in[min(i + 1, n - 1)];
}
extern "C" __global__ void own_row(const float* in, float* out, int n) {  // again and again, but by one warp alone
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += in[i / 32 * n + k];
    out[i] = sum;
}
"""
NAME = "re_read_data"
N = 256


@cache  # a launch of a shape is looked at once
def product(name: str, side: int = 32) -> LaunchRecord:
    size = 4 * N * N
    grid = (N // side, N // side, 1)
    return kernels(SOURCE).launch(name, grid, (side, side, 1), size, size, size, N.to_bytes(4, "little"))


@pytest.mark.parametrize(("side", "times"), [(16, 8), (32, 32)])  # a warp of 16 x 2 threads reads B once for both rows
def test_a_product_of_matrices_is_to_be_tiled(side: int, times: int) -> None:
    (found,) = of_rule(product("product", side), NAME)
    assert found.line == 5
    assert f"each byte of `B` {times} times" in found.message
    assert "`A` alike." in found.evidence
    assert found.rung == "gemm tiled"
    assert found.price == f"{2 * 4 * side * side:,} bytes of shared memory a block, and two barriers a tile"
    assert found.gain is not None
    tiled = product(f"tiled_{side}", side).time_us
    assert tiled is not None
    assert 1 / 2 < found.gain.after_us / tiled < 1.5  # both cold: tiles wait for DRAM at each barrier


def test_a_tile_is_not_to_be_tiled() -> None:
    assert of_rule(product("tiled_32"), NAME) == []


@pytest.mark.parametrize("name", ["three_points", "own_row"])
def test_what_a_cache_serves_as_well_is_left_alone(name: str) -> None:
    n = 256
    record = kernels(SOURCE).launch(name, (32, 1, 1), (256, 1, 1), 4 * 8192 * 32, 4 * 8192, n.to_bytes(4, "little"))
    assert of_rule(record, NAME) == []
