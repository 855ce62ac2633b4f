"""Exchange within a warp against its definition in Python: shuffles, votes, match, redux, cooperative groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import lanewise

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void shuffles(int* o, int d, int w) {
  int t = threadIdx.x, v = t * 7;
  o[t] = __shfl_sync(~0u, v, t * d, w);
  o[32 + t] = __shfl_up_sync(~0u, v, d & 31, w);
  o[64 + t] = __shfl_down_sync(~0u, v, d & 31, w);
  o[96 + t] = __shfl_xor_sync(~0u, v, d & 31, w);
  o[128 + t] = __shfl_up_sync(~0u, v, 3, 8);      // constants
  o[160 + t] = __shfl_down_sync(~0u, v, 5, 16);
  o[192 + t] = __shfl_xor_sync(~0u, v, 9, 16);
  o[224 + t] = __shfl_sync(~0u, v, 9, 4);
  o[256 + t] = __shfl_down_sync(~0u, v, t * 5 & 31);          // another distance in each lane
  o[288 + t] = (int)(2 * __shfl_xor_sync(~0u, t * 3.5, 5));   // two exchanges of 32 bits
  o[320 + t] = (int)(__shfl_up_sync(~0u, (long long)v << 33, 2) >> 33);
}
__global__ void ballots(unsigned* o, int n) {
  int t = threadIdx.x, p, q;
  if (t >= n) return;
  unsigned all = __activemask();
  o[t] = all;
  o[32 + t] = __ballot_sync(all, t % 3 == 0);
  o[64 + t] = __any_sync(all, t == 5) * 2 + __all_sync(all, t < 20);
  o[96 + t] = __match_any_sync(all, t / 4);
  o[128 + t] = __match_any_sync(all, (unsigned long long)(t % 2) << 40);
  o[160 + t] = __match_all_sync(all, t * 0 + 3, &p);
  o[192 + t] = p != 0;
  o[224 + t] = __match_all_sync(all, t, &q);  // 0 unless the lane is alone
  o[256 + t] = __reduce_add_sync(all, t);
  o[288 + t] = __reduce_min_sync(all, -t);
  o[320 + t] = __reduce_max_sync(all, (unsigned)-t);
  o[352 + t] = __reduce_xor_sync(all, t * 5u);
  o[384 + t] = __reduce_and_sync(all, ~t);
  o[416 + t] = __reduce_or_sync(all, 1u << t);
}
__global__ void halves(unsigned* o) {
  int t = threadIdx.x;
  unsigned mine = t < 16 ? 0xffff : 0xffff0000;   // another mask in each half
  o[t] = __ballot_sync(mine, t % 5 == 0);
  o[32 + t] = __reduce_add_sync(mine, t);
  o[64 + t] = __all_sync(mine, t < 16) * 2 + __any_sync(mine, t == 20);
  o[96 + t] = __match_any_sync(mine, t % 3);
  if (t % 2) {
    unsigned odd = __activemask();                // 0xaaaaaaaa
    o[128 + t] = __shfl_sync(odd, t, t ^ 2);
    o[160 + t] = __ballot_sync(odd, t > 8);
  }
}
__global__ void tiles(int* o) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  o[threadIdx.x] = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>()) * 100 + tile.thread_rank();
  block.sync();
  if (threadIdx.x % 3 == 0) {
    auto some = cg::coalesced_threads();          // 11 lanes
    o[32 + threadIdx.x] = some.size() * 100 + some.thread_rank() + 10000 * some.shfl(threadIdx.x, 1);
  }
}
__global__ void labels(int* o) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, (int)threadIdx.x % 5);
  o[threadIdx.x] = same.size() * 100 + same.thread_rank();
  o[32 + threadIdx.x] = cg::reduce(same, (int)threadIdx.x, cg::plus<int>());
}
__global__ void aggregated(int* count, int* o) {  // one atomic for the lanes that are there
  int t = threadIdx.x;
  if (t % 3) {
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1, base;
    if ((t & 31) == leader) base = atomicAdd(count, __popc(mask));
    base = __shfl_sync(mask, base, leader);
    o[base + __popc(mask & ((1u << (t & 31)) - 1))] = t;
  }
}
"""
T = np.arange(32)


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


def up(t: int, d: int, w: int) -> int:
    return t - d if t - d >= t // w * w else t


def down(t: int, d: int, w: int) -> int:
    return t + d if t + d < t // w * w + w else t


def across(t: int, d: int, w: int) -> int:
    return t ^ d if t ^ d < t // w * w + w else t


def at(t: int, d: int, w: int) -> int:
    return t // w * w + d % w


def bits(lanes: Sequence[bool]) -> int:
    return sum(1 << lane for lane, on in enumerate(lanes) if on)


@pytest.mark.parametrize(("d", "w"), [(0, 32), (1, 32), (3, 8), (13, 16), (31, 32), (7, 4), (33, 2), (5, 1)])
def test_shuffles(module: lanewise.Module, d: int, w: int) -> None:
    o = np.zeros((11, 32), np.int32)
    module["shuffles"][1, 32](o, np.int32(d), np.int32(w))
    sources: list[Callable[[int], int]] = [
        lambda t: at(t, t * d, w),
        lambda t: up(t, d & 31, w),
        lambda t: down(t, d & 31, w),
        lambda t: across(t, d & 31, w),
        lambda t: up(t, 3, 8),
        lambda t: down(t, 5, 16),
        lambda t: across(t, 9, 16),
        lambda t: at(t, 9, 4),
        lambda t: down(t, t * 5 & 31, 32),
        lambda t: t ^ 5,
        lambda t: up(t, 2, 32),
    ]
    for row, source in zip(o, sources, strict=True):
        assert row.tolist() == [7 * source(t) for t in range(32)]


@pytest.mark.parametrize("n", [32, 20, 7, 1])
def test_votes_matches_and_reductions(module: lanewise.Module, n: int) -> None:
    o = np.zeros((14, 32), np.uint32)
    module["ballots"][1, 32](o, np.int32(n))
    t = np.arange(n)
    full = (1 << n) - 1
    every = np.bitwise_xor.reduce(t * 5)
    expected = [
        full,
        bits(t % 3 == 0),
        2 * (n > 5) + (n <= 20),
        [bits(t // 4 == x // 4) for x in t],
        [bits(t % 2 == x % 2) for x in t],
        full,
        1,
        full if n == 1 else 0,
        t.sum(),
        -(n - 1) & 0xFFFFFFFF,
        0xFFFFFFFF if n > 1 else 0,
        every,
        ~int(np.bitwise_or.reduce(t)) & 0xFFFFFFFF,
        full,
    ]
    for row, want in zip(o, expected, strict=True):
        assert row[:n].tolist() == np.broadcast_to(want, n).tolist()


def test_masks_of_some_lanes(module: lanewise.Module) -> None:
    o = np.zeros((6, 32), np.uint32)
    module["halves"][1, 32](o)
    mine = [t // 16 == T // 16 for t in T]
    assert o[0].tolist() == [bits(half & (T % 5 == 0)) for half in mine]
    assert o[1].tolist() == [int(T[half].sum()) for half in mine]
    assert o[2].tolist() == [2] * 16 + [1] * 16
    assert o[3].tolist() == [bits(half & (t % 3 == T % 3)) for half, t in zip(mine, T, strict=True)]
    odd = T[1::2]
    assert np.array_equal(o[4, odd], odd ^ 2)
    assert o[5, odd].tolist() == [bits((T % 2 == 1) & (T > 8))] * 16


def test_cooperative_groups(module: lanewise.Module) -> None:
    o = np.zeros(64, np.int32)
    module["tiles"][1, 32](o)
    assert np.array_equal(o[:32], (T // 8 * 64 + 28) * 100 + T % 8)
    assert np.array_equal(o[32::3], 1100 + np.arange(11) + 30000)
    module["labels"][1, 32](o)
    assert o[:32].tolist() == [sum(t % 5 == T % 5) * 100 + t // 5 for t in T]
    assert o[32:].tolist() == [T[t % 5 == T % 5].sum() for t in T]


def test_atomics_aggregated_by_a_leader(module: lanewise.Module) -> None:
    count, o = np.zeros(1, np.int32), np.zeros(64, np.int32)
    record = module["aggregated"][1, 96](count, o)
    assert count[0] == 64
    assert sorted(o) == [t for t in range(96) if t % 3]
    (atomic,) = [a for a in record.accesses if a.opcode.startswith("atom")]
    assert (atomic.requests, atomic.threads_on) == (3, 3)  # one lane a warp
