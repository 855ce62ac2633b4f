"""A warp alone: registers of machine instructions, the register file, waiting for results."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lanewise.model.pipes import Pipe, passes, pipe, registers
from lanewise.model.ports import port_cycles
from lanewise.model.walk import LONG_SCOREBOARD, WAIT, walk
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.listing import SassInstruction

LATENCY = dict.fromkeys(Pipe, 4.0)


def code(*lines: str) -> tuple[SassInstruction, ...]:
    made = []
    for number, line in enumerate(lines):
        predicate, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
        opcode, _, operands = rest.partition(" ")
        made.append(SassInstruction(16 * number, opcode, operands, predicate or None))
    return tuple(made)


@pytest.mark.parametrize(
    ("line", "writes", "reads"),
    [
        ("FFMA R6, R6, R2, R3", ["R6"], ["R6", "R2", "R3"]),
        ("LDG.E.128 R4, desc[UR4][R2.64+0x10]", ["R4", "R5", "R6", "R7"], ["UR4", "R2"]),
        ("STG.E desc[UR4][R6.64], R9", [], ["UR4", "R6", "R9"]),
        ("ISETP.GE.AND P0, PT, R9, UR4, PT", ["P0"], ["R9", "UR4"]),
        ("IMAD.WIDE R2, R9, 0x4, R2", ["R2", "R3"], ["R9", "R2"]),
        ("@!P0 BRA `(.L_x_1)", [], ["P0"]),
        ("LDC.64 R2, c[0x0][0x210]", ["R2", "R3"], []),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64]", [], ["R5", "UR4", "R2"]),
        ("LDSM.16.MT88.4 R16, [R82+0x20]", ["R16", "R17", "R18", "R19"], ["R82"]),
        ("LDSM.16.M88 R16, [R82]", ["R16"], ["R82"]),
    ],
)
def test_registers_of_an_instruction(line: str, writes: list[str], reads: list[str]) -> None:
    found = registers(code(line)[0])
    assert list(found.writes) == writes
    assert list(found.reads) == reads


@pytest.mark.parametrize(
    ("opcode", "unit"),
    [("FFMA", Pipe.FMA), ("IMAD.MOV.U32", Pipe.IMAD), ("LOP3.LUT", Pipe.ALU), ("MUFU.RSQ", Pipe.XU),
     ("LDG.E", Pipe.LSU), ("ULDC", Pipe.UNIFORM), ("BAR.SYNC", Pipe.BARRIER), ("HMMA.16816.F32", Pipe.TENSOR),
     ("F2FP.F16.F32.PACK_AB", Pipe.ALU), ("I2FP.F32.S32", Pipe.ALU), ("F2F.F64.F32", Pipe.CONVERT),
     ("REDUX.SUM", Pipe.XU)],
)  # fmt: skip
def test_the_unit_of_an_opcode(opcode: str, unit: Pipe) -> None:
    assert pipe(code(f"{opcode} R0, R1")[0]) is unit


def test_the_upper_half_of_a_product_goes_twice_through_its_unit() -> None:
    assert [passes(code(f"{name} R0, R1, R2, RZ")[0]) for name in ("IMAD.HI.U32", "IMAD", "IMAD.WIDE.U32")] == [2, 1, 1]
    lines = ["IMAD.HI.U32 R0, R4, R5, RZ", "IMAD.HI.U32 R1, R6, R5, RZ", "IMAD R2, R6, R5, RZ"]
    assert walk([block(0, lines)], [1.0], LATENCY, {}, {Pipe.IMAD: 2.0}).cycles == 4 + 4 + 1


def test_three_registers_take_two_cycles_unless_one_is_kept() -> None:
    assert port_cycles(code("FFMA R6, R6, R2, R3", "FADD R7, R6, R2", "FFMA R6, R6, UR4, R3")) == [2, 1, 1]
    kept = code("FFMA R4, R8, R2.reuse, R4", "FFMA R5, R9, R2.reuse, R5", "FFMA R6, R10, R2, R6")
    assert port_cycles(kept) == [2, 1, 1]


def block(index: int, lines: Sequence[str], before: tuple[int, ...] = ()) -> MachineBlock:
    return MachineBlock(index, "kernel", code(*lines), predecessors=before)


def test_a_chain_waits_for_each_result() -> None:
    found = walk([block(0, ["FADD R0, R0, R1"] * 10)], [1.0], LATENCY, {}, {})
    assert found.cycles == 9 * 4 + 1
    assert found.issued == 10
    assert found.waits[WAIT] == 9 * 3


def test_loads_in_flight_are_waited_for_once() -> None:
    lines = ["LDG.E R0, [R8]", "LDG.E R1, [R9]", "FADD R2, R0, R1"]
    memory = {0: (500.0, LONG_SCOREBOARD), 16: (500.0, LONG_SCOREBOARD)}
    found = walk([block(0, lines)], [1.0], LATENCY, memory, {})
    assert found.cycles == 502
    assert found.waits == {LONG_SCOREBOARD: 499}


def test_asynchronous_copies_are_waited_for_by_groups() -> None:
    """Two groups are under way; the wait leaves the latest one, so it sees the first alone."""
    copy, commit = "LDGSTS.E.BYPASS.128 [R5], [R2.64]", "LDGDEPBAR"
    lines = [copy, commit, copy, commit, "IADD3 R5, R5, R6, RZ", "DEPBAR.LE SB0, 0x1"]
    memory = {0: (500.0, LONG_SCOREBOARD), 32: (900.0, LONG_SCOREBOARD)}
    assert walk([block(0, lines)], [1.0], LATENCY, memory, {}).cycles == 501
    assert walk([block(0, [*lines[:-1], "DEPBAR.LE SB0, 0x0"])], [1.0], LATENCY, memory, {}).cycles == 903
    assert walk([block(0, lines[:-1])], [1.0], LATENCY, memory, {}).cycles == 5


def test_copies_of_the_trip_before_are_waited_for_in_the_next() -> None:
    copies = block(0, ["LDGSTS.E [R5], [R2.64]", "LDGDEPBAR", "BRA `(.L_1)"])
    found = walk(
        [copies, block(1, ["DEPBAR.LE SB0, 0x0"], (0,))], [1.0, 1.0], LATENCY, {0: (300.0, LONG_SCOREBOARD)}, {}
    )
    assert found.cycles == 301


def test_what_a_block_leaves_is_waited_for_in_the_next() -> None:
    blocks = [block(0, ["LDG.E R0, [R8]"]), block(1, ["FADD R1, R0, R0"], (0,))]
    found = walk(blocks, [1.0, 1.0], LATENCY, {0: (100.0, LONG_SCOREBOARD)}, {})
    assert found.cycles == 101


def test_blocks_count_as_often_as_they_run() -> None:
    found = walk([block(0, ["MOV R0, R1"]), block(1, ["MOV R2, R3"], (0,))], [1.0, 7.0], LATENCY, {}, {})
    assert found.issued == 8


def test_a_slow_unit_takes_its_time() -> None:
    lines = [f"MUFU.RSQ R{n}, R20" for n in range(4)]
    assert walk([block(0, lines)], [1.0], LATENCY, {}, {Pipe.XU: 8.0}).cycles == 3 * 8 + 1
