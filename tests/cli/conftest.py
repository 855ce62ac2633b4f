from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine


@pytest.fixture
def lanewise(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """In a directory with `program.cu`, `kernel.cu`, `part.o` and `a.out`, all empty; wide enough for any message."""
    for name in ("program.cu", "kernel.cu", "part.o", "a.out"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return CommandLine(monkeypatch, capfd)
