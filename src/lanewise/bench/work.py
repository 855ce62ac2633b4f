"""What checks and timings on a card need beyond the catalogue: inputs, references in float64, peers, cases.

One `Work` a subject: `inputs` draws random data, `check` compares with a float64 reference and gives the worst error
(raises AssertionError where it is too large), `peers` are what a user would call instead, `moved` is what counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

TORCH: dict[str, Any] = {
    "u8": torch.uint8,
    "u16": torch.int16,  # torch has few operations on unsigned types; the bits are the same
    "u32": torch.int32,
    "i32": torch.int32,
    "u64": torch.int64,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
Problem = Mapping[str, int]
Tensors = dict[str, Any]
Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A problem to time. `rungs`: only these (all where empty)."""

    element: str
    problem: Problem
    rungs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """`unit` is of `moved` / `scale` a microsecond; ratios are to the fastest peer whose name begins as `roof`."""

    inputs: Callable[[str, Problem], Tensors]
    check: Callable[[str, Problem, Tensors], float]
    peers: Callable[[str, Problem, Tensors], dict[str, Call]]
    moved: Callable[[str, Problem], int]
    roof: str | tuple[str, ...]
    awkward: tuple[Problem, ...]
    cases: tuple[Case, ...]
    unit: str = "TB/s"
    scale: float = 1e6


def random(element: str, count: int, *, low: float = -1.0, high: float = 1.0) -> Any:
    kind = TORCH[element]
    if kind.is_floating_point:
        return (torch.rand(count, device="cuda", dtype=torch.float32) * (high - low) + low).to(kind)
    whole = torch.iinfo(kind)
    return torch.randint(whole.min, whole.max, (count,), device="cuda", dtype=kind)


def poison(element: str, count: int, *, host: bool = False) -> Any:
    """Memory that no right answer holds: NaN, or all bits set. `host`: page-locked memory of the host."""
    kind = TORCH[element]
    value = float("nan") if kind.is_floating_point else 255 if element == "u8" else -1
    made = torch.full((max(1, count),), value, device="cpu" if host else "cuda", dtype=kind)
    return made.pin_memory() if host else made


def copy_peer(tensors: Tensors) -> Call:
    """A device-to-device copy between the very buffers the rungs use: where two buffers lie changes it by a tenth."""
    source, target = tensors["input"], tensors["output"][: tensors["input"].numel()]
    return lambda: target.copy_(source)


def norm_error(out: Any, reference: Any, limit: float, what: str) -> float:
    """||out - reference|| / ||reference|| in float64."""
    if reference.numel() == 0:
        return 0.0
    off = (out.double() - reference).norm() / reference.norm().clamp_min(1e-300)
    assert off.item() <= limit, f"{what}: relative error {off.item():.2e}, limit {limit:.0e}"
    return float(off.item())


def cupy_module() -> Any:
    """CuPy, or None where it is not installed: its peers are then left out."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def sums(what: str, values: Any) -> dict[str, Call]:
    """The libraries' sums of all elements, the fastest ways to read them: `what` and the library's name."""
    calls: dict[str, Call] = {f"{what} torch.sum": values.sum}
    if cupy := cupy_module():
        calls[f"{what} cupy.sum"] = cupy.from_dlpack(values).sum
    return calls


def matrix(rows: int, columns: int) -> Problem:
    """The sizes of a matrix."""
    return {"rows": rows, "columns": columns}
