"""Mbarriers: every operation against a model in Python, pipelines of warps, cuda::barrier, and waits without end."""

from __future__ import annotations

import random
import time

import numpy as np
import numpy.typing as npt
import pytest

import lanewise
from lanewise.emulator.launch import Limits
from lanewise.emulator.mbarriers import MAX_COUNT
from lanewise.errors import KernelFault
from lanewise.records import Finding

LIMITS = Limits(seconds=30)
Words = npt.NDArray[np.uint32]


# ---------------------------------------------------------------------- one thread against a model
class Model:
    """An mbarrier as PTX ISA 9.7.13.15 describes it."""

    def __init__(self, count: int) -> None:
        self.expected = self.pending = count
        self.bytes = 0
        self.phase = 0

    def step(self, arrivals: int, bytes_: int = 0, *, drop: bool = False) -> int:
        """Returns the pending count before the arrival."""
        before = self.pending
        self.bytes += bytes_
        self.pending -= arrivals
        self.expected -= arrivals if drop else 0
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected
        return before

    def fits(self, arrivals: int, bytes_: int = 0) -> bool:
        return arrivals <= self.pending and abs(self.bytes + bytes_) <= MAX_COUNT


HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
 .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %p<4>;
 .shared .align 8 .b8 object[16];
 ld.param.u64 %d0, [out];
 cvta.shared.u64 %d3, object;
 mov.u32 %r5, object;
"""
NOTE = """ selp.u32 %r1, 1, 0, %p1;
 st.global.u32 [%d0], %r1;
 add.u64 %d0, %d0, 4;
"""


def sequence(seed: int) -> tuple[str, list[int]]:
    """Random operations of one thread as PTX, and the numbers that they write."""
    rng = random.Random(seed)
    count = rng.choice([1, 2, 5, 32, MAX_COUNT])
    model = Model(count)
    text = f" mbarrier.init.shared.b64 [object], {count};\n mov.u64 %d1, 0;\n"
    written: list[int] = []
    states: list[tuple[str, int]] = []  # register, phase
    for _ in range(40):
        # The object by name, by a 32-bit register, by a generic address.
        space, place = rng.choice([(".shared", "[object]"), (".shared::cta", "[%r5]"), ("", "[%d3]")])
        arrivals = rng.choice([1, 1, 1, 2, max(1, model.pending)])
        bytes_ = rng.choice([4, 16, 1024, -model.bytes, MAX_COUNT])
        match rng.randrange(9):
            case 0 | 1 if model.fits(arrivals) and model.pending > 0:
                register = f"%d{4 + len(states) % 2}"
                states = [s for s in states if s[0] != register]
                states.append((register, model.phase))
                written.append(model.step(arrivals))
                given = f", {arrivals}" if arrivals > 1 or rng.random() < 0.5 else ""
                semantics = rng.choice(["", ".release.cta", ".release.cluster", ".relaxed.cta"])
                text += f" mbarrier.arrive{semantics}{space}.b64 {register}, {place}{given};\n"
                text += f" mbarrier.pending_count.b64 %r1, {register};\n st.global.u32 [%d0], %r1;\n"
                text += " add.u64 %d0, %d0, 4;\n"
            case 2 if bytes_ > 0 and model.fits(1, bytes_):
                model.step(1, bytes_)
                text += f" mbarrier.arrive.expect_tx{space}.b64 _, {place}, {bytes_};\n"
            case 3 if bytes_ > 0 and model.fits(0, bytes_):
                model.step(0, bytes_)
                text += f" mbarrier.expect_tx.relaxed.cta{space}.b64 {place}, {bytes_};\n"
            case 4 if model.bytes > 0:
                text += f" mbarrier.complete_tx{space}.b64 {place}, {model.bytes};\n"
                model.step(0, -model.bytes)
            case 5 if model.expected > 1 and model.pending > 1 and model.fits(1):
                model.step(1, drop=True)
                text += f" mbarrier.arrive_drop{space}.b64 _, {place};\n"
            case 6 if model.pending > 2:
                model.step(1)
                text += f" mbarrier.arrive.noComplete{space}.b64 %d1, {place}, 1;\n"
            case 7:
                parity = rng.randrange(2)
                written.append(int(model.phase % 2 != parity))
                name = rng.choice(["test_wait.parity", "try_wait.parity"])
                text += f" mbarrier.{name}.shared.b64 %p1, [object], {parity};\n{NOTE}"
            case 8 if states and model.phase - states[-1][1] <= 1:
                written.append(int(model.phase != states[-1][1]))
                name = rng.choice(["test_wait", "try_wait"])
                text += f" mbarrier.{name}.shared.b64 %p1, [object], {states[-1][0]};\n{NOTE}"
    return text + " mbarrier.inval.shared.b64 [object];\n", written


@pytest.mark.parametrize("seed", range(12))
def test_against_a_model(seed: int) -> None:
    text, written = sequence(seed)
    out = np.full(len(written) + 1, 0xFFFFFFFF, np.uint32)
    lanewise.compile(HEAD + text + " ret;\n}\n", limits=LIMITS)["k"][1, 1](out)
    assert out[:-1].tolist() == written
    assert out[-1] == 0xFFFFFFFF


# ---------------------------------------------------------------------- many threads
SOURCE = r"""
#include <cuda/barrier>
#include <cuda/std/utility>
typedef unsigned long long u64;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(u64* b, unsigned n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(n)); }
__device__ void arrive(u64* b) {
  asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(at(b)) : "memory");
}
__device__ void wait(u64* b, unsigned parity) {
  asm volatile("{.reg .pred p;\n W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @!p bra W;}"
               ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ void poll(u64* b, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
}
__global__ void pipeline(int* o, int rounds) {  // one warp fills a ring of 3, three warps take from it
  __shared__ u64 full[3], empty[3];
  __shared__ int ring[3][32];
  int t = threadIdx.x;
  if (t < 3) { make(full + t, 1); make(empty + t, 96); }
  __syncthreads();
  if (t < 32) {
    for (int r = 0; r < rounds; r++) {
      int s = r % 3;
      wait(empty + s, (r / 3 + 1) % 2);
      ring[s][t] = 7 * r + t;
      __syncwarp();
      if (t == 0) arrive(full + s);
    }
  } else {
    int sum = 0;
    for (int r = 0; r < rounds; r++) {
      int s = r % 3;
      if (t < 64) wait(full + s, r / 3 % 2); else poll(full + s, r / 3 % 2);
      sum += ring[s][t % 32];
      arrive(empty + s);
    }
    o[t - 32] = sum;
  }
}
__global__ void blockwide(int* o, int arrivals, int rounds) {
  __shared__ Barrier barrier;
  __shared__ int s[96];
  int t = threadIdx.x, v = t;
  if (t == 0) init(&barrier, arrivals);
  __syncthreads();
  for (int i = 0; i < rounds; i++) {
    s[t] = v;
    auto token = barrier.arrive();
    v += i;
    barrier.wait(cuda::std::move(token));
    v += s[(t + 33) % 96];
    barrier.arrive_and_wait();
  }
  o[t] = v;
}
__global__ void leave(int* o) {  // a warp drops out after each round
  __shared__ Barrier barrier;
  __shared__ int left;
  int t = threadIdx.x, warp = t / 32;
  if (t == 0) { init(&barrier, 96); left = 0; }
  __syncthreads();
  for (int i = 0; i < warp; i++) barrier.arrive_and_wait();
  if (t % 32 == 0) atomicAdd(&left, 1);
  barrier.arrive_and_drop();
  if (t % 32 == 0) o[warp] = left;
}
__global__ void within_a_warp(int* o) {  // lanes of one warp wait for each other's phases
  __shared__ u64 b[2];
  int t = threadIdx.x;
  if (t < 2) make(b + t, 1);
  __syncwarp();
  for (int i = 0; i < 8; i++) {
    if (t == 0) { arrive(b); wait(b + 1, i & 1); }
    if (t == 1) { wait(b, i & 1); o[i] = i + 1; arrive(b + 1); }
  }
}
__global__ void several(int* o) {  // each lane has its own object
  __shared__ u64 b[32];
  int t = threadIdx.x;
  if (t < 32) make(b + t, t % 3 + 1);
  __syncthreads();
  if (t >= 32) { for (int i = 0; i <= t % 32 % 3; i++) arrive(b + t - 32); return; }
  wait(b + t, 0);
  o[t] = t + 1;
}
"""


@pytest.fixture(scope="module")
def module() -> lanewise.Module:
    return lanewise.compile(SOURCE, limits=LIMITS)


def test_pipeline(module: lanewise.Module) -> None:
    out = np.zeros(96, np.int32)
    module["pipeline"][1, 128](out, 50)
    assert out.tolist() == [7 * 49 * 25 + 50 * (t % 32) for t in range(96)]


def test_barrier_of_the_library(module: lanewise.Module) -> None:
    out = np.zeros(96, np.int32)
    module["blockwide"][3, 96](out, 96, 6)
    value = np.arange(96)
    for i in range(6):
        value = value + i + np.roll(value, -33)
    assert (out == value).all()


def test_threads_that_leave(module: lanewise.Module) -> None:
    out = np.zeros(3, np.int32)
    module["leave"][1, 96](out)
    assert out.tolist() == [1, 2, 3]


def test_lanes_wait_for_each_other(module: lanewise.Module) -> None:
    out = np.zeros(32, np.int32)
    module["within_a_warp"][1, 32](out)
    assert out[:8].tolist() == list(range(1, 9))
    module["several"][1, 64](out)
    assert out.tolist() == list(range(1, 33))


# ---------------------------------------------------------------------- what must not be
def fault(text: str, threads: int = 32) -> Finding:
    source = HEAD + " mov.u32 %r6, %tid.x;\n setp.eq.u32 %p2, %r6, 0;\n" + text + " ret;\n}\n"
    started = time.perf_counter()
    with pytest.raises(KernelFault) as caught:
        lanewise.compile(source, limits=LIMITS)["k"][1, threads](np.zeros(64, np.uint32))
    assert time.perf_counter() - started < 10
    finding = caught.value.finding
    assert finding is not None
    return finding


INIT = " @%p2 mbarrier.init.shared.b64 [object], 4;\n bar.sync 0;\n"
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p1, [object], 0;\n @!%p1 bra W;\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" mbarrier.init.shared.b64 [object+4], 1;\n", "byte 4 of shared memory is misaligned"),
        (" mbarrier.init.shared.b64 [object+16], 1;\n", "byte 16 of shared memory is not in the block's shared memory"),
        (" mbarrier.init.b64 [%d0], 1;\n", "is not in the block's shared memory"),
        (" mov.u32 %r1, 0;\n mbarrier.init.shared.b64 [object], %r1;\n", "count of arrivals out of range"),
        (" mov.u32 %r1, 1048576;\n mbarrier.init.shared.b64 [object], %r1;\n", "count of arrivals out of range"),
        (" mbarrier.arrive.shared.b64 _, [object];\n", "it was not initialised"),
        (WAIT, "it was not initialised"),
        (INIT + " @%p2 mbarrier.inval.shared.b64 [object];\n bar.sync 0;\n" + WAIT, "or invalidated"),
        (" mbarrier.inval.shared.b64 [object];\n", "it was not initialised"),
        (INIT + " @%p2 mbarrier.arrive.shared.b64 _, [object], 5;\n", "more arrivals"),
        (INIT + " mbarrier.arrive.expect_tx.shared.b64 _, [object], 1048575;\n", "bytes that the mbarrier"),
        (INIT + " @%p2 mbarrier.arrive.noComplete.shared.b64 %d1, [object], 4;\n", "with .noComplete ends the phase"),
    ],
)
def test_wrong_operations(text: str, words: str) -> None:
    finding = fault(text)
    assert finding.check == "mbarrier"
    assert words in finding.message
    assert finding.next_step


@pytest.mark.parametrize("threads", [32, 96])
@pytest.mark.parametrize(
    ("arrival", "words", "evidence"),
    [
        ("mbarrier.arrive.shared.b64 _, [object], 3;", "1 of its 4 arrivals never come", "arrivals missing: 1 of 4"),
        ("mbarrier.arrive.expect_tx.shared.b64 _, [object], 64;", "3 of its 4 arrivals", "bytes missing: 64"),
        (
            "mbarrier.arrive.shared.b64 _, [object], 3;\n @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [object], 128;",
            "128 of the bytes that it expects never come",
            "bytes missing: 128",
        ),
        (
            "mbarrier.complete_tx.shared.b64 [object], 32;\n @%p2 mbarrier.arrive.shared.b64 _, [object], 4;",
            "32 bytes more have come than it was told to expect",
            "bytes missing: -32",
        ),
    ],
)
def test_wait_without_end(arrival: str, words: str, evidence: str, threads: int) -> None:
    finding = fault(f"{INIT} @%p2 {arrival}\n{WAIT}", threads)
    assert finding.check == "barrier"
    assert words in finding.message
    assert any(evidence in line and "mbarrier at byte 0" in line for line in finding.evidence)
    assert "(PTX ISA 9.7.13.15." in (finding.next_step or "")


def test_barrier_of_the_library_without_end(module: lanewise.Module) -> None:
    with pytest.raises(KernelFault, match="1 of its 97 arrivals never come"):
        module["blockwide"][1, 96](np.zeros(96, np.int32), 97, 6)


def test_some_wait_at_a_barrier_some_at_an_mbarrier() -> None:
    finding = fault(f"{INIT} setp.lt.u32 %p3, %r6, 32;\n @%p3 bra A;\n{WAIT} ret;\nA: bar.sync 0;\n", 64)
    assert len(finding.evidence) == 2
    assert "1 warp waits at the mbarrier" in finding.evidence[0]
    assert "1 warp waits at barrier 0" in finding.evidence[1]
