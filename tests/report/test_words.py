"""The words and numbers of a report, one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from samples import access

from lanewise.catalogue import catalogue
from lanewise.records import Access, Pattern, SourceLine, Space
from lanewise.report import text
from lanewise.report.excerpt import place
from lanewise.report.judge import (
    Weight,
    access_weight,
    bank_words,
    conflict_words,
    lane_words,
    pattern_words,
    type_words,
)

ENGLISH = catalogue()


def shared(per_request: float, ideal: float, *, stride: int | None = None, opcode: str = "ld.shared.f32") -> Access:
    return access("a.cu", 1, opcode, "t", 10, per_request, ideal, Pattern.STRIDED, stride=stride)


def of_global(per_request: float, ideal: float) -> Access:
    return access("a.cu", 1, "ld.global.f32", "a", 100, per_request, ideal, Pattern.SCATTERED)


@pytest.mark.parametrize(
    ("total", "requests", "words"),
    [(128, 32, "4"), (9, 2, "4.5"), (1, 3, "0.33"), (3999, 1000, "~4"), (1, 1000, "<0.01"), (0, 5, "0"), (5, 0, "-")],
)
def test_a_count_per_request_never_claims_a_whole_number_that_it_is_not(total: int, requests: int, words: str) -> None:
    assert text.per(total, requests) == words


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [(1, 4, "25%"), (1, 10_000, "<1%"), (9_999, 10_000, ">99%"), (0, 5, "0%"), (5, 5, "100%"), (0, 0, "0%")],
)
def test_percent_is_0_or_100_only_where_it_is(part: int, whole: int, words: str) -> None:
    assert text.percent(part, whole) == words


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("gemm", "gemm"),
        ("gemm(float const*, int)", "gemm"),
        ("void gemm<32, float>(float*)", "gemm<32, float>"),
        ("void k<void (*)(int)>(void (*)(int))", "k<void (*)(int)>"),
        ("(anonymous namespace)::k(int*)", "(anonymous namespace)::k"),
        ("void k<main::{lambda(int)#1}>(main::{lambda(int)#1})", "k<main::{lambda(int)#1}>"),
    ],
)
def test_kernel_names_lose_their_parameters(demangled: str, name: str) -> None:
    assert text.kernel_name(demangled) == name


def test_a_note_of_several_lines_keeps_them() -> None:
    assert text.note_lines("one: warning\n\n  int unused;\n", 80, "note: ") == ["note: one: warning", "    int unused;"]
    assert text.note_lines("all in one", 80, "note: ") == ["note: all in one"]
    assert text.note_lines("a\x1bb", 80, "note: ") == ["note: a\\x1bb"]


def test_long_names_lose_their_template_arguments_first() -> None:
    assert text.shorten("reduce<Policy<int, 4>, Sum>", 30) == "reduce<Policy<int, 4>, Sum>"
    assert text.shorten("reduce<Policy<int, 4>, Sum>", 25) == "reduce<Policy<..>, Sum>"
    assert text.shorten("reduce<Policy<int, 4>, Sum>", 12) == "reduce<..>"
    assert text.shorten("reduce<Policy<int, 4>, Sum>", 8) == "reduc..."


def test_a_variable_is_called_without_its_function() -> None:
    assert text.variable_name("k(float const*, int)::tile") == "tile"
    assert text.variable_name("block_sum<Larger>(float, Larger)::part") == "part"
    assert text.variable_name("lib::table") == "lib::table"
    assert text.variable_name("(spill)") == "(spill)"


def test_a_path_loses_its_first_folders() -> None:
    assert text.cut_path("a/b/c.cu", 8) == "a/b/c.cu"
    assert text.cut_path("/usr/include/deep/c.hpp", 15) == ".../deep/c.hpp"
    assert text.cut_path("/usr/a_very_long_name.hpp", 10) == ".../a_very_long_name.hpp"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (0.05871, "0.0587"), (1.756, "1.76"), (38, "38.0"), (999.6, "1,000"), (2_100_400, "2,100,000")],
)
def test_three_digits_without_powers_of_ten(value: float, words: str) -> None:
    assert text.significant(value) == words


def test_bytes_that_round_to_the_next_unit_are_given_in_it() -> None:
    assert text.size((1 << 20) - 16) == "1 MB"
    assert text.size(1023 << 10) == "1023 KB"
    assert text.size(1000) == "1000 B"


@given(st.text(), st.integers(10, 200))
def test_any_name_is_made_harmless_and_fits(name: str, width: int) -> None:
    shown = text.shorten(text.kernel_name(name), width)
    assert cell_len(shown) <= width
    assert all(letter.isprintable() for letter in shown)


@pytest.mark.parametrize(
    ("opcode", "width", "words"),
    [
        ("ld.global.nc.f32", 32, "f32"),
        ("ld.global.v4.f32", 128, "4 x f32"),
        ("st.global.v2.b64", 128, "2 x 64-bit"),
        ("ld.shared.b32", 32, "32-bit"),
        ("ld.shared::cta.u8", 8, "u8"),
        ("atom.global.add.noftz.f16x2", 32, "f16x2"),
        ("red.relaxed.sys.global.add.s64", 64, "s64"),
        ("red.global.add.noftz.bf16", 16, "bf16"),
        ("atom.shared.cas.b128", 128, "128-bit"),
    ],
)
def test_types_are_named_as_ptx_names_them(opcode: str, width: int, words: str) -> None:
    assert type_words(replace(of_global(4, 4), opcode=opcode, width_bits=width), ENGLISH) == words


def test_machine_code_may_move_more_values_at_once() -> None:
    joined = replace(of_global(4, 4), opcode="ld.shared.f32", width_bits=128, basis="sass")
    assert type_words(joined, ENGLISH) == "4 x f32"
    assert type_words(replace(joined, opcode="ld.shared.v2.f16x2"), ENGLISH) == "4 x f16x2"
    assert type_words(replace(joined, width_bits=32), ENGLISH) == "f32"
    assert type_words(replace(joined, opcode="ld.shared.b32"), ENGLISH) == "128-bit"


def test_conflicts_are_wavefronts_over_ideal() -> None:
    assert conflict_words(shared(32, 1), ENGLISH) == "32-way conflict"
    assert conflict_words(shared(3.4, 1), ENGLISH) == "3.4-way conflict"
    assert conflict_words(shared(8, 4, opcode="ld.shared.v4.f32"), ENGLISH) == "2-way conflict"
    assert conflict_words(shared(4, 4, opcode="ld.shared.v4.f32"), ENGLISH) == ""
    assert conflict_words(of_global(32, 4), ENGLISH) == ""


def test_banks_are_explained_where_the_stride_alone_decides_them() -> None:
    assert bank_words(shared(4, 1, stride=16), ENGLISH) == "lanes 8 apart meet in one bank"
    assert bank_words(shared(32, 1, stride=128), ENGLISH) == "all 32 lanes meet in one bank"
    assert bank_words(shared(2, 1, stride=-8), ENGLISH) == "lanes 16 apart meet in one bank"
    assert bank_words(shared(1, 1, stride=132), ENGLISH) == ""
    assert bank_words(shared(3, 1, stride=16), ENGLISH) == ""  # not what the stride alone would give
    assert bank_words(shared(2, 1), ENGLISH) == ""


def test_patterns_in_words() -> None:
    scattered = of_global(32, 4)
    assert pattern_words(scattered, ENGLISH) == "scattered"
    assert (
        pattern_words(replace(scattered, pattern=Pattern.STRIDED, stride_bytes=8192), ENGLISH)
        == "strided by 8,192 bytes"
    )
    assert pattern_words(replace(scattered, pattern=Pattern.STRIDED), ENGLISH) == "strided"
    assert pattern_words(replace(scattered, pattern=None), ENGLISH) == ""
    assert pattern_words(replace(of_global(4, 4), pattern=Pattern.CONTIGUOUS), ENGLISH) == "contiguous"
    assert (
        pattern_words(replace(of_global(5, 4), pattern=Pattern.CONTIGUOUS), ENGLISH)
        == "contiguous, off sector boundaries"
    )


def test_lanes_are_said_where_a_quarter_is_idle() -> None:
    assert lane_words(replace(of_global(1, 1), threads_on=100), ENGLISH) == "1 of 32 lanes"
    assert lane_words(replace(of_global(1, 1), threads_on=2400), ENGLISH) == "24 of 32 lanes"
    assert lane_words(replace(of_global(1, 1), threads_on=2500), ENGLISH) == ""


@pytest.mark.parametrize(
    ("per_request", "ideal", "kernel_total", "weight"),
    [
        (4, 4, 400, Weight.FINE),
        (4.3, 4, 430, Weight.FINE),
        (5, 4, 500, Weight.POOR),
        (8, 4, 800, Weight.BAD),
        (8, 4, 1_000_000, Weight.POOR),
        (5, 0, 500, Weight.BAD),
    ],
)
def test_weight(per_request: float, ideal: float, kernel_total: int, weight: Weight) -> None:
    measured = of_global(per_request, ideal)
    excess = (measured.sectors or 0) - (measured.sectors_ideal or 0)
    assert access_weight(measured, excess, kernel_total) is weight


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        (Pattern.BROADCAST, Weight.FINE),
        (None, Weight.FINE),
        (Pattern.SCATTERED, Weight.BAD),
        (Pattern.STRIDED, Weight.BAD),
    ],
)
def test_constant_memory_serves_one_address_at_a_time(pattern: Pattern | None, weight: Weight) -> None:
    constant = access("a.cu", 1, "ld.const.f32", "coef", 100, 0, 0, pattern, space=Space.CONST)
    assert access_weight(constant, 0, 0) is weight


def test_an_access_stands_at_the_users_line() -> None:
    kernel = SourceLine("k.cu", 20)
    helper = SourceLine("k.cu", 5, inlined_at=kernel)
    here = replace(of_global(4, 4), file="k.cu", line=7)

    def shown(**change: object) -> tuple[str | None, int | None, str]:
        at = place(replace(here, **change))  # type: ignore[arg-type]
        return at.file, at.line, "" if at.via is None else ENGLISH.said(at.via)

    assert shown() == ("k.cu", 7, "")
    assert shown(inlined_at=kernel) == ("k.cu", 7, "via line 20")
    assert shown(file="/usr/include/atomic.hpp", inlined_at=kernel) == ("k.cu", 20, "in atomic.hpp:7")
    assert shown(file="/usr/include/atomic.hpp", inlined_at=helper) == ("k.cu", 5, "in atomic.hpp:7")
    assert shown(file=None, line=None) == (None, None, "")


def test_runs_that_share_banks_are_not_called_contiguous() -> None:
    row = access("a.cu", 1, "st.shared.f32", "t", 10, 4, 1, Pattern.CONTIGUOUS)
    assert pattern_words(row, ENGLISH) == "contiguous runs"
    assert pattern_words(access("a.cu", 1, "st.shared.f32", "t", 10, 1, 1, Pattern.CONTIGUOUS), ENGLISH) == "contiguous"


def test_lanes_that_are_off_are_not_called_a_matter_of_sector_boundaries() -> None:
    whole = access("a.cu", 1, "ld.global.f32", "a", 10, 5, 4, Pattern.CONTIGUOUS)
    assert pattern_words(whole, ENGLISH) == "contiguous, off sector boundaries"
    assert pattern_words(replace(whole, threads_on=160), ENGLISH) == "contiguous"
