"""What machine instructions were counted to do, against what an H200 counted for the same programs.

`tests/truth/effects.cu` is 50 kernels, `one_warp.cu` 131 launches of one warp. All of the second and a quick part of
the first run here; LANEWISE_FULL_TRUTH=1 (`make truth`) runs everything and prints the table of agreement.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lanewise.records import Access, LaunchRecord, Space
from lanewise.request import RunRequest
from lanewise.session import run_program

TRUTH = Path(__file__).parents[1] / "truth"
FLAGS = ("-O3", "-lineinfo", "-std=c++17")
FULL = os.environ.get("LANEWISE_FULL_TRUTH") == "1"
CLASSES = {"g": "global", "s": "shared", "l": "local"}
QUICK = (
    "vector_add_ragged", "copy_float4", "copy_stride_8", "gemm_tiled_16", "transpose_shared", "bank_stride_4",
    "bank_float4", "reduce_conflict", "reduce_shuffle", "histogram_shared", "branch_lane", "loop_divergent",
    "local_array", "layernorm",
)  # fmt: skip


@dataclass
class Agreement:
    """Values compared and equal, by class of memory and name."""

    compared: Counter[tuple[str, str]] = field(default_factory=Counter)
    equal: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def add(self, where: str, memory: str, name: str, ours: int, theirs: int) -> None:
        self.compared[memory, name] += 1
        self.equal[memory, name] += ours == theirs
        if ours != theirs:
            self.misses.append(f"{where} {name}: {ours}, on the card {theirs}")

    def table(self) -> str:
        rows = [f"{'':>8} {'value':<16} {'equal':>6} {'of':>6}"]
        rows += [f"{m:>8} {n:<16} {self.equal[m, n]:6} {count:6}" for (m, n), count in self.compared.items()]
        return "\n".join(rows + self.misses[:20])


def cases(name: str) -> dict[str, dict]:
    return json.loads((TRUTH / f"h200_{name}_machine.json").read_text())["cases"]


def launches(name: str, only: tuple[str, ...] = ()) -> dict[str, LaunchRecord]:
    """The launches of a program of `tests/truth`, by case."""
    result = run_program(RunRequest(inputs=(TRUTH / f"{name}.cu",), flags=FLAGS, arguments=only))
    assert result.exit_code == 0, result.findings
    known = [case for case in cases(name) if not only or case in only]
    assert len(result.launches) == len(known)
    return dict(zip(known, result.launches, strict=True))


def compare(name: str, found: dict[str, LaunchRecord]) -> Agreement:
    """Every value of every memory instruction."""
    agreement = Agreement()
    for case, launch in found.items():
        truth = cases(name)[case]
        ours: dict[int, list[Access]] = {}
        for access in launch.accesses:
            if access.sass_offset is not None:
                ours.setdefault(access.sass_offset, []).append(access)
        for offset, kind, _, warps, threads, *costs in truth["accesses"]:
            memory = "atomic" if kind.endswith("a") else CLASSES[kind]
            mine = ours.get(offset, [])
            where = f"{case} {offset:#x} {mine[0].sass if mine else ''}"
            agreement.add(where, memory, "executions", max((a.requests for a in mine), default=0), warps)
            agreement.add(where, memory, "threads", max((a.threads for a in mine), default=0), threads)
            names = ("wavefronts", "wavefronts_ideal") if kind[0] == "s" else ("sectors", "sectors_ideal")
            space = Space(CLASSES[kind[0]])
            for value, theirs in zip(names, costs, strict=False):
                total = sum(getattr(a, value) or 0 for a in mine if a.space == space)
                agreement.add(where, memory, value, total, theirs)
    return agreement


@pytest.fixture(scope="module")
def effects() -> dict[str, LaunchRecord]:
    return launches("effects", () if FULL else QUICK)


@pytest.fixture(scope="module")
def one_warp() -> dict[str, LaunchRecord]:
    return launches("one_warp")


def test_memory_instructions_of_effects(effects: dict[str, LaunchRecord]) -> None:
    agreement = compare("effects", effects)
    print("\n" + agreement.table())
    assert agreement.compared["global", "sectors"] >= (463 if FULL else 30)
    assert agreement.equal == agreement.compared, agreement.table()


def test_memory_instructions_of_single_warps(one_warp: dict[str, LaunchRecord]) -> None:
    agreement = compare("one_warp", one_warp)
    print("\n" + agreement.table())
    assert sum(agreement.compared.values()) == 11132
    assert agreement.equal == agreement.compared, agreement.table()


@pytest.fixture(scope="module")
def matrices() -> dict[str, LaunchRecord]:
    return launches("matrices")


def test_rows_of_matrices(matrices: dict[str, LaunchRecord]) -> None:
    """ldmatrix and stmatrix of one, two and four matrices with conflicts and without, wmma from all spaces, products
    of tiles through both."""
    agreement = compare("matrices", matrices)
    print("\n" + agreement.table())
    assert agreement.compared["shared", "wavefronts"] == 4379
    assert agreement.equal == agreement.compared, agreement.table()
    rows = [
        a for launch in matrices.values() for a in launch.accesses if a.sass and a.sass.startswith(("LDSM", "STSM"))
    ]
    assert sum(a.wavefronts != a.wavefronts_ideal for a in rows) > 40


def test_executed_instructions(
    effects: dict[str, LaunchRecord], one_warp: dict[str, LaunchRecord], matrices: dict[str, LaunchRecord]
) -> None:
    for name, found in (("effects", effects), ("one_warp", one_warp), ("matrices", matrices)):
        truth = cases(name)
        ours = {case: (launch.instructions, launch.thread_instructions) for case, launch in found.items()}
        assert ours == {case: (truth[case]["instructions"], truth[case]["thread_instructions"]) for case in found}


def test_registers_and_occupancy(effects: dict[str, LaunchRecord]) -> None:
    for case, launch in effects.items():
        truth = cases("effects")[case]
        assert launch.resources is not None
        assert launch.occupancy is not None
        assert max(16, launch.resources.registers) == truth["registers"], case  # the profiler says 16 for fewer
        assert 100 * launch.occupancy.fraction == pytest.approx(truth["occupancy"], abs=0.01), case
