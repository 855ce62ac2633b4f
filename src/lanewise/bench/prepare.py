"""A plan on torch's memory and streams, ready to be called again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from lanewise.bench.work import TORCH, Call
from lanewise.gpu.launcher import Launcher
from lanewise.ladder import Plan
from lanewise.ladder.expressions import cdiv


def prepare(launcher: Launcher, plan: Plan, tensors: Mapping[str, Any]) -> Call:
    """A call that queues the plan on torch's current stream; buffers that are not given are made.

    A plan with pieces has its inputs and outputs in page-locked host memory, and they are copied; one that is a graph
    is captured once.
    """
    if plan.pieces:
        return _in_pieces(launcher, plan, tensors)
    memory = dict(tensors)
    for buffer in plan.buffers:
        if buffer.name not in memory:
            memory[buffer.name] = torch.empty(max(1, buffer.count), dtype=TORCH[buffer.type], device="cuda")
        if buffer.zero == "once":
            memory[buffer.name].zero_()
    cleared = [buffer.name for buffer in plan.buffers if buffer.zero == "each run" and buffer.count]
    queue = launcher.prepare(plan, {name: tensor.data_ptr() for name, tensor in memory.items()})

    def run() -> None:
        for name in cleared:
            memory[name].zero_()  # and `memory` is held, whose addresses are in the launches
        queue(_stream())

    return _captured(run) if plan.rung.graph and plan.launches else run


def _stream() -> int:
    return int(torch.cuda.current_stream().cuda_stream)


def _captured(run: Call) -> Call:
    run()  # what is loaded at the first launch cannot be while a stream is captured
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay  # type: ignore[no-any-return]


def _in_pieces(launcher: Launcher, plan: Plan, tensors: Mapping[str, Any]) -> Call:
    buffers = {buffer.name: buffer for buffer in plan.buffers if buffer.role != "scratch"}
    there = {
        name: torch.empty(max(1, buffer.count), dtype=TORCH[buffer.type], device="cuda")
        for name, buffer in buffers.items()
    }
    addresses = {name: tensor.data_ptr() for name, tensor in there.items()}
    pieces = []
    for piece in range(plan.pieces):
        part = replace(plan, launches=tuple(launch for launch in plan.launches if launch.piece == piece))
        copies: dict[str, list[tuple[Any, Any]]] = {"input": [], "output": []}
        for name, buffer in buffers.items():
            size = cdiv(buffer.count, plan.pieces)
            span = slice(min(piece * size, buffer.count), min((piece + 1) * size, buffer.count))
            copies[buffer.role].append((there[name][span], tensors[name][span]))
        pieces.append((copies, launcher.prepare(part, addresses)))
    streams = [torch.cuda.Stream() for _ in range(plan.streams)]

    def run() -> None:
        current = torch.cuda.current_stream()
        for stream in streams:
            stream.wait_stream(current)
        for number, (copies, queue) in enumerate(pieces):
            with torch.cuda.stream(streams[number % len(streams)]):
                for on_card, on_host in copies["input"]:
                    on_card.copy_(on_host, non_blocking=True)
                queue(_stream())
                for on_card, on_host in copies["output"]:
                    on_host.copy_(on_card, non_blocking=True)
        for stream in streams:
            current.wait_stream(stream)

    return run
