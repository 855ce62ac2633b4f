"""What the card's checks and timings need beyond the catalogue: inputs, references in float64, peers, cases.

One `Work` a subject: `inputs` draws random data, `check` compares with a float64 reference and gives the worst error
(raises AssertionError where it is too large), `peers` are what a user would call instead, `moved` the bytes that count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    roof: str  # the peer that is the mark: ratios are taken to it
    awkward: tuple[Problem, ...]
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
    source = tensors["input"]
    target = torch.empty_like(source)
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
    target = torch.empty(problem["columns"], problem["rows"], dtype=matrix.dtype, device="cuda")
    return {"copy": copy_peer(tensors), "torch": lambda: target.copy_(matrix.t())}


def _shape(rows: int, columns: int) -> Problem:
    return {"rows": rows, "columns": columns}


_TOP = ("coarsened", "any_pitch", "vectorised")
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
        Case("u8", _shape(30000, 20000), _TOP),
    ),
)

WORKS: dict[str, Work] = {"transpose": TRANSPOSE}
