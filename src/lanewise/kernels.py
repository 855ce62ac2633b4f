"""The top rungs of the ladder on arrays of torch, CuPy or numba: in place, on the library's current stream, no copies.

Each function takes arrays on one card, chooses the rung for shape, type, alignment and card, queues it and returns
without waiting; the result is a new array of the same library, or `out`. Raises UsageError for a wrong type, shape or
device, EnvironmentProblem where there is no GPU or it is too old for every rung, LimitReached out of device memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lanewise.errors import UsageError
from lanewise.gpu import arrays
from lanewise.gpu.arrays import Array
from lanewise.gpu.card import Card, find
from lanewise.gpu.launcher import Launcher, clear
from lanewise.ladder import load
from lanewise.ladder.plan import Plan, choose

__all__ = ["gemm", "histogram", "layernorm", "reduce", "scan", "softmax", "transpose"]

_BY_SIZE = {1: "u8", 2: "u16", 4: "f32", 8: "f64"}  # a transposition moves bits


def transpose(x: Any, *, out: Any = None) -> Any:
    """The transpose of `x` (rows x columns, elements of 1, 2, 4 or 8 bytes), stored by rows: (columns x rows)."""
    of_x = _rows(x, "x", dimensions=2)
    rows, columns = of_x.shape
    if of_x.itemsize not in _BY_SIZE:
        raise UsageError(f"transpose: elements of {of_x.itemsize} bytes", next_step="1, 2, 4 and 8 bytes are taken")
    result = _result(out, (columns, rows), of_x.element, of_x)
    problem = {"rows": rows, "columns": columns}
    _run("transpose", _BY_SIZE[of_x.itemsize], problem, {"input": of_x, "output": result})
    return _given(result, out)


def reduce(x: Any, *, out: Any = None) -> Any:
    """The sum of all elements of `x` (f32, any shape), as an array of no dimensions; pairs are summed in a tree."""
    of_x = _rows(x, "x")
    _takes("reduce", of_x, "f32")
    result = _result(out, (), "f32", of_x)
    _run("reduce", "f32", {"n": of_x.elements}, {"input": of_x, "output": result})
    return _given(result, out)


def scan(x: Any, *, out: Any = None) -> Any:
    """Inclusive prefix sums of `x` (f32, one dimension)."""
    of_x = _rows(x, "x", dimensions=1)
    _takes("scan", of_x, "f32")
    result = _result(out, of_x.shape, "f32", of_x)
    _run("scan", "f32", {"n": of_x.elements}, {"input": of_x, "output": result})
    return _given(result, out)


def histogram(keys: Any, bins: int, *, out: Any = None) -> Any:
    """How often each of 0 to `bins` - 1 is in `keys` (i32, any shape), as i32 (bins); other keys are not counted."""
    of_keys = _rows(keys, "keys")
    _takes("histogram", of_keys, "i32")
    if bins < 1:
        raise UsageError(f"histogram: {bins} bins")
    result = _result(out, (bins,), "i32", of_keys)
    _run("histogram", "i32", {"n": of_keys.elements, "bins": bins}, {"input": of_keys, "output": result})
    return _given(result, out)


def softmax(x: Any, *, out: Any = None) -> Any:
    """Softmax over the last dimension of `x` (f32 or bf16)."""
    of_x = _rows(x, "x")
    _takes("softmax", of_x, "f32", "bf16")
    result = _result(out, of_x.shape, of_x.element, of_x)
    _run("softmax", of_x.element, _rows_and_columns(of_x), {"input": of_x, "output": result})
    return _given(result, out)


def layernorm(x: Any, weight: Any, bias: Any, *, out: Any = None) -> Any:
    """Layer norm over the last dimension of `x` (f32 or bf16), epsilon 1e-5; weight and bias have its length."""
    of_x, of_weight, of_bias = _rows(x, "x"), _rows(weight, "weight"), _rows(bias, "bias")
    _takes("layernorm", of_x, "f32", "bf16")
    problem = _rows_and_columns(of_x)
    for name, of_it in (("weight", of_weight), ("bias", of_bias)):
        if of_it.shape != (problem["columns"],) or of_it.element != of_x.element:
            raise UsageError(
                f"layernorm: {name} is {of_it.element} {of_it.shape}, not {of_x.element} ({problem['columns']},)"
            )
    result = _result(out, of_x.shape, of_x.element, of_x)
    places = {"input": of_x, "weight": of_weight, "bias": of_bias, "output": result}
    _run("layernorm", of_x.element, problem, places)
    return _given(result, out)


def gemm(a: Any, b: Any, *, out: Any = None) -> Any:
    """The product of `a` (m x k) and `b` (k x n), stored by rows: f32 (no TF32), i32, f16 or bf16 (summed in f32).

    f16 and bf16 may lie by rows or by columns (a transposed view); f32 and i32 by rows.
    """
    of_a, of_b = arrays.view(a, "a"), arrays.view(b, "b")
    _takes("gemm", of_a, "f32", "i32", "f16", "bf16")
    if of_b.element != of_a.element or len(of_a.shape) != 2 or len(of_b.shape) != 2 or of_a.shape[1] != of_b.shape[0]:
        raise UsageError(
            f"gemm: a is {of_a.element} {of_a.shape}, b is {of_b.element} {of_b.shape}",
            next_step="a is m x k, b is k x n, both of one type",
        )
    (m, k), n = of_a.shape, of_b.shape[1]
    problem = {"m": m, "n": n, "k": k, "a_columns": _by_columns(of_a, "a"), "b_columns": _by_columns(of_b, "b")}
    result = _result(out, (m, n), of_a.element, of_a)
    _run("gemm", of_a.element, problem, {"a": of_a, "b": of_b, "c": result})
    return _given(result, out)


def _by_columns(matrix: Array, what: str) -> int:
    if matrix.contiguous:
        return 0
    if matrix.strides == (1, matrix.shape[0]):
        return 1
    raise UsageError(
        f"gemm: {what} has strides {matrix.strides}: it lies neither by rows nor by columns without gaps",
        next_step="Copy it first; no copy is made here.",
    )


def _rows(array: Any, what: str, *, dimensions: int | None = None) -> Array:
    """The array, by rows without gaps."""
    seen = arrays.view(array, what)
    if dimensions is not None and len(seen.shape) != dimensions:
        raise UsageError(f"{what} has {len(seen.shape)} dimensions, not {dimensions}")
    if not seen.contiguous:
        raise UsageError(
            f"{what} has strides {seen.strides}: it does not lie by rows without gaps",
            next_step="Copy it first; no copy is made here.",
        )
    return seen


def _takes(function: str, array: Array, *elements: str) -> None:
    if array.element not in elements:
        raise UsageError(f"{function}: elements of type {array.element}", next_step=f"it takes {', '.join(elements)}")


def _rows_and_columns(array: Array) -> dict[str, int]:
    if not array.shape:
        raise UsageError("an array of no dimensions has no rows")
    columns = array.shape[-1]
    return {"rows": array.elements // columns if columns else 0, "columns": columns}


def _result(out: Any, shape: tuple[int, ...], element: str, like: Array) -> Array:
    if out is None:
        return arrays.view(arrays.empty(shape, element, like), "the result")
    given = _rows(out, "out")
    if given.shape != shape or given.element != element:
        raise UsageError(f"out is {given.element} {given.shape}, the result {element} {shape}")
    return given


def _given(result: Array, out: Any) -> Any:
    if out is not None:
        return out
    return result.owner[0] if isinstance(result.owner, tuple) else result.owner


@cache
def _launcher(device: int) -> tuple[Card, Launcher]:
    card = find(device)
    return card, Launcher(card)


@cache
def _plan(subject: str, element: str, problem: tuple[tuple[str, int], ...], device: int, alignment: int) -> Plan:
    card, _ = _launcher(device)
    return choose(
        load(subject),
        element,
        dict(problem),
        sms=card.sms,
        arch=card.arch,
        shared_bytes=card.shared_bytes,
        alignment=alignment,
    )


def _run(subject: str, element: str, problem: Mapping[str, int], places: Mapping[str, Array]) -> None:
    """Queue the best rung on the current stream of the first array's library."""
    devices = {array.device for array in places.values() if array.address}
    if len(devices) > 1:
        raise UsageError(f"{subject}: arrays on several devices: {', '.join(map(str, sorted(devices)))}")
    first = next(iter(places.values()))
    alignment = min(array.alignment for array in places.values())
    plan = _plan(subject, element, tuple(problem.items()), first.device, alignment)
    _, launcher = _launcher(first.device)
    addresses = {name: array.address for name, array in places.items()}
    kept = []
    stream = arrays.current_stream(first)
    for buffer in plan.buffers:
        if buffer.name not in places:
            kept.append(arrays.view(arrays.empty((max(1, buffer.bytes),), "u8", first), buffer.name))
            addresses[buffer.name] = kept[-1].address
        if buffer.zero:
            clear(addresses[buffer.name], buffer.bytes, stream)
    launcher.prepare(plan, addresses)(stream)
