"""What a process of its own does with pipes and encodings."""

from __future__ import annotations

import os
import subprocess
import sys

REPORT = """
import sys
from lanewise.cli import main, run
from lanewise.records import RunResult
notes = tuple(f"a note with \\u00e9 and \\udcff, number {i}" for i in range(20000))
run.execute = lambda request: RunResult("a.cu", "h200", "sm_90", 3, (), {}, notes=notes)
sys.exit(main.main(["run", sys.executable]))
"""


def _start(**environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", REPORT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def test_a_reader_that_goes_away_does_not_change_the_exit_code() -> None:
    with _start() as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 3


def test_characters_that_the_output_cannot_show_are_spelled_out() -> None:
    with _start(PYTHONIOENCODING="ascii", LC_ALL="C") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (3, b"")
    assert b"a note with \\xe9 and \\udcff, number 19999" in out
