"""The dated table: markdown from the measured results, and what card they are from."""

from __future__ import annotations

import datetime
import shutil
import subprocess

import torch


def this_card() -> dict:
    """Name, driver, versions, date, and the clocks and temperature now."""
    fields = "name,driver_version"
    now = "clocks.sm,clocks.mem,temperature.gpu,power.draw"
    name, driver = _query(fields).split(", ")
    return {
        "name": name,
        "driver": driver,
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "now": dict(zip(now.split(","), _query(now).split(", "), strict=True)),
    }


def _query(fields: str) -> str:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return ", ".join("unknown" for _ in fields.split(","))
    command = [smi, f"--query-gpu={fields}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]


def amount(case: dict) -> str:
    """What a perfect kernel moves or computes."""
    if case["unit"] == "TB/s":
        return f"{case['moved'] / 1e6:.1f} MB"
    return f"{case['moved'] / 1e9:.1f} GFLOP"


def markdown(results: dict) -> str:
    card = results["card"]
    lines = [
        "# Measured",
        "",
        f"{card['name']}, driver {card['driver']}, CUDA {card['cuda']}, torch {card['torch']}, {card['date']}. "
        f"Median of {results['repeats']} timings between two events; 10th to 90th percentile in brackets. TB/s count "
        "the bytes a perfect kernel moves; *of roof* is the time of the subject's mark (the fastest peer of its kind: "
        "copy, sum, cuBLAS) over this time. "
        "Inputs are random. Written by `benchmarks/card/measure.py`.",
        "",
    ]
    for name, subject in results["subjects"].items():
        lines += [f"## {name}", ""]
        for case in subject["cases"]:
            problem = ", ".join(f"{size} {value}" for size, value in case["problem"].items())
            lines += [
                f"{case['element']}, {problem}: {amount(case)}",
                "",
                f"| | us | | {case['unit']} | of roof | error |",
                "| --- | ---: | --- | ---: | ---: | ---: |",
            ]
            for row in case["rows"]:
                shown = f"*{row['name']}*" if row["peer"] else row["name"]
                error = "" if row["error"] is None else f"{row['error']:.1e}"
                spread = f"{row['p10']:.1f} to {row['p90']:.1f}" + (" bimodal" if row["bimodal"] else "")
                lines.append(
                    f"| {shown} | {row['microseconds']:.1f} | {spread} | {row['rate']:.2f} "
                    f"| {row['of_roof']:.2f} | {error} |"
                )
            lines.append("")
    return "\n".join(lines)
