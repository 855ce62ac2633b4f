"""Loads and stores of every width and space, generic pointers, wrapping indices, special registers, many blocks."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits

TYPES = {
    "char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4, "unsigned": 4, "long long": 8,
    "float": 4, "double": 8, "char2": 2, "char4": 4, "short2": 4, "short4": 8, "int2": 8, "int4": 16, "float2": 8,
    "float4": 16, "double2": 16, "ulonglong2": 16, "uchar4": 4, "ushort4": 8,
}  # fmt: skip
WIDTHS = """
__global__ void k{n}({type}* a, {type}* o, int n) {{
  __shared__ {type} s[64];
  int t = threadIdx.x;
  {type} mine[4];                              // in local memory: the index is not known
  for (int j = 0; j < 4; j++) mine[j] = a[(t + j * n) & 63];
  s[t] = mine[n & 3];
  __syncthreads();
  {type}* p = t % 4 == 0 ? s + (63 - t) : t % 4 == 1 ? a + (63 - t) : t % 4 == 2 ? o + 64 + t : mine + (t / 4 & 3);
  {type} v = *p;                               // lanes of one warp read shared, global and local memory
  if (t % 4 == 2) v = s[t];
  o[t] = v;
  {type} c = __ldg(a + t);
  o[128 + t] = c;
}}
"""
SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Bits { unsigned a : 3, b : 7, c : 22; };
__global__ void bit_fields(Bits* b) { int t = threadIdx.x; b[t].b = t; b[t].c = t * 1000; b[t].a = 7; }
__constant__ int table[64] = {1, 2, 3, 4, 5};
__device__ int variable[4] = {7, 8};
__global__ void constants(int* o) {
  int t = threadIdx.x;
  o[t] = table[t * 3 % 7] + variable[t & 3] * 100 + table[2] * 10000;
}
extern __shared__ char dynamic[];
__global__ void dynamic_shared(int* o) {
  __shared__ int fixed[32];
  int t = threadIdx.x, *s = (int*)dynamic;
  short* s2 = (short*)(dynamic + 128);
  fixed[t] = 1000 * t; s[t] = t; s2[t] = t * 2;
  __syncthreads();
  o[t] = s[31 - t] + s2[t ^ 1] + fixed[t];
}
__global__ void halves(float* o, const __half* h) {
  int t = threadIdx.x;
  __half2 b = __hfma2(__half2half2(h[t]), __half2half2(h[t]), __float2half2_rn(0.5f));
  o[t] = __half2float(__hadd(h[t], __float2half(1.f)));
  o[32 + t] = __high2float(b);
  __nv_bfloat16 c = __float2bfloat16(t * 1.0f);
  o[64 + t] = __bfloat162float(__hmul(c, c));
}
__global__ void backwards(const int* a, int* o, int n) { o[threadIdx.x] = a[n - 1 - (int)threadIdx.x]; }
__global__ void pointer_down(const int* a, int* o, int n) {
  const int* end = a + n;
  o[threadIdx.x] = end[-(int)threadIdx.x - 1];
}
__global__ void before(const int* a, int* o, unsigned n) {  // a[i - 1u] would wrap for lane 0: guarded
  unsigned i = threadIdx.x;
  o[i] = i - 1u < n ? a[i - 1u] : -1;
}
__global__ void wide(const int* a, int* o, long long n) {
  long long i = n + threadIdx.x;
  o[threadIdx.x] = a[i - n + (i >> 40)];
}
__global__ void flags(volatile int* a) { a[threadIdx.x] = a[threadIdx.x] + 1; a[threadIdx.x] = a[threadIdx.x] + 1; }
__global__ void specials(unsigned* o) {
  unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned i = b * (blockDim.x * blockDim.y * blockDim.z) + t, lane, warp, lt, ge, warps;
  asm("mov.u32 %0, %laneid;" : "=r"(lane));
  asm("mov.u32 %0, %warpid;" : "=r"(warp));
  asm("mov.u32 %0, %nwarpid;" : "=r"(warps));
  asm("mov.u32 %0, %lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %lanemask_ge;" : "=r"(ge));
  o[5 * i] = lane; o[5 * i + 1] = warp; o[5 * i + 2] = warps; o[5 * i + 3] = lt; o[5 * i + 4] = ge;
}
__global__ void clocks(int* o) {
  long long a = clock64();
  int b = clock();
  o[threadIdx.x] = clock64() > a && b != 0;
  while (clock64() - a < 100000);  // ends
}
__global__ void nothing() {}
__global__ void count(int* o) { if (threadIdx.x == 0) atomicAdd(o, 1); }
"""
SOURCE += "".join(WIDTHS.format(n=n, type=name) for n, name in enumerate(TYPES))
T = np.arange(32)


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


def ints(n: int = 32) -> np.ndarray:
    return np.zeros(n, np.int32)


@pytest.mark.parametrize("number", range(len(TYPES)), ids=list(TYPES))
def test_every_width_in_every_space(module: lanewise.Module, number: int) -> None:
    size, n = list(TYPES.values())[number], 5
    a = np.random.default_rng(number).integers(0, 120, (64, size)).astype(np.uint8)
    o = np.zeros((192, size), np.uint8)
    module[f"k{number}"][1, 64](a, o, np.int32(n))
    t = np.arange(64)
    shared = a[(t + (n & 3) * n) & 63]
    expected = [shared[63 - t], a[63 - t], shared, a[(t + (t // 4 & 3) * n) & 63]]
    assert np.array_equal(o[:64], np.choose((t % 4)[:, None], expected))
    assert np.array_equal(o[128:], a)


def test_bit_fields(module: lanewise.Module) -> None:
    b = np.zeros(32, np.uint32)
    module["bit_fields"][1, 32](b)
    assert np.array_equal(b, 7 | T << 3 | T * 1000 << 10)


def test_constants_and_variables(module: lanewise.Module) -> None:
    o = ints()
    module["constants"][1, 32](o)
    assert o.tolist() == [[1, 2, 3, 4, 5, 0, 0][t * 3 % 7] + [700, 800, 0, 0][t & 3] + 30000 for t in T]


def test_shared_memory_of_both_kinds(module: lanewise.Module) -> None:
    o = ints()
    module["dynamic_shared"][1, 32, 192](o)
    assert np.array_equal(o, 31 - T + 2 * (T ^ 1) + 1000 * T)


def test_half_precision(module: lanewise.Module) -> None:
    h, o = np.linspace(-3, 3, 32).astype(np.float16), np.zeros((3, 32), np.float32)
    module["halves"][1, 32](o, h)
    assert np.array_equal(o[0], h + np.float16(1))
    assert np.array_equal(o[1], (h.astype(np.float64) ** 2 + 0.5).astype(np.float16))
    assert np.array_equal(o[2, :17], T[:17] ** 2)  # up to 256 exact in 8 bits


@pytest.mark.parametrize("name", ["backwards", "pointer_down"])
def test_strides_that_run_down(module: lanewise.Module, name: str) -> None:
    o = ints()
    record = module[name][1, 32](T.astype(np.int32), o, np.int32(32))
    assert np.array_equal(o, T[::-1])
    assert [a.sectors for a in record.accesses] == [4, 4]


def test_an_index_that_wraps_below_zero(module: lanewise.Module) -> None:
    o = ints()
    module["before"][1, 32](T.astype(np.int32), o, np.uint32(31))
    assert o.tolist() == [-1, *range(31)]


def test_indices_of_64_bits(module: lanewise.Module) -> None:
    o = ints()
    module["wide"][1, 32](np.arange(40, dtype=np.int32), o, np.int64(5 << 40))
    assert np.array_equal(o, T + 5)


def test_volatile_accesses_are_all_made(module: lanewise.Module) -> None:
    a = ints()
    record = module["flags"][1, 32](a)
    assert np.all(a == 2)
    assert [access.requests for access in record.accesses] == [1, 1, 1, 1]


def test_guarded_accesses_in_ptx() -> None:
    source = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;
 ld.param.u64 %d1, [a];
 ld.param.u64 %d2, [o];
 ld.param.u32 %r7, [n];
 mov.u32 %r1, %tid.x;
 sub.u32 %r2, %r1, 1;
 setp.ne.u32 %p1, %r1, 0;
 setp.gt.u32 %p2, %r7, 5;                  // the same in all lanes
 mul.wide.u32 %d3, %r2, 4;
 add.u64 %d4, %d1, %d3;
 mov.u32 %r3, 77;
 mov.u32 %r4, 88;
 @%p1 ld.global.u32 %r3, [%d4];            // 1 request, 31 threads on, 4 sectors
 @%p2 ld.global.u32 %r4, [%d1+16];         // one address
 @!%p2 ld.param.u32 %r4, [n];
 add.u32 %r3, %r3, %r4;
 mul.wide.u32 %d5, %r1, 4;
 add.u64 %d6, %d2, %d5;
 st.global.u32 [%d6], %r3;
 @!%p1 st.global.u32 [%d6+128], %r4;       // 1 thread on
 ret;
}"""
    module = lanewise.compile(source)
    a = np.arange(100, 132, dtype=np.int32)
    for n, second in ((3, 3), (9, 104)):
        o = ints(33)
        record = module["k"][1, 32](a, o, np.uint32(n))
        assert o.tolist() == [77 + second, *(a[:31] + second), second]
        counts = [(x.requests, x.threads, x.threads_on, x.sectors) for x in record.accesses]
        assert counts[0] == (1, 32, 31, 4)
        assert counts[1] == (1, 32, 32 * (n > 5), int(n > 5))
        assert counts[-1] == (1, 32, 1, 1)


@pytest.mark.parametrize("shape", [(32, 1, 1), (5, 7, 3), (8, 4, 2), (1, 1, 1), (33, 1, 1), (16, 3, 1), (1, 1, 64)])
def test_special_registers(module: lanewise.Module, shape: tuple[int, int, int]) -> None:
    n = shape[0] * shape[1] * shape[2]
    o = np.zeros((12, n, 5), np.uint32)
    module["specials"][(2, 3, 2), shape](o)
    t = np.arange(n)
    lane = t % 32
    warps = np.full(n, (n + 31) // 32)
    assert np.array_equal(o, np.broadcast_to(
        np.stack([lane, t // 32, warps, (1 << lane) - 1, (0xFFFFFFFF << lane) & 0xFFFFFFFF], axis=1), (12, n, 5)
    ))  # fmt: skip


def test_clocks_go_on(module: lanewise.Module) -> None:
    o = ints()
    module["clocks"][1, 32](o)
    assert np.all(o == 1)


def test_many_blocks_and_none_of_them_does_anything(module: lanewise.Module) -> None:
    assert module["nothing"][100_000, 64]().launch.ptx_thread_instructions == 100_000 * 64  # ret
    o = ints(1)
    module["count"][100_000, 3](o)
    assert o[0] == 100_000


def test_the_record_is_the_same_every_time() -> None:
    source = """
    __device__ int total;
    __global__ void k(const int* a, int* o, int n) {
      __shared__ int s[256];
      int t = threadIdx.y * blockDim.x + threadIdx.x, i = blockIdx.x * 90 + t;
      s[t] = a[i] * n;
      __syncthreads();
      for (int j = t; j < n + t % 7; j += 1 + t % 3) s[j % 256 / 90 * 90 + t] += a[(i * j) % 256];
      atomicAdd(&total, s[t] & 3);
      if (t % 2) printf("%d\\n", i);
      o[i * (1 + blockIdx.x % 3)] = s[t];
    }"""
    texts = set()
    for threads in (1, 2, 2):
        module = lanewise.compile("#include <cstdio>\n" + source, limits=Limits(threads=threads))
        a, o = np.arange(3000, dtype=np.int32), ints(9000)
        record = module["k"][20, (18, 5)](a, o, np.int32(20))
        texts.add(record.json() + record.output)
    assert len(texts) == 1
