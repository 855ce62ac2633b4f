"""What machine instructions were counted to do, against what an H200 counted for the same programs.

`tests/truth/effects.cu` is 50 kernels, `one_warp.cu` 131 launches of one warp, `accesses.cu` accesses of every width,
mask and atomic, `control.cu` loops, branches and calls, `ordinary.cu` 32 kernels of many fields, `irregular.cu`
14 with work that differs from lane to lane, `matrices.cu` 141 launches of ldmatrix, stmatrix and wmma. All of single
warps and matrices and a quick part of the others run here; LANEWISE_FULL_TRUTH=1 (`make truth`) runs everything and
prints the tables.
"""

from __future__ import annotations

import os

import pytest
from agreement import compare, launches, truth

from lanewise.records import LaunchRecord

FULL = os.environ.get("LANEWISE_FULL_TRUTH") == "1"
QUICK = {
    "effects": (
        "vector_add_ragged", "copy_float4", "copy_stride_8", "gemm_tiled_16", "transpose_shared", "bank_stride_4",
        "bank_float4", "reduce_conflict", "reduce_shuffle", "histogram_shared", "branch_lane", "loop_divergent",
        "local_array", "layernorm",
    ),
    "one_warp": (),
    "matrices": (),
    "accesses": (
        "load_masked<double>:3,1", "store_masked<uchar4>", "gather_masked<Triple>", "cached", "misaligned_rows",
        "shared_load<double>:mixed,odd", "shared_load<int4>:one,odd", "shared_load<int4>:pairs,without_0",
        "shared_store<float4>:mixed,low_bytes", "atomics_global:mixed,odd", "atomics_halves:pairs,all",
        "atomics_shared_integer:mixed,odd", "atomics_shared_wide:mixed,all", "shared_add_half2:pairs,all",
        "shared_max_s64:mixed,all", "local_array<double,11>", "spills<24>:ragged",
    ),
    "control": (
        "small_branches", "guarded_shared", "indirect_loop:22", "lane_trips:19", "break_when:19", "continue_when:22",
        "calls:5", "dense_switch", "pointers", "dynamic_shared",
    ),
    "ordinary": (
        "spmv_csr", "conv2d", "fft_256", "gray", "copy_records", "kmeans_assign", "levenshtein",
    ),
    "irregular": ("ell_mixed", "shared_walk", "insertion_sort_rows", "histogram_runs"),
}  # fmt: skip

# Kernels with values that are not equal, why (docs/machine-code.md), and how many at the most in all their cases.
DEPARTURES = {
    "recursive": ("M10", 38),
    "pointers": ("M10", 9),
}
EXECUTED = {
    "ordinary": (4, 1),
    "irregular": (10, 1),
    "control": (14, 6),
    "accesses": (14, 12),
}  # launches that differ, and by over 2 %
PROGRAMS = tuple(QUICK)


@pytest.fixture(scope="module", params=PROGRAMS)
def ran(request: pytest.FixtureRequest) -> tuple[str, dict[str, LaunchRecord]]:
    program: str = request.param
    return program, launches(program, () if FULL else QUICK[program])


def test_memory_instructions(ran: tuple[str, dict[str, LaunchRecord]]) -> None:
    program, found = ran
    agreement = compare(program, found)
    print(f"\n{program}\n{agreement.table()}")
    if program == "one_warp":
        assert sum(agreement.compared.values()) == 11132
    if program == "matrices":
        assert agreement.compared["shared", "wavefronts"] == 4379
        rows = [a for launch in found.values() for a in launch.accesses if (a.sass or "").startswith(("LDSM", "STSM"))]
        assert sum(a.wavefronts != a.wavefronts_ideal for a in rows) > 40
    assert sum(agreement.compared.values()) > 300
    left: dict[str, int] = {}
    for case, misses in agreement.misses.items():
        name = case.partition(":")[0]
        left[name] = left.get(name, 0) + len(misses)
    assert {name: count for name, count in left.items() if count > DEPARTURES.get(name, ("", 0))[1]} == {}, (
        agreement.table()
    )


def test_executed_instructions(ran: tuple[str, dict[str, LaunchRecord]]) -> None:
    program, found = ran
    card = truth(program)
    differ = far = 0
    for case, launch in found.items():
        ours = (launch.instructions, launch.thread_instructions)
        theirs = (card[case]["instructions"], card[case]["thread_instructions"])
        differ += ours != theirs
        far += any(abs((a or 0) - b) > 0.02 * b for a, b in zip(ours, theirs, strict=True))
    most = EXECUTED.get(program, (0, 0))
    print(f"\n{program}: instructions of {differ} of {len(found)} launches differ, of {far} by more than 2 %")
    assert differ <= most[0]
    assert far <= most[1]


def test_registers_and_occupancy(ran: tuple[str, dict[str, LaunchRecord]]) -> None:
    program, found = ran
    card = truth(program)
    for case, launch in found.items():
        if "registers" not in card[case]:
            continue
        assert launch.resources is not None
        assert launch.occupancy is not None
        assert max(16, launch.resources.registers) == card[case]["registers"], case  # the profiler says 16 for fewer
        assert 100 * launch.occupancy.fraction == pytest.approx(card[case]["occupancy"], abs=0.01), case
