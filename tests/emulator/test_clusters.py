"""Clusters of blocks: ranks, the barrier, shared memory of other blocks, mbarriers there, and what goes wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import lanewise
from lanewise.errors import KernelFault, UsageError
from lanewise.report.terminal import report_text

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void registers(unsigned* out) {
  unsigned* o = out + 15 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  unsigned v;
#define READ(R) asm volatile("mov.u32 %0, %%" R ";" : "=r"(v)); *o++ = v;
  READ("clusterid.x") READ("clusterid.y") READ("clusterid.z")
  READ("nclusterid.x") READ("nclusterid.y") READ("nclusterid.z")
  READ("cluster_ctaid.x") READ("cluster_ctaid.y") READ("cluster_ctaid.z")
  READ("cluster_nctaid.x") READ("cluster_nctaid.y") READ("cluster_nctaid.z")
  READ("cluster_ctarank") READ("cluster_nctarank")
  asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(v)); *o = v;
}
__global__ void __cluster_dims__(2, 1, 1) fixed(unsigned* o) { o[blockIdx.x] = cg::this_cluster().num_blocks(); }
__global__ void ring(int* o) {  // reads the next block's array; then all add to rank 0's
  __shared__ int s[64];
  __shared__ double sum;
  auto c = cg::this_cluster();
  unsigned r = c.block_rank(), n = c.num_blocks(), t = threadIdx.x;
  s[t] = 1000 * r + t;
  if (t == 0) sum = 0;
  c.sync();
  int v = c.map_shared_rank(s, (r + 1) % n)[t];
  atomicAdd(c.map_shared_rank(&sum, 0), 0.5);
  c.sync();
  c.map_shared_rank(s, (r + n - 1) % n)[63 - t] = v;
  c.sync();
  o[64 * blockIdx.x + t] = s[t] + (r == 0 ? int(sum) * 100000 : 0);
}
__device__ void c_sync() {
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}
__global__ void by_lane(int* o) {  // each lane another block, by 32-bit addresses, generic ones, ranks of both
  __shared__ int s[32];
  int t = threadIdx.x;
  unsigned own, r, a, n, rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  s[t] = 100 * r + t;
  own = (unsigned)__cvta_generic_to_shared(s);
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(own + 4 * t), "r"(t % n));
  int v, w;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(a));
  unsigned long long g = (unsigned long long)(s + t), h;
  asm("mapa.u64 %0, %1, %2;" : "=l"(h) : "l"(g), "r"((t + 1) % n));
  asm volatile("ld.u32 %0, [%1];" : "=r"(w) : "l"(h) : "memory");
  unsigned spaces = __isShared((void*)h) << 1 | __isClusterShared((void*)h);
  o[128 * blockIdx.x + t] = v;
  o[128 * blockIdx.x + 32 + t] = w;
  o[128 * blockIdx.x + 64 + t] = rank;
  o[128 * blockIdx.x + 96 + t] = spaces;
  c_sync();
  asm volatile("red.shared::cluster.add.u32 [%0], 7;" ::"r"(a) : "memory");
  c_sync();
  o[128 * blockIdx.x] = s[(r + 4 * n) % 32];  // its own lanes r, r + n, ...: each block has added 7
}
__global__ void early(int* o, int leaves) {  // some threads, or a whole block, return before the barrier
  __shared__ int s;
  auto c = cg::this_cluster();
  unsigned r = c.block_rank();
  if (threadIdx.x == 0) s = 10 + r;
  c.sync();
  int v = *c.map_shared_rank(&s, r ^ 1);
  c.sync();
  if (leaves == 1 && r == 1) return;
  if (leaves == 2 && threadIdx.x % 3 == 0 && r == 1) return;
  c.sync();
  o[64 * blockIdx.x + threadIdx.x] = v;
}
__global__ void split(int* o) {  // work between arrival and wait; lanes come to the wait one after the other
  __shared__ int s[32];
  auto c = cg::this_cluster();
  unsigned r = c.block_rank(), t = threadIdx.x;
  s[t] = 0;
  c.sync();
  c.map_shared_rank(s, r ^ 1)[t] = t + r;
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  int sum = 0;
  for (int i = 0; i < t; i++) sum += i;
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  o[32 * blockIdx.x + t] = s[t] + 100 * sum;
}
__global__ void producer(int* o, int rounds) {  // rank 0 hands numbers to rank 1 through mbarriers of both
  __shared__ int box[2];
  __shared__ __align__(8) unsigned long long full, empty;
  auto c = cg::this_cluster();
  unsigned r = c.block_rank(), f, e;
  f = (unsigned)__cvta_generic_to_shared(&full);
  e = (unsigned)__cvta_generic_to_shared(&empty);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(f) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(e) : "memory");
  }
  c.sync();
  if (threadIdx.x == 0) {
    unsigned other;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(r ? e : f), "r"(r ^ 1));
    for (int i = 0; i < rounds; i++) {
      unsigned own = r ? f : e, parity = r ? i & 1 : (i & 1) ^ 1, done = 0;
      while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                     "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(own), "r"(parity) : "memory");
      if (r) o[i] = box[0];
      else *c.map_shared_rank(box, 1) = 3 * i + 1;
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
    }
  }
  c.sync();
}
__global__ void sent(unsigned* o, int waits) {  // st.async and red.async to the next block
  __shared__ unsigned box[128], sum, most;
  __shared__ __align__(8) unsigned long long arrived;
  auto c = cg::this_cluster();
  unsigned r = c.block_rank(), n = c.num_blocks(), t = threadIdx.x, b, other, done = 0;
  b = (unsigned)__cvta_generic_to_shared(&arrived);
  for (int i = t; i < 128; i += 32) box[i] = 7;
  if (t == 0) {
    sum = most = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(32 * (16 + 4 + 4)) : "memory");
  }
  c.sync();
  auto there = [&](void* p) {
    unsigned a = (unsigned)__cvta_generic_to_shared(p);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(a), "r"((r + 1) % n));
    return a;
  };
  other = there(&arrived);
#define TX ".shared::cluster.mbarrier::complete_tx::bytes"
  asm volatile("st.async.weak" TX ".v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(there(box + 4 * t)), "r"(r), "r"(t),
               "r"(2 * t), "r"(3 * t), "r"(other) : "memory");
  asm volatile("red.async.relaxed.cluster" TX ".add.u32 [%0], %1, [%2];" ::"r"(there(&sum)), "r"(t + r), "r"(other)
               : "memory");
  asm volatile("red.async.relaxed.cluster" TX ".max.u32 [%0], %1, [%2];" ::"r"(there(&most)), "r"(t * 3 % 32 + r),
               "r"(other) : "memory");
  while (waits && !done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(b) : "memory");
  for (int i = t; i < 128; i += 32) o[130 * r + i] = box[i];
  o[130 * r + 128] = sum;
  o[130 * r + 129] = most;
  c.sync();
}
__global__ void spin(int* o) {  // a flag in the other block's shared memory, polled
  __shared__ volatile int flag;
  auto c = cg::this_cluster();
  unsigned r = c.block_rank();
  if (threadIdx.x == 0) flag = 0;
  c.sync();
  if (threadIdx.x == 0) {
    volatile int* other = c.map_shared_rank((int*)&flag, r ^ 1);
    if (r == 1) *other = 5;
    else while (!flag) {}
    o[blockIdx.x] = 1 + r;
  }
  c.sync();
}
__global__ void faulty(int* o, int what) {
  __shared__ int s[32];
  auto c = cg::this_cluster();
  unsigned r = c.block_rank(), a = (unsigned)__cvta_generic_to_shared(s), b, v = 0;
  s[threadIdx.x] = 100 * r + threadIdx.x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(what == 1 ? 9 : r ^ 1));
  c.sync();
  if (what == 0 && r == 0) return;
#define GET(S, A) asm volatile("ld.shared::" S ".u32 %0, [%1];" : "=r"(v) : "r"(A));
  if (what == 0) GET("cluster", b)       // rank 0 has ended
  if (what == 1) GET("cluster", b)       // there is no rank 9
  if (what == 2) GET("cluster", b + 4096)
  if (what == 3) GET("cta", b)           // another block's address where only the own memory is meant
  if (what == 4) GET("cluster", b + 2)
  if (what == 5) asm volatile("barrier.cluster.wait;");
  if (what == 6) asm volatile("barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;");
  if (what == 7 && r == 0) c.sync();     // rank 1 waits at another barrier
  if (what == 7 && r == 1) asm volatile("barrier.sync 3, 64;");
  o[0] = v;
}
__global__ void grid_sum(int* o) {
  auto g = cg::this_grid();
  for (int i = 0; i < 3; i++) {
    atomicAdd(o + i, 1);
    g.sync();
    if (o[i] != gridDim.x * blockDim.x) o[3] = 1;
  }
}
"""


@pytest.fixture(scope="module")
def kernels() -> lanewise.Module:
    return lanewise.compile(SOURCE)


@pytest.mark.parametrize(
    ("grid", "cluster"), [((4, 6, 2), (2, 3, 1)), ((4, 2, 4), (1, 2, 4)), ((3, 2, 1), None), ((3, 1, 1), (1, 1, 1))]
)
def test_ranks(kernels: lanewise.Module, grid: tuple[int, ...], cluster: tuple[int, ...] | None) -> None:
    out = np.zeros((grid[2], grid[1], grid[0], 15), np.uint32)
    configuration = (grid, 1, 0) if cluster is None else (grid, 1, 0, cluster)
    kernels["registers"][configuration](out)
    size = cluster or (1, 1, 1)
    for z, y, x in np.ndindex(*out.shape[:3]):
        block = (x, y, z)
        inside = [b % s for b, s in zip(block, size, strict=True)]
        expected = [
            *(b // s for b, s in zip(block, size, strict=True)),
            *(g // s for g, s in zip(grid, size, strict=True)),
            *inside,
            *size,
            inside[0] + size[0] * (inside[1] + size[1] * inside[2]),
            size[0] * size[1] * size[2],
            int(cluster is not None),
        ]
        assert out[z, y, x].tolist() == expected


def test_size_of_the_kernel(kernels: lanewise.Module) -> None:
    out = np.zeros(6, np.uint32)
    kernels["fixed"][6, 1](out)
    assert out.tolist() == [2] * 6


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_distributed_shared_memory(kernels: lanewise.Module, size: int) -> None:
    out = np.zeros((2 * size, 64), np.int32)
    kernels["ring"][2 * size, 64, 0, size](out)
    for block in range(2 * size):
        next_but_one = (block + 2) % size
        expected = 1000 * next_but_one + np.arange(64)[::-1] + (100000 * 32 * size if block % size == 0 else 0)
        assert out[block].tolist() == expected.tolist()


def test_each_lane_another_block(kernels: lanewise.Module) -> None:
    n, lanes = 4, np.arange(32)
    out = np.zeros((n, 4, 32), np.int32)
    kernels["by_lane"][n, 32, 0, n](out)
    for rank in range(n):
        by_32_bits, generic, ranks, spaces = out[rank]
        assert by_32_bits[1:].tolist() == (100 * (lanes % n) + lanes)[1:].tolist()
        assert generic.tolist() == (100 * ((lanes + 1) % n) + lanes).tolist()
        assert ranks.tolist() == (lanes % n).tolist()
        assert spaces.tolist() == np.where((lanes + 1) % n == rank, 3, 1).tolist()
        lane = (rank + 4 * n) % 32
        assert by_32_bits[0] == 100 * rank + lane + 7 * n


@pytest.mark.parametrize("leaves", [0, 1, 2])
def test_threads_that_returned_are_not_awaited(kernels: lanewise.Module, leaves: int) -> None:
    out = np.zeros((4, 64), np.int32)
    kernels["early"][4, 64, 0, 2](out, np.int32(leaves))
    expected = np.broadcast_to(np.array([[11], [10], [11], [10]]), (4, 64)).copy()
    if leaves == 1:
        expected[1::2] = 0
    if leaves == 2:
        expected[1::2, ::3] = 0
    assert (out == expected).all()


def test_arrive_then_wait(kernels: lanewise.Module) -> None:
    out = np.zeros((4, 32), np.int32)
    kernels["split"][4, 32, 0, 2](out)
    t = np.arange(32)
    for block in range(4):
        assert out[block].tolist() == (t + (block % 2 ^ 1) + 100 * (t * (t - 1) // 2)).tolist()


def test_mbarriers_of_another_block(kernels: lanewise.Module) -> None:
    out = np.zeros(50, np.int32)
    kernels["producer"][2, 32, 0, 2](out, np.int32(50))
    assert out.tolist() == [3 * i + 1 for i in range(50)]


@pytest.mark.parametrize("waits", [0, 1])
def test_values_sent_to_another_block(kernels: lanewise.Module, waits: int) -> None:
    n, t = 3, np.arange(32)
    out = np.zeros((n, 130), np.uint32)
    kernels["sent"][n, 32, 0, n](out, np.int32(waits))
    for rank in range(n):
        sender = (rank - 1) % n
        expected = np.stack([np.full(32, sender), t, 2 * t, 3 * t], axis=1).reshape(-1)
        numbers = [496 + 32 * sender, 31 + sender]
        assert out[rank].tolist() == ([*expected, *numbers] if waits else [7] * 128 + [0, 0])


def test_a_flag_of_another_block(kernels: lanewise.Module) -> None:
    out = np.zeros(4, np.int32)
    kernels["spin"][4, 32, 0, 2](out)
    assert out.tolist() == [1, 2, 1, 2]


FAULTS: list[tuple[int, str, str]] = [
    (0, "bounds", "a block that has ended"),
    (1, "bounds", "a block that the cluster does not have"),
    (2, "bounds", "out-of-bounds read of 4 bytes in the shared memory of a block of the cluster"),
    (3, "bounds", "out-of-bounds read of 4 bytes in shared memory"),
    (4, "misaligned", "misaligned read of 4 bytes"),
    (5, "barrier", "waits at the cluster barrier without having arrived"),
    (6, "barrier", "arrives at the cluster barrier again before it has waited"),
    (7, "barrier", "cannot go on"),
]


@pytest.mark.parametrize(("what", "check", "message"), FAULTS)
def test_faults(kernels: lanewise.Module, what: int, check: str, message: str) -> None:
    with pytest.raises(KernelFault) as raised:
        kernels["faulty"][2, 32, 0, 2](np.zeros(1, np.int32), np.int32(what))
    finding = raised.value.finding
    assert finding.check == check
    assert message in finding.message
    if what == 2:
        assert "(PTX ISA 9.7.9.23)" in (finding.next_step or "")
    if what == 3:
        assert "shared::cluster" in (finding.next_step or "")
    if what == 7:
        assert re.search("the barrier of the cluster|barrier 3", " ".join(finding.evidence))


@pytest.mark.parametrize(
    ("grid", "cluster", "reason"),
    [
        (5, 2, "grid.x = 5 is no multiple of cluster.x = 2"),
        (17, 17, "17 blocks a cluster > 16"),
        (4, (2, 0, 1), "every dimension is at least 1"),
    ],
)
def test_clusters_that_cannot_be(kernels: lanewise.Module, grid: int, cluster: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        kernels["fixed"][grid, 1, 0, cluster](np.zeros(64, np.uint32))


def test_grid_sync(kernels: lanewise.Module) -> None:
    out = np.zeros(4, np.int32)
    kernels["grid_sum"][20, 96](out)
    assert out.tolist() == [20 * 96] * 3 + [0]


def test_counted_as_shared_memory(kernels: lanewise.Module) -> None:
    record = kernels["ring"][2, 64, 0, 2](np.zeros((2, 64), np.int32))
    assert "ring" in report_text(record.result, 100)
    loads = [a for a in record.accesses if a.space == "shared" and a.kind == "load" and a.opcode.startswith("ld.")]
    assert sum(a.requests for a in loads) == sum(a.wavefronts or 0 for a in loads) > 0


def test_the_report_names_the_cluster(kernels: lanewise.Module) -> None:
    record = kernels["fixed"][6, 1](np.zeros(6, np.uint32))
    assert record.launch.cluster == (2, 1, 1)
    assert "fixed  <<<6, 1>>>  clusters of 2" in record.report()
    assert '"cluster": [2, 1, 1]' in record.json()
