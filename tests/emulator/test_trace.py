"""The lines that accesses touch, against addresses worked out by hand; one small kernel, all kinds of access."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pytest

from lanewise.emulator import counts, trace
from lanewise.emulator.engine import Engine, Launched
from lanewise.emulator.launch import Limits
from lanewise.emulator.machine import CountingPlan
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware.coalescing import LINE_BYTES
from lanewise.ptx import parse
from lanewise.records import AccessKind, Space
from lanewise.toolchain import nvrtc

SOURCE = """
__constant__ float table[64];
extern "C" __global__ void accesses(const float* in, float* out, int* count, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i * stride];
  out[i] = v + table[threadIdx.x % 4 * 8];
  atomicAdd(&count[threadIdx.x / 8 * 64], i);
}
extern "C" __global__ void stack(int* out, int n) {
  int kept[8];
  for (int k = 0; k < 8; k++) kept[k] = n * k;
  out[threadIdx.x] = kept[(threadIdx.x * n) & 7];
}
extern "C" __global__ void product(const float* in, float* out, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += in[row * n + k] * in[k * n + column];
  out[row * n + column] = sum;
}
extern "C" __global__ void fragment(const void* in, unsigned* out) {
  unsigned d[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 64;"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
               : "l"(in));
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(DeviceMemory(1 << 28))


@pytest.fixture(scope="module")
def launched(engine: Engine) -> tuple[Launched, int, int, int]:
    program = engine.load([parse(nvrtc.compile_source(SOURCE, arch="sm_90"))])
    source, target, count = (engine.memory.allocate(1 << 16).base for _ in range(3))
    params = struct.pack("<QQQi", source, target, count, 8)
    made = engine.launch(program, "accesses", (2, 1, 1), (64, 1, 1), 0, params, plan=CountingPlan(trace=True))
    return made, source, target, count


def of(made: Launched, kind: AccessKind) -> npt.NDArray[np.void]:
    assert made.outcome.trace is not None
    sites = {s.index for s in made.kernel.info.sites if s.kind == kind and s.space == Space.GLOBAL}
    records = made.outcome.trace.records
    return np.sort(records[np.isin(records["what"] >> trace.SITE_SHIFT, list(sites))], order=["warp", "line"])


def line(engine: Engine, address: int) -> int:
    return (address - engine.memory.arena.base) // LINE_BYTES


def test_a_strided_load_touches_one_sector_a_lane(engine: Engine, launched: tuple[Launched, int, int, int]) -> None:
    made, source, _, _ = launched
    found = of(made, AccessKind.LOAD)
    # 32 bytes from lane to lane: each warp has eight whole lines; warps and blocks are told apart.
    assert found["line"].tolist() == [line(engine, source) + n for n in range(32)]
    assert set((found["what"] & 15).tolist()) == {15}
    assert sorted(set(found["warp"].tolist())) == [0, 1, 32, 33]


def test_a_store_follows_the_load(engine: Engine, launched: tuple[Launched, int, int, int]) -> None:
    made, _, target, _ = launched
    found = of(made, AccessKind.STORE)
    assert found["line"].tolist() == [line(engine, target) + n for n in range(4)]
    assert set((found["what"] >> trace.LANES_SHIFT & 31).tolist()) == {31}
    assert (found["order"] > of(made, AccessKind.LOAD)["order"].min()).all()


def test_an_atomic_tells_the_most_lanes_at_one_address(
    engine: Engine, launched: tuple[Launched, int, int, int]
) -> None:
    made, _, _, count = launched
    found = of(made, AccessKind.ATOMIC)
    # Four addresses a warp, each in a line of its own, eight lanes at each.
    assert len(found) == 16
    assert set((found["what"] >> trace.LANES_SHIFT & 31).tolist()) == {7}
    assert found["line"].min() == line(engine, count)


def test_further_constants_and_passes_through_banks_are_counted(launched: tuple[Launched, int, int, int]) -> None:
    made, *_ = launched
    sites = counts.site_counts(made.kernel.info, made.outcome.counters)
    constant = next(s for s in sites if s.site.space == Space.CONST)
    load = next(s for s in sites if s.site.space == Space.GLOBAL and s.site.kind == AccessKind.LOAD)
    assert constant.wavefronts == 4 * 3  # four warps, four addresses each
    assert load.wavefronts == 4 * 8  # words 8 apart: eight lanes meet in a bank


def test_a_fragment_is_a_request_for_each_of_its_registers(engine: Engine) -> None:
    """16 rows of 32 bytes, 128 bytes apart: each of four registers has half a sector of eight of them."""
    program = engine.load([parse(nvrtc.compile_source(SOURCE, arch="sm_90"))])
    source, target = (engine.memory.allocate(4096).base for _ in range(2))
    params = struct.pack("<QQ", source, target)
    made = engine.launch(program, "fragment", (1, 1, 1), (32, 1, 1), 0, params, plan=CountingPlan(trace=True))
    found = of(made, AccessKind.LOAD)
    assert found["line"].tolist() == sorted(2 * [line(engine, source) + row for row in range(16)])
    assert set((found["what"] & 15).tolist()) == {1}
    assert sorted(set(found["order"].tolist())) == [0, 1, 2, 3]
    sites = counts.site_counts(made.kernel.info, made.outcome.counters)
    site = next(s for s in sites if s.site.kind == AccessKind.LOAD and s.site.space == Space.GLOBAL)
    assert site.wavefronts == 4 * 8  # eight rows begin in one bank


def test_local_memory_lies_word_by_word(engine: Engine) -> None:
    program = engine.load([parse(nvrtc.compile_source(SOURCE, arch="sm_90"))])
    out = engine.memory.allocate(1 << 12).base
    made = engine.launch(
        program, "stack", (1, 1, 1), (32, 1, 1), 0, struct.pack("<Qi", out, 3), plan=CountingPlan(trace=True)
    )
    assert made.outcome.trace is not None
    records = made.outcome.trace.records
    local = records[records["what"] >> trace.LOCAL_BIT & 1 == 1]
    stores = local[local["what"] >> trace.KIND_SHIFT & 3 == trace.STORE]
    assert sorted(set(stores["line"].tolist())) == list(range(8))
    assert set((stores["what"] & 15).tolist()) == {15}


def _product(threads: int, block: tuple[int, int, int] = (16, 16, 1), n: int = 64) -> Launched:
    engine = Engine(DeviceMemory(1 << 28), Limits(threads=threads))
    program = engine.load([parse(nvrtc.compile_source(SOURCE, arch="sm_90"))])
    source, target = (engine.memory.allocate(n * n * 4).base for _ in range(2))
    grid = (n // block[0], n // block[1], 1)
    params = struct.pack("<QQi", source, target, n)
    return engine.launch(program, "product", grid, block, 0, params, plan=CountingPlan(trace=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_full_buffer_leaves_the_lines_of_a_share_whoever_ran_what(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _product(1).outcome.trace
    monkeypatch.setattr(trace, "RECORDS", len(whole.records) // 2 if whole else 0)
    monkeypatch.setattr(trace, "SAMPLE", len(whole.records) // 6 if whole else 0)
    part = _product(threads).outcome.trace
    assert whole is not None
    assert part is not None
    assert part.level > 1
    order = ["warp", "order", "line"]
    expected = np.sort(trace.thinned(whole, part.level).records, order=order)
    assert np.array_equal(np.sort(part.records, order=order), expected)
    assert 0 < len(expected) <= trace.SAMPLE < len(trace.thinned(whole, part.level - 1).records)


@pytest.mark.parametrize(("n", "passes"), [(64, 2), (80, 1)])
def test_rows_of_a_warp_meet_in_a_bank_or_do_not(n: int, passes: int) -> None:
    made = _product(1, n=n)
    sites = counts.site_counts(made.kernel.info, made.outcome.counters)
    warps = n * n // 32
    loads = [s.wavefronts for s in sites if s.site.kind == AccessKind.LOAD and s.site.space == Space.GLOBAL]
    # A word of each of two rows, n words apart; 16 words of one row, for both halves alike.
    assert sum(loads) == n * warps * (passes + 1)
    # Two rows of 16 words, in the same banks or side by side.
    assert [s.wavefronts for s in sites if s.site.kind == AccessKind.STORE] == [warps * passes]


def test_a_level_keeps_the_lines_of_a_share_and_every_access_to_them() -> None:
    lines = np.repeat(np.arange(4096, dtype=np.uint32), 3)
    records = np.zeros(len(lines), trace.RECORD)
    records["line"] = lines
    kept = trace.thinned(trace.Trace(records, 0), 2)
    assert kept.level == 2
    assert len(kept.records) == pytest.approx(len(records) / 4, rel=0.1)
    assert (np.unique(kept.records["line"], return_counts=True)[1] == 3).all()
    assert len(trace.joined([records, records], [0, 1]).records) == 2 * len(
        trace.thinned(trace.Trace(records, 0), 1).records
    )
