"""Executions of machine blocks, from small listings written by hand."""

from __future__ import annotations

from lanewise.sass import blocks, executions, listing
from lanewise.sass.executions import Basis, LoopArrival

HEAD = '\t.section\t.text.k,"ax",@progbits\n        .type k,@function\nk:\n'


def code(*rows: str | tuple[int, str]) -> list[blocks.MachineBlock]:
    """Labels as they are, instructions as (PTX line, text)."""
    text, offset = HEAD, 0
    for row in rows:
        if isinstance(row, str):
            text += f"{row}:\n"
        else:
            text += f'\t//## File ".nv_debug_ptx_txt", line {row[0]}\n        /*{offset:04x}*/ {row[1]} ;\n'
            offset += 16
    return blocks.build(listing.parse(text)["k"])


LOOP = code(
    (1, "S2R R0, SR_TID.X"),
    (2, "@P0 BRA `(.L_x_2)"),
    (10, "IMAD R5, R0, R1, R2"),  # taken out of the loop
    (10, "IADD3 R6, R5, R1, RZ"),
    ".L_x_1",
    (11, "LDG.E R2, desc[UR4][R2.64]"),
    (12, "@P1 BRA `(.L_x_1)"),
    ".L_x_2",
    (20, "EXIT"),
)


def test_what_was_taken_out_of_a_loop_says_nothing_of_its_block() -> None:
    lines = {("", 1): (4, 128), ("", 10): (40, 900), ("", 11): (40, 900)}
    depths = {("", 10): 1, ("", 11): 1}
    found = executions.solve(LOOP, lines, (4, 128), depths=depths).blocks
    assert [(e.warps, e.threads) for e in found][0::2] == [(4, 128), (40, 900)]
    assert (found[3].warps, found[3].threads) == (4, 128)  # as many leave as came
    assert (found[1].warps, found[1].threads) == (4, 128)  # at most what came by, not 900


def test_threads_that_came_to_a_loop_settle_the_block_before_it() -> None:
    lines = {("", 1): (4, 128), ("", 11): (40, 900)}
    arrivals = [LoopArrival(head=2, loop=1 << 2, threads=96)]
    solution = executions.solve(LOOP, lines, (4, 128), arrivals=arrivals)
    assert solution.blocks[1].threads == 96
    assert solution.edges[0, 3] == 32
    assert solution.edges[2, 2] == 900 - 96
    assert solution.blocks[1].basis == Basis.EDGES


def test_a_block_between_whole_warps_is_entered_whole() -> None:
    found = executions.solve(
        code((1, "S2R R0, SR_TID.X"), "L", (2, "MOV R1, R0"), "M", (3, "STG.E desc[UR4][R2.64], R1"), (4, "EXIT")),
        {("", 3): (7, 200)},
        (7, 200),
    ).blocks
    assert [(e.warps, e.threads) for e in found] == [(7, 200)] * 3


def test_second_copies_for_split_warps_do_not_run() -> None:
    found = code(
        (1, "BRA.DIV UR4, `(.L_x_2)"),
        (2, "SHFL.DOWN PT, R2, R3, 0x1, 0x1f"),
        ".L_x_1",
        (3, "EXIT"),
        ".L_x_2",
        (2, "SHFL.DOWN PT, R2, R3, R4, R5"),
        (2, "BRA `(.L_x_1)"),
    )
    assert [b.cold for b in found] == [False, False, False, True]
    solved = executions.solve(found, {("", 2): (5, 150)}, (5, 150)).blocks
    assert [(e.warps, e.threads) for e in solved] == [(5, 150)] * 3 + [(0, 0)]


def test_a_call_to_a_label_of_the_function_is_a_jump() -> None:
    """As ptxas leaves a loop on sm_80 (`@P0 CALL.REL.NOINC`): what comes after the loop is executed."""
    found = code(
        (1, "MOV R2, RZ"),
        ".L_x_1",
        (2, "LDG.E R1, [R2]"),
        (3, "ISETP.GE.AND P0, PT, R2, R3, PT"),
        (3, "@P0 CALL.REL.NOINC `(.L_x_2)"),
        (3, "BRA `(.L_x_1)"),
        ".L_x_2",
        (4, "STG.E desc[UR4][R2.64], R1"),
        (5, "EXIT"),
    )
    assert not any(block.calls for block in found)
    solved = executions.solve(found, {("", 2): (30, 960), ("", 3): (30, 960), ("", 4): (3, 96)}, (3, 96)).blocks
    assert [(e.warps, e.threads) for e in solved] == [(3, 96), (30, 960), (27, 864), (3, 96)]


def test_a_slow_path_that_can_be_gone_round_is_taken_as_never_run() -> None:
    found = code(
        (1, "FCHK P0, R0, R7"),
        (1, "@!P0 BRA `(.L_x_3)"),
        (1, "CALL.REL.NOINC `($slow)"),
        ".L_x_3",
        (2, "STG.E desc[UR4][R2.64], R1"),
        (3, "EXIT"),
    )
    calling = next(b for b in found if b.calls)
    solved = executions.solve(found, {("", 1): (3, 96), ("", 2): (3, 96)}, (3, 96)).blocks
    assert (solved[calling.index].warps, solved[calling.index].threads) == (0, 0)
