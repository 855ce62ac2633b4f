"""Kernels that must and must not be told of other lanes, other blocks, fewer or more registers: each was run again."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import kernels, of_rule

from lanewise.advice.shapes import dims, shapes
from lanewise.records import LaunchRecord, Tried

SOURCE = """
extern "C" __global__ void gemm_swapped(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
}
extern "C" __global__ void gemm_naive(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
}
extern "C" __global__ void transpose(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
extern "C" __global__ void chain(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = in[i];
    for (int k = 0; k < 256; k++) s = s * 1.5f + 0.5f * (s > 2 ? s : 1);
    out[i] = s;
}
extern "C" __global__ void tile_of_1024(const float* in, float* out) {
    int i = blockIdx.x * 1024 + threadIdx.x;
    float s = in[i];
    for (int k = 0; k < 256; k++) s = s * 1.5f + 0.5f * (s > 2 ? s : 1);
    out[i] = s;
}
template <int STEPS> __device__ void follow(const int* next, int* out, int at) {
    extern __shared__ int room[];
    int i = at;
    for (int k = 0; k < STEPS; k++) at = next[at] ^ 32;
    room[threadIdx.x] = at;
    out[i] = room[threadIdx.x];
}
extern "C" __global__ void waits(const int* next, int* out) {
    follow<16>(next, out, blockIdx.x * blockDim.x + threadIdx.x);
}
extern "C" __global__ void waits_in_128(const int* next, int* out) {
    follow<16>(next, out, blockIdx.x * 128 + threadIdx.x);
}
template <int BLOCKS> __device__ void keep_many(const float* in, float* out, int n) {
    float r[48];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 48; k++) r[k] = in[(i + k * 1024) % n];
    float s = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) s += r[k] * r[47 - k] + r[(k * 7) % 48];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 48; k++) s = s * 0.5f + r[k] * s;
    out[i] = s;
}
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* in, float* out, int n) {
    keep_many<2>(in, out, n);
}
extern "C" __global__ void __launch_bounds__(1024, 1) fits(const float* in, float* out, int n) {
    keep_many<1>(in, out, n);
}
extern "C" __global__ void array(const int* index, float* out) {
    float r[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 32; k++) r[k] = k * i;
    float s = 0;
    int j = index[i] & 31;
    for (int k = 0; k < 16; k++) { s += r[j]; r[(j * 5 + k) & 31] += s; j = (j + 3) & 31; }
    out[i] = s;
}
extern "C" __global__ void unrolled(const int* index, float* out) {
    float r[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; k++) r[k] = k * i + index[i];
    float s = 0;
#pragma unroll
    for (int k = 0; k < 32; k++) s += r[k] * r[31 - k];
    out[i] = s;
}
"""


def gemm(name: str, n: int = 128) -> LaunchRecord:
    size = 4 * n * n
    return kernels(SOURCE).launch(name, (n // 32, n // 32, 1), (32, 32, 1), size, size, size, np.int32(n).tobytes())


def test_a_swapped_index_is_named_and_exchanged() -> None:
    record = gemm("gemm_swapped")
    (finding,) = of_rule(record, "uncoalesced_by_swapped_index")
    assert record.advice[0] == finding
    assert finding.message == (
        "Uncoalesced load of `A`: neighbouring lanes differ in `row` (threadIdx.x), and each step of it is 512 bytes."
    )
    assert finding.gain is not None
    assert finding.gain.tried is Tried.RERUN
    assert finding.gain.after_us == pytest.approx(gemm("gemm_naive").time_us, rel=0.1)
    assert finding.gain.after_us < finding.gain.before_us / 2
    assert [lane for lane in finding.samples[0].lanes if lane is not None] == [512 * lane for lane in range(32)]
    assert of_rule(record, "strided_access") == []


def test_no_swap_where_it_only_moves_the_strides() -> None:
    assert of_rule(gemm("gemm_naive"), "uncoalesced_by_swapped_index") == []
    n = 256
    record = kernels(SOURCE).launch("transpose", (8, 8, 1), (32, 32, 1), 4 * n * n, 4 * n * n, np.int32(n).tobytes())
    assert of_rule(record, "uncoalesced_by_swapped_index") == []
    assert of_rule(record, "strided_access")


def whole(name: str, blocks: int, threads: int, shared: int = 0) -> LaunchRecord:
    size = 4 * blocks * threads
    return kernels(SOURCE).launch(name, (blocks, 1, 1), (threads, 1, 1), size, size, shared=shared)


def test_few_blocks_are_cut() -> None:
    (finding,) = of_rule(whole("chain", 64, 1024), "partial_wave")
    assert "64 blocks for 132 SMs: 68 of them have nothing to do" in finding.message
    assert finding.gain is not None
    assert finding.gain.tried is Tried.RERUN
    assert finding.gain.after_us < 0.75 * finding.gain.before_us


def test_blocks_that_mean_their_size_are_left_alone() -> None:
    assert of_rule(whole("tile_of_1024", 64, 1024), "partial_wave") == []


def test_many_blocks_or_nothing_to_gain_are_left_alone() -> None:
    assert of_rule(whole("chain", 1320, 256), "partial_wave") == []
    assert of_rule(whole("chain", 2, 32), "partial_wave") == []


def test_shared_memory_keeps_warps_away() -> None:
    """Larger blocks need no more of it; a kernel that means its block size has to do with less."""
    for name, tried in (("waits", Tried.RERUN), ("waits_in_128", Tried.ESTIMATED)):
        (finding,) = of_rule(whole(name, 4096, 128, shared=60_000), "occupancy_limit")
        assert finding.message == "An SM holds 12 of 64 warps: 3 blocks of 4, limited by shared memory."
        assert finding.gain is not None
        assert finding.gain.tried is tried
    assert finding.gain.change == "57,344 bytes of shared memory instead of 60,000"
    assert of_rule(whole("waits", 4096, 256, shared=1024), "occupancy_limit") == []


def test_the_size_of_blocks_keeps_warps_away() -> None:
    (finding,) = of_rule(whole("waits", 1320, 768, shared=4096), "occupancy_limit")
    assert "limited by the size of the blocks" in finding.message
    assert finding.gain is not None
    assert finding.gain.tried is Tried.RERUN


def test_more_warps_do_not_help_what_does_not_wait() -> None:
    record = whole("chain", 16384, 32)
    assert record.occupancy is not None
    assert record.occupancy.fraction == 0.5
    assert record.bound != "latency"
    assert of_rule(record, "occupancy_limit") == []


def many(name: str) -> LaunchRecord:
    size = 4 * 264 * 1024
    return kernels(SOURCE).launch(name, (264, 1, 1), (1024, 1, 1), size, size, np.int32(size // 4).tobytes())


def test_bounds_that_make_registers_spill() -> None:
    record = many("spills")
    assert record.resources is not None
    assert record.resources.spill_load_bytes > 0
    (finding,) = of_rule(record, "spills_and_local_arrays")
    assert finding.gain is not None
    assert finding.gain.tried is Tried.RERUN
    assert finding.gain.after_us == pytest.approx(many("fits").time_us, rel=0.05)
    assert of_rule(many("fits"), "spills_and_local_arrays") == []


def test_arrays_that_are_indexed_by_data() -> None:
    (finding,) = of_rule(whole("array", 1024, 256), "spills_and_local_arrays")
    assert finding.message.startswith("An array of a thread is in local memory (128 bytes a thread)")
    assert of_rule(whole("unrolled", 1024, 256), "spills_and_local_arrays") == []


def test_shapes_keep_all_threads() -> None:
    assert {c.block for c in shapes((4, 1, 1), (1024, 1, 1))} == {(n, 1, 1) for n in (64, 128, 256, 512)}
    two = shapes((8, 8, 1), (32, 32, 1))
    assert {c.block for c in two} == {(32, 2, 1), (32, 4, 1), (32, 8, 1), (32, 16, 1)}
    assert all(c.grid[1] * c.block[1] == 256 for c in two)
    assert dims((256, 1, 1)) == "256"
    assert dims((32, 8, 1)) == "32 x 8"
