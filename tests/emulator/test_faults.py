"""Accesses that a card would refuse, one element too far: what the finding says, and that the next launch is well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise
from lanewise.errors import KernelFault, UnsupportedCode
from lanewise.records import Finding

SOURCE = """
__global__ void read(int* a, int i) { a[0] = a[i + (int)threadIdx.x]; }
__global__ void write(int* a, int i) { a[i] = 1; }
__global__ void misaligned4(char* a, int i) { *(int*)(a + i) = 3; }
__global__ void misaligned8(char* a, int i) { *(double*)(a + threadIdx.x * 8 + i) += 3; }
__global__ void misaligned16(char* a, int i) {
  float4 v = *(float4*)(a + threadIdx.x * 16 + i);
  *(float*)a = v.x + v.w;
}
__global__ void shared(int* a, int i) {
  __shared__ int s[64];
  s[threadIdx.x + i] = 1;
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x];
}
__global__ void local(int* a, int i) {
  int b[8];
  for (int j = 0; j < 8; j++) b[j] = j;
  b[i + threadIdx.x] = 4;
  a[threadIdx.x] = b[threadIdx.x & 7];
}
__global__ void atomic(int* a, int i) { atomicAdd(a + i + (int)threadIdx.x, 1); }
__global__ void through(int* a, int i) { a[threadIdx.x + i] = 1; }
__global__ void some_lanes(int* a, int n) { if (threadIdx.x % 5 == 2) a[threadIdx.x * n] = 1; }
__global__ void far(int* a, long long i) { a[i + threadIdx.x] = 1; }
__global__ void of_blocks(int* a, int n) {
  a[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * n] = 1;
}
__constant__ int table[5];
__global__ void constant(int* a, int i) { a[threadIdx.x] = table[threadIdx.x + i]; }
__global__ void generic(int* a, int i) {
  __shared__ int s[32];
  int* p = threadIdx.x % 2 ? a : s;
  s[threadIdx.x] = 0;
  p[threadIdx.x + i] = 1;
}
"""


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE)


def fault(launcher: Any, *arguments: Any) -> Finding:
    with pytest.raises(KernelFault) as caught:
        launcher(*arguments)
    return caught.value.finding


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


@pytest.mark.parametrize(
    ("name", "i", "thread", "index"),
    [
        ("read", 1, 31, "index 32; valid are 0 to 31"),
        ("read", -1, 0, "index -1; valid are 0 to 31"),
        ("write", 32, 0, "index 32; valid are 0 to 31"),
        ("write", -1, 0, "index -1; valid are 0 to 31"),
        ("atomic", 1, 31, "index 32; valid are 0 to 31"),
        ("atomic", -1, 0, "index -1; valid are 0 to 31"),
        ("some_lanes", 2, 17, "indices 34 to 54; valid are 0 to 31"),
        ("generic", 1, 31, "index 32; valid are 0 to 31"),
    ],
)
def test_one_element_too_far(module: lanewise.Module, name: str, i: int, thread: int, index: str) -> None:
    a = ints(32)
    module[name][1, 32](a, np.int32(0))
    found = fault(module[name][1, 32], a, np.int32(i))
    assert (found.check, found.thread, found.block) == ("bounds", (thread, 0, 0), (0, 0, 0))
    assert "argument 0" in found.evidence[1]
    assert found.evidence[2].endswith(index)
    assert found.source is not None
    assert name in SOURCE.split("\n")[found.source.line - 1] or name == "generic"
    module[name][1, 32](a, np.int32(0))  # the device is as new


@pytest.mark.parametrize(("bytes_", "i"), [(4, 2), (4, 1), (8, 4), (16, 8), (16, 4)])
def test_misaligned(module: lanewise.Module, bytes_: int, i: int) -> None:
    kernel = module[f"misaligned{bytes_}"][1, 32]
    kernel(ints(200), np.int32(0))
    found = fault(kernel, ints(200), np.int32(i))
    assert found.check == "misaligned"
    assert found.evidence[1].endswith(f"is not a multiple of {bytes_}")


@pytest.mark.parametrize(("i", "offset", "thread"), [(33, 256, 31), (-1, -4, 0), (1 << 20, 1 << 22, 0)])
def test_shared_memory(module: lanewise.Module, i: int, offset: int, thread: int) -> None:
    module["shared"][1, 32](ints(32), np.int32(32))
    found = fault(module["shared"][1, 32], ints(32), np.int32(i))
    assert (found.check, found.thread) == ("bounds", (thread, 0, 0))
    assert f"offset {offset} from the start of" in found.evidence[1]
    assert "::s', which has 256 bytes" in found.evidence[1]


def test_local_memory(module: lanewise.Module) -> None:
    module["local"][1, 8](ints(32), np.int32(0))
    assert "byte 32 of" in fault(module["local"][1, 9], ints(32), np.int32(0)).evidence[1]
    assert "byte -4 of" in fault(module["local"][1, 1], ints(32), np.int32(-1)).evidence[1]


def test_constant_memory(module: lanewise.Module) -> None:
    module["constant"][1, 5](ints(32), np.int32(0))
    found = fault(module["constant"][1, 6], ints(32), np.int32(0))
    assert found.thread == (5, 0, 0)
    assert "'table'" in found.evidence[1]


def test_null_and_wild_pointers(module: lanewise.Module) -> None:
    assert "null pointer" in fault(module["through"][1, 32], np.uint64(0), np.int32(0)).message
    for far in (1 << 45, -1 << 45, (1 << 61) - 1, -1 << 61):
        assert fault(module["far"][1, 32], ints(32), np.int64(far)).check == "bounds"


def test_the_block_and_thread_of_a_grid_in_three_dimensions(module: lanewise.Module) -> None:
    module["of_blocks"][(2, 3, 4), (4, 2, 2)](ints(24), np.int32(1))
    found = fault(module["of_blocks"][(2, 3, 4), (4, 2, 2)], ints(17), np.int32(1))
    assert (found.thread, found.block) == ((0, 0, 0), (1, 2, 2))


def test_everything_unsupported_is_named_at_once() -> None:
    source = """.version 8.4
.target sm_90a
.address_size 64
.global .texref t;
.visible .entry k(.param .u64 p) {
 .reg .b32 %r<8>; .reg .f32 %f<9>;
 mov.u32 %r1, 5;
 tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5}];
 mov.u32 %r2, %envreg3;
 tcgen05.fence::before_thread_sync;
 bogus.u32 %r1, %r2;
 ret;
}"""
    with pytest.raises(UnsupportedCode) as caught:
        lanewise.compile(source)["k"][1, 32](ints(1))
    assert [(item.what, item.ptx_line) for item in caught.value.items] == [
        ("tex.1d.v4.f32.f32", 8),
        ("mov.u32", 9),
        ("tcgen05.fence::before_thread_sync", 10),
        ("bogus.u32", 11),
    ]
    assert all(item.reason for item in caught.value.items)
