"""What never ends, or nearly so, ends at its limit, and little later than that."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.launch import Limits
from lanewise.errors import KernelFault
from lanewise.records import Finding, LaunchRecord

SOURCE = """
__global__ void spin(volatile int* a, int n) { while (a[0] == 0) {} }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void calls(int* a, int n) { a[threadIdx.x] = fib(n); }
__global__ void nothing(int* a, int n) { if (n == 7) a[0] = 1; }
__global__ void apart(int* a, int n) {
  if (threadIdx.x < 32) {
    __syncthreads();
    a[0] = 1;
    __syncthreads();
  } else {
    __syncthreads();
    asm volatile("bar.sync 3;");
  }
}
"""


def run(name: str, limits: Limits, grid: int | tuple[int, int], block: int, n: int) -> tuple[Finding, LaunchRecord]:
    kernel = lanewise.compile(SOURCE, limits=limits)[name]
    with pytest.raises(KernelFault) as caught:
        kernel[grid, block](np.zeros(64, np.int32), np.int32(n))
    return caught.value.finding, kernel.device.records[-1]


@pytest.mark.parametrize(
    ("name", "grid", "block", "n"),
    [("spin", 1, 64, 0), ("spin", 64, 64, 0), ("calls", 1, 32, 60), ("nothing", 2**31 - 1, 1, 0)],
)
@pytest.mark.parametrize("limit", [100_000, 5_000_000])
def test_instructions(name: str, grid: int, block: int, n: int, limit: int) -> None:
    found, record = run(name, Limits(instructions=limit, seconds=60), grid, block, n)
    assert found.check == "limit"
    assert found.message == f"the limit of {limit:,} thread-level PTX instructions a launch was reached"
    assert found.block is None
    assert limit < record.ptx_thread_instructions < 1.2 * limit + 20_000


@pytest.mark.parametrize(
    ("name", "grid", "block", "n"),
    [("spin", 1, 64, 0), ("calls", 1, 32, 60), ("nothing", (65535, 65535), 1024, 0)],
)
def test_seconds(name: str, grid: int | tuple[int, int], block: int, n: int) -> None:
    found, record = run(name, Limits(seconds=0.2), grid, block, n)
    assert (found.check, found.message) == ("limit", "the limit of 0.2 seconds a launch was reached")
    assert record.seconds < 5


def test_a_deadlock_names_the_lines_where_warps_wait() -> None:
    found, record = run("apart", Limits(), 1, 64, 0)
    lines = SOURCE.split("\n")
    here = [number for number, line in enumerate(lines, start=1) if "__syncthreads" in line or "bar.sync" in line]
    assert found.check == "barrier"
    assert found.source is not None
    assert found.source.outermost.line == here[1]
    places = [sentence.split(", ")[1].split("/")[-1] for sentence in found.evidence]
    assert places == [f"kernel.cu:{here[1]}: 0", f"kernel.cu:{here[3]}: 1"]
    assert record.kernel == "apart(int*, int)"


def test_an_access_that_never_happened_is_not_shown() -> None:
    source = "__global__ void k(int* a) { a[threadIdx.x] = 1; a[threadIdx.x + 1000000] = a[threadIdx.x + 5]; }"
    kernel = lanewise.compile(source)["k"]
    with pytest.raises(KernelFault):
        kernel[1, 32](np.zeros(64, np.int32))
    record = kernel.device.records[-1]
    assert record.accesses
    assert all(access.sectors for access in record.accesses)
