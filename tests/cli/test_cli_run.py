"""`lanewise run`: how the command line becomes a request, and what comes out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import CommandLine

from lanewise.errors import (
    CompileError,
    EnvironmentProblem,
    ExitCode,
    KernelFault,
    LimitReached,
    PtxSyntaxError,
    UnsupportedCode,
    UsageError,
)
from lanewise.records import Finding, Severity, SourceLine, Unsupported
from lanewise.request import RunRequest
from lanewise.version import __version__

PROGRAM = (Path("program.cu"),)


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("program.cu", RunRequest(PROGRAM)),
        ("a.out -- 1024 16", RunRequest((Path("a.out"),), arguments=("1024", "16"))),
        ("program.cu -- -O3 --json x -- --help", RunRequest(PROGRAM, arguments=("-O3", "--json", "x", "--", "--help"))),
        ("-I include -DN=4 -O3 program.cu kernel.cu -- args",
         RunRequest((*PROGRAM, Path("kernel.cu")), ("-I", "include", "-DN=4", "-O3"), ("args",))),
        ("program.cu part.o -Iinclude -L . -lm -std=c++17 -rdc=true -G --extended-lambda",
         RunRequest((*PROGRAM, Path("part.o")),
                    ("-Iinclude", "-L", ".", "-lm", "-std=c++17", "-rdc=true", "-G", "--extended-lambda"))),
        ("-Xcompiler -Wall -Xcompiler=-fopenmp -arch=sm_80 -gencode arch=compute_80,code=sm_80 program.cu",
         RunRequest(PROGRAM, ("-Xcompiler", "-Wall", "-Xcompiler=-fopenmp", "-arch=sm_80",
                              "-gencode", "arch=compute_80,code=sm_80"))),
        ("-D KERNEL=x -x cu program.cu", RunRequest(PROGRAM, ("-D", "KERNEL=x", "-x", "cu"))),
        ("--device rtx4090 --arch sm_89 --kernel gemm* --launches 3 --deterministic program.cu",
         RunRequest(PROGRAM, device="rtx4090", arch="sm_89", kernel="gemm*", launches=3, deterministic=True)),
        ("program.cu --max-instructions 1000000 --max-seconds 2.5",
         RunRequest(PROGRAM, max_instructions=1_000_000, max_seconds=2.5)),
        ("--device=t4 program.cu -lineinfo --use_fast_math",
         RunRequest(PROGRAM, ("-lineinfo", "--use_fast_math"), device="t4")),
    ],
)  # fmt: skip
def test_the_command_line_becomes_a_request(lanewise: CommandLine, words: str, request_: RunRequest) -> None:
    assert lanewise("run", *words.split()).status == 0
    assert lanewise.requests == [request_]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "no program to run"),
        ("-O3", "no program to run"),
        ("missing.cu", "missing.cu is no file"),
        ("a.out 1024", "1024 is no file"),
        (".", ". is a directory"),
        ("program.cu -I", "-I needs a value"),
        ("program.cu --json nowhere/out.json", "cannot write nowhere/out.json: there is no directory nowhere"),
        ("program.cu --json .", "cannot write .: it is a directory"),
        ("program.cu --html nowhere/out.html", "cannot write nowhere/out.html: there is no directory nowhere"),
        ("program.cu --html .", "cannot write .: it is a directory"),
        ("program.cu --html a.out", "a.out exists already"),
        ("program.cu --json a.out", "a.out exists already"),
        ("program.cu --json a.x --html a.x", "a.x is named for two reports"),
        ("program.cu --launches 0", "launches"),
        ("program.cu --max-seconds soon", "max-seconds"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(lanewise: CommandLine, words: str, says: str) -> None:
    outcome = lanewise("run", *words.split())
    assert outcome.status == ExitCode.USAGE
    assert says in outcome.err
    assert outcome.out == ""
    assert lanewise.requests == []


def test_the_report_goes_to_standard_output_and_json_to_its_file(lanewise: CommandLine) -> None:
    outcome = lanewise("run", "program.cu", "--json", "out.json")
    assert outcome.out.startswith("\n-- Lanewise: program.cu, run on the CPU, counted for h200 (sm_90)")
    assert "No launch to report; the program exited with 0." in outcome.out
    assert outcome.err == ""
    assert json.loads(Path("out.json").read_text())["program"] == "program.cu"


def test_the_page_goes_to_its_file_and_is_written_over_only_when_told_to(lanewise: CommandLine) -> None:
    assert lanewise("run", "program.cu", "--quiet", "--html", "out.html").status == 0
    page = Path("out.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    Path("out.html").write_text("mine")
    assert lanewise("run", "program.cu", "--quiet", "--html", "out.html").status == ExitCode.USAGE
    assert Path("out.html").read_text() == "mine"
    assert lanewise("run", "program.cu", "--quiet", "--force", "--html", "out.html").status == 0
    assert Path("out.html").read_text() == page


def test_a_report_of_earlier_is_shown_from_its_json(lanewise: CommandLine) -> None:
    shown = lanewise("run", "program.cu", "--json", "out.json").out
    assert lanewise("show", "out.json").out == shown
    assert lanewise("show", "out.json", "--html", "out.html").out == ""
    assert Path("out.html").read_text().startswith("<!DOCTYPE html>")
    assert "out.html exists already" in lanewise("show", "out.json", "--html", "out.html").err
    assert "cannot read none.json" in lanewise("show", "none.json").err
    assert "out.html is not JSON" in lanewise("show", "out.html").err


@pytest.mark.parametrize("option", ["--quiet", "--no-report"])
def test_a_quiet_run_prints_nothing_and_still_writes_json(lanewise: CommandLine, option: str) -> None:
    outcome = lanewise("run", option, "program.cu", "--json", "out.json")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert Path("out.json").exists()


def test_a_failed_run_prints_the_compilers_message_alone_and_leaves_no_json(lanewise: CommandLine) -> None:
    lanewise.error = CompileError("program.cu does not compile", "program.cu(1): error: expected a ';'\n")
    outcome = lanewise("run", "program.cu", "--json", "out.json")
    assert outcome.status == ExitCode.COMPILE
    assert (outcome.out, outcome.err) == ("", "program.cu(1): error: expected a ';'\n")
    assert not Path("out.json").exists()


def test_the_programs_exit_code_is_ours(lanewise: CommandLine) -> None:
    lanewise.result = replace(lanewise.result, exit_code=3)
    assert lanewise("run", "program.cu").status == 3


FAULT = Finding("bounds", Severity.ERROR, "store past the end", "k(int*)", SourceLine("k.cu", 4), next_step="Check i.")
WMMA = Unsupported("wmma.mma", "tensor cores are not supported", "gemm(half*)", 203, SourceLine("k.cu", 8))


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (UsageError("unknown device h300", next_step="See `lanewise devices`."), 2, ["lanewise: unknown device h300"]),
        (EnvironmentProblem("no host compiler", next_step="Install g++."), 83, ["no host compiler", "next: Install g"]),
        (LimitReached("2 s are over", next_step="Raise --max-seconds."), 84, ["2 s are over", "Raise --max-seconds"]),
        (PtxSyntaxError("not an operand", 3, 9), 86, ["PTX line 3, column 9: not an operand"]),
        (UnsupportedCode("1 thing is unsupported", [WMMA]), 82, ["1 thing", "wmma.mma", "k.cu:8, PTX line 203"]),
        (KernelFault(FAULT), 80, ["error [bounds]: store past the end", "kernel k, k.cu:4", "Check i."]),
    ],
)
def test_errors_are_one_message_and_an_exit_code(
    lanewise: CommandLine, error: BaseException, status: int, says: list[str]
) -> None:
    lanewise.error = error
    outcome = lanewise("run", "program.cu")
    assert outcome.status == status
    assert outcome.out == ""
    for part in says:
        assert part in outcome.err
    assert "Traceback" not in outcome.err


def test_a_bug_is_short_and_shows_its_traceback_on_request(lanewise: CommandLine) -> None:
    lanewise.error = ZeroDivisionError("division by zero")
    short = lanewise("run", "program.cu")
    assert short.status == ExitCode.INTERNAL
    assert "this is a bug in Lanewise" in short.err
    assert "ZeroDivisionError: division by zero" in short.err
    assert "Traceback" not in short.err
    long = lanewise("--debug", "run", "program.cu")
    assert long.status == ExitCode.INTERNAL
    assert "Traceback" in long.err


def test_debug_behind_the_command_is_nvccs(lanewise: CommandLine) -> None:
    lanewise("run", "--debug", "program.cu")
    assert lanewise.requests[0].flags == ("--debug",)


def test_ctrl_c_is_130(lanewise: CommandLine) -> None:
    lanewise.error = KeyboardInterrupt()
    assert lanewise("run", "program.cu").status == 130


def test_version_and_help(lanewise: CommandLine) -> None:
    assert lanewise("--version").out == f"lanewise {__version__}\n"
    text = lanewise("run", "--help")
    assert text.status == 0
    for option in ("--json", "--device", "--arch", "--kernel", "--launches", "--deterministic", "--show", "--quiet"):
        assert option in text.out


def test_what_is_reported() -> None:
    plain = RunRequest(PROGRAM)
    assert plain.reports("gemm(float*)", 1000)
    named = RunRequest(PROGRAM, kernel="gemm", launches=2)
    assert named.reports("void gemm_tiled<32>(float*)", 1)
    assert not named.reports("void gemm_tiled<32>(float*)", 2)
    assert not named.reports("scan(float*)", 0)
    shaped = RunRequest(PROGRAM, kernel="gemm_*")
    assert shaped.reports("void gemm_tiled<32>(float*)", 0)
    assert not shaped.reports("batched_gemm_tiled(float*)", 0)
