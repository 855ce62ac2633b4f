"""Registers, read-only memory, many small launches, copies from and to the host."""

from __future__ import annotations

import torch

from lanewise.bench.work import Call, Case, Problem, Tensors, Work, copy_peer, norm_error, random


def _columns_check(element: str, problem: Problem, tensors: Tensors) -> float:
    n = problem["n"]
    x = tensors["input"].double().view(64, n)
    return norm_error(tensors["output"][: 64 * n], (x - x.mean(0)).flatten(), 1e-6, "centred columns")


REGISTERS = Work(
    inputs=lambda element, problem: {"input": random(element, 64 * problem["n"])},
    check=_columns_check,
    peers=lambda element, problem, tensors: {"copy": copy_peer(tensors)},
    moved=lambda element, problem: 8 * 64 * problem["n"],
    roof="copy",
    awkward=({"n": 0}, {"n": 1}, {"n": 257}, {"n": 100003}),
    cases=(Case("f32", {"n": 1 << 20}),),
)


def _table_inputs(element: str, problem: Problem) -> Tensors:
    """The table is what `readonly/03_constant.cu` has in its source."""
    table = torch.arange(256, device="cuda", dtype=torch.float32) / 256
    return {"input": random(element, problem["n"]), "table": table}


def _table_check(element: str, problem: Problem, tensors: Tensors) -> float:
    i = torch.arange(problem["n"], device="cuda")
    table = tensors["table"].double()
    reference = tensors["input"].double() * table[i // 32 % 256] + table[i * 37 % 256]
    return norm_error(tensors["output"][: problem["n"]], reference, 1e-6, "look-up")


READONLY = Work(
    inputs=_table_inputs,
    check=_table_check,
    peers=lambda element, problem, tensors: {"copy": copy_peer(tensors)},
    moved=lambda element, problem: 8 * problem["n"],
    roof="copy",
    awkward=({"n": 0}, {"n": 1}, {"n": 997}, {"n": 100003}),
    cases=(Case("f32", {"n": 1 << 27}),),
)


def _ring_check(element: str, problem: Problem, tensors: Tensors) -> float:
    x = tensors["input"].double()
    for _ in range(problem["steps"]):
        x = 0.5 * (x + x.roll(-1))
    return norm_error(tensors["output"][: problem["n"]], x, 1e-6, "steps on a ring")


def _ring_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    """The steps as torch takes them, an operation a kernel: two a step."""

    def loop() -> None:
        x = tensors["input"]
        for _ in range(problem["steps"]):
            x = torch.lerp(x, x.roll(-1), 0.5)

    return {"torch": loop}


LAUNCH = Work(
    inputs=lambda element, problem: {"input": random(element, problem["n"])},
    check=_ring_check,
    peers=_ring_peers,
    moved=lambda element, problem: problem["steps"],
    roof="torch",
    awkward=({"n": 0, "steps": 2}, {"n": 1, "steps": 3}, {"n": 997, "steps": 4}, {"n": 8192, "steps": 7}),
    cases=(Case("f32", {"n": 8192, "steps": 1000}),),
    unit="steps/us",
    scale=1.0,
)


def _rounds_inputs(element: str, problem: Problem) -> Tensors:
    return {"input": random(element, problem["n"]).cpu().pin_memory()}


def _rounds_check(element: str, problem: Problem, tensors: Tensors) -> float:
    v = tensors["input"].double().abs()
    for _ in range(8):
        v = 0.5 * v + 0.25 / (1.0 + v)
    return norm_error(tensors["output"][: problem["n"]], v, 1e-6, "rounds")


def _rounds_peers(element: str, problem: Problem, tensors: Tensors) -> dict[str, Call]:
    """What no program can beat: the copies in both directions at the same time, with nothing computed."""
    there, back = (torch.empty(problem["n"], device="cuda") for _ in range(2))
    side = torch.cuda.Stream()

    def copies() -> None:
        side.wait_stream(torch.cuda.current_stream())
        there.copy_(tensors["input"], non_blocking=True)
        with torch.cuda.stream(side):
            tensors["output"].copy_(back, non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)

    return {"copies": copies}


OVERLAP = Work(
    inputs=_rounds_inputs,
    check=_rounds_check,
    peers=_rounds_peers,
    moved=lambda element, problem: 8 * problem["n"],
    roof="copies",
    awkward=({"n": 0}, {"n": 1}, {"n": 997}, {"n": 100003}),
    cases=(Case("f32", {"n": 1 << 26}),),
    unit="GB/s",
    scale=1e3,
)
