"""Calls through pointers: lanes of one warp call different functions."""

from __future__ import annotations

import numpy as np

import lanewise

SOURCE = """
typedef int Function(int);
__device__ __noinline__ int same(int x) { return x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int odd(int x) {
    if (x % 2) return -x;
    return same(x) + 1;
}
__device__ Function* table[] = {same, square, odd};

extern "C" __global__ void call(int* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = table[i % 3](i) + table[(i + 1) % 3](i);
}
"""


def call(number: int, x: int) -> int:
    return (x, x * x, -x if x % 2 else x + 1)[number]


def test_lanes_call_different_functions() -> None:
    out = np.zeros(64, np.int32)
    lanewise.compile(SOURCE)["call"][1, 64](out, np.int32(61))
    assert out.tolist() == [call(i % 3, i) + call((i + 1) % 3, i) for i in range(61)] + [0] * 3
