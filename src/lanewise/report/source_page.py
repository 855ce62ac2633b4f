"""The source page of Nsight Compute as CSV, a row a machine instruction: `ncu --csv --page source --print-source sass`.

For each launch there is a line with the kernel's name, a header, and the rows; grid and block are not in it. Columns
have readable names: `L2 Theoretical Sectors Global` is the metric `memory_l2_theoretical_sectors_global`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

EXECUTED = {
    "Instructions Executed": "inst_executed",
    "Thread Instructions Executed": "thread_inst_executed",
    "Predicated-On Thread Instructions Executed": "thread_inst_executed_true",
}


@dataclass(frozen=True, slots=True)
class ProfiledInstruction:
    """A machine instruction: its text, and values by metric name."""

    text: str
    metrics: Mapping[str, float]

    @property
    def opcode(self) -> str:
        return opcode(self.text)


def opcode(text: str) -> str:
    """`LDG.E` of `@!P0 LDG.E R3, [R2] ;`."""
    return re.sub(r"^\s*(@\S+\s+)?", "", text).partition(" ")[0].rstrip(";")


def is_source_page(rows: Sequence[Sequence[str]]) -> bool:
    return any(_is_header(row) for row in rows) and any(row[0] == "Kernel Name" for row in rows)


def _is_header(row: Sequence[str]) -> bool:
    return "Address" in row and "Source" in row and "Line No" not in row


Section = tuple[str, dict[int, ProfiledInstruction]]


def sections(rows: Sequence[Sequence[str]]) -> Iterator[Section]:
    """For each launch the kernel's name and its instructions by their offset from the first. Raises ValueError for rows
    that do not fit their header."""
    kernel: str | None = None
    header: Sequence[str] = ()
    found: dict[int, ProfiledInstruction] = {}
    first = 0
    for row in rows:
        if row[0].startswith("=="):
            continue
        if row[0] == "Kernel Name" and len(row) > 1:
            if kernel is not None:
                yield kernel, found
            kernel, header, found = row[1], (), {}
        elif _is_header(row):
            header = row
        elif kernel is not None and header:
            if len(row) != len(header):
                raise ValueError(f"a row of {kernel} has {len(row)} columns, its header {len(header)}")
            cells = dict(zip(header, row, strict=True))
            address = int(cells["Address"], 16)
            first = first if found else address
            values = ((_metric(column), cell.replace(",", "")) for column, cell in cells.items())
            metrics = {metric: float(cell) for metric, cell in values if metric and re.fullmatch(r"[\d.]+", cell)}
            found[address - first] = ProfiledInstruction(cells["Source"].strip(), metrics)
    if kernel is not None:
        yield kernel, found


def once(found: list[Section]) -> list[Section]:
    """Nsight Compute 2025.3 prints each launch twice in a row: where all are so, one of each."""
    first, second = found[::2], found[1::2]
    return first if first and first == second else found


def _metric(column: str) -> str | None:
    if re.match(r"L[12] ", column):
        return "memory_" + column.lower().replace(" ", "_")
    return EXECUTED.get(column)


def totals(instructions: Mapping[int, ProfiledInstruction]) -> dict[str, float]:
    """Sums over the instructions, by metric."""
    sums: dict[str, float] = defaultdict(float)
    for instruction in instructions.values():
        for metric, value in instruction.metrics.items():
            sums[metric] += value
    return dict(sums)
