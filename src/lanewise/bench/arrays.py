"""Arrays of n elements: sums, scans, pointwise chains, access patterns, divergence, banks, histograms."""

from __future__ import annotations

import torch

from lanewise.bench.work import Call, Case, Problem, Tensors, Work, copy_peer, cupy_module, norm_error, random, sums


def _array(element: str, problem: Problem) -> Tensors:
    return {"input": random(element, problem["n"])}


_LENGTHS = tuple({"n": n} for n in (0, 1, 2, 3, 5, 31, 997, 4096, 8191, 100003, 1048576, 3000017))


def _sum_check(element: str, problem: Problem, tensors: Tensors) -> float:
    values = tensors["input"].double()
    off = (tensors["output"][0].double() - values.sum()).abs() / values.abs().sum().clamp_min(1e-300)
    assert off.item() <= 1e-6, f"sum: error {off.item():.2e} of the sum of magnitudes"
    return float(off.item())


def _sum_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    return sums("sum", tensors["input"])


REDUCE = Work(
    inputs=_array,
    check=_sum_check,
    peers=_sum_peers,
    moved=lambda element, problem: 4 * problem["n"],
    roof="sum",
    awkward=_LENGTHS,
    cases=(
        Case("f32", {"n": 1 << 28}),
        Case("f32", {"n": 1 << 30}, ("grid_stride", "in_flight", "double_sums")),
        Case("f32", {"n": 1 << 20}, ("grid_stride", "in_flight", "double_sums")),
        Case("f32", {"n": 5000 * 12345}, ("grid_stride", "in_flight", "double_sums")),
    ),
)


def _pointwise_check(element: str, problem: Problem, tensors: Tensors) -> float:
    x = tensors["input"].double()
    y = torch.where(x > 0, (x * 0.5 + 0.125).exp().sqrt().clamp(0.25, 4.0), x)
    return norm_error(tensors["output"][: problem["n"]], y, 1e-6, "chain")


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
    return norm_error(tensors["output"][: problem["n"]], reference, 2e-5, "scan")


def _scan_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    values, target = tensors["input"], tensors["output"]
    calls: dict[str, Call] = {
        "copy": copy_peer(tensors),
        "torch": lambda: torch.cumsum(values, 0, out=target),
    }
    if cupy := cupy_module():
        there = cupy.from_dlpack(values)
        calls["cupy"] = lambda: cupy.cumsum(there)
    return calls


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
    calls = {**sums("read", numbers), "torch histc": lambda: torch.histc(numbers, bins, 0, bins)}
    if cupy := cupy_module():
        there = cupy.from_dlpack(keys)
        calls["cupy bincount"] = lambda: cupy.bincount(there, minlength=bins)
    return calls


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


def _row_sum_check(element: str, problem: Problem, tensors: Tensors) -> float:
    rows = problem["rows"]
    return norm_error(tensors["output"][:rows], tensors["input"].double().view(rows, 32).sum(1), 1e-6, "row sums")


BANKS = Work(
    inputs=lambda element, problem: {"input": random(element, problem["rows"] * 32)},
    check=_row_sum_check,
    peers=lambda element, problem, tensors: {
        **sums("read", tensors["input"]),
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
    return norm_error(tensors["output"][:n], (tensors["input"].double() - 1) * powers + 1, 1e-6, "steps")


DIVERGENCE = Work(
    inputs=_array,
    check=_steps_check,
    peers=lambda element, problem, tensors: {"copy": copy_peer(tensors)},
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=_LENGTHS,
    cases=(Case("f32", {"n": 1 << 27}),),
)
