"""The counting rules against what an H200 counted for launches of one warp (`tests/truth/h200_one_warp.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from lanewise.hardware import banks, coalescing
from lanewise.records import AccessKind

ROWS = json.loads((Path(__file__).parents[1] / "truth" / "h200_one_warp.json").read_text())["rows"]
TYPE_BYTES = {"float": 4, "double": 8, "float4": 16, "unsignedchar": 1, "short": 2, "int": 4}
INDEXED_SHARED = ("lds", "sts", "atoms_add", "atoms_ret", "atoms_float")


class Case(NamedTuple):
    kernel: str
    width: int
    offsets: list[int]
    mask: int


def parse(name: str) -> Case:
    head, _, tail = name.partition(":")
    kernel, _, type_name = head.rstrip(">").partition("<")
    mul, div, third, low, high, step = (int(part) for part in tail.replace("(int*)q,", "").split(","))
    width = TYPE_BYTES[type_name or "int"]
    lanes = range(32)
    if kernel in INDEXED_SHARED:
        elements = [lane // div * mul % third for lane in lanes]
    else:
        elements = [lane // div * mul + third for lane in lanes]
    mask = sum(1 << lane for lane in lanes if low <= lane < high and lane % step == 0)
    return Case(kernel, width, [element * width for element in elements], mask)


def rows(*kernels: str, opcode: str) -> list[list[object]]:
    found = [row for row in ROWS if parse(row[0]).kernel in kernels and row[1].startswith(opcode)]
    assert found
    return found


@pytest.mark.parametrize("row", rows("lds", opcode="LDS") + rows("sts", opcode="STS"), ids=lambda row: row[0])
def test_shared_loads_and_stores(row: list) -> None:  # type: ignore[type-arg]
    name, opcode, instructions, threads, wavefronts, ideal = row
    case = parse(name)
    kind = AccessKind.LOAD if opcode.startswith("LDS") else AccessKind.STORE
    assert instructions == 1
    assert case.mask.bit_count() == threads
    assert banks.wavefronts(case.offsets, case.mask, case.width, kind) == wavefronts
    assert banks.wavefronts_ideal(case.offsets, case.mask, case.width, kind) == ideal


@pytest.mark.parametrize("row", rows("atoms_add", "atoms_ret", opcode="ATOMS"), ids=lambda row: row[0])
def test_integer_atomics_on_shared_memory(row: list) -> None:  # type: ignore[type-arg]
    name, _, _, threads, wavefronts, ideal = row
    case = parse(name)
    assert case.mask.bit_count() == threads
    assert banks.wavefronts(case.offsets, case.mask, case.width, AccessKind.ATOMIC) == wavefronts
    assert banks.wavefronts_ideal(case.offsets, case.mask, case.width, AccessKind.ATOMIC) == ideal


@pytest.mark.parametrize("name", sorted({row[0] for row in rows("atoms_float", opcode="ATOMS")}))
def test_float_atomics_on_shared_memory(name: str) -> None:
    case = parse(name)
    loop = banks.compare_and_swap(case.offsets, case.mask, case.width)
    load, swap = (next(row[2:] for row in ROWS if row[0] == name and row[1].startswith(op)) for op in ("LDS", "ATOMS"))
    assert [loop.rounds, loop.threads, loop.load_wavefronts] == load[:3]
    assert [loop.rounds, loop.threads, loop.swap_wavefronts, loop.swap_wavefronts_ideal] == swap


@pytest.mark.parametrize(
    "row",
    rows("ldg", opcode="LDG")
    + rows("stg", opcode="STG")
    + rows("red_int", opcode="REDG")
    + rows("atom_int", opcode="ATOMG"),
    ids=lambda row: row[0],
)
def test_global_accesses(row: list) -> None:  # type: ignore[type-arg]
    name, _, _, threads, sectors, ideal = row
    case = parse(name)
    assert case.mask.bit_count() == threads
    assert coalescing.sectors(case.offsets, case.mask, case.width) == sectors
    assert coalescing.sectors_ideal(case.offsets, case.mask, case.width) == ideal


@pytest.mark.parametrize("row", rows("ldg", opcode="STG") + rows("stg", opcode="LDG"), ids=lambda row: row[0])
def test_the_other_side_of_the_copy_is_contiguous(row: list) -> None:  # type: ignore[type-arg]
    name, _, _, threads, sectors, ideal = row
    case = parse(name)
    offsets = [case.width * lane for lane in range(32)]
    mask = case.mask if case.mask.bit_count() == threads else 0xFFFFFFFF  # `stg` may load with the whole warp
    assert mask.bit_count() == threads
    assert coalescing.sectors(offsets, mask, case.width) == sectors
    assert coalescing.sectors_ideal(offsets, mask, case.width) == ideal
