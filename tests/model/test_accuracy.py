"""The model against an H200. Each limit is what the committed values reach: a worse number fails."""

from __future__ import annotations

import os

import accuracy
import pytest

# program -> mean absolute percentage error at most (cold, warm), cases near the card at least (L1, L2, DRAM)
LIMITS = {
    "effects": ((9.0, 8.9), (43, 43, 48)),
    "more_kernels": ((11.9, 10.9), (45, 44, 49)),
    "user_kernels": ((9.1, 8.4), (31, 27, 36)),
}


@pytest.mark.parametrize("name", accuracy.SETS)
def test_errors_are_no_larger_than_they_were(name: str) -> None:
    found = accuracy.cases(name)
    errors, counts = LIMITS[name]
    for field, most in zip(("cold_us", "warm_us"), errors, strict=True):
        assert accuracy.mean_error(found, field) <= most, field
    assert all(n >= least for n, least in zip(accuracy.near(found).values(), counts, strict=True))


def test_no_launch_of_the_effects_is_off_by_more_than_two() -> None:
    for case in accuracy.cases("effects"):
        for field in ("cold_us", "warm_us"):
            assert -0.5 < case.error(field) < 1, case.name


# Each slower than the next on a warm card. (On a cold one gemm_register_64_8x4 takes longer than gemm_tiled_32.)
LADDERS = [
    ("gemm_uncoalesced", "gemm_naive", "gemm_tiled_32", "gemm_register_64_8x4"),
    ("gemm_naive_16", "gemm_tiled_16"),
    ("gemm_tiled_transposed_store_32", "gemm_tiled_32"),
    ("gemm_tiled_transposed_store_16", "gemm_tiled_16"),
    ("transpose_naive", "transpose_shared", "transpose_padded"),
    ("reduce_conflict", "reduce_divergent", "reduce_sequential", "reduce_shuffle"),
    ("bank_stride_32", "bank_stride_16", "bank_stride_8", "bank_stride_4", "bank_stride_2", "bank_stride_1"),
    ("histogram_global", "histogram_shared"),
    ("branch_lane", "branch_warp"),
]


@pytest.mark.parametrize("ladder", LADDERS, ids="-".join)
@pytest.mark.parametrize("field", ["cold_us", "warm_us"])
def test_ladders_are_in_order(ladder: tuple[str, ...], field: str) -> None:
    found = {case.name: case for case in accuracy.cases("effects")}
    as_on_the_card = sorted(ladder, key=lambda name: -found[name].card[field])  # equal times stay as they are
    if field == "warm_us":
        assert as_on_the_card == list(ladder)
    times = [found[name].model[field] for name in as_on_the_card]
    # A conflict that latency hides costs nothing on either side: neighbours may be equal.
    assert times == sorted(times, reverse=True)


def test_the_page_is_made_from_the_values() -> None:
    assert accuracy.PAGE.read_text(encoding="utf-8") == accuracy.page()


@pytest.mark.skipif("LANEWISE_FULL_TRUTH" not in os.environ, reason="takes two minutes: `make truth`")
@pytest.mark.parametrize("name", accuracy.SETS)
def test_the_values_are_those_of_the_model(name: str) -> None:
    committed = {case.name: case.model for case in accuracy.cases(name)}
    for case, values in accuracy.run(name).items():
        assert values == pytest.approx(committed[case], rel=1e-3), case
