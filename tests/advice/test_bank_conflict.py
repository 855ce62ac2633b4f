"""Kernels that must and must not be told of bank conflicts; layouts from literal addresses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from kernels import kernels, of_rule

from lanewise.advice.layouts import Charge, Layout, candidates, passes
from lanewise.advice.sampling import Request
from lanewise.records import AccessKind, Finding, LaunchRecord, Tried

SOURCE = """
template <int PITCH, class T> __device__ void turn(const T* in, T* out, int n) {
    __shared__ T tile[32][PITCH];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void column(const float* in, float* out, int n) { turn<32>(in, out, n); }
extern "C" __global__ void padded(const float* in, float* out, int n) { turn<33>(in, out, n); }
extern "C" __global__ void wide(const double* in, double* out, int n) { turn<32>(in, out, n); }
extern "C" __global__ void dynamic(const float* in, float* out, int n) {
    extern __shared__ float room[];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    room[threadIdx.y * 32 + threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = room[threadIdx.x * 32 + threadIdx.y];
}
extern "C" __global__ void full(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    extern __shared__ float more[];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    more[threadIdx.y * 32 + threadIdx.x] = in[y * n + x];
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y] + more[threadIdx.x + 32 * (threadIdx.y ^ 1)];
}
extern "C" __global__ void most(const float* in, float* out, int n) {
    __shared__ float tile[32][32], more[11 * 1024];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    more[threadIdx.y * 32 + threadIdx.x] = in[y * n + x];
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y] + more[threadIdx.x + 32 * (threadIdx.y ^ 1)];
}
extern "C" __global__ void scattered(const unsigned* in, unsigned* out) {
    __shared__ unsigned table[2048];
    for (int i = threadIdx.x; i < 2048; i += 256) table[i] = in[i];
    __syncthreads();
    unsigned at = in[threadIdx.x], sum = 0;
    for (int i = 0; i < 64; i++) {
        at = (at ^ at >> 15) * 0x85ebca6bu;
        at = (at ^ at >> 13) * 0xc2b2ae35u;
        sum += table[at & 2047] + table[at >> 10 & 2047] + table[at >> 20 & 2047] + table[at >> 5 & 2047];
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""
N = 256
BLOCK = (32, 32, 1)


@cache  # a launch of a shape is looked at once
def turned(name: str, width: int = 4, shared: int = 0, n: int = N) -> LaunchRecord:
    size, grid = width * n * n, (n // 32, n // 32, 1)
    return kernels(SOURCE).launch(name, grid, BLOCK, size, size, np.int32(n).tobytes(), shared=shared)


def launch(name: str, width: int = 4, shared: int = 0, n: int = N) -> list[Finding]:
    return of_rule(turned(name, width, shared, n), "bank_conflict")


def test_a_column_is_padded() -> None:
    (finding,) = launch("column")
    assert finding.gain is not None
    assert finding.gain.tried is Tried.REEVALUATED
    assert finding.gain.change == "rows of 33 words instead of 32"
    assert finding.gain.after_us < 0.95 * finding.gain.before_us
    assert "32-way bank conflict: the load by lanes 0..31 goes to tile[0..31][" in finding.message
    assert "128 bytes apart" in finding.message
    assert finding.next_step is not None
    assert "no conflict is left" in finding.next_step
    assert finding.price == "128 bytes of shared memory a block; occupancy stays 100%"
    (sample,) = finding.samples
    assert list(sample.lanes) == [128 * lane for lane in range(32)]


def test_the_padded_time_is_that_of_the_padded_kernel() -> None:
    (finding,) = launch("column")
    record = turned("padded")
    assert of_rule(record, "bank_conflict") == []
    assert finding.gain is not None
    assert finding.gain.after_us == pytest.approx(record.time_us, rel=0.15)


def test_padding_keeps_wide_accesses_aligned() -> None:
    (finding,) = launch("wide", 8)
    assert finding.gain is not None
    assert finding.gain.change == "rows of 66 words instead of 64"
    assert "accesses of 8 bytes stay aligned" in (finding.next_step or "")


def test_dynamic_shared_memory_has_no_rows_but_words() -> None:
    (finding,) = launch("dynamic", shared=4096)
    assert finding.gain is not None
    assert finding.gain.change == "rows of 33 words instead of 32"
    assert "room, words 0, 32, 64, ..., 992" in finding.message


def test_data_decides_where_lanes_go() -> None:
    record = kernels(SOURCE).launch("scattered", (264, 1, 1), (256, 1, 1), 8192, 264 * 1024)
    (finding,) = of_rule(record, "bank_conflict")
    assert finding.gain is None
    assert finding.next_step is not None
    assert finding.next_step.startswith("No padding helps: of ")
    assert "words of bank" in finding.message


def test_padding_that_costs_a_block_is_weighed() -> None:
    """Two blocks of 113 KB fit an SM, or 48 KB of arrays of fixed size a block: 128 bytes more do not."""
    for finding in (*launch("full", shared=113 * 1024 - 4096, n=1024), *launch("most")):
        assert finding.gain is not None
        assert finding.gain.change == "columns exchanged by row number"
        assert finding.price == "an exclusive or in each index"


# ------------------------------------------------------------------ layouts
def request(addresses: list[int]) -> Request:
    return Request(0, (1 << len(addresses)) - 1, 0, 0, tuple(addresses + [0] * (32 - len(addresses))))


COLUMN = request([128 * lane for lane in range(32)])
ROW = request([4 * lane for lane in range(32)])
WORD, LOAD = 4, AccessKind.LOAD


def test_layouts_of_a_column() -> None:
    charge = Charge(WORD, LOAD)
    assert passes([COLUMN, ROW], charge, 0, None) == 33
    assert passes([COLUMN, ROW], charge, 0, Layout(128, WORD, padding=4)) == 2
    assert passes([COLUMN, ROW], charge, 0, Layout(128, WORD, padding=8)) == 3
    assert passes([COLUMN, ROW], charge, 0, Layout(128, WORD, swizzled=True)) == 2
    assert candidates([COLUMN], 4096, WORD)[0] == Layout(128, WORD, padding=4)


@pytest.mark.parametrize(
    "layout", [Layout(128, 4, padding=4), Layout(128, 16, padding=16), Layout(128, 16, swizzled=True)]
)
def test_no_two_bytes_go_to_one_place(layout: Layout) -> None:
    places = [layout.place(n) for n in range(4096)]
    assert len(set(places)) == 4096
    assert max(places) < 4096 + layout.extra_bytes(4096)
    for start in range(0, 4096, layout.unit):  # a unit stays whole and aligned
        assert places[start] % layout.unit == 0
        assert places[start : start + layout.unit] == list(range(places[start], places[start] + layout.unit))


def test_wider_units_leave_a_conflict() -> None:
    quads = request([512 * lane for lane in range(32)])
    assert passes([quads], Charge(16, LOAD), 0, None) == 32
    assert passes([quads], Charge(16, LOAD), 0, Layout(512, 16, padding=16)) == 4
