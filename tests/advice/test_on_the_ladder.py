"""On the ladder: what a rung is told first is the next one."""

from __future__ import annotations

from functools import cache

import pytest
from rungs_told import sections

from lanewise.advice.rank import saved
from lanewise.ladder import catalog, reference
from lanewise.ladder.emulate import run
from lanewise.ladder.plan import resolve
from lanewise.records import Finding

# Subject, rung, sizes (in addition to the subject's own), the rule that saves the most, the rung it points at; no rule
# where nothing is left to a rule. What all rungs are told is in docs/ladder/advice.md.
STEPS = [
    ("transpose", "naive", {}, "strided_access", "transpose padded"),
    ("transpose", "shared", {}, "bank_conflict", "transpose padded"),
    ("transpose", "padded", {}, "one_element_a_thread", "transpose coarsened"),
    ("access", "stride_8", {}, "strided_access", "access contiguous"),
    ("access", "random", {"n": 1 << 18}, "scattered_gather", "access contiguous"),
    ("access", "array_of_structs", {}, "array_of_structs", "access struct_of_arrays"),
    ("access", "contiguous", {}, "narrow_access", "access float4"),
    ("banks", "pitch_32", {"rows": 1 << 17}, "bank_conflict", "banks pitch_33"),
    ("gemm", "uncoalesced", {"m": 256, "n": 256, "k": 256}, "uncoalesced_by_swapped_index", "gemm coalesced"),
    ("gemm", "coalesced", {"m": 256, "n": 256, "k": 256}, "re_read_data", "gemm tiled"),
    ("gemm", "coalesced_1d", {"m": 256, "n": 256, "k": 256}, "re_read_data", "gemm tiled"),
    ("gemm", "tiled", {}, "shared_traffic", "gemm register_blocks"),
    ("reduce", "interleaved", {}, "short_reduction", "reduce grid_stride"),
    ("reduce", "shuffle", {}, "short_reduction", "reduce grid_stride"),
    ("scan", "hillis_steele", {}, "shared_memory_tree", "scan shuffle"),
    ("scan", "blelloch_padded", {}, "shared_memory_tree", "scan shuffle"),
    ("divergence", "by_lane", {"n": 1 << 18}, "lane_divergence", "divergence predicated"),
    ("divergence", "trip_counts", {"n": 1 << 18}, "uneven_loops", "divergence predicated"),
    # Its warps are even, but each access touches 32 sectors: on an H200 that is slower than the loops it evens out.
    ("divergence", "by_warp", {"n": 1 << 18}, "strided_access", "access contiguous"),
    ("histogram", "global", {}, "contended_atomics", "histogram shared"),
    ("readonly", "constant", {"n": 1 << 18}, "divergent_constant", "readonly each_its_own"),
    ("pointwise", "one_by_one", {}, "fuse_kernels", "pointwise fused"),
    ("pointwise", "fused", {}, "narrow_access", "pointwise vectorised"),
    ("softmax", "separate", {}, "fuse_kernels", "pointwise fused"),
    ("registers", "blocks_6", {}, "spills_and_local_arrays", "registers blocks_2"),
]
# The last rungs that a card shows to be the fastest of their subjects, each for its problems: nothing is left.
TOPS = [
    ("access", "float4"),
    ("banks", "swizzled"),
    ("divergence", "boundary"),
    ("gemm", "register_banks"),
    ("gemm", "persistent"),
    ("histogram", "lane_columns"),
    ("launch", "fused"),
    ("layernorm", "registers"),
    ("layernorm", "bulk_copy"),
    ("layernorm", "long_rows"),
    ("overlap", "block_pipeline"),
    ("pointwise", "vectorised"),
    ("readonly", "each_its_own"),
    ("reduce", "double_sums"),
    ("registers", "blocks_2"),
    ("scan", "bulk_copy"),
    ("softmax", "registers"),
    ("softmax", "long_rows"),
    ("texture", "texture_rows"),
    ("transpose", "vectorised"),
    ("transpose", "any_pitch"),
]


@pytest.mark.parametrize(("subject", "rung", "sizes", "rule", "leads_to"), STEPS, ids=lambda value: str(value))
def test_the_first_finding_of_a_rung_is_the_next_one(
    subject: str, rung: str, sizes: dict[str, int], rule: str, leads_to: str
) -> None:
    found = max(_advice(subject, rung, sizes), key=saved)
    assert (found.check, found.rung) == (rule, leads_to)


@pytest.mark.parametrize(("subject", "rung"), TOPS, ids=lambda value: str(value))
def test_a_rung_at_the_top_is_told_nothing(subject: str, rung: str) -> None:
    assert [f.check for f in _advice(subject, rung, {}) if saved(f) > 0] == []


def test_arms_of_a_branch_with_uneven_loops_in_them_are_two_findings() -> None:
    """The branch is told apart from the loops: each has its own line and its own gain."""
    found = {f.check: f for f in _advice("divergence", "by_lane", {"n": 1 << 18})}
    assert {"lane_divergence", "uneven_loops"} <= found.keys()
    text = catalog.load("divergence").rung("by_lane").source().splitlines()
    of_branch, of_loops = (text[(found[rule].line or 0) - 1] for rule in ("lane_divergence", "uneven_loops"))
    assert "if (i % 2 == 0)" in of_branch
    assert "for (int step" in of_loops


def test_a_tile_is_not_to_be_stored_transposed() -> None:
    """The folk fix makes the product slower: nothing is said of the layout of the tile."""
    found = [f.check for f in _advice("gemm", "tiled", {}) if f.gain is not None]
    assert "shared_traffic" in found
    assert not {"bank_conflict", "strided_access", "uncoalesced_by_swapped_index"} & set(found)


def test_the_page_has_every_rung() -> None:
    for name, section in sections().items():
        rows = [row.split("|")[1].strip() for row in section.splitlines() if row.startswith("| ")][2:]
        assert rows == [rung.name for rung in catalog.load(name).rungs], f"python tests/advice/rungs_told.py {name}"
    assert tuple(sections()) == catalog.subjects()


def _advice(subject: str, rung: str, sizes: dict[str, int]) -> tuple[Finding, ...]:
    return _told(subject, rung, tuple(sizes.items()))


@cache
def _told(subject: str, rung: str, sizes: tuple[tuple[str, int], ...]) -> tuple[Finding, ...]:
    loaded = catalog.load(subject)
    problem = {**loaded.problem, **dict(sizes)}
    plan = resolve(loaded, loaded.rung(rung), loaded.rung(rung).element, problem)
    outcome = run(plan, reference.inputs(loaded, plan, problem), advise=True)
    assert any(launch.advised for launch in outcome.launches)
    return tuple(finding for launch in outcome.launches for finding in launch.advice)
