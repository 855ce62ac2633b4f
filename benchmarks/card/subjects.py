"""What the card's checks and timings need beyond the catalogue: inputs, references in float64, peers, cases.

One `Work` a subject: `inputs` draws random data, `check` compares with a float64 reference and gives the worst error
(raises AssertionError where it is too large), `peers` are what a user would call instead, `moved` the bytes that count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import cupy
import torch
from card import TORCH

Problem = Mapping[str, int]
Tensors = dict[str, torch.Tensor]
Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A problem to time. `rungs`: only these (all where empty)."""

    element: str
    problem: Problem
    rungs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    inputs: Callable[[str, Problem], Tensors]
    check: Callable[[str, Problem, Tensors], float]
    peers: Callable[[str, Problem, Tensors], dict[str, Call]]
    moved: Callable[[str, Problem], int]
    roof: str | tuple[str, ...]  # ratios are taken to the fastest of the peers whose names begin so
    awkward: tuple[Problem, ...]
    unit: str = "TB/s"  # of `moved` a second; TFLOP/s where it counts operations
    cases: tuple[Case, ...] = field(default=())


def random(element: str, count: int, *, low: float = -1.0, high: float = 1.0) -> torch.Tensor:
    kind = TORCH[element]
    if kind.is_floating_point:
        return (torch.rand(count, device="cuda", dtype=torch.float32) * (high - low) + low).to(kind)
    whole = torch.iinfo(kind)
    return torch.randint(whole.min, whole.max, (count,), device="cuda", dtype=kind)


def poison(element: str, count: int) -> torch.Tensor:
    """Memory that no right answer holds: NaN, or all bits set."""
    kind = TORCH[element]
    return torch.full(
        (max(1, count),),
        float("nan") if kind.is_floating_point else -1 % 256 if element == "u8" else -1,
        device="cuda",
        dtype=kind,
    )


def copy_peer(tensors: Tensors) -> Call:
    """A device-to-device copy between the very buffers the rungs use: where two buffers lie changes it by a tenth."""
    source, target = tensors["input"], tensors["output"][: tensors["input"].numel()]
    return lambda: target.copy_(source)


# --- transpose


def _transpose_inputs(element: str, problem: Problem) -> Tensors:
    return {"input": random(element, problem["rows"] * problem["columns"])}


def _transpose_check(element: str, problem: Problem, tensors: Tensors) -> float:
    rows, columns = problem["rows"], problem["columns"]
    if rows * columns == 0:
        return 0.0
    expected = tensors["input"].view(rows, columns).t()
    assert torch.equal(tensors["output"][: rows * columns].view(columns, rows), expected), "not the transpose"
    return 0.0


def _transpose_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    matrix = tensors["input"].view(problem["rows"], problem["columns"])
    target = tensors["output"].view(problem["columns"], problem["rows"])
    return {"copy": copy_peer(tensors), "torch": lambda: target.copy_(matrix.t())}


def _shape(rows: int, columns: int) -> Problem:
    return {"rows": rows, "columns": columns}


_TOP = ("coarsened", "vectorised", "any_pitch")
TRANSPOSE = Work(
    inputs=_transpose_inputs,
    check=_transpose_check,
    peers=_transpose_peers,
    moved=lambda element, problem: 2 * problem["rows"] * problem["columns"] * TORCH[element].itemsize,
    roof="copy",
    awkward=tuple(
        _shape(*shape)
        for shape in ((1, 1), (0, 5), (1, 997), (997, 1), (31, 33), (127, 509), (256, 64), (1024, 80), (1009, 2003))
    ),
    cases=(
        Case("f32", _shape(8192, 8192)),
        *(Case(e, _shape(n, n), _TOP) for e in ("u8", "u16", "f32", "f64") for n in (4096, 8192, 16384)),
        *(Case(e, _shape(5000, 12345), _TOP) for e in ("u8", "u16", "f32", "f64")),
        Case("f32", _shape(12344, 5000), _TOP),
        *(Case(e, _shape(5001, 12345), _TOP) for e in ("u8", "u16", "f32", "f64")),
        Case("u8", _shape(30000, 20000), _TOP),
    ),
)


# --- arrays of n elements


def _norm_error(out: torch.Tensor, reference: torch.Tensor, limit: float, what: str) -> float:
    """||out - reference|| / ||reference|| in float64."""
    if reference.numel() == 0:
        return 0.0
    off = (out.double() - reference).norm() / reference.norm().clamp_min(1e-300)
    assert off.item() <= limit, f"{what}: relative error {off.item():.2e}, limit {limit:.0e}"
    return off.item()


def _array(element: str, problem: Problem) -> Tensors:
    return {"input": random(element, problem["n"])}


_LENGTHS = tuple({"n": n} for n in (0, 1, 2, 3, 5, 31, 997, 4096, 8191, 100003, 1048576, 3000017))


def _sum_check(element: str, problem: Problem, tensors: Tensors) -> float:
    values = tensors["input"].double()
    off = (tensors["output"][0].double() - values.sum()).abs() / values.abs().sum().clamp_min(1e-300)
    assert off.item() <= 1e-6, f"sum: error {off.item():.2e} of the sum of magnitudes"
    return off.item()


def _sum_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    values = tensors["input"]
    there = cupy.from_dlpack(values)
    return {"sum torch": values.sum, "sum cupy": there.sum}


REDUCE = Work(
    inputs=_array,
    check=_sum_check,
    peers=_sum_peers,
    moved=lambda element, problem: 4 * problem["n"],
    roof="sum",
    awkward=_LENGTHS,
    cases=(
        Case("f32", {"n": 1 << 28}),
        Case("f32", {"n": 1 << 30}, ("grid_stride", "in_flight")),
        Case("f32", {"n": 1 << 20}, ("grid_stride", "in_flight")),
        Case("f32", {"n": 5000 * 12345}, ("grid_stride", "in_flight")),
    ),
)


def _pointwise_check(element: str, problem: Problem, tensors: Tensors) -> float:
    x = tensors["input"].double()
    y = torch.where(x > 0, (x * 0.5 + 0.125).exp().sqrt().clamp(0.25, 4.0), x)
    return _norm_error(tensors["output"][: problem["n"]], y, 1e-6, "chain")


def _pointwise_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    x = tensors["input"]
    return {
        "copy": copy_peer(tensors),
        "torch": lambda: torch.where(x > 0, (x * 0.5 + 0.125).exp().sqrt().clamp(0.25, 4.0), x),
    }


POINTWISE = Work(
    inputs=_array,
    check=_pointwise_check,
    peers=_pointwise_peers,
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=_LENGTHS,
    cases=(Case("f32", {"n": 1 << 28}), Case("f32", {"n": 1 << 24}), Case("f32", {"n": 1 << 20})),
)


def _scan_check(element: str, problem: Problem, tensors: Tensors) -> float:
    reference = tensors["input"].double().cumsum(0)
    return _norm_error(tensors["output"][: problem["n"]], reference, 2e-5, "scan")


def _scan_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    values = tensors["input"]
    target = tensors["output"]
    there = cupy.from_dlpack(values)
    return {
        "copy": copy_peer(tensors),
        "torch": lambda: torch.cumsum(values, 0, out=target),
        "cupy": lambda: cupy.cumsum(there),
    }


SCAN = Work(
    inputs=_array,
    check=_scan_check,
    peers=_scan_peers,
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=_LENGTHS,
    cases=(
        Case("f32", {"n": 1 << 26}),
        Case("f32", {"n": 1 << 28}, ("look_back", "bulk_copy")),
        Case("f32", {"n": 1 << 29}, ("look_back", "bulk_copy")),
        Case("f32", {"n": 1 << 22}, ("look_back", "bulk_copy")),
    ),
)


def _keys(element: str, problem: Problem) -> Tensors:
    n, bins = problem["n"], problem["bins"]
    low, high = (-2, bins + 3) if problem.get("strangers") else (0, bins)
    keys = torch.randint(low, high, (n,), device="cuda", dtype=torch.int32)
    if problem.get("skew"):
        keys.fill_(bins // 3)
    return {"input": keys}


def _histogram_check(element: str, problem: Problem, tensors: Tensors) -> float:
    keys, bins = tensors["input"], problem["bins"]
    expected = torch.zeros(bins, dtype=torch.int64, device="cuda")
    for part in keys.split(1 << 26):
        expected += torch.bincount(part[(part >= 0) & (part < bins)], minlength=bins)
    assert torch.equal(tensors["output"][:bins].long(), expected), "wrong counts"
    return 0.0


def _histogram_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    keys, bins = tensors["input"], problem["bins"]
    numbers = keys.float()
    there = cupy.from_dlpack(keys)
    return {
        "read torch.sum": numbers.sum,
        "read cupy.sum": cupy.from_dlpack(numbers).sum,
        "torch histc": lambda: torch.histc(numbers, bins, 0, bins),
        "cupy bincount": lambda: cupy.bincount(there, minlength=bins),
    }


_FAST = ("shared", "per_warp", "lane_columns")
HISTOGRAM = Work(
    inputs=_keys,
    check=_histogram_check,
    peers=_histogram_peers,
    moved=lambda element, problem: 4 * problem["n"],
    roof="read",
    awkward=tuple(
        {"n": n, "bins": bins, "strangers": 1}
        for n in (0, 1, 5, 997, 100003)
        for bins in (1, 2, 16, 256, 1000, 2500, 4096, 10000)
    ),
    cases=(
        Case("i32", {"n": 1 << 26, "bins": 256}),
        Case("i32", {"n": 1 << 26, "bins": 256, "skew": 1}),
        *(Case("i32", {"n": 1 << 28, "bins": bins}, _FAST) for bins in (16, 64, 256, 1024, 2048, 4096)),
        Case("i32", {"n": 1 << 28, "bins": 256, "skew": 1}, _FAST),
        Case("i32", {"n": 1 << 28, "bins": 4096, "skew": 1}, _FAST),
    ),
)


# --- rows


def _rows(element: str, problem: Problem) -> Tensors:
    columns = problem["columns"]
    return {
        "input": random(element, problem["rows"] * columns, low=-4.0, high=6.0),
        "weight": random(element, columns),
        "bias": random(element, columns),
    }


def _row_check(function: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., float]:
    def check(element: str, problem: Problem, tensors: Tensors) -> float:
        rows, columns = problem["rows"], problem["columns"]
        if rows * columns == 0:
            return 0.0
        x = tensors["input"].view(rows, columns)
        y = tensors["output"][: rows * columns].view(rows, columns)
        worst = 0.0
        at_once = max(1, (1 << 26) // columns)
        for some_x, some_y in zip(x.split(at_once), y.split(at_once), strict=True):
            reference = function(some_x.double(), tensors["weight"].double(), tensors["bias"].double())
            worst = max(worst, _norm_error(some_y, reference, 2e-6 if element == "f32" else 8e-3, "rows"))
        return worst

    return check


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def _softmax(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def _row_peers(function: Callable[..., torch.Tensor]) -> Callable[[str, Problem, Tensors], dict[str, Call]]:
    def peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
        x = tensors["input"].view(problem["rows"], problem["columns"])
        return {"copy": copy_peer(tensors), "torch": lambda: function(x, tensors["weight"], tensors["bias"])}

    return peers


def _row_work(function: Callable[..., torch.Tensor]) -> Work:
    top = ("registers", "bulk_copy", "long_rows")
    return Work(
        inputs=_rows,
        check=_row_check(function),
        peers=_row_peers(function),
        moved=lambda element, problem: 2 * problem["rows"] * problem["columns"] * TORCH[element].itemsize,
        roof="copy",
        awkward=tuple(
            _shape(*shape)
            for shape in (
                (1, 1),
                (0, 8),
                (3, 7),
                (5, 997),
                (300, 1000),
                (7, 4096),
                (401, 16384),
                (3, 65536),
                (2, 99992),
            )
        ),
        cases=(
            Case("f32", _shape(32768, 4096)),
            *(
                Case(element, _shape((1 << 29) // TORCH[element].itemsize // columns, columns), top)
                for element in ("f32", "bf16")
                for columns in (768, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
            ),
            Case("f32", _shape(512, 1024), top),
        ),
    )


# --- access patterns, matrix product


def _access_inputs(element: str, problem: Problem) -> Tensors:
    order = torch.randperm(problem["n"], device="cuda").to(torch.int32)
    return {"input": random(element, problem["n"]), "order": order}


def _access_check(element: str, problem: Problem, tensors: Tensors) -> float:
    assert torch.equal(tensors["output"][: problem["n"]], 2 * tensors["input"]), "not 2 x"
    return 0.0


ACCESS = Work(
    inputs=_access_inputs,
    check=_access_check,
    peers=lambda element, problem, tensors: {"copy": copy_peer(tensors)},
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=_LENGTHS,
    cases=(Case("f32", {"n": 1 << 27}),),
)


def _gemm_inputs(element: str, problem: Problem) -> Tensors:
    m, n, k = problem["m"], problem["n"], problem["k"]
    if element == "i32":
        return {
            name: torch.randint(-1000, 1000, (count,), device="cuda", dtype=torch.int32)
            for name, count in (("a", m * k), ("b", k * n))
        }
    return {"a": random(element, m * k), "b": random(element, k * n)}


def _gemm_matrices(problem: Problem, tensors: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    m, n, k = problem["m"], problem["n"], problem["k"]
    a, b = tensors["a"], tensors["b"]
    return (
        a.view(k, m).t() if problem.get("a_columns") else a.view(m, k),
        b.view(n, k).t() if problem.get("b_columns") else b.view(k, n),
    )


_GEMM_LIMITS = {"f32": 2e-6, "bf16": 8e-3, "f16": 1e-3, "i32": 0.0}


def _gemm_check(element: str, problem: Problem, tensors: Tensors) -> float:
    a, b = _gemm_matrices(problem, tensors)
    reference = (a.double() @ b.double()).flatten()
    return _norm_error(tensors["c"][: reference.numel()], reference, _GEMM_LIMITS[element], "product")


def _gemm_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = _gemm_matrices(problem, tensors)
    if element == "i32":  # cuBLAS has none
        there_a, there_b = cupy.from_dlpack(a), cupy.from_dlpack(b)
        return {"cupy": lambda: cupy.matmul(there_a, there_b)}
    c = tensors["c"].view(problem["m"], problem["n"])
    return {"cublas": lambda: torch.mm(a, b, out=c)}


def _cube(side: int, **layout: int) -> Problem:
    return {"m": side, "n": side, "k": side, **layout}


_TENSOR = ("mma_sync", "wgmma", "specialised", "persistent")
GEMM = Work(
    inputs=_gemm_inputs,
    check=_gemm_check,
    peers=_gemm_peers,
    moved=lambda element, problem: 2 * problem["m"] * problem["n"] * problem["k"],
    unit="TFLOP/s",
    roof=("cublas", "cupy"),
    awkward=(
        *(
            {"m": m, "n": n, "k": k}
            for m, n, k in (
                (1, 1, 1),
                (0, 4, 4),
                (3, 5, 7),
                (33, 65, 17),
                (127, 129, 250),
                (64, 4, 1000),
                (200, 132, 0),
            )
        ),
        *(
            {"m": m, "n": n, "k": k, "a_columns": a, "b_columns": b}
            for m, n, k in ((200, 328, 136), (648, 1032, 72), (33, 65, 17), (34, 68, 20))
            for a in (0, 1)
            for b in (0, 1)
        ),
    ),
    cases=(
        Case("f32", _cube(2048)),
        *(Case("f32", _cube(side), ("vectorised", "async_copy")) for side in (1024, 4096, 8192)),
        Case("f32", {"m": 4095, "n": 4097, "k": 4099}, ("register_blocks", "async_copy")),
        Case("i32", _cube(2048)),
        *(Case("bf16", _cube(side), _TENSOR) for side in (1024, 2048, 4096, 8192)),
        *(Case("bf16", _cube(4096, a_columns=a, b_columns=b), ("persistent",)) for a, b in ((0, 1), (1, 0), (1, 1))),
        *(Case("bf16", _cube(8192, a_columns=a, b_columns=b), ("persistent",)) for a, b in ((0, 1), (1, 0), (1, 1))),
        Case("f16", _cube(4096), _TENSOR),
        Case("bf16", {"m": 4095, "n": 4097, "k": 4099}, ("mma_sync",)),
    ),
)


# --- banks, divergence


def _row_sum_check(element: str, problem: Problem, tensors: Tensors) -> float:
    rows = problem["rows"]
    return _norm_error(tensors["output"][:rows], tensors["input"].double().view(rows, 32).sum(1), 1e-6, "row sums")


BANKS = Work(
    inputs=lambda element, problem: {"input": random(element, problem["rows"] * 32)},
    check=_row_sum_check,
    peers=lambda element, problem, tensors: {
        "read torch.sum": tensors["input"].sum,
        "read cupy.sum": cupy.from_dlpack(tensors["input"]).sum,
        "torch": lambda: tensors["input"].view(-1, 32).sum(1),
    },
    moved=lambda element, problem: 4 * 33 * problem["rows"],
    roof="read",
    awkward=({"rows": 0}, {"rows": 1}, {"rows": 131}, {"rows": 100003}),
    cases=(Case("f32", {"rows": 1 << 22}),),
)


def _steps_check(element: str, problem: Problem, tensors: Tensors) -> float:
    n = problem["n"]
    powers = 0.75 ** (1 + torch.arange(n, device="cuda", dtype=torch.float64) % 32)
    return _norm_error(tensors["output"][:n], (tensors["input"].double() - 1) * powers + 1, 1e-6, "steps")


DIVERGENCE = Work(
    inputs=_array,
    check=_steps_check,
    peers=lambda element, problem, tensors: {"copy": copy_peer(tensors)},
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=_LENGTHS,
    cases=(Case("f32", {"n": 1 << 27}),),
)


WORKS: dict[str, Work] = {
    "access": ACCESS,
    "banks": BANKS,
    "divergence": DIVERGENCE,
    "transpose": TRANSPOSE,
    "reduce": REDUCE,
    "pointwise": POINTWISE,
    "scan": SCAN,
    "histogram": HISTOGRAM,
    "softmax": _row_work(_softmax),
    "layernorm": _row_work(_layer_norm),
    "gemm": GEMM,
}
