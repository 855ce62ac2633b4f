"""Locks, tickets, flags and chains among threads of one warp, of a block and of several blocks: all of them end."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits

SOURCE = """
__global__ void buckets(int* locks, int* count, int* list, int nb, int per) {
  int t = blockIdx.x*blockDim.x + threadIdx.x;
  for (int j = 0; j < t % per + 1; j++) {
    int b = (t*7 + j*3) % nb;
    bool done = false;
    while (!done) {
      if (atomicCAS(locks + b, 0, 1) == 0) {
        __threadfence();
        int c = *(volatile int*)(count + b);
        list[b*4096 + c] = t*100 + j;
        *(volatile int*)(count + b) = c + 1;
        __threadfence();
        atomicExch(locks + b, 0);
        done = true;
      }
    }
  }
}
__global__ void ticket(int* next, volatile int* serving, int* o, int rounds) {
  for (int r = 0; r < rounds; r++) {
    int my = atomicAdd(next, 1);
    while (*serving != my);
    o[0] = o[0] + 1;
    o[1 + my % 64]++;
    __threadfence();
    *serving = my + 1;
  }
}
__global__ void sense(int* cnt, volatile int* flag, int* o, int n) {
  int local = 0;
  for (int r = 0; r < 3; r++) {
    local = !local;
    o[r*n + threadIdx.x] = 1;
    __threadfence();
    if (atomicAdd(cnt, 1) == n-1) {
      *cnt = 0;
      __threadfence();
      *flag = local;
    }
    else while (*flag != local);
    int s = 0;
    for (int i = 0; i < n; i += 7) s += ((volatile int*)o)[r*n + i];
    o[3*n + r*n + threadIdx.x] = s;
  }
}
__global__ void nested(int* l, int* o) {
  int t = threadIdx.x;
  int a = t % 3, b = (t + 1) % 3;
  if (a > b) {
    int c = a;
    a = b;
    b = c;
  }
  bool done = false;
  while (!done) {
    if (atomicCAS(l + a, 0, 1) == 0) {
      if (atomicCAS(l + b, 0, 1) == 0) {
        o[a]++;
        o[b]++;
        __threadfence();
        atomicExch(l + b, 0);
        done = true;
      }
      atomicExch(l + a, 0);
    }
  }
}
__global__ void pipe(volatile int* slot, volatile int* full, int* o, int n) {
  int w = threadIdx.x/32, l = threadIdx.x % 32;
  if (w == 0) {
    for (int i = 0; i < n; i++) {
      while (full[l] == 1);
      slot[l] = i*32 + l;
      __threadfence_block();
      full[l] = 1;
    }
  }
  else {
    int s = 0;
    for (int i = 0; i < n; i++) {
      while (full[l] == 0);
      s += slot[l];
      __threadfence_block();
      full[l] = 0;
    }
    o[l] = s;
  }
}
__global__ void chain(volatile int* f, int* o) {
  int t = threadIdx.x;
  if (t > 0) while (f[t-1] == 0);
  o[t] = t > 0 ? o[t - 1] + t : 0;
  __threadfence();
  f[t] = 1;
}
__global__ void rchain(volatile int* f, volatile int* o) {
  int t = threadIdx.x;
  int n = blockDim.x;
  if (t < n-1) while (f[t + 1] == 0);
  o[t] = t < n - 1 ? o[t + 1] + t : t;
  __threadfence();
  f[t] = 1;
  __syncthreads();
  if (t == 0) o[n] = o[0];
}
__global__ void backoff(int* l, int* o) {
  unsigned ns = 8;
  while (atomicCAS(l, 0, 1) == 1) {
    __nanosleep(ns);
    if (ns < 256) ns *= 2;
  }
  o[0]++;
  __threadfence();
  atomicExch(l, 0);
  __syncwarp();
  if (threadIdx.x % 32 == 0) atomicAdd(o + 1, 1);
}
__global__ void elect(int* o) {
  __shared__ int s[8];
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;
  __syncthreads();
  for (int i = 0; i < 5; i++) {
    if (atomicAdd(&s[i], 1) == blockDim.x-1) o[i] = 100 + i;
    while (((volatile int*)s)[i] < blockDim.x);
  }
  o[8 + t] = s[4];
}
"""


@pytest.fixture(scope="module", params=["optimised", "-G"])
def module(request: pytest.FixtureRequest) -> lanewise.Module:
    options = ("-G",) if request.param == "-G" else ()
    return lanewise.compile(SOURCE, options=options, limits=Limits(seconds=30))


def zeros(n: int = 1) -> np.ndarray:
    return np.zeros(n, np.int32)


def test_lists_with_a_lock_each(module: lanewise.Module) -> None:
    buckets, most = 5, 4
    count, items = zeros(buckets), zeros(buckets * 4096)
    module["buckets"][4, 96](zeros(buckets), count, items, np.int32(buckets), np.int32(most))
    expected: list[list[int]] = [[] for _ in range(buckets)]
    for t in range(384):
        for j in range(t % most + 1):
            expected[(t * 7 + j * 3) % buckets].append(t * 100 + j)
    for b in range(buckets):
        assert sorted(items[b * 4096 : b * 4096 + count[b]]) == sorted(expected[b])


def test_tickets(module: lanewise.Module) -> None:
    o = zeros(65)
    module["ticket"][2, 64](zeros(), zeros(), o, np.int32(2))
    assert o[0] == 256
    assert np.all(o[1:] == 4)


def test_a_barrier_made_of_atomics(module: lanewise.Module) -> None:
    o = zeros(6 * 96)
    module["sense"][1, 96](zeros(), zeros(), o, np.int32(96))
    assert np.all(o[3 * 96 :] == 14)


def test_two_locks_held_at_once(module: lanewise.Module) -> None:
    o = zeros(3)
    module["nested"][1, 96](zeros(3), o)
    assert o.tolist() == [64, 64, 64]


def test_a_pipe_between_warps(module: lanewise.Module) -> None:
    o = zeros(32)
    module["pipe"][1, 64](zeros(32), zeros(32), o, np.int32(6))
    assert np.array_equal(o, 480 + 6 * np.arange(32))


def test_chains_of_threads(module: lanewise.Module) -> None:
    o = zeros(70)
    module["chain"][1, 70](zeros(70), o)  # each waits for the one before
    assert np.array_equal(o, np.cumsum(np.arange(70)))
    o = zeros(71)
    module["rchain"][1, 70](zeros(70), o)  # and for the one after
    assert np.array_equal(o[:70], np.cumsum(np.arange(70)[::-1])[::-1])


def test_a_lock_with_sleep(module: lanewise.Module) -> None:
    o = zeros(2)
    module["backoff"][3, 64](zeros(), o)
    assert o.tolist() == [192, 6]


def test_counting_to_the_last_thread(module: lanewise.Module) -> None:
    o = zeros(108)
    module["elect"][1, 100](o)
    assert o[:5].tolist() == [100, 101, 102, 103, 104]
    assert np.all(o[8:] == 100)
