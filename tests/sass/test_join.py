"""Small kernels whose machine code differs from their PTX: what is counted for each machine instruction."""

from __future__ import annotations

import numpy as np

import lanewise
from lanewise.api import Record
from lanewise.records import Access, AccessKind, Space


def machine(record: Record, opcode: str) -> list[Access]:
    """Accesses by machine instructions whose opcode starts so, in order of address."""
    return [a for a in record.machine_accesses if opcode in (a.sass or "").split()[0 if a.sass[0] != "@" else 1]]


def test_neighbouring_shared_loads_become_one() -> None:
    source = """
__global__ void k(float* out) {
  __shared__ float s[128];
  for (int i = threadIdx.x; i < 128; i += 32) s[i] = out[i];
  __syncthreads();
  int t = 4 * threadIdx.x;
  out[threadIdx.x] = s[t] + s[t + 1] + s[t + 2] + s[t + 3];   // one LDS.128: 4 wavefronts, not 4 x 4
}"""
    record = lanewise.compile(source)["k"][2, 32](np.zeros(128, np.float32))
    (load,) = machine(record, "LDS")
    assert load.sass is not None
    assert load.sass.startswith("LDS.128 ")
    assert (load.width_bits, load.requests, load.threads) == (128, 2, 64)
    assert (load.wavefronts, load.wavefronts_ideal) == (8, 8)
    loads = [a for a in record.accesses if a.space == Space.SHARED and a.kind == AccessKind.LOAD]
    assert [a.wavefronts for a in loads] == [8, 8, 8, 8]  # PTX says four loads with 4-way conflicts


def test_a_predicated_instruction_runs_as_often_as_its_block() -> None:
    source = """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}"""
    record = lanewise.compile(source)["k"][1, 64](np.zeros(64, np.float32), np.zeros(64, np.float32), np.int32(40))
    (load,) = machine(record, "LDG")
    assert load.sass is not None
    assert load.sass.startswith("@")
    assert (load.requests, load.threads, load.threads_on) == (2, 64, 40)
    assert (load.sectors, load.sectors_ideal) == (5, 5)


def test_copies_of_an_unrolled_loop_share_its_trips() -> None:
    source = """
__global__ void k(const float* in, float* out, int n) {
  float s = 0;
  #pragma unroll 1
  for (int i = 0; i < n; i++) s = s * s + in[i * 32 + threadIdx.x];
  out[threadIdx.x] = s;
}"""
    kernel = lanewise.compile(source)["k"]
    for trips in (0, 1, 6, 7, 64):
        record = kernel[1, 32](np.zeros(64 * 32, np.float32), np.zeros(32, np.float32), np.int32(trips))
        loads = machine(record, "LDG")
        assert sum(a.requests for a in loads) == trips
        assert sum(a.sectors or 0 for a in loads) == 4 * trips
        assert record.launch.thread_instructions == 32 * (record.launch.instructions or 0)


def test_a_store_that_is_overwritten_is_not_charged() -> None:
    source = """
__global__ void k(float* out) {
  out[threadIdx.x] = 1;
  out[threadIdx.x] = 2;
  out[threadIdx.x + 32] = out[threadIdx.x] + 1;
}"""
    record = lanewise.compile(source)["k"][1, 32](np.zeros(64, np.float32))
    assert len(machine(record, "STG")) == 2
    assert machine(record, "LDG") == []


def test_local_arrays_and_spills_are_local_traffic() -> None:
    source = """
__global__ void __launch_bounds__(1024, 2) k(const float* in, float* out, int at) {
  float r[40];
  for (int i = 0; i < 40; i++) r[i] = in[threadIdx.x + 1024 * i];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < 40; i++) s = s * in[threadIdx.x + 1024 * i + 7] + r[i] * r[39 - i] + s;
  r[at & 7] = s;
  out[threadIdx.x] = r[threadIdx.x & 7] + s;
}"""
    arguments = np.zeros(64 << 10, np.float32), np.zeros(1024, np.float32), np.int32(3)
    record = lanewise.compile(source)["k"][1, 1024](*arguments)
    local = [a for a in record.machine_accesses if a.space == Space.LOCAL]
    assert local
    assert all(a.requests == 32 and a.threads == 1024 for a in local)
    assert any(a.sectors == 32 * 4 * a.width_bits // 32 for a in local)


def test_atomics_that_add_one_count_words() -> None:
    source = """
__global__ void k(int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[0], 1);
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}"""
    out = np.zeros(32, np.int32)
    record = lanewise.compile(source)["k"][1, 32](out)
    assert out[0] == 32
    (atomic,) = machine(record, "ATOMS")
    assert atomic.sass is not None
    assert "POPC.INC" in atomic.sass
    assert atomic.wavefronts == 1


def test_functions_that_are_called_run_as_often_as_their_calls() -> None:
    source = """
__device__ __noinline__ float f(const float* p, int i) { return p[3 * i] + p[i + 1]; }
__global__ void k(const float* in, float* out) {
  int t = threadIdx.x;
  out[t] = f(in, t) * 2 + f(in, t + 7);
}"""
    record = lanewise.compile(source)["k"][1, 64](np.zeros(512, np.float32), np.zeros(64, np.float32))
    assert [a.requests for a in machine(record, "LD")] == [4, 4]
