"""Golden reports, and what no report may do at any width."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from golden import check
from rich.cells import cell_len
from samples import ALL, PROGRAM, access, gemm, histogram, launch, mixed, result, transposes

from lanewise.records import LaunchRecord, Pattern, Space
from lanewise.report.terminal import print_report, report_text

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ALL)
def test_golden_report(name: str, width: int) -> None:
    check(GOLDEN / f"{name}-{width}.txt", report_text(ALL[name](), width))


@pytest.mark.parametrize("name", [name for name in ALL if name != "hostile"])
@pytest.mark.parametrize("width", [80, 93, 120, 500])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    for line in report_text(ALL[name](), width).splitlines():
        assert cell_len(line) <= width


def test_piped_report_has_no_control_characters_and_no_trailing_blanks() -> None:
    for sample in ALL.values():
        stream = io.StringIO()
        print_report(sample(), file=stream)
        text = stream.getvalue()
        assert all(c == "\n" or c.isprintable() for c in text)
        assert all(line == line.rstrip() for line in text.splitlines())
        assert text == report_text(sample(), 100)


def test_unlike_accesses_of_one_line_are_never_averaged() -> None:
    text = report_text(result((gemm(),)), 120)
    assert "A  f32  524,288 requests  1 sector each   ideal 1  broadcast, 4 copies" in text
    assert "B  f32  524,288 requests  4 sectors each  ideal 4  contiguous, 4 copies" in text
    assert "2.5" not in text


def test_bank_conflict_says_requests_wavefronts_excess_and_lanes() -> None:
    text = report_text(mixed(), 120)
    assert "2 requests  4 wavefronts each  ideal 1  4-way conflict, strided by 16 bytes" in text
    assert (
        "(4-way conflict; strided by 16 bytes; lanes 8 apart meet in one bank). Excess: 6 of this kernel's 8"
        in " ".join(text.split())
    )


def test_the_line_that_hurts_is_marked_and_others_are_not() -> None:
    lines = report_text(transposes(), 120).splitlines()
    marked = [line.split()[:2] for line in lines if line.startswith(" !!")]
    assert marked == [["!!", "4"], ["!!", "store"], ["!!", "12"], ["!!", "load"]]


def test_equal_launches_are_shown_per_launch_and_unequal_ones_summed() -> None:
    alike = report_text(result((gemm(0), gemm(1), gemm(2))), 120)
    assert "gemm_naive  <<<(8,32), (32,8)>>>  x 3" in alike
    assert "3 launches, all alike: every count is of one launch" in alike
    assert "524,288 requests" in alike
    unlike = report_text(result((histogram(0), histogram(1, scale=3))), 120)
    assert "2 launches of one pattern and different amounts: counts are summed" in unlike
    assert "16,384 requests" in unlike


def test_other_shapes_of_a_kernel_are_not_folded() -> None:
    other = replace(gemm(1), block=(16, 16, 1))
    text = report_text(result((gemm(0), other)), 120)
    assert text.count("gemm_naive  <<<") == 2
    assert " x 2" not in text


def test_launches_of_other_patterns_are_not_averaged() -> None:
    """One kernel with stride 2 and stride 32: 8 and 32 sectors a request, not 20."""

    def strided(id: int, stride: int, sectors: int) -> LaunchRecord:
        load = access(PROGRAM, 4, "ld.global.f32", "in", 100, sectors, 4, Pattern.STRIDED, stride=stride)
        return launch(id, "copy_stride(float*, int)", (1, 1, 1), (256, 1, 1), (load,), instructions=1000)

    text = report_text(result((strided(0, 8, 8), strided(1, 128, 32), strided(2, 128, 32))), 120)
    assert "copy_stride  <<<1, 256>>>  launch 0" in text
    assert "copy_stride  <<<1, 256>>>  x 2  from launch 1" in text
    assert "  8 sectors each  ideal 4  strided by 8 bytes" in text
    assert " 32 sectors each  ideal 4  strided by 128 bytes" in text
    assert " 20 sectors" not in text


def test_a_line_with_many_unlike_accesses_shows_the_heaviest() -> None:
    loads = tuple(
        access(PROGRAM, 4, "ld.shared.f32", "t", 100, ways, 1, Pattern.STRIDED, stride=4 * ways, ptx_line=ways)
        for ways in range(1, 21)
    )
    text = report_text(result((launch(0, "k()", (1, 1, 1), (32, 1, 1), loads, instructions=1000),)), 120)
    assert "12 lighter accesses not shown; the JSON has all" in text
    assert "20-way conflict" in text
    assert " 12-way conflict" not in text
    assert "the load of t takes up to 20 wavefronts a request where 1 would do" in " ".join(text.split())


def test_what_no_access_shows_is_said() -> None:
    local = access(PROGRAM, 4, "st.local.b32", None, 1000, 4, 4, Pattern.CONTIGUOUS)
    constant = access(PROGRAM, 4, "ld.const.f32", "coef", 100, 0, 0, Pattern.SCATTERED, space=Space.CONST)
    spilling = launch(0, "spilling()", (1, 1, 1), (256, 1, 1), (local, constant), instructions=4000, lanes=16)
    narrow = launch(1, "narrow()", (1, 1, 1), (8, 1, 1), (), instructions=100, lanes=8)
    text = " ".join(report_text(result((spilling, narrow)), 120).split())
    assert "Local memory takes 4,000 of this kernel's 4,000 sectors (100%)" in text
    assert "the lanes of the load of coef read different constants" in text
    assert "16 of 32 lanes were active, over all instructions: the others sat out" in text
    assert "8 of 32 lanes were active, over all instructions: a block of 8 threads does not fill" in text


def test_the_worst_of_several_kernels_are_listed_last() -> None:
    text = report_text(transposes(), 120)
    listed = text[text.index("Look first at") :].splitlines()[1:3]
    assert listed == [
        "  transpose.cu:4, store to out, in transpose_naive: 3,670,016 sectors too many",
        "  transpose.cu:12, load of t, in transpose_shared: 4,063,232 wavefronts too many",
    ]


def test_a_kernel_in_many_shapes_shows_its_heaviest_and_says_what_it_left_out() -> None:
    shapes = [replace(gemm(i), grid=(i + 1, 1, 1), ptx_instructions=1000 * (i + 1)) for i in range(10)]
    text = report_text(result(tuple(shapes)), 120)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("gemm_naive  <<<")] == [
        "<<<7,",
        "<<<8,",
        "<<<9,",
        "<<<10,",
    ]
    assert "gemm_naive: 6 lighter blocks not shown" in text


def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    print_report(transposes(), file=stream, width=100)
    red = [line for line in stream.getvalue().splitlines() if line.startswith("\x1b[1;31m")]
    assert len(red) == 4


def test_a_launch_that_did_not_end_is_not_praised() -> None:
    done = gemm()
    praise = "Nothing to gain from how lanes lie in memory"
    assert praise in report_text(result((done,)), 120)
    assert praise not in report_text(result((replace(done, completed=False),)), 120)


def test_files_are_called_what_the_user_called_them() -> None:
    def shown(program: str) -> str:
        return report_text(result((replace(gemm(), accesses=(of_file,), lines=()),), program=program), 120)

    of_file = access("/home/me/src/gemm.cu", 3, "ld.global.f32", "A", 8, 4, 4, Pattern.CONTIGUOUS)
    assert "/home/me" not in shown("src/gemm.cu")  # the only file: no need to name it
    assert "\n  src/gemm.cu\n" in shown("main.cu ./src/gemm.cu").replace("./", "")
    assert "\n  /home/me/src/gemm.cu\n" in shown("other.cu")


def test_machine_code_beside_source_and_ptx() -> None:
    first = gemm()
    machine = replace(
        first.accesses[0],
        basis="sass",
        sass="LDG.E.128 R4, desc[UR4][R2.64]",
        sass_offset=0x1F0,
        requests=7,
        sectors=28,
    )
    known = replace(first, accesses=(*first.accesses, machine), instructions=96, thread_instructions=2400)
    text = report_text(result((known,)), 120, show=("sass",))
    assert "instructions: 96 by warps, 2,400 by threads (25 of 32 lanes)" in text
    assert f"0x01f0  {machine.ptx_line:>6} {machine.opcode}  7 x 4 sectors  LDG.E.128 R4, desc[UR4][R2.64]" in text
    assert "7 requests" in text
    assert "counts are exact, of machine instructions" in text
    assert "LDG" not in report_text(result((known,)), 120)
    # What machine instructions are counted for is not shown once more as PTX.
    assert sum("global" in line for line in text.splitlines() if "requests" in line) == 1
    assert "the machine code of this kernel is not known" in report_text(result((first,)), 120, show=("sass",))


def test_copies_without_a_source_line_are_joined() -> None:
    one = replace(gemm().accesses[0], file=None, line=None, inlined_at=None, ptx_line=77)
    other = replace(one, ptx_line=78)
    lines = report_text(
        result((replace(gemm(), accesses=(one, replace(one, sass_offset=16), other), lines=()),)), 120
    ).splitlines()
    assert [line.split(":")[0].strip() for line in lines if "PTX line" in line] == ["PTX line 77", "PTX line 78"]
    assert sum("2 copies" in line for line in lines) == 1
