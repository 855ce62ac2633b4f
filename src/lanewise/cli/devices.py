"""`lanewise devices`: the cards that can be modelled, and what is known of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import UsageError
from lanewise.hardware import device
from lanewise.hardware.rates import Rates
from lanewise.report import text
from lanewise.report.table import table

_HEAD = ("name", "card", "arch", "SMs", "shared", "L2 MB", "memory", "GB/s", "TFLOP/s", "rates")


def devices(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show every value of this card, or of a file, and its source."),
    ] = None,
    measure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a device file of this machine's GPU, from micro-benchmarks."),
    ] = None,
) -> None:
    """List the cards that --device takes, with what bounds a kernel on each; or show one; or measure the one here."""
    if measure is not None:
        _measure(measure)
        return
    if name is not None:
        for line in _values(device.load(name)):
            typer.echo(line)
        return
    rows = [_row(device.load(name)) for name in device.names()]
    for line in table([_HEAD, *rows], "lllrrrrrrl"):
        typer.echo(line)
    typer.echo("\nshared: of an SM. GB/s: of memory. TFLOP/s: of f32. rates: how most values that times depend on are")
    typer.echo("known; `lanewise devices NAME` shows each.")
    typer.echo("A device file of your own, ending in .toml, does as well.")


def _measure(path: Path) -> None:
    from lanewise.measure.benchmarks import Bench
    from lanewise.measure.benchmarks import measure as run_benchmarks
    from lanewise.measure.device_file import device_file

    if path.suffix != ".toml":
        raise UsageError(f"{path} does not end in .toml", next_step="`--device` knows device files by that ending.")
    bench = Bench.start()
    found = run_benchmarks(bench, lambda what: typer.echo(f"{bench.driver.name}: {what}", err=True))
    text_of_file = device_file(bench.driver, found)
    path.write_text(text_of_file, encoding="utf-8")
    device.parse(text_of_file, path.stem, str(path))
    typer.echo(f"{path} written: lanewise run --device {path} program.cu")


def _row(spec: device.DeviceSpec) -> tuple[str, ...]:
    values = spec.values
    return (
        spec.key,
        spec.name.removeprefix("NVIDIA "),
        spec.arch,
        str(values.sm_count),
        text.size(spec.limits.shared_per_sm),
        f"{values.l2_bytes / (1 << 20):g}",
        text.size(values.memory_bytes),
        f"{values.memory_bandwidth_gb_s:,.0f}",
        f"{values.fp32_tflops:g}",
        known_by(spec),
    )


def known_by(spec: device.DeviceSpec) -> str:
    """The status of most values of the table `rates`."""
    statuses = [spec.origins[field].status for field in Rates.__dataclass_fields__]
    return max(sorted(set(statuses)), key=statuses.count).value


def _values(spec: device.DeviceSpec) -> list[str]:
    """Every value with how it is known, then the sources."""
    numbers = {origin.text: number for number, origin in enumerate(dict.fromkeys(spec.origins.values()), start=1)}
    rows = [("value", "", "known by", "source")]
    for part in (spec.values, spec.rates):
        for field in type(part).__dataclass_fields__:
            origin = spec.origins.get(field)
            if origin is None:  # a value that a file may leave out
                continue
            rows.append((field, _number(getattr(part, field)), origin.status.value, f"[{numbers[origin.text]}]"))
    lines = [f"{spec.name}, compute capability {'.'.join(map(str, spec.compute_capability))}", ""]
    lines += [*table(rows, "lrll"), ""]
    for source, number in numbers.items():
        lines += text.wrap(source, 100, first=f"[{number}] ")
    return lines


def _number(value: float | bool | tuple[int, ...]) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
