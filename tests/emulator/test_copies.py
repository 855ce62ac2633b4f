"""Asynchronous copies: when they land, what they move, what they cost, and what must not be."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits
from lanewise.errors import KernelFault, UnsupportedCode
from lanewise.hardware import copies
from lanewise.records import AccessKind, Space

LIMITS = Limits(seconds=30)
HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data, .param .u64 table) {
 .reg .b64 %d<8>; .reg .b32 %r<12>; .reg .pred %p<8>;
 .shared .align 128 .b8 room[8192];
 .shared .align 8 .b8 object[16];
 ld.param.u64 %d0, [out];
 ld.param.u64 %d1, [data];
 ld.param.u64 %d2, [table];
 mov.u32 %r0, %tid.x;
 mul.wide.u32 %d3, %r0, 16;
 add.u64 %d2, %d2, %d3;
 ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];
 cvt.u64.u32 %d4, %r1;
 add.u64 %d4, %d1, %d4;
 mov.u32 %r5, room;
 add.u32 %r6, %r5, %r2;
 setp.ne.u32 %p1, %r4, 0;
 setp.eq.u32 %p2, %r0, 0;
"""
DUMP = """ bar.sync 0;
 mov.u32 %r8, %r5;
 mov.u32 %r10, object;
 mov.u64 %d5, %d0;
DUMP:
 ld.shared.u32 %r9, [%r8];
 @%p2 st.global.u32 [%d5], %r9;
 add.u32 %r8, %r8, 4;
 add.u64 %d5, %d5, 4;
 setp.ne.u32 %p3, %r8, %r10;
 @%p3 bra DUMP;
 ret;
}
"""


@cache
def kernel(text: str) -> lanewise.Kernel:
    """A kernel with some lines after the head, each of which is used more than once."""
    return lanewise.compile(HEAD + text, limits=LIMITS)["k"]


DATA = np.random.default_rng(3).integers(0, 256, 8192).astype(np.uint8)


def table(rng: random.Random, size: int, *, sizes: bool = False) -> np.ndarray:
    """Per lane: byte of the data, byte of the room (each lane's own), bytes to read, whether it copies at all."""
    rows = np.zeros((32, 4), np.uint32)
    stride = rng.choice([1, 1, 2, 3, 5, 8, 16])
    places = [lane * stride for lane in range(32)]
    if rng.random() < 0.3:
        rng.shuffle(places)
    kind, start = rng.randrange(4), rng.randrange(8)
    mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, 0xAAAAAAAA, 0xFFFF, 1 << 31, 0x91248123, 0])
    for lane in range(32):
        element = [lane + start, lane * 3 + start, start, rng.randrange(400)][kind]
        rows[lane] = element * size, places[lane] * size, rng.randrange(size + 1) if sizes else size, mask >> lane & 1
    return rows


FORMS = [
    ("cp.async.ca.shared.global [%r6], [%d4], 4;", 4, False),
    ("cp.async.ca.shared::cta.global.L2::64B [%r6], [%d4], 8;", 8, False),
    ("cp.async.cg.shared.global.L2::256B [%r6], [%d4], 16;", 16, False),
    ("cp.async.ca.shared.global [%r6], [%d4], 4, %r3;", 4, True),
    ("cp.async.ca.shared.global [%r6], [%d4], 8, %r3;", 8, True),
    ("cp.async.cg.shared.global.L2::cache_hint [%r6], [%d4], 16, %r3, %d6;", 16, True),
    ("cp.async.ca.shared.global.L2::cache_hint [%r6], [%d4], 4, %d6;", 4, False),
]


@pytest.mark.parametrize(("text", "size", "sizes"), FORMS, ids=[text for text, _, _ in FORMS])
def test_bytes_and_counts(text: str, size: int, sizes: bool) -> None:
    k = kernel(f" @%p1 {text}\n cp.async.wait_all;\n{DUMP}")
    for seed in range(8):
        rows = table(random.Random(f"{text}{seed}"), size, sizes=sizes)
        out = np.zeros(2048, np.uint32)
        data = DATA.copy()
        record = k[1, 32](out, data, rows)
        expected = np.zeros(8192, np.uint8)
        for source, target, read, on in rows.tolist():
            if on:
                expected[target : target + size] = 0
                expected[target : target + read] = DATA[source : source + read]
        assert (out.view(np.uint8) == expected).all()
        load, store = (a for a in record.accesses if "cp.async" in a.opcode)
        mask = sum(1 << lane for lane in range(32) if rows[lane, 3])
        reads = sum(1 << lane for lane in range(32) if rows[lane, 3] and rows[lane, 2])
        sources, targets = rows[:, 0].tolist(), rows[:, 1].tolist()
        if ".cg" in text:
            cost = copies.past_cache(sources, targets, mask, reads, fills=sizes)
        else:
            cost = copies.through_cache(sources, targets, mask, reads, size)
        assert (load.space, load.kind, load.width_bits) == (Space.GLOBAL, AccessKind.LOAD, 8 * size)
        assert (load.requests, load.threads_on) == (1, reads.bit_count())
        assert (load.sectors, load.sectors_ideal) == (cost.sectors, cost.sectors_ideal)
        assert (store.space, store.kind, store.width_bits) == (Space.SHARED, AccessKind.STORE, 8 * size)
        assert (store.requests, store.threads_on) == (1, mask.bit_count())
        assert (store.wavefronts, store.wavefronts_ideal) == (cost.wavefronts, cost.wavefronts_ideal)


def test_ignored_sources_are_not_read() -> None:
    """Lanes whose predicate holds write zeros, wherever their address points."""
    text = " setp.ge.u32 %p4, %r3, 8;\n cp.async.ca.shared.global [%r6], [%d4], 16, %p4;\n cp.async.wait_all;\n"
    rows = np.array([[16 * lane if lane % 3 else 0x7FFFFF0, 16 * lane, 0 if lane % 3 else 9, 1] for lane in range(32)])
    out = np.zeros(2048, np.uint32)
    lanewise.compile(HEAD + text + DUMP, limits=LIMITS)["k"][1, 32](out, DATA.copy(), rows.astype(np.uint32))
    expected = DATA[:512].reshape(32, 16) * (np.arange(32) % 3 > 0)[:, None]
    assert (out.view(np.uint8)[:512].reshape(32, 16) == expected).all()


# ---------------------------------------------------------------------- groups
@pytest.mark.parametrize("seed", range(3))
def test_groups_land_when_waited_for(seed: int) -> None:
    """Random copies, groups and waits of lanes that differ: after each step the room is as a model says."""
    rng = random.Random(seed)
    room = np.zeros((32, 64), np.uint32)  # each lane has 64 words of its own
    under_way: list[list[tuple[int, int, int]]] = [[] for _ in range(32)]  # (group, word, value) by lane
    groups = [0] * 32
    text, seen = " shl.b32 %r1, %r0, 8;\n add.u32 %r6, %r5, %r1;\n", []
    masks = (0xFFFFFFFF, 0xFFFFFFFF, 0x55555555, 0xFF, 0xFFFF0000)
    for _ in range(40):
        mask = rng.choice(masks)
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        on = f" shr.u32 %r7, {mask}, %r0;\n and.b32 %r7, %r7, 1;\n setp.ne.u32 %p4, %r7, 0;\n @%p4 "
        match rng.randrange(5):
            case 0 | 1:
                word, value = rng.randrange(64), rng.randrange(1024)
                text += f"{on}cp.async.ca.shared.global [%r6+{4 * word}], [%d1+{4 * value}], 4;\n"
                for lane in lanes:
                    under_way[lane].append((groups[lane], word, value))
                continue
            case 2:
                text += f"{on}cp.async.commit_group;\n"
                for lane in lanes:
                    groups[lane] += 1
                continue
            case 3:
                pending = rng.randrange(4)
                text += f"{on}cp.async.wait_group {pending};\n"
                landing = {lane: groups[lane] - pending for lane in lanes}
            case _:
                text += f"{on}cp.async.wait_all;\n"
                landing = dict.fromkeys(lanes, 1000)
        for lane, limit in landing.items():
            for group, word, value in under_way[lane]:
                if group < limit:
                    room[lane, word] = DATA.view(np.uint32)[value]
            under_way[lane] = [copy for copy in under_way[lane] if copy[0] >= limit]
        word = rng.randrange(64)
        text += f" ld.shared.u32 %r9, [%r6+{4 * word}];\n mul.wide.u32 %d5, %r0, 4;\n add.u64 %d5, %d5, %d0;\n"
        text += f" st.global.u32 [%d5+{128 * len(seen)}], %r9;\n"
        seen.append(room[:, word].copy())
    out = np.zeros((len(seen) + 1, 32), np.uint32)
    zeros = np.zeros((32, 4), np.uint32)
    lanewise.compile(HEAD + text + " ret;\n}\n", limits=LIMITS)["k"][1, 32](out, DATA.copy(), zeros)
    assert (out[:-1] == np.array(seen)).all()


def test_more_copies_than_are_kept() -> None:
    text = """ mov.u32 %r7, 0;
 add.u32 %r6, %r5, %r3;
AGAIN:
 cp.async.ca.shared.global [%r6], [%d4], 4;
 add.u32 %r7, %r7, 1;
 add.u64 %d4, %d4, 4;
 setp.ne.u32 %p4, %r7, 1000;
 @%p4 bra AGAIN;
 cp.async.wait_all;
"""
    rows = np.array([[0, 4 * lane, 4 * lane, 1] for lane in range(32)], np.uint32)
    out = np.zeros(2048, np.uint32)
    lanewise.compile(HEAD + text + DUMP, limits=LIMITS)["k"][1, 32](out, DATA.copy(), rows)
    assert (out[:32] == DATA.view(np.uint32)[999]).all()


# ---------------------------------------------------------------------- the library's ways
SOURCE = r"""
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void forgets(int* out, const int* in, int waits) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = -5;
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(s + t)), "l"(in + t) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (waits == 1 || (waits == 2 && t < 32)) asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  out[t] = s[63 - t];
}
__global__ void primitives(int* out, const int* in, int n) {
  __shared__ int4 s[3][16];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    if (t < 16) __pipeline_memcpy_async(&s[i][t], (const int4*)in + i * 16 + t, 16);
    __pipeline_commit();
  }
  for (int i = 0; i < n; i++) {
    if (i + 2 < n && t < 16) __pipeline_memcpy_async(&s[(i + 2) % 3][t], (const int4*)in + (i + 2) * 16 + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    out[i * 64 + t] = ((int*)s[i % 3])[63 - t];
    __syncthreads();
  }
}
__global__ void barrier(int* out, const int* in, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) init(&b, 64);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    cuda::memcpy_async(s + t, in + i * 64 + t, 4, b);
    b.arrive_and_wait();
    out[i * 64 + t] = s[63 - t];
    b.arrive_and_wait();
  }
}
__global__ void arrivals(int* out, const int* in, int noinc) {
  __shared__ u64 b;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&b)), "r"(noinc ? 64 : 1));
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(s + t)), "l"(in + t) : "memory");
  if (noinc) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&b)) : "memory");
  else asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at(&b)) : "memory");
  __syncthreads();
  int before = s[63 - t];
  __syncthreads();
  if (!noinc && t == 40) asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(at(&b)) : "memory");
  asm volatile("{.reg .pred p;\n W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n @!p bra W;}"
               ::"r"(at(&b)) : "memory");
  out[t] = s[63 - t] * 2 + before;
}
__global__ void pipelines(int* out, const int* in, int n) {
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int s[2][64];
  auto pipe = cuda::make_pipeline(block, &state);
  int t = threadIdx.x;
  for (int next = 0, i = 0; i < n; i++) {
    for (; next < n && next < i + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[next % 2], in + next * 64, 256, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[i * 64 + t] = s[i % 2][63 - t];
    pipe.consumer_release();
  }
}
__global__ void groups(int* out, const int* in, int n) {
  auto block = cg::this_thread_block();
  __shared__ int s[2][64];
  cg::memcpy_async(block, s[0], in, 256);
  for (int i = 0; i < n; i++) {
    if (i + 1 < n) { cg::memcpy_async(block, s[(i + 1) % 2], in + (i + 1) * 64, 256); cg::wait_prior<1>(block); }
    else cg::wait(block);
    out[i * 64 + threadIdx.x] = s[i % 2][63 - threadIdx.x];
    block.sync();
  }
}
"""


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE, limits=LIMITS)


def test_who_forgets_to_wait_reads_the_old_bytes(module: lanewise.Module) -> None:
    numbers, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    for waits, first, second in ((0, -5, -5), (1, None, None), (2, -5, None)):  # 2: the first warp alone waits
        module["forgets"][1, 64](out, numbers, waits)
        expected = numbers[::-1].copy()
        for half, value in ((slice(0, 32), first), (slice(32, 64), second)):
            if value is not None:
                expected[half] = value
        assert (out == expected).all(), waits


@pytest.mark.parametrize("name", ["primitives", "barrier", "pipelines", "groups"])
def test_ways_of_the_library(module: lanewise.Module, name: str) -> None:
    numbers, out = np.arange(640, dtype=np.int32), np.zeros(640, np.int32)
    module[name][1, 64](out, numbers, 10)
    assert (out.reshape(10, 64) == numbers.reshape(10, 64)[:, ::-1]).all()


@pytest.mark.parametrize("noinc", [0, 1])
def test_arrivals_after_copies(module: lanewise.Module, noinc: int) -> None:
    """Nothing lands before somebody waits at the mbarrier."""
    numbers, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    module["arrivals"][1, 64](out, numbers, noinc)
    assert (out == 2 * numbers[::-1]).all()


# ---------------------------------------------------------------------- what must not be
@pytest.mark.parametrize(
    ("text", "row", "words"),
    [
        ("cp.async.ca.shared.global [%r6], [%d4], 8;", (4, 0, 0, 0), "misaligned read of 8 bytes in global memory"),
        ("cp.async.ca.shared.global [%r6], [%d4], 16;", (0, 8, 0, 0), "misaligned write of 16 bytes in shared memory"),
        ("cp.async.ca.shared.global [%r6], [%d4], 4;", (8192, 0, 0, 0), "out-of-bounds read of 4 bytes in global"),
        ("cp.async.ca.shared.global [%r6], [%d4], 4;", (0, 8300, 0, 0), "out-of-bounds write of 4 bytes in shared"),
        ("cp.async.ca.shared.global [%r6], [%d4], 16, %r3;", (8192, 0, 3, 0), "out-of-bounds read of 3 bytes"),
        ("cp.async.ca.shared.global [%r6], [%d4], 16, %r3;", (8, 0, 3, 0), "misaligned read of 16 bytes in global"),
        ("cp.async.ca.shared.global [%r6], [%d4], 8, %r3;", (0, 0, 9, 0), "reads 9 bytes, more than it writes"),
        ("cp.async.mbarrier.arrive.shared.b64 [object];", (0, 0, 0, 0), "it was not initialised"),
    ],
)
def test_faults(text: str, row: tuple[int, ...], words: str) -> None:
    k = kernel(f" {text}\n cp.async.wait_all;\n{DUMP}")
    with pytest.raises(KernelFault) as caught:
        k[1, 32](np.zeros(2048, np.uint32), DATA.copy(), np.tile(np.array(row, np.uint32), (32, 1)))
    finding = caught.value.finding
    assert finding is not None
    assert words in finding.message
    assert finding.thread == (0, 0, 0)
    assert finding.ptx_line == 21


@pytest.mark.parametrize(
    "text", ["cp.async.ca.shared.global [%r6], [%d4], 12;", "cp.async.cg.shared.global [%r6], [%d4], 4;"]
)
def test_sizes_that_there_are_not(text: str) -> None:
    with pytest.raises(UnsupportedCode) as caught:
        kernel(f" {text}\n{DUMP}")[1, 32](np.zeros(2048, np.uint32), DATA.copy(), np.zeros((32, 4), np.uint32))
    assert "the size of a copy is the constant" in caught.value.items[0].reason
