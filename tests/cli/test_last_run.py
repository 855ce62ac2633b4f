"""The last run is kept for commands that speak of its findings, and a run never fails by that."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.cli import last_run
from lanewise.errors import UsageError
from lanewise.records import RunResult
from lanewise.report.json import to_json

RESULT = RunResult("a.cu", "NVIDIA H200", "sm_90", 0, (), {})


def test_what_was_saved_last_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "new"))
    with pytest.raises(UsageError, match="no run to speak of"):
        last_run.load()
    last_run.save(RESULT)
    assert last_run.load() == RESULT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["last-run.json"]
    (tmp_path / "new" / "last-run.json").write_text(to_json(RESULT).replace('"schema": 1', '"schema": 2'))
    with pytest.raises(UsageError, match="has schema 2"):
        last_run.load()


@pytest.mark.parametrize("place", ["off", "/dev/null/cache"])
def test_where_nothing_can_be_kept_a_run_goes_on(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", place)
    last_run.save(RESULT)
    with pytest.raises(UsageError):
        last_run.load()
