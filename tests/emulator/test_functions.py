"""Device functions: arguments and results by value, indirect and virtual calls, recursion, printf, assert, malloc."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.errors import KernelFault

SOURCE = r"""
#include <cstdio>
#include <cassert>
struct Three { int x, y, z; };
struct Five { char c[5]; };
struct Mixed { double a; char b; short c[7]; };
struct Big { int v[100]; };

__device__ __noinline__ Three mix(int a, int b, int c, Three s, Five t, Mixed d) {
  Three r;
  r.x = a + s.z + t.c[4];
  r.y = b + s.y + d.c[6];
  r.z = c + s.x + (int)d.a + d.b;
  return r;
}
__device__ __noinline__ Five turned(Five a, char b) {
  Five r;
  for (int i = 0; i < 5; i++) r.c[i] = a.c[4 - i] + b;
  return r;
}
__global__ void by_value(int* o) {
  int t = threadIdx.x;
  Three s = {t, 2 * t, 3 * t};
  Five c = {{1, 2, 3, 4, (char)t}};
  Mixed d;
  d.a = t * 10; d.b = 7;
  for (int i = 0; i < 7; i++) d.c[i] = i * t;
  Three r = mix(1, 2, 3, s, c, d);
  o[3 * t] = r.x;      // 1 + 3t + t
  o[3 * t + 1] = r.y;  // 2 + 2t + 6t
  o[3 * t + 2] = r.z;  // 3 + t + 10t + 7
  Five q = turned(c, t);
  o[96 + t] = q.c[0] * 1000 + q.c[4];  // 2000t + 1 + t
}
__global__ void big_parameter(Big b, int* o, Three s) { o[threadIdx.x] = b.v[99 - threadIdx.x] + s.y; }

__device__ __noinline__ int product(int a, const int* b) { return a * b[0]; }
__global__ void loads_after_a_call(const int* a, const int* b, int* c) {
  int v = product(threadIdx.x, a);
  c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + v;
}

typedef int (*Function)(int);
__device__ __noinline__ int next(int x) { return x + 1; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int leave(int x) { if (x > 20) asm volatile("exit;"); return -x; }
__device__ Function table[3] = {next, square, leave};
__global__ void pointers(int* o) {
  int t = threadIdx.x;
  o[t] = table[t % 3](t);  // t + 1, t * t, -t; threads of the last kind over 20 never come back
}

struct Base { int q; __device__ virtual int f(int a) { return a; } };
struct Twice : Base { __device__ int f(int a) override { return a * 2 + q; } };
struct Thrice : Base { __device__ int f(int a) override { return a * 3 - q; } };
__global__ void virtual_calls(int* o) {
  int t = threadIdx.x;
  Twice a; Thrice b; a.q = t; b.q = 1;
  Base* p = t & 1 ? (Base*)&a : (Base*)&b;
  o[t] = p->f(t);  // odd: 3t; even: 3t - 1
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int* o) { o[threadIdx.x] = fibonacci(threadIdx.x % 12); }
__device__ __noinline__ int deep(int n, const int* o) { return n == -1 ? o[0] : deep(n + 1, o) * 3 + n; }
__global__ void too_deep(int* o) { o[threadIdx.x] = deep(threadIdx.x, o); }

__global__ void print_all() {
  printf("%d|%5d|%-5d|%05d|%+d|%u|%x|%#x|%X|%o|%#o|%#.1o|", -3, 42, 42, 42, 42, 4000000000u, 255, 255, 255, 8, 8, 0);
  printf("%c|%s|%5s|%-5s|%.2s|%p|%%|%lld|%llu|%hd|%hhd|%ld|%zu\n", 'A', "hey", "abc", "abc", "abcdef", (void*)0x10,
         -5ll, 1ull << 63, (short)70000, (char)300, -7l, (size_t)9);
  printf("%f|%.3f|%7.2f|%e|%g|%G|%.0f|%+.1f|%i\n", 1.5, 2.0 / 3, 3.14159, 12345.678, 0.0001, 1e20, 2.5, 2.0f, 17);
  int n = printf("%*d|%-*d|%.*f|%f %f\n", 6, 42, 6, 42, 2, 3.14159, 1.0 / 0.0, 0.0 / 0.0);
  printf("%d\n", n);  // the number of arguments
}
__global__ void print_some() {
  if (threadIdx.x % 40 == 3) printf("%d of %d\n", threadIdx.x, blockIdx.x);
}
__global__ void assertion(int n) { assert(threadIdx.x < n); }
__global__ void trapped(int n) { if (threadIdx.x == n) __trap(); }

__global__ void heap(int* o) {
  int t = threadIdx.x;
  int* p = (int*)malloc((t + 1) * sizeof(int));
  for (int i = 0; i <= t; i++) p[i] = i;
  int s = 0;
  for (int i = 0; i <= t; i++) s += p[i];
  o[t] = s;
  free(p);
}
__global__ void heap_late(int* o) {
  int* p = (int*)malloc(4);
  *(volatile int*)p = 1;
  free(p);
  *(volatile int*)p = 2;  // freed
}
"""
T = np.arange(32)


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


def zeros(n: int = 32) -> np.ndarray:
    return np.zeros(n, np.int32)


def test_structures_by_value(module: lanewise.Module) -> None:
    o = zeros(128)
    module["by_value"][1, 32](o)
    assert np.array_equal(o[:96].reshape(32, 3), np.stack([1 + 4 * T, 2 + 8 * T, 10 + 11 * T], axis=1))
    assert np.array_equal(o[96:], 2001 * T + 1)


def test_a_big_kernel_parameter_indexed_by_thread(module: lanewise.Module) -> None:
    o = zeros(100)
    big = np.arange(100, dtype=np.int32).tobytes()
    module["big_parameter"][1, 100](big, o, np.array([1, 1000, 3], np.int32).tobytes())
    assert np.array_equal(o, 1099 - np.arange(100))


def test_neighbouring_loads_after_a_call(module: lanewise.Module) -> None:
    a, o = np.arange(2, 34, dtype=np.int32), zeros()
    module["loads_after_a_call"][1, 32](a, 3 * a, o)
    assert np.array_equal(o, 4 * a + 2 * T)


def test_function_pointers_that_diverge(module: lanewise.Module) -> None:
    o = zeros()
    module["pointers"][1, 32](o)
    came_back = np.where(T > 20, 0, -T)
    assert np.array_equal(o, np.choose(T % 3, [T + 1, T * T, came_back]))


def test_virtual_methods_that_diverge(module: lanewise.Module) -> None:
    o = zeros()
    module["virtual_calls"][1, 32](o)
    assert np.array_equal(o, 3 * T - (T + 1) % 2)


def test_recursion_of_uneven_depth(module: lanewise.Module) -> None:
    o = zeros()
    module["recursion"][1, 32](o)
    assert o[:12].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


def test_recursion_without_end_is_a_fault(module: lanewise.Module) -> None:
    with pytest.raises(KernelFault, match="ran out of stack"):
        module["too_deep"][1, 32](zeros())


def test_printf_of_every_kind(module: lanewise.Module) -> None:
    assert module["print_all"][1, 1]().output.split("\n") == [
        "-3|   42|42   |00042|+42|4000000000|ff|0xff|FF|10|010|0|"
        "A|hey|  abc|abc  |ab|0x10|%|-5|9223372036854775808|4464|44|-7|9",
        "1.500000|0.667|   3.14|1.234568e+04|0.0001|1E+20|2|+2.0|17",
        "    42|42    |3.14|inf nan",
        "8",
        "",
    ]


def test_printf_by_some_threads_in_the_order_of_blocks(module: lanewise.Module) -> None:
    assert module["print_some"][2, 64]().output == "3 of 0\n43 of 0\n3 of 1\n43 of 1\n"


def test_assert_names_condition_and_thread(module: lanewise.Module) -> None:
    module["assertion"][1, 40](np.int32(40))
    with pytest.raises(KernelFault, match=r"threadIdx.x < n.*failed") as fault:
        module["assertion"][1, 40](np.int32(35))
    assert fault.value.finding.thread == (35, 0, 0)


def test_trap(module: lanewise.Module) -> None:
    module["trapped"][1, 40](np.int32(40))
    with pytest.raises(KernelFault, match="trap") as fault:
        module["trapped"][1, 40](np.int32(37))
    assert fault.value.finding.thread == (37, 0, 0)


def test_malloc_and_free_in_a_kernel(module: lanewise.Module) -> None:
    o = zeros()
    module["heap"][1, 32](o)
    assert np.array_equal(o, T * (T + 1) // 2)


def test_memory_freed_in_a_kernel_is_gone(module: lanewise.Module) -> None:
    with pytest.raises(KernelFault, match="freed memory"):
        module["heap_late"][1, 1](zeros())


def test_a_guarded_call_in_ptx_that_no_lane_makes() -> None:
    source = """.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) twice(.param .b64 p, .param .b32 x) {
 .reg .b32 %r<4>; .reg .b64 %d<2>;
 ld.param.u64 %d1, [p];
 ld.param.u32 %r1, [x];
 ld.global.u32 %r2, [%d1];
 add.u32 %r2, %r2, %r1;
 st.param.b32 [r], %r2;
 ret;
}
.visible .entry k(.param .u64 o, .param .u32 n) {
 .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;
 .param .b64 a; .param .b32 b; .param .b32 c;
 ld.param.u64 %d1, [o];
 ld.param.u32 %r1, [n];
 mov.u32 %r2, %tid.x;
 setp.lt.u32 %p1, %r2, %r1;
 mov.u64 %d3, 0;
 @%p1 mov.u64 %d3, %d1;           // null where the call is not made
 st.param.b64 [a], %d3;
 st.param.b32 [b], %r2;
 st.param.b32 [c], %r2;
 @%p1 call (c), twice, (a, b);
 ld.param.b32 %r3, [c];
 mul.wide.u32 %d2, %r2, 4;
 add.u64 %d2, %d1, %d2;
 st.global.u32 [%d2+4], %r3;
 ret;
}"""
    module = lanewise.compile(source)
    for n in (0, 5, 32):
        o = np.full(33, 100, np.int32)
        module["k"][1, 32](o, np.uint32(n))
        assert np.array_equal(o[1:], np.where(n > T, 100 + T, T)), n
