"""Code that is not optimised computes and counts what optimised code does, and gives way to it between blocks."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pytest

from lanewise.emulator import launch
from lanewise.emulator.engine import Engine, Launched
from lanewise.emulator.launch import Limits
from lanewise.emulator.machine import CountingPlan
from lanewise.emulator.memory import DeviceMemory
from lanewise.ptx import parse
from lanewise.toolchain import nvrtc

SOURCE = """
extern "C" __global__ void mixed(const float* in, float* out, int* count, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i], kept[4];
  for (int k = 0; k < 4; k++) kept[k] = v * k;
  tile[threadIdx.x] = v;
  __syncthreads();
  for (int k = 0; k < n + threadIdx.x % 3; k++) {
    if (v > tile[(threadIdx.x * 9 + k) % 64]) v = v / 3 + kept[(k * n) & 3];
    else v = sqrtf(v) + __expf(-v);
  }
  v += __shfl_xor_sync(~0u, v, 5);
  atomicAdd(&count[i * 7 % 32], __float_as_int(v) & 255);
  out[i] = v;
}
extern "C" __global__ void turns(int* lock, int* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(lock, 0) != blockIdx.x) {}
    out[blockIdx.x] = blockIdx.x;
    __threadfence();
    atomicAdd(lock, 1);
  }
}
"""
BLOCKS, THREADS = 70, 64


@pytest.fixture(scope="module")
def ptx() -> str:
    return nvrtc.compile_source(SOURCE, arch="sm_90")


def run(ptx: str, *, quick: bool, launches: int = 1) -> tuple[Launched, bytes, npt.NDArray[np.void]]:
    # One thread: how many accesses go the slow way first depends on which threads run blocks at all.
    engine = Engine(DeviceMemory(1 << 28), Limits(threads=1), quick=quick)
    program = engine.load([parse(ptx)])
    size = BLOCKS * THREADS * 4
    source, out, count = (engine.memory.allocate(size).base for _ in range(3))
    engine.memory.write(source, np.random.default_rng(5).random(BLOCKS * THREADS, np.float32).tobytes())
    engine.memory.write(count, bytes(size))
    params = struct.pack("<QQQi", source, out, count, 9)
    for _ in range(launches):
        made = engine.launch(
            program, "mixed", (BLOCKS, 1, 1), (THREADS, 1, 1), 0, params, plan=CountingPlan(trace=True)
        )
    assert made.fault is None
    assert made.outcome.trace is not None
    assert made.outcome.blocks_done == BLOCKS
    left = bytes(engine.memory.read(out, size)) + bytes(engine.memory.read(count, 128))
    return made, left, np.sort(made.outcome.trace.records, order=["warp", "order", "line"])


@pytest.mark.parametrize("most", [1 << 13, 0], ids=["quick to the end", "exchanged between blocks"])
def test_both_codes_give_the_same(ptx: str, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    optimised, expected, its_trace = run(ptx, quick=False)
    assert not optimised.kernel.quick
    monkeypatch.setattr(launch, "_QUICK", most)
    made, left, trace = run(ptx, quick=True)
    assert made.kernel.quick
    assert left == expected
    assert np.array_equal(made.outcome.counters, optimised.outcome.counters)
    assert np.array_equal(trace, its_trace)


def test_a_kernel_with_much_to_do_is_optimised_for_its_next_launch(ptx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_QUICK", 0)
    assert not run(ptx, quick=True, launches=2)[0].kernel.quick


def test_blocks_that_wait_for_each_other_have_optimised_code(ptx: str) -> None:
    engine = Engine(DeviceMemory(1 << 28), Limits(threads=2))
    program = engine.load([parse(ptx)])
    lock, out = (engine.memory.allocate(4096).base for _ in range(2))
    engine.memory.write(lock, bytes(4))
    made = engine.launch(program, "turns", (20, 1, 1), (32, 1, 1), 0, struct.pack("<QQ", lock, out))
    assert made.fault is None
    assert not made.kernel.quick
    assert np.frombuffer(engine.memory.read(out, 80), np.int32).tolist() == list(range(20))
