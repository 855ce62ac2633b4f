"""Measured results as a document (JSON), a page for the docs, and lines for the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanewise.bench.measure import Result, Timed
from lanewise.bench.timing import Sample
from lanewise.version import __version__

SCHEMA = 1
JSON_FILE, PAGE = "measured.json", "measured.md"
_HEAD = ("", "us", "10 to 90 %", "cold us", "", "of roof", "error")


def plain(result: Result) -> dict[str, Any]:
    """A result as the document has it."""
    return {
        "element": result.element,
        "problem": dict(result.problem),
        "moved": result.moved,
        "unit": result.unit,
        "rows": [_plain_row(row) for row in result.rows],
        "wrong": list(result.wrong),
    }


def subject(card: Mapping[str, Any], repeats: int, results: Sequence[Result]) -> dict[str, Any]:
    """A subject as the document has it: the card as it was, and the cases."""
    return {"card": dict(card), "repeats": repeats, "cases": [plain(result) for result in results]}


def document(subjects: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"schema": SCHEMA, "lanewise": __version__, "subjects": dict(subjects)}


def write(folder: Path, subjects: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the document and its page. Subjects that are there and were not measured now stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / JSON_FILE
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    before = known["subjects"] if known.get("schema") == SCHEMA else {}
    whole = document({**before, **subjects})
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (folder / PAGE).write_text(markdown(whole), encoding="utf-8")


def markdown(whole: Mapping[str, Any]) -> str:
    """The page docs/ladder/measured.md of a document."""
    lines = [
        "# Measured",
        "",
        "Medians of timings between two events, and the 10th to 90th percentile; *cold*: other memory was read before "
        "each call, where the L2 cache might hold the data. Rates count what a perfect kernel moves or computes; *of "
        "roof* is the time of the subject's mark (the fastest peer of its kind: copy, sum, cuBLAS) over this time, "
        "warm. Inputs are random. Written by `lanewise bench --out docs/ladder`.",
        "",
    ]
    for name, one in whole["subjects"].items():
        lines += [f"## {name}", "", f"{_state(one['card'])} {one['repeats']} timings each.", ""]
        for case in one["cases"]:
            head = [*_HEAD[:4], case["unit"], *_HEAD[5:]]
            lines += [title(case), "", f"| {' | '.join(head)} |", "| --- | ---: | --- | ---: | ---: | ---: | ---: |"]
            for row in case["rows"]:
                first, *rest = cells(row)
                lines.append(f"| {f'*{first}*' if row['peer'] else first} | {' | '.join(rest)} |")
            lines.append("")
    return "\n".join(lines)


def title(case: Mapping[str, Any]) -> str:
    """Type, sizes, and what a perfect kernel moves or computes."""
    sizes = ", ".join(f"{size} {value}" for size, value in case["problem"].items())
    moved = case["moved"]
    amounts = {"TFLOP/s": f"{moved / 1e9:.1f} GFLOP", "steps/us": f"{moved:,} steps"}
    return f"{case['element']}, {sizes}: {amounts.get(case['unit'], f'{moved / 1e6:.1f} MB')}"


def rows(case: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The case's table for a terminal, its head first; peers in brackets."""
    head = (*_HEAD[:4], case["unit"], *_HEAD[5:])
    return [head, *((f"[{c[0]}]" if row["peer"] else c[0], *c[1:]) for row in case["rows"] for c in (cells(row),))]


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    warm, cold = row["warm"], row["cold"]
    return (
        row["name"],
        f"{warm['microseconds']:.1f}",
        f"{warm['p10']:.1f} to {warm['p90']:.1f}",
        "" if cold is None else f"{cold['microseconds']:.1f}",
        f"{row['rate']:.2f}",
        "bimodal, not judged" if row["of_roof"] is None else f"{row['of_roof']:.2f}",
        "" if row["error"] is None else f"{row['error']:.1e}",
    )


def _state(card: Mapping[str, Any]) -> str:
    before, after = card["before"], card["after"]
    return (
        f"{card['name']}, driver {card['driver']}, CUDA {card['cuda']}, torch {card['torch']}, {card['date']}; SM "
        f"clock {before['clocks.sm']} before and {after['clocks.sm']} after, memory {after['clocks.mem']}, "
        f"{before['temperature.gpu']} and {after['temperature.gpu']} degrees."
    )


def _plain_row(row: Timed) -> dict[str, Any]:
    return {
        "name": row.name,
        "peer": row.peer,
        "warm": _sample(row.warm),
        "cold": None if row.cold is None else _sample(row.cold),
        "rate": round(row.rate, 4),
        "of_roof": None if row.of_roof is None else round(row.of_roof, 4),
        "error": row.error,
    }


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "microseconds": round(sample.median, 2),
        "p10": round(sample.low, 2),
        "p90": round(sample.high, 2),
        "bimodal": sample.bimodal,
    }
