"""Golden reports, and what no report may do at any width."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from golden import check
from rich.cells import cell_len
from samples import ALL, gemm, histogram, mixed, result, transposes

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
    assert "(strided by 16 bytes; lanes 8 apart meet in one bank). Excess: 6 of this kernel's 8" in " ".join(
        text.split()
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
    assert "2 launches that differ: every count is the sum of all" in unlike
    assert "16,384 requests" in unlike


def test_other_shapes_of_a_kernel_are_not_folded() -> None:
    other = replace(gemm(1), block=(16, 16, 1))
    text = report_text(result((gemm(0), other)), 120)
    assert text.count("gemm_naive  <<<") == 2
    assert " x 2" not in text


def test_a_kernel_in_many_shapes_shows_its_heaviest_and_says_what_it_left_out() -> None:
    shapes = [replace(gemm(i), grid=(i + 1, 1, 1), ptx_instructions=1000 * (i + 1)) for i in range(10)]
    text = report_text(result(tuple(shapes)), 120)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("gemm_naive  <<<")] == [
        "<<<7,",
        "<<<8,",
        "<<<9,",
        "<<<10,",
    ]
    assert "gemm_naive: 6 lighter shapes not shown" in text


def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    print_report(transposes(), file=stream, width=100)
    red = [line for line in stream.getvalue().splitlines() if line.startswith("\x1b[1;31m")]
    assert len(red) == 4
