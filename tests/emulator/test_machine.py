"""What kernels count beside PTX: accesses at another width, trips of loops; against the pure functions that say it."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise.emulator import counts, flow
from lanewise.emulator.analysis import written_and_read
from lanewise.emulator.engine import Engine, Launched
from lanewise.emulator.machine import (
    EXCHANGES,
    CountingPlan,
    CountRule,
    Recount,
    StageRuns,
    TripPlan,
    TripStage,
    split_trips,
)
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware import banks, coalescing
from lanewise.ptx import parse
from lanewise.ptx.syntax import Instruction, PtxModule
from lanewise.records import AccessKind
from lanewise.toolchain import nvrtc

FOUR_TWO_ONE = (TripStage(4, True), TripStage(2, False), TripStage(1, True))
PEELED = (TripStage(1, False), TripStage(1, True))


def test_trips_are_spent_in_stages() -> None:
    assert split_trips([11, 4, 3, 0], FOUR_TWO_ONE) == [
        StageRuns(2, 3, 2, 2),  # 11 // 4 and 4 // 4: two groups leave
        StageRuns(1, 2, 2, 1),  # 3 left of 11, and 3
        StageRuns(1, 2, 2, 1),
    ]
    assert split_trips([3, 1], PEELED) == [StageRuns(1, 2, 2, 1), StageRuns(2, 2, 1, 1)]


def launch(module: PtxModule, plan: CountingPlan, *arrays: np.ndarray, grid: int = 1, block: int = 32) -> Launched:
    memory = DeviceMemory(1 << 30)
    engine = Engine(memory)
    program = engine.load([module])
    params = b""
    for array in arrays:
        place = memory.allocate(max(array.nbytes, 16))
        memory.write(place.base, array.tobytes())
        params += place.base.to_bytes(8, "little")
    done = engine.launch(program, "k", (grid, 1, 1), (block, 1, 1), 0, params, plan=plan)
    assert done.fault is None
    return done


LOOP = """
extern "C" __global__ void k(const int* trips, float* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float v = t;
  if (threadIdx.x < 20) {  // lanes that wait behind it split the blocks: loops get other numbers than in `flow.build`
    v += __shfl_down_sync(0xfffff, v, 1);
    out[t] = v;
  }
  #pragma unroll 1
  for (int outer = 0; outer < 2; outer++)
    #pragma unroll 1
    for (int i = 0; i < trips[t] + outer; i++) v = v * v + i;
  out[t] = v;
}"""


@pytest.mark.parametrize("stages", [FOUR_TWO_ONE, PEELED, (TripStage(3, True), TripStage(1, True))])
def test_trips_of_a_divergent_loop(stages: tuple[TripStage, ...]) -> None:
    module = parse(nvrtc.compile_source(LOOP, arch="sm_90"))
    graph = flow.build(module.functions["k"], written_and_read)
    fma = next(b.index for b in graph.blocks if any(i.opcode == "fma" for i in b.instructions))
    header = max(head for source, head in graph.back_edges if head <= fma <= source)
    line = graph.blocks[header].instructions[0].line
    plan = CountingPlan(trips=(TripPlan(0, "k", line, stages),))
    trips = np.random.default_rng(1).integers(0, 9, 128).astype(np.int32)
    trips[40] = 23
    done = launch(module, plan, trips, np.zeros(128, np.float32), grid=2, block=64)
    expected = [[0, 0, 0, 0] for _ in stages]
    for warp in range(4):
        for outer in (0, 1):
            for total, runs in zip(
                expected, split_trips([int(n) + outer for n in trips[32 * warp :][:32]], stages), strict=True
            ):
                for place, value in enumerate((runs.warps, runs.threads, runs.arrived, runs.groups)):
                    total[place] += value
    ((_, first),) = done.kernel.info.trip_rows
    rows = counts.block_counters(done.kernel.info, done.outcome.counters)[first : first + len(stages)]
    assert rows.tolist() == expected


ACCESSES = """
extern "C" __global__ void k(const int* where, float* out) {
  __shared__ float s[2048];
  for (int i = threadIdx.x; i < 2048; i += 32) s[i] = i;
  __syncthreads();
  int at = where[threadIdx.x];
  if (at >= 0) out[threadIdx.x] = s[at];
}"""


def lines(module: PtxModule, opcode: str, space: str) -> list[int]:
    body = module.functions["k"].body
    return [i.line for i in body if isinstance(i, Instruction) and i.opcode == opcode and i.has(space)]


@pytest.mark.parametrize("seed", range(4))
def test_a_load_counted_again_at_another_width(seed: int) -> None:
    module = parse(nvrtc.compile_source(ACCESSES, arch="sm_90"))
    rng = np.random.default_rng(seed)
    where = (4 * rng.integers(0, 512 if seed else 4, 32) + rng.integers(0, 4)).astype(np.int32)
    if seed % 2:
        where[rng.integers(0, 32, 9)] = -1
    (load,) = lines(module, "ld", "shared")
    (gather,) = lines(module, "ld", "global")
    plan = CountingPlan((Recount(0, load, 128, CountRule.LOAD), Recount(0, gather, 64, CountRule.LOAD)))
    done = launch(module, plan, where, np.zeros(32, np.float32))
    again = {
        c.site.ptx_line: c
        for c in counts.site_counts(done.kernel.info, done.outcome.counters)
        if c.site.recount is not None
    }
    mask = sum(1 << lane for lane in range(32) if where[lane] >= 0)
    offsets = [4 * int(at) // 16 * 16 for at in where]
    assert again[load].wavefronts == banks.wavefronts(offsets, mask, 16, AccessKind.LOAD)
    assert again[load].wavefronts_ideal == banks.wavefronts_ideal(offsets, mask, 16, AccessKind.LOAD)
    assert again[load].threads_on == mask.bit_count()
    addresses = [lane * 4 // 8 * 8 for lane in range(32)]
    assert again[gather].sectors == coalescing.sectors(addresses, 0xFFFFFFFF, 8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("element", "width"), [("float", 4), ("double", 8)])
def test_rounds_of_compare_and_swap(element: str, width: int, seed: int) -> None:
    source = f"""
extern "C" __global__ void k(const int* where, {element}* out) {{
  __shared__ {element} s[512];
  for (int i = threadIdx.x; i < 512; i += 32) s[i] = i;
  __syncthreads();
  atomicAdd(&s[where[threadIdx.x]], ({element})1);
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}}"""
    module = parse(nvrtc.compile_source(source, arch="sm_90"))
    (line,) = [i.line for i in module.functions["k"].body if isinstance(i, Instruction) and i.opcode == "atom"]
    plan = CountingPlan(tuple(Recount(0, line, 8 * width, rule) for rule in EXCHANGES))
    rng = np.random.default_rng(seed)
    where = (np.arange(32) % 16 * 32 if seed == 0 else rng.integers(0, 1 << (2 * seed - 2), 32)).astype(np.int32)
    done = launch(module, plan, where, np.zeros(32, np.float64))
    _as_expected(done, banks.compare_and_swap([width * int(at) for at in where], 0xFFFFFFFF, width))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("element", "name"), [("unsigned long long", "Min"), ("long long", "Max")])
def test_a_minimum_that_changes_nothing_does_not_swap(element: str, name: str, seed: int) -> None:
    source = f"""
extern "C" __global__ void k(const int* where, {element}* held) {{
  __shared__ {element} s[32];
  s[threadIdx.x] = held[threadIdx.x];
  __syncthreads();
  if (held[32 + threadIdx.x] != 99) atomic{name}(&s[where[threadIdx.x]], held[32 + threadIdx.x]);
  __syncthreads();
  held[threadIdx.x] = s[threadIdx.x];
}}"""
    module = parse(nvrtc.compile_source(source, arch="sm_90"))
    (line,) = [i.line for i in module.functions["k"].body if isinstance(i, Instruction) and i.opcode == "atom"]
    plan = CountingPlan(tuple(Recount(0, line, 64, rule) for rule in EXCHANGES))
    rng = np.random.default_rng(seed)
    where = rng.integers(0, 1 << (2 * seed - 1) if seed else 1, 32).clip(0, 31).astype(np.int32)
    values = rng.integers(-20 if name == "Max" else 0, 40, 64)
    values[32:][rng.integers(0, 32, 5)] = 99
    done = launch(module, plan, where, values.astype(np.int64))
    beats = int.__gt__ if name == "Max" else int.__lt__
    contest = banks.Contest({8 * i: int(v) for i, v in enumerate(values[:32])}, [int(v) for v in values[32:]], beats)
    mask = sum(1 << lane for lane in range(32) if values[32 + lane] != 99)
    _as_expected(done, banks.compare_and_swap([8 * int(at) for at in where], mask, 8, contest))


def _as_expected(done: Launched, loop: banks.CompareAndSwap) -> None:
    loads, swaps = [
        next(c for c in counts.site_counts(done.kernel.info, done.outcome.counters) if _rule(c) == rule)
        for rule in EXCHANGES
    ]
    assert (loads.requests_on, loads.threads_on, loads.wavefronts) == (loop.rounds, loop.threads, loop.load_wavefronts)
    assert (swaps.requests_on, swaps.threads_on) == (loop.swap_rounds, loop.swap_threads)
    assert (swaps.wavefronts, swaps.wavefronts_ideal) == (loop.swap_wavefronts, loop.swap_wavefronts_ideal)


def _rule(counted: counts.SiteCounts) -> CountRule | None:
    return counted.site.recount.rule if counted.site.recount is not None else None
