"""Programs that are broken on purpose: the program sees the card's error, the report says what is wrong and where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from example_runs import EXAMPLES, Command

from lanewise.errors import ExitCode

SEGMENTATION_FAULT = 128 + 11
ILLEGAL = "an illegal memory access was encountered"


@dataclass(frozen=True)
class Case:
    """`check` is the finding's, `at` in its source line, `told` in the report."""

    name: str
    check: str
    printed: str
    told: tuple[str, ...]
    at: str | None = None
    exit_code: int = ExitCode.FAULT
    options: tuple[str, ...] = ()


CASES = [
    Case(
        "out_of_bounds",
        "bounds",
        f"after the kernel: {ILLEGAL}\nafter the next call: {ILLEGAL}\n",
        ("block (3, 0, 0), thread (232, 0, 0)", "indices 1000 to 1023", "valid are 0 to 999"),
        at="values[i] *= factor;",
    ),
    Case(
        "use_after_free",
        "bounds",
        f"after the kernel: {ILLEGAL}\n",
        ("4,194,304 bytes", "freed"),
        at="out[i] = in[i];",
    ),
    Case(
        "misaligned",
        "misaligned",
        "after the kernel: misaligned address\n",
        ("read of 16 bytes", "not a multiple of 16"),
        at="out[i] = in[i];",
    ),
    Case(
        "missing_bytes",
        "barrier",
        "after the kernel: unspecified launch failure\n",
        (
            "512 bytes more have come than it was told to expect",
            "8 warps wait at the mbarrier at byte 1024",
            "missing_bytes.cu:35",
        ),
    ),
    Case(
        "missing_barrier",
        "barrier",
        "after the kernel: unspecified launch failure\n",
        (
            "2 warps wait at barrier 1, missing_barrier.cu:11: 0, 1",
            "2 warps wait at barrier 2, missing_barrier.cu:13: 2, 3",
        ),
    ),
    Case(
        "endless",
        "limit",
        "after the kernel: the launch timed out and was terminated\n",
        ("limit of 0.5 seconds", "--max-seconds"),
        exit_code=ExitCode.LIMIT,
        options=("--max-seconds", "0.5"),
    ),
    Case(
        "host_dereference",
        "host-access",
        "",
        ("host code read device memory", "1024 bytes made by cudaMalloc", "cudaMemcpy"),
        exit_code=SEGMENTATION_FAULT,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault(lanewise_command: Command, case: Case, tmp_path: Path) -> None:
    report, source = tmp_path / "report.json", EXAMPLES / "faults" / f"{case.name}.cu"
    done = lanewise_command("run", *case.options, "--json", report, source)
    assert done.returncode == case.exit_code, done.stdout + done.stderr
    assert done.stdout.startswith(case.printed)
    words = " ".join(done.stdout.split())  # lines are wrapped
    for told in case.told:
        assert told in words
    result = json.loads(report.read_text())
    findings = [*result["findings"], *(finding for launch in result["launches"] for finding in launch["findings"])]
    [finding] = [finding for finding in findings if finding["check"] == case.check]
    if case.at is not None:
        assert case.at in source.read_text().splitlines()[finding["source"]["line"] - 1]
