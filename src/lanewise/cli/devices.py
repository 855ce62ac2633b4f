"""`lanewise devices`: the cards that can be modelled."""

from __future__ import annotations

import typer

from lanewise.cli.table import table
from lanewise.hardware import device
from lanewise.report import text

_HEAD = ("name", "card", "arch", "SMs", "warps/SM", "shared/SM", "L2", "memory", "bandwidth", "f32")


def devices() -> None:
    """List the cards that --device takes, with what bounds a kernel on each."""
    rows = [_row(device.load(name)) for name in device.names()]
    for line in table([_HEAD, *rows], "lllrrrrrrr"):
        typer.echo(line)
    typer.echo("\nA device file of your own, ending in .toml, does as well.")


def _row(spec: device.DeviceSpec) -> tuple[str, ...]:
    values = spec.values
    return (
        spec.key,
        spec.name,
        spec.arch,
        str(values.sm_count),
        str(spec.limits.max_warps_per_sm),
        text.size(spec.limits.shared_per_sm),
        text.size(values.l2_bytes),
        text.size(values.memory_bytes),
        f"{values.memory_bandwidth_gb_s:,.0f} GB/s",
        f"{values.fp32_tflops:g} TFLOP/s",
    )
