"""Matrices: transpositions and products."""

from __future__ import annotations

from typing import Any

import torch

from lanewise.bench.work import (
    TORCH,
    Call,
    Case,
    Problem,
    Tensors,
    Work,
    copy_peer,
    cupy_module,
    matrix,
    norm_error,
    random,
)


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


TEXTURE = Work(
    inputs=_transpose_inputs,
    check=_transpose_check,
    peers=_transpose_peers,
    moved=lambda element, problem: 8 * problem["rows"] * problem["columns"],
    roof="copy",
    awkward=tuple(matrix(*shape) for shape in ((1, 1), (0, 5), (1, 997), (31, 33), (127, 509))),
    cases=(Case("f32", matrix(8192, 8192)), Case("f32", matrix(1024, 1024))),
)

_TOP = ("coarsened", "vectorised", "any_pitch", "in_registers", "aligned_pieces", "bulk_tiles")
TRANSPOSE = Work(
    inputs=_transpose_inputs,
    check=_transpose_check,
    peers=_transpose_peers,
    moved=lambda element, problem: 2 * problem["rows"] * problem["columns"] * TORCH[element].itemsize,
    roof="copy",
    awkward=tuple(
        matrix(*shape)
        for shape in ((1, 1), (0, 5), (1, 997), (997, 1), (31, 33), (127, 509), (256, 64), (1024, 80), (1009, 2003))
    ),
    cases=(
        Case("f32", matrix(8192, 8192)),
        *(Case(e, matrix(n, n), _TOP) for e in ("u8", "u16", "f32", "f64") for n in (4096, 8192, 16384)),
        *(Case(e, matrix(5000, 12345), _TOP) for e in ("u8", "u16", "f32", "f64")),
        Case("f32", matrix(12344, 5000), _TOP),
        *(Case(e, matrix(5001, 12345), _TOP) for e in ("u8", "u16", "f32", "f64")),
        Case("u8", matrix(30000, 20000), _TOP),
    ),
)


def _gemm_inputs(element: str, problem: Problem) -> Tensors:
    m, n, k = problem["m"], problem["n"], problem["k"]
    if element == "i32":
        return {
            name: torch.randint(-1000, 1000, (count,), device="cuda", dtype=torch.int32)
            for name, count in (("a", m * k), ("b", k * n))
        }
    return {"a": random(element, m * k), "b": random(element, k * n)}


def _gemm_matrices(problem: Problem, tensors: Tensors) -> tuple[Any, Any]:
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
    return norm_error(tensors["c"][: reference.numel()], reference, _GEMM_LIMITS[element], "product")


def _gemm_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = _gemm_matrices(problem, tensors)
    if element == "i32":  # cuBLAS has none
        cupy = cupy_module()
        if cupy is None:
            return {}
        there_a, there_b = cupy.from_dlpack(a), cupy.from_dlpack(b)
        return {"cupy": lambda: cupy.matmul(there_a, there_b)}
    c = tensors["c"].view(problem["m"], problem["n"])
    return {"cublas": lambda: torch.mm(a, b, out=c)}


def _cube(side: int, **layout: int) -> Problem:
    return {"m": side, "n": side, "k": side, **layout}


_TENSOR = ("mma_sync", "wgmma", "specialised", "persistent", "small_tiles")
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
        *(
            Case(
                "f32",
                _cube(side),
                ("vectorised", "async_copy", "bulk_copy", "stream_k", "register_banks", "last_tiles"),
            )
            for side in (1024, 4096, 8192)
        ),
        Case("f32", {"m": 4095, "n": 4097, "k": 4099}, ("register_blocks", "async_copy", "padded_b")),
        Case("i32", _cube(2048)),
        *(Case("bf16", _cube(side), _TENSOR) for side in (1024, 2048, 4096, 8192)),
        *(Case("bf16", _cube(4096, a_columns=a, b_columns=b), ("persistent",)) for a, b in ((0, 1), (1, 0), (1, 1))),
        *(Case("bf16", _cube(8192, a_columns=a, b_columns=b), ("persistent",)) for a, b in ((0, 1), (1, 0), (1, 1))),
        Case("f16", _cube(4096), _TENSOR),
        Case("bf16", {"m": 4095, "n": 4097, "k": 4099}, ("mma_sync", "padded_rows")),
    ),
)
