"""The results as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Results = dict[str, Any]
BEGIN, END = "<!-- results: written by benchmarks/run.py -->", "<!-- end of results -->"


def markdown(results: Results) -> str:
    """One table a question."""
    parts = [f"# Benchmark of {results['date']}", _machine(results["machine"])]
    parts += ["## Matrix products", _gemms(results["gemm"])]
    parts += ["## Pace by kind of code", _pace(results)]
    parts += ["## Starting, launching, memory", _overheads(results)]
    if "program" in results:
        parts += ["## A whole program", _program(results["program"])]
    return "\n\n".join(parts) + "\n"


def placed(document: str, page: str) -> str:
    """The document with the page's sections between its two marks."""
    before, rest = document.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{page.replace('# ', '## ').rstrip()}\n\n{END}{after}"


def _rows(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    columns = head.split("|")
    rule = "|".join([" --- ", *[" ---: "] * (len(columns) - 1)])
    lines = [f"|{'|'.join(f' {column.strip()} ' for column in columns)}|", f"|{rule}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _machine(machine: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in machine.items())


def seconds(timed: dict[str, float]) -> str:
    """Processor time, then wall time."""
    return f"{timed['cpu']:.2f} ({timed['wall']:.2f})"


def _milliseconds(timed: dict[str, float]) -> str:
    return f"{timed['cpu'] * 1e3:.2f} ms ({timed['wall'] * 1e3:.2f})"


def _gemms(gemms: Results) -> str:
    rows = []
    for kernel, of in gemms.items():
        ours = of["cached"]["again"]
        label = f"{kernel}, n={of['empty']['n']}"
        first, kept = of["empty"]["first"], of["cached"]["first"]
        pace = f"{of['empty']['instructions'] / ours['cpu'] / 1e9:.1f}"
        if "pocl" in of:
            theirs = of["pocl"]
            yardstick = (
                seconds(theirs["first"]),
                seconds(theirs["again"]),
                f"{first['cpu'] / theirs['first']['cpu']:.2f}",
                f"{ours['cpu'] / theirs['again']['cpu']:.2f}",
            )
        else:
            yardstick = ("-", "-", "-", "-")
        rows.append((label, seconds(first), seconds(kept), seconds(ours), pace, *yardstick))
    table = _rows(
        "kernel: seconds of processor (wall) | from source | from source, cached | run | 10⁹ instructions/s/core "
        "| PoCL from source | PoCL run | ratio, from source | ratio, run",
        rows,
    )
    return f"{table}\n\nRatios are ours over PoCL's, in processor time: below 1 is faster, while counting."


def _pace(results: Results) -> str:
    rows = [
        (
            f"affine code ({kernel})",
            f"{of['empty']['instructions'] / 1e6:.0f}",
            seconds(of["cached"]["again"]),
            f"{of['empty']['instructions'] / of['cached']['again']['cpu'] / 1e9:.2f}",
            "",
        )
        for kernel, of in results["gemm"].items()
    ]
    for of in results["throughput"].values():
        count = f"{of['instructions'] / 1e6:.0f}"
        counting = 1 - of["uncounted"]["cpu"] / of["again"]["cpu"]
        pace = f"{of['per_core_second'] / 1e9:.2f}"
        rows.append((of["title"], count, seconds(of["again"]), pace, f"{max(0.0, counting) * 100:.0f} %"))
    head = "code | 10⁶ instructions | seconds of processor (wall) | 10⁹ instructions/s/core | of it counting"
    return _rows(head, rows)


def _overheads(results: Results) -> str:
    start, launches, memory = results["start"], results["launches"], results["memory"]
    beside = (memory["peak_bytes"] - memory["device_bytes"] - memory["host_bytes"]) / 1e6
    rows = [
        ("`lanewise run` of a small program, empty cache", f"{seconds(start['empty'])} s"),
        ("the same again", f"{seconds(start['cached'])} s"),
        ("a tiny launch, in the emulator", _milliseconds(launches["emulator"])),
        ("a tiny launch, in a program", _milliseconds(launches["program"])),
        (f"memory beside the {memory['device_bytes'] / 1e6:.0f} MB of the program", f"{beside:.0f} MB"),
    ]
    return _rows("what | processor (wall)", rows)


def _program(program: Results) -> str:
    rows = []
    for name, of in program.items():
        beside = (of["peak_bytes"] - of["device_bytes"]) / 1e6
        label = f"{of['program']}, {'empty cache' if name == 'empty' else 'cached'}"
        count = f"{of['instructions'] / 1e9:.2f}"
        kernels = f"{of['kernels_wall']:.2f}"
        memory = (f"{of['device_bytes'] / 1e6:.0f} MB", f"{beside:.0f} MB")
        rows.append((label, str(of["launches"]), count, seconds(of["process"]), kernels, *memory))
    return _rows(
        "program | launches | 10⁹ instructions | seconds of processor (wall) | in kernels (wall) | its device memory "
        "| memory beside it",
        rows,
    )
