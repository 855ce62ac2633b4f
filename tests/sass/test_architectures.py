"""The join for every architecture that the compiler knows: each memory instruction carries an access, or is a spill."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise.emulator.memory import DeviceMemory
from lanewise.emulator.program import load
from lanewise.ptx import parse
from lanewise.records import AccessKind, Space
from lanewise.sass.program import MachineProgram
from lanewise.toolchain import nvrtc, ptxas

ARCHITECTURES = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_103", "sm_110", "sm_120",
    "sm_121",
)  # fmt: skip
SOURCE = """
__device__ __noinline__ float far(const float* p, int i) { return p[i] + p[7 * i]; }
extern "C" __global__ void k(const float4* in, float* out, double* sums, const int* index, int n) {
  __shared__ float tile[128];
  __shared__ int bins[8];
  float r[12];
  int t = threadIdx.x;
  for (int i = 0; i < 12; i++) r[i] = out[i + t];
  float4 v = in[t];
  tile[t] = v.x + v.w + r[index[t] % 12];
  atomicAdd(&bins[t % 8], t);
  atomicMax(&bins[t % 4], t);
  __syncthreads();
  float s = 0;
  for (int i = 0; i < n; i++) s += tile[(i + t) % 128];
  for (int i = 0; i < 8; i++) s += tile[i + 8];
  if (t % 3) s += far(out, t);
  atomicAdd(sums, s);
  out[t] = atomicAdd(out + 512, s) + bins[t % 8];
}
"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_memory_instruction_is_joined(arch: str) -> None:
    text = nvrtc.compile_source(SOURCE, arch=arch)
    program = load([parse(text)], DeviceMemory(1 << 30))
    kernel = MachineProgram(ptxas.assemble(text, arch=arch).cubin, [text]).kernel(program, "k")
    assert kernel is not None
    saved = [a for a in kernel.accesses if a.ptx is None]  # spills, and registers that the function saves
    assert all(a.instruction.memory is not None and a.instruction.memory[0] == Space.LOCAL for a in saved)
    joined = {(a.ptx.space, a.ptx.kind) for a in kernel.accesses if a.ptx is not None}
    loads_and_stores = {(space, kind) for space in (Space.GLOBAL, Space.SHARED, Space.LOCAL) for kind in AccessKind}
    assert joined >= loads_and_stores - {(Space.LOCAL, AccessKind.ATOMIC)}
    names = {i.name for i in kernel.section.instructions if i.name.startswith(("LD", "ST", "ATOM", "RED"))}
    assert names <= {
        "LDG",
        "LD",
        "LDS",
        "LDL",
        "LDC",
        "LDCU",
        "STG",
        "ST",
        "STS",
        "STL",
        "ATOM",
        "ATOMG",
        "ATOMS",
        "RED",
        "REDG",
    }


def test_the_architecture_decides_on_the_machine_code() -> None:
    source = 'extern "C" __global__ void k(float* a) { a[threadIdx.x] = atomicAdd(a + 64, 1.0f); }'
    texts = []
    for device, arch in (("t4", None), ("h200", "sm_75"), ("h200", "sm_120")):
        record = lanewise.compile(source, device=device, arch=arch)["k"][1, 32](np.zeros(96, np.float32))
        texts.append([a.sass for a in record.machine_accesses])
        assert [a.requests for a in record.machine_accesses] == [1, 1]
    assert texts[0] == texts[1] != texts[2]
