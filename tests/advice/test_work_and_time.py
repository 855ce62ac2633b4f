"""Kernels that must and must not be told of divergence, contended atomics, shared traffic, double precision."""

from __future__ import annotations

from functools import cache

import pytest
from kernels import Kernels, kernels, of_rule

from lanewise.advice.history import History
from lanewise.advice.rules.tiny_launches import find_in_run
from lanewise.records import LaunchRecord, Tried

SOURCE = """
template <class T, int LANES> __device__ void ways(T* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T v = a[i];
    if (threadIdx.x / LANES % 2 == 0) { for (int k = 0; k < 50; k++) v = v * T(1.0001) + T(0.5); }
    else { for (int k = 0; k < 50; k++) v = sqrt(v + T(1)); }
    a[i] = v;
}
extern "C" __global__ void by_lane(float* a) { ways<float, 1>(a); }
extern "C" __global__ void by_warp(float* a) { ways<float, 32>(a); }
extern "C" __global__ void by_one(float* a) {
    float v = a[blockIdx.x];
    if (threadIdx.x == 0) for (int k = 0; k < 200; k++) v = sqrt(v + 1.0f);
    a[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void trips(float* a, const int* work) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < work[i] % 64 * 16; k++) v = v * 1.0001f + 0.5f;
    a[i] = v;
}
extern "C" __global__ void even_trips(float* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = a[i];
    for (int k = 0; k < 512 + blockIdx.x % 2; k++) v = v * 1.0001f + 0.5f;
    a[i] = v;
}
extern "C" __global__ void count(const unsigned* keys, unsigned* bins) {
    for (int k = 0; k < 16; k++)
        atomicAdd(&bins[(keys[(blockIdx.x * 16 + k) * blockDim.x + threadIdx.x] * 2654435761u) >> 24], 1u);
}
extern "C" __global__ void count_one(const unsigned* keys, unsigned* bins) {
    atomicAdd(&bins[(keys[blockIdx.x * blockDim.x + threadIdx.x] * 2654435761u) >> 24], 1u);
}
extern "C" __global__ void count_in_blocks(const unsigned* keys, unsigned* bins) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 16; k++)
        atomicAdd(&own[(keys[(blockIdx.x * 16 + k) * blockDim.x + threadIdx.x] * 2654435761u) >> 24], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" __global__ void doubles(double* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = a[i];
    for (int k = 0; k < 100; k++) v = v * 1.0001 + 0.5;
    a[i] = v;
}
extern "C" __global__ void touch(const float* a, const float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
extern "C" __global__ void product(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[y * n + x] = sum;
}
extern "C" __global__ void tiny(float* a) { a[threadIdx.x] += 1; }
"""
N = 1024 * 256


def line(text: str) -> int:
    return next(number for number, row in enumerate(SOURCE.splitlines(), start=1) if text in row)


@cache  # a launch of a shape is looked at once
def by(name: str, width: int = 4) -> LaunchRecord:
    return kernels(SOURCE).launch(name, (N // 256, 1, 1), (256, 1, 1), width * N)


def test_ways_of_lanes() -> None:
    (found,) = of_rule(by("by_lane"), "lane_divergence")
    assert found.line == line("threadIdx.x / LANES")
    assert found.gain is not None
    assert found.gain.after_us == pytest.approx(by("by_warp").time_us, rel=0.2)
    assert of_rule(by("by_warp"), "lane_divergence") == []


def test_one_lane_that_works_for_its_block_has_no_others_to_be_with() -> None:
    record = by("by_one")
    assert sum(row.divergent_branches for row in record.lines) >= N // 256
    assert of_rule(record, "lane_divergence") == []


def test_trips_of_lanes() -> None:
    record = kernels(SOURCE).launch("trips", (N // 256, 1, 1), (256, 1, 1), 4 * N, 4 * N)
    (found,) = of_rule(record, "uneven_loops")
    assert found.line == line("work[i]")
    assert of_rule(record, "lane_divergence") == []
    even = by("even_trips")
    assert [f.check for f in even.advice if f.check in ("uneven_loops", "lane_divergence")] == []


def test_atomics_of_blocks_that_have_few_each() -> None:
    """256 keys for 256 words: a copy for each block would save nothing, unless each block took more of the keys."""
    n = 1 << 20
    record = kernels(SOURCE).launch("count_one", (n // 256, 1, 1), (256, 1, 1), 4 * n, 1024)
    (found,) = of_rule(record, "contended_atomics")
    assert "no more blocks run than fit at once" in found.next_step
    few = kernels(SOURCE).launch("count_one", (256, 1, 1), (256, 1, 1), 4 << 16, 1024)
    assert of_rule(few, "contended_atomics") == []


def test_atomics_on_few_words() -> None:
    record = kernels(SOURCE).launch("count", (N // 256, 1, 1), (256, 1, 1), 16 * 4 * N, 1024)
    (found,) = of_rule(record, "contended_atomics")
    assert found.line == line("atomicAdd(&bins[(")
    assert "`bins`" in found.message
    blocks = kernels(SOURCE).launch("count_in_blocks", (N // 256, 1, 1), (256, 1, 1), 16 * 4 * N, 1024)
    assert of_rule(blocks, "contended_atomics") == []


@pytest.mark.parametrize(("device", "few"), [("h200", False), ("rtx4090", True)])
def test_double_precision_where_units_are_few(device: str, few: bool) -> None:
    record = Kernels(SOURCE, device=device).launch("doubles", (N // 256, 1, 1), (256, 1, 1), 8 * N)
    assert len(of_rule(record, "double_precision")) == few


def test_products_from_shared_memory() -> None:
    n = 512
    known = kernels(SOURCE)
    places = known.arrays(4 * n * n, 4 * n * n, 4 * n * n)
    known.launch_on("touch", (n * n // 256, 1, 1), (256, 1, 1), *places)  # brings them into the L2
    record = known.launch_on("product", (n // 16, n // 16, 1), (16, 16, 1), *places, n)
    (found,) = of_rule(record, "shared_traffic")
    assert found.line == line("sum += a[")
    assert found.rung == "gemm register_blocks"


def test_launches_that_only_start() -> None:
    record = kernels(SOURCE).launch("tiny", (1, 1, 1), (32, 1, 1), 128)
    ((number, found),) = find_in_run(History([record] * 20))
    assert number == record.id
    assert found.gain is not None
    assert found.gain.tried is Tried.ESTIMATED
    assert "20 in a row" in found.message
    assert list(find_in_run(History([record] * 5))) == []
    assert list(find_in_run(History([by("by_lane")] * 20))) == []


TWO = """
extern "C" __global__ void scale(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
extern "C" __global__ void shift(const float* y, float* z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    z[i] = y[i] + 1;
}
extern "C" __global__ void turn(const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    z[i] = y[n - 1 - i];
}
extern "C" __global__ void twice(const float* in, float* out) {
    __shared__ float tile[256];
    float sum = 0;
    for (int k = 0; k < 64; k++) {
        tile[threadIdx.x] = in[threadIdx.x + k];
        __syncthreads();
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
"""


def test_a_kernel_that_reads_what_the_last_one_wrote_is_to_be_fused() -> None:
    found = of_rule(_one_after_the_other("scale", "shift"), "fuse_kernels")
    assert f"reads {4 * N:,} bytes that `scale` wrote" in found[0].message
    assert found[0].rung == "pointwise fused"
    assert of_rule(_one_after_the_other("scale", "turn"), "fuse_kernels") == []  # other warps wrote it


def _one_after_the_other(first: str, second: str) -> LaunchRecord:
    """x to y by the first, y to z by the second."""
    made = Kernels(TWO)
    x, y, z = made.arrays(4 * N, 4 * N, 4 * N)
    made.launch_on(first, (N // 256, 1, 1), (256, 1, 1), x, y)
    rest = (N,) if second == "turn" else ()
    return made.launch_on(second, (N // 256, 1, 1), (256, 1, 1), y, z, *rest)


def test_two_barriers_in_a_row() -> None:
    record = kernels(TWO).launch("twice", (132, 1, 1), (256, 1, 1), 4096, 1024)
    (found,) = of_rule(record, "redundant_barrier")
    assert found.line == 1 + next(n for n, row in enumerate(TWO.splitlines(), start=1) if "__syncthreads" in row)
    assert of_rule(by("by_lane"), "redundant_barrier") == []
