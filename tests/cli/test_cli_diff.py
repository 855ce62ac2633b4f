"""`lanewise diff`: what it prints, writes and returns, and what it refuses with one message."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import CommandLine

from lanewise.errors import ExitCode
from lanewise.records import Access, AccessKind, KernelResources, LaunchRecord, Pattern, RunResult, Space
from lanewise.report.json import to_json

LOAD = Access(
    "ptx", "/me/k.cu", 2, None, 40, "ld.shared.f32", Space.SHARED, AccessKind.LOAD, 32, 10, 320, 320, None, None,
    10, 10, Pattern.CONTIGUOUS,
)  # fmt: skip
LAUNCH = LaunchRecord(
    0, "k(float*)", "k", (4, 1, 1), (32, 1, 1), 0, KernelResources(16, 0, 0), None, "h200", 0, 50, 1600, (LOAD,),
    time_us=4.0,
)  # fmt: skip
BEFORE = RunResult("k.cu", "h200", "sm_90", 0, (LAUNCH,), {"/me/k.cu": "void k() {\n  use(t[i]);\n}\n"})
SLOWER = replace(LAUNCH, time_us=5.0, accesses=(replace(LOAD, line=3, wavefronts=40),))
AFTER = replace(BEFORE, launches=(SLOWER,), sources={"/me/k.cu": "// new\nvoid k() {\n  use(t[i]);\n}\n"})


@pytest.fixture
def reports(lanewise: CommandLine, tmp_path: Path) -> CommandLine:
    for name, run in (("before", BEFORE), ("after", AFTER)):
        (tmp_path / f"{name}.json").write_text(to_json(run))
    return lanewise


def test_values_by_kernel_and_line(reports: CommandLine) -> None:
    outcome = reports("diff", "before.json", "after.json")
    assert (outcome.status, outcome.err) == (0, "")
    rows = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert rows == [
        "k <<<4, 32>>> 1 launch",
        "value before after change",
        "time 4 5 +25.0 % worse us, modelled",
        "wavefronts 10 40 +300 % worse of shared memory",
        "wavefronts excess 0 30 worse over the ideal",
        "k.cu:3 (was 2) use(t[i]);",
        "wavefronts 10 40 +300 % worse",
        "wavefronts excess 0 30 worse",
        "",
        "1 kernel compared, 0 without a difference.",
    ]
    same = reports("diff", "before.json", "before.json", "--fail-on", "any")
    assert same.status == 0
    assert same.out.splitlines() == ["1 kernel compared, 1 without a difference.", "  k  <<<4, 32>>>  1 launch"]


@pytest.mark.parametrize(
    ("criterion", "status"),
    [("time:5%", 89), ("time:25%", 0), ("wavefronts", 89), ("any", 89), ("registers", 0), ("findings", 0)],
)
def test_exit_code_for_scripts(reports: CommandLine, criterion: str, status: int) -> None:
    outcome = reports("diff", "--fail-on", criterion, "before.json", "after.json")
    assert outcome.status == status
    assert ("--fail-on: k: " in outcome.out) == (status == ExitCode.WORSE)
    assert reports("diff", "--fail-on", criterion, "after.json", "before.json").status == 0


def test_in_chinese_with_the_same_numbers_and_the_same_json(reports: CommandLine, tmp_path: Path) -> None:
    command = ("diff", "--fail-on", "wavefronts", "before.json", "after.json")
    english = reports(*command, "--json", "en.json")
    chinese = reports(*command, "--lang", "zh", "--json", "zh.json")
    chinese_numbers, numbers = (Counter(re.findall(r"\d[\d,.]*\d|\d", out)) for out in (chinese.out, english.out))
    assert chinese_numbers == numbers
    assert "波前" in chinese.out
    assert not {"wavefronts", "worse", "value", "before", "kernel"} & set(re.findall(r"[a-z]+", chinese.out))
    assert (tmp_path / "zh.json").read_text() == (tmp_path / "en.json").read_text()


def test_json_is_written_over_with_force_only(reports: CommandLine, tmp_path: Path) -> None:
    words = ("diff", "before.json", "after.json", "--json", "out.json", "--fail-on", "wavefronts")
    assert reports(*words).status == ExitCode.WORSE
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["kernels"][0]["values"]["wavefronts"] == [10, 40]
    assert written["kernels"][0]["lines"][0]["before"] == 2
    assert written["worse"] == ["k: wavefronts 300 % worse"]
    (tmp_path / "out.json").write_text("mine")
    refused = reports(*words)
    assert refused.status == ExitCode.USAGE
    assert "out.json exists already" in refused.err
    assert (tmp_path / "out.json").read_text() == "mine"
    assert reports(*words, "--force").status == ExitCode.WORSE
    assert (tmp_path / "out.json").read_text() != "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read other.json"),
        ("{", "other.json is not JSON"),
        ("[]", "other.json is not a report of Lanewise"),
        (to_json(BEFORE).replace('"schema": 1', '"schema": 0'), "other.json has schema 0"),
        (to_json(BEFORE).replace('"k(float*)"', "7"), "other.json is not as schema 1 says"),
        (to_json(BEFORE).replace("k(float*)", "another(int)"), "the reports have no kernel in common"),
    ],
)
def test_one_message_for_what_cannot_be_compared(
    reports: CommandLine, tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "other.json").write_text(content)
    outcome = reports("diff", "before.json", "other.json", "--json", "out.json")
    assert (outcome.status, outcome.out) == (ExitCode.USAGE, "")
    assert message in " ".join(outcome.err.split())
    assert outcome.err.count("lanewise: ") == 1
    assert not (tmp_path / "out.json").exists()


def test_a_wrong_criterion_and_a_path_that_cannot_be_written(reports: CommandLine) -> None:
    wrong = reports("diff", "before.json", "after.json", "--fail-on", "speed")
    assert wrong.status == ExitCode.USAGE
    assert "--fail-on speed is no criterion" in wrong.err
    nowhere = reports("diff", "before.json", "after.json", "--json", "no/such/out.json")
    assert nowhere.status == ExitCode.USAGE
    assert "there is no directory no/such" in nowhere.err
