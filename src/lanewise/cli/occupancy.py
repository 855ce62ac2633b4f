"""`lanewise occupancy`: how many blocks fit an SM, by which limit, and what would fit more."""

from __future__ import annotations

from typing import Annotated

import typer

from lanewise.catalogue import catalogue
from lanewise.errors import UsageError
from lanewise.hardware import capability, device
from lanewise.hardware.capability import WARP_SIZE, Limits
from lanewise.hardware.launch import refuse
from lanewise.hardware.occupancy import (
    BLOCKS,
    REGISTERS,
    SHARED_MEMORY,
    UNLIMITED,
    WARPS,
    registers_per_warp,
    shared_allocated,
)
from lanewise.hardware.occupancy import occupancy as model
from lanewise.records import Occupancy
from lanewise.report import text
from lanewise.report.facts import occupancy_words
from lanewise.report.table import table
from lanewise.report.terminal import report_width
from lanewise.request import DEFAULT_DEVICE


def occupancy(
    threads: Annotated[int, typer.Option(metavar="N", min=1, help="Threads a block.")],
    registers: Annotated[int, typer.Option(metavar="N", min=0, help="Registers a thread, as ptxas says.")],
    shared: Annotated[
        int, typer.Option(metavar="BYTES", min=0, help="Shared memory a block, static and dynamic together.")
    ] = 0,
    device_name: Annotated[
        str, typer.Option("--device", metavar="NAME", help="The card; `lanewise devices` lists them.")
    ] = DEFAULT_DEVICE,
    compute: Annotated[
        str | None, typer.Option("--capability", metavar="X.Y", help="A compute capability in place of a card.")
    ] = None,
) -> None:
    """Compute the theoretical occupancy of a launch: every limit, the binding one, the next step."""
    if compute is None:
        spec = device.load(device_name)
        where, limits = f"{spec.name} (compute capability {_dotted(spec.limits)})", spec.limits
    else:
        limits = _limits(compute)
        where = f"compute capability {_dotted(limits)}"
    block = (threads, 1, 1)
    reason = refuse(
        limits,
        (1, 1, 1),
        block,
        registers_per_thread=registers,
        dynamic_shared=shared,
        dynamic_shared_allowed=shared,
    )
    if reason is not None:
        raise UsageError(f"such a block cannot run on {where}: {reason}", next_step="Make it smaller.")
    result = model(limits, threads_per_block=threads, registers_per_thread=registers, dynamic_shared=shared)
    for line in _lines(result, limits, where, threads, registers, shared):
        typer.echo(line)


def _lines(result: Occupancy, limits: Limits, where: str, threads: int, registers: int, shared: int) -> list[str]:
    how = {
        WARPS: f"{limits.max_warps_per_sm} warps an SM, {-(-threads // WARP_SIZE)} a block",
        BLOCKS: f"{limits.max_blocks_per_sm} blocks an SM",
        REGISTERS: f"{text.count(limits.registers_per_sm)} registers an SM in {limits.warp_unit} partitions, "
        f"{text.count(registers_per_warp(limits, registers))} a warp",
        SHARED_MEMORY: f"{text.count(limits.shared_per_sm)} bytes an SM, "
        f"{text.count(shared_allocated(limits, shared))} a block as allocated",
    }
    rows = [("limit", "blocks", "", "because")]
    for limit in result.limits:
        blocks = "no limit" if limit.blocks >= UNLIMITED else text.count(limit.blocks)
        mark = "<" if limit.resource in result.binding else ""
        rows.append((limit.resource, blocks, mark, how[limit.resource]))
    lines = [
        *text.wrap(
            f"{where}: blocks of {threads} threads, {registers} registers a thread, {text.count(shared)} bytes of "
            "shared memory",
            report_width(),
            rest="  ",
        ),
        "",
        f"  {occupancy_words(result, catalogue())}",
        "",
        *(f"  {line}" for line in table(rows, "lrll")),
    ]
    if result.next_step is not None:
        lines += ["", f"  next: {result.next_step}"]
    return lines


def _limits(compute: str) -> Limits:
    major, dot, minor = compute.partition(".")
    if not (dot and major.isascii() and minor.isascii() and major.isdigit() and minor.isdigit()):
        raise UsageError(f"{compute!r} is not a compute capability", next_step="Write it as 9.0.")
    return capability.limits(int(major), int(minor))


def _dotted(limits: Limits) -> str:
    return ".".join(map(str, limits.compute_capability))
