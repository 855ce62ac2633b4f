"""Random inputs of a plan, and what its output must be, in float64 (integers exactly)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lanewise.ladder.catalog import Subject
from lanewise.ladder.emulate import NUMPY, Array
from lanewise.ladder.plan import Plan

Problem = Mapping[str, int]
Inputs = dict[str, Array]


def inputs(subject: Subject, plan: Plan, problem: Problem, seed: int = 0) -> Inputs:
    """Fresh random inputs: floats from -1 to 1, unsigned integers of any bits, keys and orders as the subject needs."""
    rng = np.random.default_rng(seed)
    made: Inputs = {}
    for buffer in plan.buffers:
        if buffer.role != "input":
            continue
        if subject.name == "readonly" and buffer.name == "table":  # what 03_constant.cu has in its source
            made[buffer.name] = (np.arange(256) / 256).astype(np.float32)
        elif buffer.type == "bf16":
            made[buffer.name] = _to_bf16(rng.uniform(-1, 1, buffer.count))
        elif buffer.type in ("f16", "f32", "f64"):
            made[buffer.name] = rng.uniform(-1, 1, buffer.count).astype(NUMPY[buffer.type])
        elif subject.name == "histogram":
            made[buffer.name] = _keys(rng, buffer.count, {**subject.problem, **problem})
        elif subject.name == "access":
            made[buffer.name] = rng.permutation(buffer.count).astype(np.int32)
        else:
            made[buffer.name] = rng.integers(0, 1 << 8 * np.dtype(NUMPY[buffer.type]).itemsize, buffer.count).astype(
                NUMPY[buffer.type]
            )
    return made


def _keys(rng: np.random.Generator, count: int, problem: Problem) -> Array:
    bins = problem["bins"]
    if problem["skew"]:
        return np.full(count, bins // 3, np.int32)
    low, high = (-2, bins + 3) if problem["strangers"] else (0, bins)
    return rng.integers(low, high, count).astype(np.int32)


def _to_bf16(values: Array) -> Array:
    """Rounded to nearest even; the bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(element: str, values: Array) -> Array:
    """Elements as float64."""
    if element == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def expected(subject: Subject, element: str, problem: Problem, made: Inputs) -> Array:
    """The output, flat: float64, or integers where the subject is exact."""
    sizes = {**subject.problem, **problem}
    return _EXPECTED[subject.name](element, sizes, made)


def error(out: Array, reference: Array, element: str) -> float:
    """||out - reference|| / ||reference||; for integers 0 or infinity."""
    if reference.size == 0:
        return 0.0
    if reference.dtype.kind in "iu":
        return 0.0 if np.array_equal(out, reference) else float("inf")
    size = float(np.linalg.norm(reference)) or 1.0
    return float(np.linalg.norm(wide(element, out) - reference)) / size


def _transpose(element: str, sizes: Problem, made: Inputs) -> Array:
    matrix = made["input"].reshape(sizes["rows"], sizes["columns"])
    return np.ascontiguousarray(matrix.T).ravel().view(f"u{matrix.itemsize}")


def _chain(element: str, sizes: Problem, made: Inputs) -> Array:
    x = wide(element, made["input"])
    return np.where(x > 0, np.clip(np.sqrt(np.exp(x * 0.5 + 0.125)), 0.25, 4.0), x)


def _histogram(element: str, sizes: Problem, made: Inputs) -> Array:
    keys = made["input"]
    return np.bincount(keys[(keys >= 0) & (keys < sizes["bins"])], minlength=sizes["bins"]).astype(np.uint32)


def _softmax(element: str, sizes: Problem, made: Inputs) -> Array:
    x = wide(element, made["input"]).reshape(sizes["rows"], sizes["columns"])
    e = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
    return np.ravel(e / e.sum(axis=1, keepdims=True))


def _layernorm(element: str, sizes: Problem, made: Inputs) -> Array:
    x = wide(element, made["input"]).reshape(sizes["rows"], sizes["columns"])
    off = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((off**2).mean(axis=1, keepdims=True) + 1e-5)
    return np.ravel(off * scale * wide(element, made["weight"]) + wide(element, made["bias"]))


def _gemm(element: str, sizes: Problem, made: Inputs) -> Array:
    """i32 wraps as it does on the card."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    a, b = (made[name] if element == "i32" else wide(element, made[name]) for name in "ab")
    of_a = a.reshape(k, m).T if sizes["a_columns"] else a.reshape(m, k)
    of_b = b.reshape(n, k).T if sizes["b_columns"] else b.reshape(k, n)
    return np.ravel(of_a @ of_b)


def _steps(element: str, sizes: Problem, made: Inputs) -> Array:
    """v = 0.75 v + 0.25 taken 1 + i % 32 times: its fixed point is 1."""
    x = wide(element, made["input"])
    return (x - 1.0) * 0.75 ** (1 + np.arange(x.size) % 32) + 1.0


def _ring(element: str, sizes: Problem, made: Inputs) -> Array:
    """The mean of each element and its right neighbour, `steps` times."""
    x = wide(element, made["input"])
    for _ in range(sizes["steps"]):
        x = 0.5 * (x + np.roll(x, -1))
    return x


def _rounds(element: str, sizes: Problem, made: Inputs) -> Array:
    """v = v / 2 + 1 / (4 (1 + v)), eight times, from |x|."""
    v = np.abs(wide(element, made["input"]))
    for _ in range(8):
        v = 0.5 * v + 0.25 / (1.0 + v)
    return v


def _centred(element: str, sizes: Problem, made: Inputs) -> Array:
    x = wide(element, made["input"]).reshape(64, sizes["n"])
    return np.ravel(x - x.mean(axis=0))


def _look_up(element: str, sizes: Problem, made: Inputs) -> Array:
    i = np.arange(sizes["n"])
    table = wide(element, made["table"])
    return wide(element, made["input"]) * table[i // 32 % 256] + table[i * 37 % 256]


_EXPECTED: dict[str, Callable[[str, Problem, Inputs], Array]] = {
    "access": lambda element, sizes, made: 2 * wide(element, made["input"]),
    "banks": lambda element, sizes, made: wide(element, made["input"]).reshape(sizes["rows"], 32).sum(axis=1),
    "divergence": _steps,
    "gemm": _gemm,
    "histogram": _histogram,
    "layernorm": _layernorm,
    "launch": _ring,
    "overlap": _rounds,
    "pointwise": _chain,
    "readonly": _look_up,
    "registers": _centred,
    "reduce": lambda element, sizes, made: np.array([wide(element, made["input"]).sum()]),
    "scan": lambda element, sizes, made: np.cumsum(wide(element, made["input"])),
    "softmax": _softmax,
    "texture": lambda element, sizes, made: wide(
        element, made["input"].reshape(sizes["rows"], sizes["columns"]).T.ravel()
    ),
    "transpose": _transpose,
}


def output(outputs: Mapping[str, Array], reference: Array) -> Array:
    """The one output buffer, as the reference is: bits where the reference is integers."""
    (out,) = outputs.values()
    flat: Array = out[: reference.size]
    return flat.view(reference.dtype) if reference.dtype.kind in "iu" else flat
