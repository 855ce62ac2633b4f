"""Kernels that must and must not be told of structs, misalignment, scatter and narrow accesses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from kernels import Dim, kernels, of_rule

from lanewise.records import Finding

SOURCE = """
#define I (blockIdx.x * blockDim.x + threadIdx.x)
struct Particle { float x, y, z, m; };
extern "C" __global__ void aos(const Particle* p, float* out) {
    int i = I;
    out[i] = p[i].x + p[i].m;
}
extern "C" __global__ void unnamed(const float* p, float* out) {
    int i = I;
    float s = 0;
    for (int k = 0; k < 4; k++) s += p[8 * i + k];
    out[i] = s;
}
extern "C" __global__ void soa(const float* x, const float* m, float* out) {
    int i = I;
    out[i] = x[i] + m[i];
}
extern "C" __global__ void shifted(const float* in, float* out, int n) {
    for (int i = I + 1; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}
extern "C" __global__ void gather(const unsigned* index, const float* table, float* out, unsigned mask) {
    int i = I;
    out[i] = table[index[i] * 2654435761u >> 7 & mask];
}
extern "C" __global__ void lookups(const float* table, float* out) {
    unsigned at = I * 2654435761u;
    float s = 0;
    for (int k = 0; k < 32; k++, at = at * 1664525u + 1013904223u) s += table[at >> 22];
    out[I] = s;
}
extern "C" __global__ void indexed(const unsigned* order, const float* data, float* out) {
    int i = I;
    out[i] = data[order[i]];
}
extern "C" __global__ void copy_loop(const float* in, float* out, int n) {
    for (int i = I; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}
extern "C" __global__ void copy_wide(const float4* in, float4* out) {
    int i = I;
    out[i] = in[i];
}
__constant__ float coef[1024];
extern "C" __global__ void own_constant(float* out) {
    float s = 0;
    for (int k = 0; k < 8; k++) s += coef[(k + threadIdx.x * 7) & 1023];
    out[I] = s;
}
extern "C" __global__ void same_constant(float* out) {
    float s = 0;
    for (int k = 0; k < 8; k++) s += coef[k] * I;
    out[I] = s;
}
extern "C" __global__ void after_header(const float* in, float* out) {
    for (int i = I; i < 1 << 22; i += gridDim.x * blockDim.x) out[i] = in[i / 32 * 64 + 1 + i % 32];
}
"""
MB = 1 << 20


@dataclass(frozen=True)
class Case:
    kernel: str
    grid: int
    arguments: tuple[int | bytes, ...]
    says: str = ""  # in the message of the rule; empty where it must be silent
    after: tuple[float, float] = (0, 1)  # share of the time that is left


CASES = {
    "array_of_structs": [
        Case("aos", 16384, (64 * MB, 16 * MB), "field of `p[...]` (x, m)", (0.4, 0.8)),
        Case("unnamed", 2048, (16 * MB, 2 * MB), "one of 4 parts of `p[...]`", (0.2, 0.9)),
        Case("soa", 4096, (4 * MB, 4 * MB, 4 * MB)),
    ],
    "misaligned_access": [
        # Sectors in which two warps meet become whole in the L2: the price of a copy that is off by one is hidden.
        Case("after_header", 1024, (32 * MB, 16 * MB), "5 sectors", (0.6, 0.95)),
        Case("shifted", 1024, (8 * MB, 8 * MB, (2 * MB).to_bytes(4, "little"))),
        Case("soa", 4096, (4 * MB, 4 * MB, 4 * MB)),
        Case("aos", 4096, (16 * MB, 4 * MB)),
    ],
    "scattered_gather": [
        Case("gather", 4096, (4 * MB, 4 * MB, 4 * MB, (MB - 1).to_bytes(4, "little")), "places of `table`", (0.1, 0.7)),
        Case("indexed", 4096, (4 * MB, 4 * MB, 4 * MB)),
    ],
    "narrow_access": [
        Case("copy_loop", 16384, (16 * MB, 16 * MB, (4 * MB).to_bytes(4, "little")), "4 B at a time", (0.3, 0.9)),
        Case("copy_loop", 1024, (16 * MB, 16 * MB, (4 * MB).to_bytes(4, "little"))),  # DRAM is its roof
        Case("copy_wide", 4096, (16 * MB, 16 * MB)),
        Case("same_constant", 4096, (4 * MB,)),  # it computes
        Case("aos", 16384, (64 * MB, 16 * MB)),
    ],
    "divergent_constant": [
        Case("own_constant", 1024, (MB,), "different elements of `coef`", (0.01, 0.5)),
        Case("same_constant", 1024, (MB,)),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), [(rule, case) for rule, cases in CASES.items() for case in cases])
def test_a_rule_speaks_where_it_must_and_nowhere_else(rule: str, case: Case) -> None:
    found = _found(case, rule)
    if not case.says:
        assert found == []
        return
    assert case.says in found[0].message
    assert found[0].gain is not None
    least, most = (share * found[0].gain.before_us for share in case.after)
    assert least <= found[0].gain.after_us <= most, found[0].gain


def _found(case: Case, rule: str) -> list[Finding]:
    grid: Dim = (case.grid, 1, 1)
    return of_rule(kernels(SOURCE).launch(case.kernel, grid, (256, 1, 1), *case.arguments), rule)


def test_fields_of_structs_are_not_called_strided_too() -> None:
    assert _found(CASES["array_of_structs"][0], "strided_access") == []


def test_a_small_table_is_to_be_copied_to_shared_memory() -> None:
    case = Case("lookups", 4096, (4096, 4 * MB))
    assert any("copy of the table" in f.gain.change for f in _found(case, "scattered_gather") if f.gain)
