"""Launches that are run again: what may change, what is compared, that nothing is left of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from kernels import Kernels, kernels

from lanewise import device as devices
from lanewise.advice import tries
from lanewise.advice.change import Change, swapped_launch, with_bounds
from lanewise.advice.subject import Subject
from lanewise.records import LaunchRecord

SOURCE = """
#include <cuda/atomic>
__global__ void turned(const float* in, float* out, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * n + column] = 2 * in[row * n + column];
}
__global__ void in_place(int* data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void by_tile(float* out) { out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; }
__global__ void forgets(int* out, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockDim.x == 64 || i % 64) out[i] = 7;
}
__global__ void prints(int* out) { out[threadIdx.x] = threadIdx.x; if (threadIdx.x == 0) printf("once\\n"); }
__global__ void heap(int** out) { out[threadIdx.x] = (int*)malloc(4); free(out[threadIdx.x]); }
__global__ void waits(int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) f.store(100000); else while (f.load() != 100000) {}
}
__global__ void adds(float* sum, const float* in) { atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]); }
"""
Result = TypeVar("Result")


def within(
    monkeypatch: pytest.MonkeyPatch, look: Callable[[Subject], Result], launch: Callable[[Kernels], object]
) -> Result:
    """What `look` says of the launch, while it can be tried again."""
    found: list[Result] = []

    def instead(subject: Subject) -> LaunchRecord:
        found.append(look(subject))
        return subject.record

    monkeypatch.setattr(devices, "advise_on", instead)
    kernels(SOURCE)._device._advised.clear()  # a shape is looked at once
    launch(kernels(SOURCE))
    return found[-1]


def turned(k: Kernels) -> LaunchRecord:
    return k.launch("turned", (4, 4, 1), (32, 32, 1), 65536, 65536, np.int32(128).tobytes())


def test_an_index_swap_is_the_same_work_by_other_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(s: Subject) -> None:
        outcome = s.tries.rerun(swapped_launch(s.tries.grid, s.tries.block))
        assert outcome.same_results
        assert outcome.record is not None
        sectors = [sum(a.sectors or 0 for a in r.accesses if a.basis == "sass") for r in (s.record, outcome.record)]
        assert sectors == [2 * 512 * 32, 2 * 512 * 4]
        assert outcome.time_us is not None
        assert outcome.time_us < s.time_us
        assert outcome.record.ptx_thread_instructions == s.record.ptx_thread_instructions

    within(monkeypatch, look, turned)


def test_the_same_launch_again_is_the_same_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(s: Subject) -> None:
        outcome = s.tries.rerun(Change(s.tries.grid, s.tries.block))
        assert outcome.same_results
        assert outcome.record == s.record

    within(monkeypatch, look, turned)
    within(monkeypatch, look, lambda k: k.launch("in_place", (4, 1, 1), (64, 1, 1), 1024))
    within(monkeypatch, look, lambda k: k.launch("adds", (64, 1, 1), (256, 1, 1), 4, 65536))


def test_other_results_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(s: Subject) -> tuple[bool, str | None]:
        outcome = s.tries.rerun(Change((s.tries.grid[0] * 2, 1, 1), (s.tries.block[0] // 2, 1, 1)))
        return outcome.same_results, outcome.why_not

    assert within(monkeypatch, look, lambda k: k.launch("in_place", (4, 1, 1), (64, 1, 1), 1024)) == (True, None)
    same, why_not = within(monkeypatch, look, lambda k: k.launch("by_tile", (4, 1, 1), (64, 1, 1), 1024))
    assert not same
    assert "out-of-bounds write" in str(why_not)
    # An element that is not written any more has its value from the launch itself.
    forgets = within(monkeypatch, look, lambda k: k.launch("forgets", (4, 1, 1), (64, 1, 1), 1024, bytes(4)))
    assert forgets == (False, None)


def test_nothing_is_left_of_a_rerun(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(s: Subject) -> None:
        memory = kernels(SOURCE)._device.memory
        before = [(a, memory.read(a.base, a.size)) for a in memory.allocations() if a.kind == "malloc"]
        generation = memory.generation
        assert s.tries.rerun(Change((8, 1, 1), (32, 1, 1))).same_results
        assert s.tries.requests()
        assert [(a, memory.read(a.base, a.size)) for a in memory.allocations() if a.kind == "malloc"] == before
        assert memory.generation == generation
        memory.write(before[0][0].base, b"\x12\x34")  # what is written after it reaches other processes
        assert memory.fd is not None
        assert os.pread(memory.fd, 2, before[0][0].base - memory.base) == b"\x12\x34"

    within(monkeypatch, look, lambda k: k.launch("in_place", (4, 1, 1), (64, 1, 1), 1024))


@pytest.mark.parametrize(
    ("name", "grid", "sizes", "why"),
    [("heap", (1, 1, 1), (256,), "it allocates memory"), ("waits", (2, 1, 1), (4,), "its blocks wait for each other")],
)
def test_what_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, name: str, grid: tuple[int, int, int], sizes: tuple[int, ...], why: str
) -> None:
    def look(s: Subject) -> None:
        assert s.tries.refusal == why
        outcome = s.tries.rerun(Change(s.tries.grid, s.tries.block))
        assert (outcome.record, outcome.same_results, outcome.why_not) == (None, False, why)
        assert s.tries.requests() == ()

    within(monkeypatch, look, lambda k: k.launch(name, grid, (32, 1, 1), *sizes))


def test_requests_are_what_the_lanes_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(s: Subject) -> None:
        requests = s.tries.requests()
        stores = [r for r in requests if s.sites[r.site].kind == "store"]
        assert len(stores) == 4 * 32  # of the first four blocks
        assert {r.block for r in stores} == {0, 1, 2, 3}
        for r in stores:
            assert r.mask == 0xFFFFFFFF
            assert np.diff(r.addresses).tolist() == [512] * 31

    within(monkeypatch, look, turned)


def test_launch_bounds_stand_where_the_lines_of_ptx_stay() -> None:
    text = ".visible .entry k(\n\t.param .u64 p\n)\n.maxntid 64, 1, 1\n{\n\tret;\n}\n.entry k2()\n{\n}\n"
    changed = with_bounds(text, "k", (8, 8, 2), 4)
    assert changed is not None
    assert changed.splitlines()[2:5] == [") .maxntid 128 .minnctapersm 4 ", "", "{"]
    assert len(changed.splitlines()) == len(text.splitlines())
    assert with_bounds(text, "other", (8, 8, 2), 4) is None
    assert ".maxntid" not in (with_bounds(text.replace(".maxntid", ".reqntid"), "k", (64, 1, 1), 4) or "")


def test_a_launch_with_advice_has_a_request_of_each_access() -> None:
    k = kernels(SOURCE)
    k._device._advised.clear()
    record = turned(k)
    assert record.advice
    kinds = [(s.kind.value, s.space.value, s.width_bits) for s in record.samples]
    assert kinds == [("load", "global", 32), ("store", "global", 32)]
    for sample in record.samples:
        assert sample.lanes == tuple(512 * lane for lane in range(32))
    assert all(finding.samples for finding in record.advice if finding.ptx_line is not None)
    calm = k.launch("prints", (1, 1, 1), (32, 1, 1), 128)
    assert (calm.advised, calm.advice, calm.samples) == (True, (), ())


def test_a_program_that_shares_the_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may write while a launch is tried: what is compared would depend on when."""
    device = kernels(SOURCE)._device
    monkeypatch.setattr(device, "_callers", {(0, 0), (0, 1)})
    refusal = within(monkeypatch, lambda s: s.tries.refusal, turned)
    assert refusal == "other threads of the program use the device"


def test_a_rerun_prints_nothing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def look(s: Subject) -> None:
        outcome = s.tries.rerun(Change(s.tries.grid, s.tries.block))
        assert outcome.same_results

    within(monkeypatch, look, lambda k: k.launch("prints", (1, 1, 1), (32, 1, 1), 128))
    assert "once" not in capfd.readouterr().out


def test_a_long_launch_is_sampled_and_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MOST_INSTRUCTIONS", 1000)
    monkeypatch.setattr(tries, "MOST_SAMPLED", 1000)

    def look(s: Subject) -> None:
        assert s.tries.rerun(Change(s.tries.grid, s.tries.block)).why_not == "it is too long to run again"
        assert s.tries.requests()

    within(monkeypatch, look, turned)
