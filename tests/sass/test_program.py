"""Machine code of several modules: whose PTX a line is of, and functions that were linked on their own."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.program import load
from lanewise.errors import EnvironmentProblem, KernelFault
from lanewise.ptx import parse
from lanewise.records import AccessKind
from lanewise.sass import listing
from lanewise.sass.program import MachineProgram, suffixes
from lanewise.toolchain import nvrtc, ptxas, wheels

CALLER = """
extern __device__ float f(const float* p, int i);
extern "C" __global__ void k(const float* a, float* o) { o[threadIdx.x] = f(a, threadIdx.x) + 1; }
"""
CALLEE = "__device__ float f(const float* p, int i) { return p[3 * i]; }"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [nvrtc.compile_source(source, arch="sm_90", options=["-rdc=true"]) for source in (CALLEE, CALLER)]


def test_lines_of_linked_code_belong_to_their_module(texts: list[str]) -> None:
    made = ptxas.link(texts, arch="sm_90")
    found = suffixes(made.cubin, texts)
    assert sorted(found) == [0, 1]
    assert found[0] != found[1]
    program = load([parse(text) for text in texts], DeviceMemory(1 << 30))
    kernel = MachineProgram(made.cubin, texts).kernel(program, "k")
    assert kernel is not None
    (load_access,) = [a for a in kernel.accesses if a.ptx and a.ptx.kind == AccessKind.LOAD]
    (store,) = [a for a in kernel.accesses if a.ptx and a.ptx.kind == AccessKind.STORE]
    assert (load_access.instruction.module, store.instruction.module) == (found[0], found[1])
    assert load_access.instruction.ptx_line is not None
    assert texts[0].splitlines()[load_access.instruction.ptx_line - 1].strip().startswith("ld.")
    assert load_access.instruction.offset > store.instruction.offset  # the callee follows the kernel
    assert kernel.of_line(0, load_access.instruction.ptx_line) == (load_access.record,)
    (call,) = [b for b in kernel.blocks if b.calls]
    assert kernel.blocks[load_access.block].function == call.calls


def test_a_suffix_only_where_code_was_linked(texts: list[str]) -> None:
    assert suffixes(ptxas.assemble(texts[0], arch="sm_90").cubin, texts[:1]) == {}
    assert list(suffixes(ptxas.link(texts[:1], arch="sm_90").cubin, texts[:1])) == [0]


def test_options_of_the_assembler_shape_the_machine_code() -> None:
    source = "__global__ void k(float* a) { float s = 0; for (int i = 0; i < 64; i++) s += a[i * 32] * i; a[0] = s; }"
    loads = []
    for options in ([], ["-Xptxas", "-O0"]):
        record = lanewise.compile(source, options=options)["k"][1, 32](np.zeros(2048, np.float32))
        assert record.launch.instructions is not None
        loads.append((record.launch.instructions, sum(a.requests for a in record.machine_accesses)))
    assert loads[0][0] < loads[1][0]
    assert loads[0][1] == loads[1][1] == 65


def test_without_nvdisasm_the_error_names_the_wheel(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cubin = ptxas.assemble(texts[0], arch="sm_90").cubin
    monkeypatch.setattr(wheels, "find", lambda name: None)
    with pytest.raises(EnvironmentProblem, match="nvidia-cuda-nvdisasm"):
        listing.listing(cubin + b"\0")


def test_without_the_machine_code_counts_are_of_ptx_and_a_note_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(cubin: bytes) -> None:
        raise wheels.missing("nvdisasm")

    monkeypatch.setattr(listing, "listing", missing)
    kernel = lanewise.compile("__global__ void k(float* a) { a[threadIdx.x] += 1; }")["k"]
    record = kernel[1, 32](np.zeros(32, np.float32))
    assert record.launch.instructions is None
    assert record.machine_accesses == ()
    assert [a.sectors for a in record.accesses] == [4, 4]
    assert any("counts are of PTX" in note and "nvidia-cuda-nvdisasm" in note for note in record.result.notes)


def test_a_launch_that_faults_is_counted_as_far_as_it_ran() -> None:
    kernel = lanewise.compile("__global__ void k(int* a) { a[blockIdx.x * blockDim.x + threadIdx.x] += 1; }")["k"]
    with pytest.raises(KernelFault):
        kernel[1000, 32](np.zeros(32, np.int32))
    (launch,) = kernel.device.records
    assert launch.instructions is not None
    assert 0 < launch.instructions < 1000 * 8
