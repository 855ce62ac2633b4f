"""Kernels that must and must not be told of trees in shared memory, of short reductions, of one element a thread."""

from __future__ import annotations

from functools import cache

import pytest
from kernels import kernels, of_rule

from lanewise.records import LaunchRecord

SOURCE = """
__device__ float in_warp(float v) {
    for (int s = 16; s > 0; s /= 2) v += __shfl_xor_sync(~0u, v, s);
    return v;
}
__device__ float in_block(float v, float* of_warp) {
    v = in_warp(v);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    return threadIdx.x < 32 ? in_warp(threadIdx.x < 8 ? of_warp[threadIdx.x] : 0.0f) : 0.0f;
}
extern "C" __global__ void tree(float* sums, const float* a) {
    __shared__ float partial[256];
    partial[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
extern "C" __global__ void shuffled(float* sums, const float* a) {
    __shared__ float of_warp[8];
    float v = in_block(a[blockIdx.x * 256 + threadIdx.x], of_warp);
    if (threadIdx.x == 0) sums[blockIdx.x] = v;
}
extern "C" __global__ void stays(float* sums, const float4* a) {
    __shared__ float of_warp[8];
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < (1 << 20) / 4; i += gridDim.x * 256) {
        float4 x = a[i];
        v += (x.x + x.y) + (x.z + x.w);
    }
    v = in_block(v, of_warp);
    if (threadIdx.x == 0) sums[blockIdx.x] = v;
}
extern "C" __global__ void prefix(float* out, const float* a) {
    __shared__ float values[2][256];
    int t = threadIdx.x, now = 0;
    values[0][t] = a[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        values[1 - now][t] = values[now][t] + (t >= s ? values[now][t - s] : 0.0f);
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = values[now][t];
}
extern "C" __global__ void stencil(float* out, const float* a) {
    __shared__ float values[2][258];
    int t = threadIdx.x, now = 0;
    values[0][t] = values[1][t] = a[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 0; s < 8; s++) {
        values[1 - now][t] = (values[now][t] + values[now][t + 1] + values[now][t + 2]) * 0.25f;
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = values[now][t];
}
extern "C" __global__ void sorted(float* out, const float* a) {
    __shared__ float values[256];
    int t = threadIdx.x;
    values[t] = a[blockIdx.x * 256 + t];
    for (int size = 2; size <= 256; size *= 2)
        for (int apart = size / 2; apart > 0; apart /= 2) {
            __syncthreads();
            int other = t ^ apart;
            float x = values[t], y = values[other];
            if (other > t && (x > y) == ((t & size) == 0)) { values[t] = y; values[other] = x; }
        }
    __syncthreads();
    out[blockIdx.x * 256 + t] = values[t];
}
template <int ROWS> __device__ void turn(float* out, const float* a) {
    __shared__ float tile[32][33];
    int x = blockIdx.x % 32 * 32 + threadIdx.x % 32, y = blockIdx.x / 32 * 32 + threadIdx.x / 32;
    int to_x = blockIdx.x / 32 * 32 + threadIdx.x % 32, to_y = blockIdx.x % 32 * 32 + threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < 32; j += ROWS) tile[threadIdx.x / 32 + j][threadIdx.x % 32] = a[(y + j) * 1024 + x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; j += ROWS) out[(to_y + j) * 1024 + to_x] = tile[threadIdx.x % 32][threadIdx.x / 32 + j];
}
extern "C" __global__ void turn_one(float* out, const float* a) { turn<32>(out, a); }
extern "C" __global__ void turn_four(float* out, const float* a) { turn<8>(out, a); }
"""
N = 1 << 20


@cache
def by(name: str, blocks: int = N // 256) -> LaunchRecord:
    return kernels(SOURCE).launch(name, (blocks, 1, 1), (256, 1, 1), 4 * N, 4 * N)


def gains(rule: str, name: str) -> float:
    (found,) = of_rule(by(name), rule)
    assert found.gain is not None
    return found.gain.after_us


def test_a_tree_by_shuffles() -> None:
    (found,) = of_rule(by("tree"), "shared_memory_tree")
    assert "`partial` in 8 steps" in found.message
    assert found.rung == "reduce shuffle"
    assert gains("shared_memory_tree", "tree") == pytest.approx(by("shuffled").time_us, rel=0.1)


def test_a_sum_of_few_elements() -> None:
    stays = by("stays", 132 * 8).time_us
    assert gains("short_reduction", "tree") == pytest.approx(stays, rel=0.15)
    assert gains("short_reduction", "shuffled") == pytest.approx(stays, rel=0.15)


def test_a_scan() -> None:
    (found,) = of_rule(by("prefix"), "shared_memory_tree")
    assert found.message.startswith("Scan in shared memory")
    assert found.rung == "scan shuffle"
    assert of_rule(by("prefix"), "short_reduction") == []


@pytest.mark.parametrize("name", ["shuffled", "stencil", "sorted"])
def test_other_steps_are_no_tree(name: str) -> None:
    assert by(name).time_us
    assert of_rule(by(name), "shared_memory_tree") == []


def test_blocks_that_stay_are_told_nothing() -> None:
    assert [f.check for f in by("stays", 132 * 8).advice if f.gain is not None] == []


def test_a_result_for_each_element_is_no_reduction() -> None:
    assert of_rule(by("stencil"), "short_reduction") == []


def test_one_element_a_thread() -> None:
    one, four = (
        kernels(SOURCE).launch(f"turn_{name}", (1024, 1, 1), (threads, 1, 1), 4 * N, 4 * N)
        for name, threads in (("one", 1024), ("four", 256))
    )
    (found,) = of_rule(one, "one_element_a_thread")
    assert found.gain is not None
    assert found.gain.after_us == pytest.approx(four.time_us, rel=0.15)
    assert of_rule(four, "one_element_a_thread") == []
