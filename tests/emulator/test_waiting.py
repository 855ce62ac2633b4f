"""Threads that wait for others: barriers of blocks and warps, locks, flags, grid barriers; those that never end."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits
from lanewise.errors import KernelFault

LIMITS = Limits(seconds=30)
SOURCE = r"""
__global__ void reductions(int* o) {
  int t = threadIdx.x;
  int c = __syncthreads_count(t % 3 == 0);   // a third of the threads
  int a = __syncthreads_and(t < 1000);       // 1
  int a2 = __syncthreads_and(t < 50);        // 1 in blocks of up to 50 threads
  int b = __syncthreads_or(t == 77);         // 1 in blocks of more than 77 threads
  int b2 = __syncthreads_or(t == 1000);      // 0
  o[t] = c * 10000 + (a != 0) * 1000 + (a2 != 0) * 100 + (b != 0) * 10 + (b2 != 0);
}
__global__ void producer_consumer(int* o) {
  __shared__ int buffer[32];
  int t = threadIdx.x;
  if (t < 32) {
    for (int r = 0; r < 5; r++) {
      asm volatile("bar.sync 2, 64;" ::: "memory");
      buffer[t] = r * 100 + t;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  } else {
    int s = 0;
    for (int r = 0; r < 5; r++) {
      asm volatile("bar.arrive 2, 64;" ::: "memory");
      asm volatile("bar.sync 1, 64;" ::: "memory");
      s += buffer[t - 32];
    }
    o[t - 32] = s;  // 0 + 100 + ... + 400 + 5t
  }
}
__global__ void number_at_run_time(int* o) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = t;
  asm volatile("bar.sync %0, 64;" ::"r"(t / 64 + 3) : "memory");
  o[t] = s[t ^ 63];
}
__global__ void both_arms(int* o, int split) {  // each arm has a barrier of its own
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (t % split) { asm volatile("bar.sync 0;" ::: "memory"); o[t] = s[63 - t]; }
  else { asm volatile("bar.sync 0;" ::: "memory"); o[t] = s[63 - t] * 2; }
  __syncthreads();
  o[t] += s[t];
}
__global__ void early_return(int* o, int n) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t < n) return;
  s[t] = t;
  __syncthreads();  // of those that are left
  o[t] = s[n + (t + 1 - n) % (128 - n)];
}
__global__ void any_count(int* o, unsigned n) {
  asm volatile("bar.sync 3, %0;" ::"r"(n) : "memory");
  o[threadIdx.x] = 1;
}
__global__ void any_number(int* o, unsigned n) {
  asm volatile("bar.sync %0, 64;" ::"r"(n) : "memory");
  o[threadIdx.x] = 1;
}
__global__ void one_warp_short(int* o) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");  // waits for a warp that never comes
  o[threadIdx.x] = 1;
}

__global__ void warp_pipeline(int* o) {
  __shared__ volatile int s[32];
  int t = threadIdx.x, v = 0;
  for (int r = 0; r < 4; r++) {
    if (t < 16) { s[t] = t * 10 + r; __syncwarp(); __syncwarp(); }
    else { __syncwarp(); v += s[t - 16]; __syncwarp(); }
  }
  o[t] = v;  // lanes 16 to 31: 40 (t - 16) + 6
}
__global__ void half_a_warp(int* o) {
  int t = threadIdx.x;
  if (t < 16) __syncwarp(0xffff);  // all that it waits for are here: no lane goes ahead
  o[t] = t;                        // 1 request of 32 threads
}
__global__ void shuffles_apart(int* o) {
  int t = threadIdx.x, v = t;
  for (int i = 0; i < 8; i++) {
    if (t % (i + 2) == 0) continue;            // lanes come to the next shuffle by two ways
    v += i;
  }
  o[t] = __shfl_xor_sync(~0u, v, 1);
}

__global__ void lock_by_flag(int* o, int* lock) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      o[0] += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
__global__ void lock_by_loop(int* o, int* lock) {
  while (atomicCAS(lock, 0, 1) != 0);
  o[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
  o[1 + threadIdx.x] = __shfl_sync(~0u, threadIdx.x * o[65], 3);  // lanes meet again: 3 * o[65]
}
__device__ __noinline__ int take(int* lock) { return atomicCAS(lock, 0, 1); }
__global__ void lock_in_a_function(int* o, int* lock) {
  while (take(lock) != 0) __nanosleep(10);
  o[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
__global__ void flag_between_warps(int* o) {
  __shared__ volatile int f;
  if (threadIdx.x == 0) f = 0;
  __syncthreads();
  if (threadIdx.x < 32) { while (f == 0); o[threadIdx.x] = 7; }
  else f = 1;
}
__global__ void flag_between_lanes(int* o, int setter) {
  __shared__ volatile int f;
  f = 0;
  __syncwarp();
  if (threadIdx.x == setter) f = 1;
  else while (f == 0);
  o[threadIdx.x] = f;
}
__global__ void flag_between_blocks(int* o, volatile int* f) {  // block 0 waits for the last
  if (blockIdx.x == 0) while (f[0] == 0);
  if (blockIdx.x == gridDim.x - 1) f[0] = 1;
  o[blockIdx.x * blockDim.x + threadIdx.x] = 1 + f[0] * 0;
}
__device__ void all_blocks(unsigned* count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    unsigned goal = (atomicAdd(count, 1) / gridDim.x + 1) * gridDim.x;
    while (*(volatile unsigned*)count < goal);
    __threadfence();
  }
  __syncthreads();
}
__global__ void grid_barrier(int* o, unsigned* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = threadIdx.x;
  for (int r = 0; r < 3; r++) {
    all_blocks(count);
    int v = o[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x];
    all_blocks(count);
    o[i] = v + 1;  // in the end threadIdx.x + 3
  }
}
__global__ void look_back(const int* in, int* out, volatile int* state) {  // prefix sum, one block after the other
  __shared__ int before;
  int b = blockIdx.x, t = threadIdx.x;
  int sum = __reduce_add_sync(~0u, in[b * 32 + t]);
  if (t == 0) {
    int total = 0;
    if (b > 0) {
      while (state[2 * (b - 1)] == 0);
      __threadfence();
      total = state[2 * (b - 1) + 1];
    }
    before = total;
    state[2 * b + 1] = total + sum;
    __threadfence();
    state[2 * b] = 1;
  }
  __syncthreads();
  out[b * 32 + t] = before;
}
__global__ void endless_stores(int* o) { while (1) o[0]++; }
__global__ void endless_wait(volatile int* o) { while (o[0] == 0); }
__global__ void endless() { for (;;); }
__global__ void endless_for_one(int* o) { __syncthreads(); if (threadIdx.x == 40) for (;;) o[0]++; __syncthreads(); }
"""


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE, limits=LIMITS)


def zeros(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


@pytest.mark.parametrize("n", [1, 33, 100, 128])
def test_barriers_that_reduce(module: lanewise.Module, n: int) -> None:
    o = zeros(n)
    module["reductions"][2, n](o)
    assert np.all(o == (n + 2) // 3 * 10000 + 1000 + 100 * (n <= 50) + 10 * (n > 77))


def test_arrive_and_sync(module: lanewise.Module) -> None:
    o = zeros(32)
    module["producer_consumer"][1, 64](o)
    assert np.array_equal(o, 1000 + 5 * np.arange(32))


def test_barriers_with_numbers_found_at_run_time(module: lanewise.Module) -> None:
    o = zeros(128)
    module["number_at_run_time"][1, 128](o)
    assert np.array_equal(o, np.arange(128) ^ 63)


@pytest.mark.parametrize("split", [2, 3, 33, 64])
def test_a_barrier_in_each_arm(module: lanewise.Module, split: int) -> None:
    o, t = zeros(64), np.arange(64)
    module["both_arms"][1, 64](o, np.int32(split))
    assert np.array_equal(o, (63 - t) * np.where(t % split, 1, 2) + t)


@pytest.mark.parametrize("n", [1, 32, 40, 127])
def test_threads_that_returned_are_not_waited_for(module: lanewise.Module, n: int) -> None:
    o = zeros(128)
    module["early_return"][1, 128](o, np.int32(n))
    assert np.array_equal(o[n:], np.roll(np.arange(n, 128), -1))


def test_a_barrier_that_is_never_complete_is_reported(module: lanewise.Module) -> None:
    with pytest.raises(KernelFault, match="cannot go on") as fault:
        module["one_warp_short"][1, 64](zeros(64))
    assert fault.value.finding.check == "barrier"
    assert "1 warp wait" in fault.value.finding.evidence[0]


def test_lanes_hand_over_at_syncwarp(module: lanewise.Module) -> None:
    o = zeros(32)
    module["warp_pipeline"][1, 32](o)
    assert np.array_equal(o[16:], 40 * np.arange(16) + 6)


def test_syncwarp_of_the_lanes_that_are_there(module: lanewise.Module) -> None:
    record = module["half_a_warp"][1, 32](zeros(32))
    (store,) = record.accesses
    assert (store.requests, store.threads) == (1, 32)


def test_lanes_meet_at_a_shuffle(module: lanewise.Module) -> None:
    o, t = zeros(32), np.arange(32)
    module["shuffles_apart"][1, 32](o)
    v = t + sum(np.where(t % (i + 2) == 0, 0, i) for i in range(8))
    assert np.array_equal(o, v[t ^ 1])


@pytest.mark.parametrize("name", ["lock_by_flag", "lock_in_a_function"])
def test_a_lock_that_every_thread_takes(module: lanewise.Module, name: str) -> None:
    o = zeros(1)
    module[name][3, 64](o, zeros(1))
    assert o[0] == 192


def test_lanes_meet_again_after_a_lock(module: lanewise.Module) -> None:
    o = zeros(66)
    o[65] = 5
    module["lock_by_loop"][1, 64](o, zeros(1))
    assert o[0] == 64
    assert np.all(o[1:33] == 15)


def test_flags(module: lanewise.Module) -> None:
    o = zeros(64)
    module["flag_between_warps"][1, 64](o)
    assert np.all(o[:32] == 7)
    for setter in (0, 5, 31):
        o = zeros(32)
        module["flag_between_lanes"][1, 32](o, np.int32(setter))
        assert np.all(o == 1)
    o = zeros(64 * 20)
    module["flag_between_blocks"][20, 64](o, zeros(1))
    assert np.all(o == 1)


@pytest.mark.parametrize("blocks", [1, 2, 7, 100])
def test_a_barrier_of_all_blocks(module: lanewise.Module, blocks: int) -> None:
    o = zeros(64 * blocks)
    module["grid_barrier"][blocks, 64](o, np.zeros(1, np.uint32))
    assert np.array_equal(o, np.tile(np.arange(64), blocks) + 3)


def test_look_back(module: lanewise.Module) -> None:
    data = np.random.default_rng(1).integers(0, 100, 32 * 50).astype(np.int32)
    o = zeros(32 * 50)
    module["look_back"][50, 32](data, o, zeros(100))
    sums = data.reshape(50, 32).sum(axis=1)
    assert np.array_equal(o.reshape(50, 32)[:, 0], np.cumsum(sums) - sums)


@pytest.mark.parametrize("name", ["endless_stores", "endless_wait", "endless", "endless_for_one"])
def test_a_kernel_without_end_meets_the_limit_of_time(name: str) -> None:
    module = lanewise.compile(SOURCE, limits=Limits(seconds=0.4))
    arguments = () if name == "endless" else (zeros(1),)
    with pytest.raises(KernelFault, match=r"limit of 0\.4 seconds") as fault:
        module[name][2, 64](*arguments)
    assert fault.value.finding.check == "limit"


def test_a_kernel_without_end_meets_the_limit_of_instructions() -> None:
    module = lanewise.compile(SOURCE, limits=Limits(instructions=10**6))
    with pytest.raises(KernelFault, match="limit of 1,000,000 thread-level PTX instructions"):
        module["endless_stores"][1, 32](zeros(1))


def test_lanes_meet_at_functions_that_hold_barriers() -> None:
    source = """
    __device__ __noinline__ void meet(int* o) { __syncthreads(); }
    __device__ __noinline__ int across(int v) { return __shfl_xor_sync(~0u, v, 1); }
    __global__ void k(int* o, volatile int* flag) {
      int t = threadIdx.x;
      if (t == 32) flag[0] = 7;
      if (t == 0) while (flag[0] == 0);
      o[t] = t + 1;
      meet(o);
      o[64 + t] = o[t ^ 32] + across(t);
    }"""
    for options in ((), ("-G",)):
        o, t = zeros(128), np.arange(64)
        lanewise.compile(source, options=options, limits=LIMITS)["k"][1, 64](o, zeros(1))
        assert np.array_equal(o[64:], (t ^ 32) + 1 + (t ^ 1))


def test_a_barrier_of_part_of_a_warp(module: lanewise.Module) -> None:
    module["any_count"][1, 64](zeros(64), np.uint32(64))
    with pytest.raises(KernelFault, match="a barrier of 20 threads"):
        module["any_count"][1, 64](zeros(64), np.uint32(20))


@pytest.mark.parametrize("number", [16, 255, 0xFFFFFFFF])
def test_a_barrier_that_there_is_not(module: lanewise.Module, number: int) -> None:
    with pytest.raises(KernelFault, match=f"there is no barrier {number}"):
        module["any_number"][1, 64](zeros(64), np.uint32(number))
