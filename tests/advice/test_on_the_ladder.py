"""On the ladder: what a rung is told first is the next one."""

from __future__ import annotations

import pytest

from lanewise.ladder import catalog, reference
from lanewise.ladder.emulate import run
from lanewise.ladder.plan import resolve
from lanewise.records import Finding

# Subject, rung, sizes, the rule that saves the most, the rung it points at; no rule where nothing is left to a rule.
STEPS = [
    ("transpose", "naive", {"rows": 1024, "columns": 1024}, "strided_access", "transpose padded"),
    ("transpose", "shared", {"rows": 1024, "columns": 1024}, "bank_conflict", "transpose padded"),
    ("transpose", "vectorised", {"rows": 1024, "columns": 1024}, None, None),
    ("access", "stride_8", {"n": 1 << 20}, "strided_access", "access contiguous"),
    ("access", "random", {"n": 1 << 20}, "scattered_gather", "access contiguous"),
    ("access", "array_of_structs", {"n": 1 << 20}, "array_of_structs", "access struct_of_arrays"),
    ("access", "contiguous", {"n": 1 << 20}, "narrow_access", "access float4"),
    ("access", "float4", {"n": 1 << 20}, None, None),
    ("gemm", "coalesced", {"m": 512, "n": 512, "k": 512}, "re_read_data", "gemm tiled"),
    ("gemm", "tiled", {"m": 512, "n": 512, "k": 512}, "shared_traffic", "gemm register_blocks"),
    ("divergence", "by_lane", {"n": 1 << 18}, "lane_divergence", "divergence predicated"),
    ("divergence", "trip_counts", {"n": 1 << 18}, "uneven_loops", "divergence predicated"),
    # Its warps are even, but each access touches 32 sectors: on an H200 that is slower than the loops it evens out.
    ("divergence", "by_warp", {"n": 1 << 18}, "strided_access", "access contiguous"),
    ("divergence", "predicated", {"n": 1 << 18}, None, None),
    ("histogram", "global", {"n": 1000000}, "contended_atomics", "histogram shared"),
    ("histogram", "shared", {"n": 1000000}, None, None),
    ("readonly", "constant", {"n": 1 << 18}, "divergent_constant", "readonly each_its_own"),
]


@pytest.mark.parametrize(("subject", "rung", "sizes", "rule", "leads_to"), STEPS, ids=lambda value: str(value))
def test_the_first_finding_of_a_rung_is_the_next_one(
    subject: str, rung: str, sizes: dict[str, int], rule: str | None, leads_to: str | None
) -> None:
    found = [finding for finding in _advice(subject, rung, sizes) if finding.gain is not None]
    assert ([(f.check, f.rung) for f in found[:1]]) == ([(rule, leads_to)] if rule else [])


def test_arms_of_a_branch_with_uneven_loops_in_them_are_two_findings() -> None:
    """The branch is told apart from the loops: each has its own line and its own gain."""
    found = {f.check: f for f in _advice("divergence", "by_lane", {"n": 1 << 20})}
    assert {"lane_divergence", "uneven_loops"} <= found.keys()
    text = catalog.load("divergence").rung("by_lane").source().splitlines()
    of_branch, of_loops = (text[(found[rule].line or 0) - 1] for rule in ("lane_divergence", "uneven_loops"))
    assert "if (i % 2 == 0)" in of_branch
    assert "for (int step" in of_loops


def test_a_tile_is_not_to_be_stored_transposed() -> None:
    """The folk fix makes the product slower: nothing is said of the layout of the tile."""
    found = [f.check for f in _advice("gemm", "tiled", {"m": 512, "n": 512, "k": 512}) if f.gain is not None]
    assert "shared_traffic" in found
    assert not {"bank_conflict", "strided_access", "uncoalesced_by_swapped_index"} & set(found)


def _advice(subject: str, rung: str, sizes: dict[str, int]) -> tuple[Finding, ...]:
    loaded = catalog.load(subject)
    problem = {**loaded.problem, **sizes}
    plan = resolve(loaded, loaded.rung(rung), loaded.rung(rung).element, problem)
    outcome = run(plan, reference.inputs(loaded, plan, problem), advise=True)
    (launch,) = outcome.launches
    assert launch.advised
    return launch.advice
