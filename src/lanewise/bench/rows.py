"""Rows: softmax and layer norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from lanewise.bench.work import TORCH, Call, Case, Problem, Tensors, Work, copy_peer, matrix, norm_error, random


def _rows(element: str, problem: Problem) -> Tensors:
    columns = problem["columns"]
    return {
        "input": random(element, problem["rows"] * columns, low=-4.0, high=6.0),
        "weight": random(element, columns),
        "bias": random(element, columns),
    }


def _row_check(function: Callable[[Any, Any, Any], Any]) -> Callable[..., float]:
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
            worst = max(worst, norm_error(some_y, reference, 2e-6 if element == "f32" else 8e-3, "rows"))
        return worst

    return check


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def _softmax(x: Any, weight: Any, bias: Any) -> Any:
    return torch.softmax(x, -1)


def _row_peers(function: Callable[..., Any]) -> Callable[[str, Problem, Tensors], dict[str, Call]]:
    def peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
        x = tensors["input"].view(problem["rows"], problem["columns"])
        return {"copy": copy_peer(tensors), "torch": lambda: function(x, tensors["weight"], tensors["bias"])}

    return peers


def _row_work(function: Callable[..., Any]) -> Work:
    top = ("registers", "bulk_copy", "long_rows")
    return Work(
        inputs=_rows,
        check=_row_check(function),
        peers=_row_peers(function),
        moved=lambda element, problem: 2 * problem["rows"] * problem["columns"] * TORCH[element].itemsize,
        roof="copy",
        awkward=tuple(
            matrix(*shape)
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
            Case("f32", matrix(32768, 4096)),
            *(
                Case(element, matrix((1 << 29) // TORCH[element].itemsize // columns, columns), top)
                for element in ("f32", "bf16")
                for columns in (768, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
            ),
            Case("f32", matrix(512, 1024), top),
        ),
    )


SOFTMAX = _row_work(_softmax)
LAYERNORM = _row_work(_layer_norm)
