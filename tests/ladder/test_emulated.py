"""On the emulator: every rung is right at awkward sizes, and every claim holds."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lanewise.errors import UsageError
from lanewise.ladder import Rung, Subject, load, reference, resolve, subjects
from lanewise.ladder.emulate import Outcome, run
from lanewise.ladder.rows import TOLERANCE

FULL = os.environ.get("LANEWISE_FULL_TRUTH") == "1"
RUNGS = [(load(name), rung) for name in subjects() for rung in load(name).rungs]
each_rung = pytest.mark.parametrize(
    ("subject", "rung"), RUNGS, ids=[f"{subject.name}-{rung.name}" for subject, rung in RUNGS]
)

#: One size of one, one of primes, one empty, one a little over a tile; a rung whose needs do not hold skips a size.
AWKWARD: dict[str, tuple[dict[str, int], ...]] = {
    "banks": ({"rows": 0}, {"rows": 1}, {"rows": 131}),
    "divergence": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 4100}),
    "access": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 4100}),
    "gemm": (
        {"m": 0, "n": 4, "k": 4},
        {"m": 1, "n": 1, "k": 1},
        {"m": 132, "n": 36, "k": 20},
        {"m": 67, "n": 131, "k": 37},
        {"m": 136, "n": 72, "k": 40, "a_columns": 1},
        {"m": 40, "n": 264, "k": 72, "b_columns": 1},
    ),
    "histogram": ({"n": 0}, {"n": 1, "bins": 1}, {"n": 1009, "bins": 13, "strangers": 1}, {"n": 4100, "skew": 1}),
    "launch": ({"n": 0}, {"n": 1, "steps": 3}, {"n": 997, "steps": 4}),
    "overlap": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 4100}),
    "readonly": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 4100}),
    "registers": ({"n": 0}, {"n": 1}, {"n": 257}),
    "layernorm": (
        {"rows": 0, "columns": 8},
        {"rows": 1, "columns": 1},
        {"rows": 3, "columns": 101},
        {"rows": 5, "columns": 1032},
    ),
    "pointwise": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 4100}),
    "reduce": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 70001}),
    "scan": ({"n": 0}, {"n": 1}, {"n": 997}, {"n": 70001}),
    "softmax": (
        {"rows": 0, "columns": 8},
        {"rows": 1, "columns": 1},
        {"rows": 3, "columns": 101},
        {"rows": 5, "columns": 1032},
    ),
    "texture": ({"rows": 0, "columns": 8}, {"rows": 1, "columns": 1}, {"rows": 67, "columns": 37}),
    "transpose": (
        {"rows": 0, "columns": 8},
        {"rows": 1, "columns": 1},
        {"rows": 67, "columns": 131},
        {"rows": 80, "columns": 144},
    ),
}


@cache
def default_run(subject: str, rung: str, sizes: tuple[tuple[str, int], ...]) -> Outcome:
    there = load(subject)
    plan = resolve(there, there.rung(rung), there.rung(rung).element, dict(sizes))
    return run(plan, reference.inputs(there, plan, dict(sizes)))


#: Subjects whose rungs take seconds to translate for each size and type: types take turns, at three sizes or as many as
#: there are types.
LARGE = {"gemm", "transpose"}


def cases(subject: Subject, rung: Rung) -> list[tuple[dict[str, int], str]]:
    """The awkward problems that a rung takes, with its types."""
    taken: dict[str, list[dict[str, int]]] = {element: [] for element in rung.types}
    for element, problems in taken.items():
        for problem in AWKWARD[subject.name]:
            with suppress(UsageError):
                if resolve(subject, rung, element, problem).launches or subject.name not in LARGE:
                    problems.append(problem)
    if subject.name not in LARGE:
        return [(problem, element) for element, problems in taken.items() for problem in problems]
    few = max(3, len(rung.types))
    turns = ((rung.types[place % len(rung.types)], place) for place in range(few))
    return [(taken[element][-1 - place % len(taken[element])], element) for element, place in turns]


@pytest.mark.parametrize("name", sorted(LARGE))
def test_an_empty_problem_launches_nothing(name: str) -> None:
    subject = load(name)
    for rung in subject.rungs:
        with suppress(UsageError):
            assert resolve(subject, rung, rung.element, AWKWARD[name][0]).launches == ()


@each_rung
def test_a_rung_is_right_at_awkward_sizes(
    subject: Subject, rung: Rung, ptx_alone: Callable[[], AbstractContextManager[None]]
) -> None:
    """Its machine code is counted in its first type; LANEWISE_FULL_TRUTH=1 counts it in all."""
    ran = set()
    for seed, (problem, element) in enumerate(cases(subject, rung)):
        plan = resolve(subject, rung, element, problem)
        made = reference.inputs(subject, plan, problem, seed)
        with nullcontext() if FULL or element == rung.element else ptx_alone():
            outcome = run(plan, made)
        expected = reference.expected(subject, element, problem, made)
        off = reference.error(reference.output(outcome.outputs, expected), expected, element)
        assert off <= TOLERANCE.get(element, 0.0), (element, problem)
        if plan.launches:
            ran.add(element)
    assert ran == set(rung.types)


@each_rung
def test_a_claim_holds(subject: Subject, rung: Rung) -> None:
    claim = rung.claim
    if claim is None:
        return
    sizes = tuple(sorted({**subject.problem, **claim.problem}.items()))
    after = default_run(subject.name, rung.name, sizes)
    before = default_run(subject.name, claim.against, sizes)
    for change in claim.changes:
        assert before.counts[change.metric], f"{change.metric}: nothing to compare with"
        factor = after.counts[change.metric] / before.counts[change.metric]
        assert factor == pytest.approx(change.factor, rel=change.tolerance or 1e-6), change.metric


def test_padding_repairs_what_the_transposed_tile_breaks() -> None:
    """The folk remedy (store the tile of A transposed) costs wavefronts and gains none."""
    gemm = load("gemm")
    sizes = tuple(sorted(gemm.problem.items()))
    tiled, transposed, padded = (
        default_run("gemm", name, sizes).counts for name in ("tiled", "tile_transposed", "padded")
    )
    assert transposed["shared_load_wavefronts"] == tiled["shared_load_wavefronts"]
    assert transposed["shared_store_wavefronts"] > 16 * tiled["shared_store_wavefronts"]
    assert padded["shared_store_wavefronts"] == tiled["shared_store_wavefronts"]


@pytest.mark.parametrize("sms", [3, 5, 12])
def test_tiles_cut_between_blocks(sms: int) -> None:
    """Three times four tiles of four steps, for as many multiprocessors as leave runs within tiles, and for all."""
    gemm = load("gemm")
    problem = {"m": 600, "n": 400, "k": 100}
    plan = resolve(gemm, gemm.rung("stream_k"), "f32", problem, sms=sms)
    assert plan.launches[0].grid == (sms, 1, 1)
    made = reference.inputs(gemm, plan, problem)
    expected = reference.expected(gemm, "f32", problem, made)
    assert reference.error(reference.output(run(plan, made).outputs, expected), expected, "f32") <= TOLERANCE["f32"]


def test_the_last_tiles_cut_in_depth() -> None:
    """Three tiles for three places, then one in three parts; seven steps of depth do not divide by three."""
    gemm = load("gemm")
    problem = {"m": 100, "n": 196, "k": 100}
    plan = resolve(gemm, gemm.rung("last_tiles"), "f32", problem, sms=1, tried={"SPLIT": 3, "CUT_ROUNDS": 0})
    assert plan.launches[0].grid == (3 + 3, 1, 1)
    made = reference.inputs(gemm, plan, problem)
    expected = reference.expected(gemm, "f32", problem, made)
    assert reference.error(reference.output(run(plan, made).outputs, expected), expected, "f32") <= TOLERANCE["f32"]


def test_outputs_start_poisoned() -> None:
    """A rung that wrote nothing would be seen."""
    access = load("access")
    plan = resolve(access, access.rungs[0], "f32", {"n": 8})
    made = reference.inputs(access, plan, {"n": 8})
    idle = replace(plan, launches=())
    assert np.isnan(run(idle, made).outputs["output"]).all()


@pytest.mark.parametrize("name", [rung.name for rung in load("softmax").rungs])
def test_rows_that_are_not_finite(name: str) -> None:
    """NaN and infinities come out as IEEE arithmetic has them: a NaN or an infinite maximum makes the row NaN."""
    softmax = load("softmax")
    problem = {"rows": 5, "columns": 256}
    plan = resolve(softmax, softmax.rung(name), "f32", problem)
    x = reference.inputs(softmax, plan, problem)["input"].reshape(5, 256)
    x[0, 5], x[1, 7], x[2, 9], x[3, :] = np.nan, np.inf, -np.inf, -np.inf
    x[4, 3:5] = np.finfo(np.float32).max  # times log2(e) it would be infinite
    (out,) = run(plan, {"input": x.ravel()}).outputs.values()
    whole = out[: x.size].reshape(x.shape)
    assert np.isnan(whole).all(axis=1).tolist() == [True, True, False, True, False]
    assert whole[2, 9] == 0.0
    assert np.allclose(whole[[2, 4]].sum(axis=1), 1.0)
    assert whole[4, 3] == 0.5


@pytest.mark.parametrize("name", [rung.name for rung in load("layernorm").rungs])
def test_normed_rows_that_are_not_finite(name: str) -> None:
    """As torch has them: a NaN or an infinity anywhere makes the whole row NaN, and no other row."""
    layernorm = load("layernorm")
    problem = {"rows": 4, "columns": 256}
    plan = resolve(layernorm, layernorm.rung(name), "f32", problem)
    made = reference.inputs(layernorm, plan, problem)
    x = made["input"].reshape(4, 256)
    x[0, 5], x[1, 7], x[2, 9] = np.nan, np.inf, -np.inf
    whole = run(plan, made).outputs["output"][: x.size].reshape(x.shape)
    assert np.isnan(whole).all(axis=1).tolist() == [True, True, True, False]
    assert np.isfinite(whole[3]).all()


@pytest.mark.parametrize("name", [rung.name for rung in load("reduce").rungs])
@pytest.mark.parametrize("placed", [(np.nan,), (np.inf,), (-np.inf,), (np.inf, -np.inf)])
def test_sums_that_are_not_finite(name: str, placed: tuple[float, ...]) -> None:
    """As torch has them: an infinity is the sum, infinities of both signs and a NaN give NaN."""
    subject = load("reduce")
    plan = resolve(subject, subject.rung(name), "f32", {"n": 2050})
    made = reference.inputs(subject, plan, {"n": 2050})
    for place, value in zip((2049, 3), placed, strict=False):
        made["input"][place] = value
    (total, *_) = run(plan, made).outputs["output"]
    assert np.isnan(total) if len(placed) == 2 or np.isnan(placed[0]) else total == placed[0]


@pytest.mark.parametrize("name", [best.rung for best in load("scan").best])
def test_prefix_sums_that_are_not_finite(name: str) -> None:
    """As torch has them: what comes before an infinity or a NaN is not touched by it."""
    subject = load("scan")
    plan = resolve(subject, subject.rung(name), "f32", {"n": 5000})
    made = reference.inputs(subject, plan, {"n": 5000})
    made["input"][1000], made["input"][4500] = np.inf, -np.inf
    out = run(plan, made).outputs["output"][:5000]
    assert np.isfinite(out[:1000]).all()
    assert np.isposinf(out[1000:4500]).all()
    assert np.isnan(out[4500:]).all()


@pytest.mark.parametrize("name", ["bulk_copy", "register_banks"])
def test_products_that_are_not_finite(name: str) -> None:
    """As torch has them: a NaN of A makes its row of C NaN, an infinity of B the sign of A's elements in its column."""
    gemm = load("gemm")
    problem = {"m": 68, "n": 36, "k": 20}
    plan = resolve(gemm, gemm.rung(name), "f32", problem)
    made = reference.inputs(gemm, plan, problem)
    a, b = made["a"].reshape(68, 20), made["b"].reshape(20, 36)
    a[3, 4], b[7, 11] = np.nan, np.inf
    c = run(plan, made).outputs["c"][: 68 * 36].reshape(68, 36)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.array_equal(np.isnan(c), np.isnan(expected))
    assert np.array_equal(c[np.isinf(expected)], expected[np.isinf(expected)])


@pytest.mark.parametrize(
    "tried",
    [
        {"BM": 256, "BN": 128, "BK": 8, "COLUMNS": 16, "SLICES": 1},
        {"BM": 64, "BN": 64, "BK": 16, "COLUMNS": 8, "SLICES": 2},
    ],
)
def test_tiles_of_each_shape(tried: dict[str, int]) -> None:
    gemm, problem = load("gemm"), {"m": 70, "n": 132, "k": 21}
    plan = resolve(gemm, gemm.rung("register_banks"), "f32", problem, tried=tried)
    made = reference.inputs(gemm, plan, problem)
    expected = reference.expected(gemm, "f32", problem, made)
    assert reference.error(reference.output(run(plan, made).outputs, expected), expected, "f32") <= TOLERANCE["f32"]
