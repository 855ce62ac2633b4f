"""Exit codes: every one documented, and what `run` returns for which result."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.cli.exit_codes import MEANINGS, exit_status, page
from lanewise.errors import ExitCode
from lanewise.records import Finding, LaunchRecord, RunResult, Severity, Unsupported

PAGE = Path(__file__).parents[2] / "docs" / "exit-codes.md"
PLAIN = RunResult("a.cu", "h200", "sm_90", 0, (), {})
FAULT = Finding("bounds", Severity.ERROR, "out of bounds")
LIMIT = Finding("limit", Severity.ERROR, "too many instructions")
ADVICE = Finding("padding", Severity.WARNING, "bank conflicts")
TEXTURE = Unsupported("tex.2d", "textures", None, None, None)
LAUNCH = LaunchRecord(0, "k", "k", (1, 1, 1), (1, 1, 1), 0, None, None, "h200", 0, 0, 0)


def test_every_exit_code_has_a_meaning_and_is_out_of_a_shells_way() -> None:
    assert list(MEANINGS) == list(ExitCode)
    assert not any(126 <= code <= 165 for code in ExitCode)


def test_the_page_is_up_to_date() -> None:
    if os.environ.get("LANEWISE_UPDATE_GOLDEN") == "1":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make golden`"


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (PLAIN, 0),
        (replace(PLAIN, exit_code=3), 3),
        (replace(PLAIN, exit_code=-11), 139),
        (replace(PLAIN, findings=(ADVICE,)), 0),
        (replace(PLAIN, findings=(FAULT,)), ExitCode.FAULT),
        (replace(PLAIN, launches=(replace(LAUNCH, findings=(FAULT,)),)), ExitCode.FAULT),
        (replace(PLAIN, findings=(FAULT,), exit_code=7), 7),
        (replace(PLAIN, launches=(replace(LAUNCH, findings=(LIMIT,)),), exit_code=1), ExitCode.LIMIT),
        (replace(PLAIN, unsupported=(TEXTURE,), exit_code=1), ExitCode.UNSUPPORTED),
        (replace(PLAIN, unsupported=(TEXTURE,), exit_code=None), ExitCode.UNSUPPORTED),
        (replace(PLAIN, exit_code=None), ExitCode.INTERNAL),
    ],
)
def test_exit_status_of_run(result: RunResult, status: int) -> None:
    assert exit_status(result) == status
