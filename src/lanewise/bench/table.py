"""Measured results as tables: a page for the docs, and lines for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lanewise.bench.measure import Result, Timed
from lanewise.bench.timing import Sample

HEAD = ("", "us", "10 to 90 %", "cold us", "", "of roof", "error")


def amount(result: Result) -> str:
    """What a perfect kernel moves or computes."""
    if result.unit == "TFLOP/s":
        return f"{result.moved / 1e9:.1f} GFLOP"
    if result.unit == "steps/us":
        return f"{result.moved:,} steps"
    return f"{result.moved / 1e6:.1f} MB"


def problem(result: Result) -> str:
    sizes = ", ".join(f"{size} {value}" for size, value in result.problem.items())
    return f"{result.element}, {sizes}: {amount(result)}"


def cells(row: Timed) -> tuple[str, ...]:
    """A row of `HEAD`."""
    judged = "bimodal, not judged" if row.of_roof is None else f"{row.of_roof:.2f}"
    return (
        row.name,
        f"{row.warm.median:.1f}",
        f"{row.warm.low:.1f} to {row.warm.high:.1f}",
        "" if row.cold is None else f"{row.cold.median:.1f}",
        f"{row.rate:.2f}",
        judged,
        "" if row.error is None else f"{row.error:.1e}",
    )


def markdown(card: Mapping[str, Any], repeats: int, results: Mapping[str, Sequence[Result]]) -> str:
    """The page docs/ladder/measured.md."""
    lines = [
        "# Measured",
        "",
        f"{card['name']}, driver {card['driver']}, CUDA {card['cuda']}, torch {card['torch']}, {card['date']}. "
        f"Median of {repeats} timings between two events, and the 10th to 90th percentile; *cold*: other memory was "
        "read before each call, where the L2 cache might hold the data. Rates count what a perfect kernel moves or "
        "computes; *of roof* is the time of the subject's mark (the fastest peer of its kind: copy, sum, cuBLAS) over "
        "this time, warm. Inputs are random. Written by `lanewise bench --out docs/ladder`.",
        "",
        f"SM clock before {card['before']['clocks.sm']}, after {card['after']['clocks.sm']}; memory "
        f"{card['before']['clocks.mem']} and {card['after']['clocks.mem']}; "
        f"{card['before']['temperature.gpu']} and {card['after']['temperature.gpu']} degrees.",
        "",
    ]
    for name, cases in results.items():
        lines += [f"## {name}", ""]
        for result in cases:
            head = [*HEAD[:4], result.unit, *HEAD[5:]]
            lines += [
                problem(result),
                "",
                f"| {' | '.join(head)} |",
                "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
            ]
            for row in result.rows:
                first, *rest = cells(row)
                lines.append(f"| {f'*{first}*' if row.peer else first} | {' | '.join(rest)} |")
            lines.append("")
    return "\n".join(lines)


def plain(result: Result) -> dict[str, Any]:
    """A result as JSON has it."""
    rows = [
        {
            "name": row.name,
            "peer": row.peer,
            "warm": _sample(row.warm),
            "cold": None if row.cold is None else _sample(row.cold),
            "rate": round(row.rate, 4),
            "of_roof": None if row.of_roof is None else round(row.of_roof, 4),
            "error": row.error,
        }
        for row in result.rows
    ]
    return {**asdict(result), "rows": rows}


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "microseconds": round(sample.median, 2),
        "p10": round(sample.low, 2),
        "p90": round(sample.high, 2),
        "bimodal": sample.bimodal,
    }
