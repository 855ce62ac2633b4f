"""Atomics of every operation and type, one lane after the other, in global, shared and generic memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits

Number = int | float
OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "Add": lambda old, v: old + v,
    "Sub": lambda old, v: old - v,
    "Exch": lambda old, v: v,
    "Min": min,
    "Max": max,
    "Inc": lambda old, v: 0 if old >= v else old + 1,
    "Dec": lambda old, v: v if old == 0 or old > v else old - 1,
    "And": lambda old, v: int(old) & int(v),
    "Or": lambda old, v: int(old) | int(v),
    "Xor": lambda old, v: int(old) ^ int(v),
}
TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
CASES = [
    *(("Add", t) for t in ("int", "unsigned", "unsigned long long", "float", "double")),
    ("Sub", "int"),
    *(("Exch", t) for t in ("int", "unsigned long long", "float")),
    *((m, t) for m in ("Min", "Max") for t in ("int", "unsigned", "long long", "unsigned long long")),
    *((m, "unsigned") for m in ("Inc", "Dec")),
    *((m, t) for m in ("And", "Or", "Xor") for t in ("int", "unsigned long long")),
]
KERNEL = """
__global__ void k{n}({type}* g, {type}* o) {{
  __shared__ {type} s[4];
  int t = threadIdx.x;
  if (t < 4) s[t] = 7;
  __syncthreads();
  {type} v = ({type})(t * 37 % 23) - ({type})(t % 2 ? 0 : 5);
  {type}* generic = t % 4 < 2 ? s + t % 4 : g + t % 4;
  o[t] = atomic{operation}(g + (t & 1), v);
  o[64 + t] = atomic{operation}(s + 2 + (t & 1), v);
  atomic{operation}(generic, v);  // half of the lanes in shared memory, half in global
  __syncthreads();
  if (t < 4) o[128 + t] = s[t];
}}
"""
SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda/atomic>
__global__ void halves(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2) {
  atomicAdd(h, __half(1));
  atomicAdd(h2, __half2(1, 2));
  atomicAdd(b, __nv_bfloat16(1));
  atomicAdd(b2, __nv_bfloat162(1, 2));
}
__device__ double add(double* a, double v) {
  unsigned long long *p = (unsigned long long*)a, old = *p, seen;
  do {
    seen = old;
    old = atomicCAS(p, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}
__global__ void by_compare(double* d, unsigned short* s, int* i) {
  add(d, 1.5);
  unsigned short old = *s, seen;
  do { seen = old; old = atomicCAS(s, seen, (unsigned short)(seen + 3)); } while (seen != old);
  if (atomicCAS(i, -1, 5) == -1) atomicAdd(i + 1, 1);  // one thread only
}
__global__ void standard(int* o) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> a;
  cuda::atomic_ref<int, cuda::thread_scope_device> r(o[0]);
  r.fetch_add(2);
  r.fetch_max(1);
  if (threadIdx.x == 0) a.store(0);
  __syncthreads();
  a.fetch_add(3, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) cuda::atomic_ref<int, cuda::thread_scope_system>(o[1]).fetch_add(a.load());
}
__global__ void histogram(const unsigned char* data, int* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(bins + data[i], 1);
}
"""
SOURCE += "".join(KERNEL.format(n=n, operation=op, type=kind) for n, (op, kind) in enumerate(CASES))


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


@pytest.mark.parametrize("number", range(len(CASES)), ids=["-".join(case) for case in CASES])
def test_every_operation_and_type(module: lanewise.Module, number: int) -> None:
    operation, kind = CASES[number]
    dtype = np.dtype(TYPES[kind])

    def wrap(value: Number) -> Number:
        if dtype.kind == "f":
            return value
        value = int(value) & ((1 << 8 * dtype.itemsize) - 1)
        return value - (1 << 8 * dtype.itemsize) if dtype.kind == "i" and value >> 8 * dtype.itemsize - 1 else value

    values = [wrap(t * 37 % 23 - (0 if t % 2 else 5)) for t in range(64)]
    memory, shared, old = [7] * 4, [7] * 4, [0] * 132

    def apply(where: list[Number], index: int, t: int) -> Number:
        before = where[index]
        where[index] = wrap(OPERATIONS[operation](before, values[t]))
        return before

    for warp in (range(32), range(32, 64)):
        for t in warp:
            old[t] = apply(memory, t & 1, t)
        for t in warp:
            old[64 + t] = apply(shared, 2 + (t & 1), t)
        for t in warp:
            apply(shared if t % 4 < 2 else memory, t % 4, t)
    old[128:] = shared
    g, o = np.full(4, 7, dtype), np.zeros(132, dtype)
    module[f"k{number}"][1, 64](g, o)
    assert g.tolist() == memory
    assert o.tolist() == old


def test_halves(module: lanewise.Module) -> None:
    h, h2 = np.zeros(2, np.float16), np.zeros(2, np.float16)
    b, b2 = np.zeros(2, np.uint16), np.zeros(2, np.uint16)
    module["halves"][1, 32](h, h2, b, b2)
    assert (h[0], h2.tolist()) == (32, [32, 64])
    assert (b[0], b2.tolist()) == (0x4200, [0x4200, 0x4280])  # 32 and 64 as bfloat16


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_of_compare_and_swap(threads: int) -> None:
    module = lanewise.compile(SOURCE, limits=Limits(threads=threads))
    d, s, i = np.zeros(1), np.zeros(2, np.uint16), np.array([-1, 0], np.int32)
    module["by_compare"][6, 100](d, s, i)
    assert (d[0], s[0], i.tolist()) == (900, 1800, [5, 1])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_histogram_does_not_depend_on_the_number_of_threads(threads: int) -> None:
    module = lanewise.compile(SOURCE, limits=Limits(threads=threads))
    data = np.random.default_rng(3).integers(0, 256, 20000).astype(np.uint8)
    bins = np.zeros(256, np.int32)
    module["histogram"][17, 96](data, bins, np.int32(len(data)))
    assert np.array_equal(bins, np.bincount(data, minlength=256))


def test_atomics_of_the_standard_library(module: lanewise.Module) -> None:
    o = np.zeros(2, np.int32)
    module["standard"][2, 40](o)
    assert o.tolist() == [160, 240]


def test_sixteen_and_128_bits_in_ptx() -> None:
    source = """.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
 .reg .b16 %h<4>; .reg .b64 %d<8>; .reg .b128 %q<5>;
 ld.param.u64 %d1, [p];
 mov.b16 %h1, 0;
 mov.b16 %h2, 9;
 atom.global.cas.b16 %h3, [%d1], %h1, %h2;      // 0 becomes 9
 mov.u64 %d2, 5;
 mov.u64 %d3, 6;
 mov.b128 %q1, {%d2, %d3};
 atom.global.exch.b128 %q2, [%d1+16], %q1;      // 5, 6
 atom.global.cas.b128 %q3, [%d1+32], %q2, %q1;  // was zero as %q2: 5, 6
 ld.global.b128 %q4, [%d1+16];
 st.global.b128 [%d1+48], %q4;                  // 5, 6
 red.global.add.u64 [%d1+8], 3;                 // 3
 ret;
}"""
    a = np.zeros(8, np.uint64)
    lanewise.compile(source)["k"][1, 1](a)
    assert a.tolist() == [9, 3, 5, 6, 5, 6, 5, 6]


def test_vector_atomics_add_each_component() -> None:
    source = """
    __global__ void k(float4* sums, float2* old) {
      old[threadIdx.x] = atomicAdd((float2*)sums, make_float2(1.0f, 2.0f));  // atom.v2.f32
      atomicAdd(sums, make_float4(0.0f, 0.0f, 3.0f, 4.0f));                  // v4
    }"""
    sums, old = np.zeros(4, np.float32), np.zeros((64, 2), np.float32)
    lanewise.compile(source)["k"][1, 64](sums, old)
    assert sums.tolist() == [64, 128, 192, 256]
    assert sorted(old[:, 0].tolist()) == list(range(64))
