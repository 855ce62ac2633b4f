"""The result of the last `lanewise run`, kept so that other commands can speak of its findings by their numbers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from lanewise.cli.files import read_result
from lanewise.errors import UsageError
from lanewise.records import RunResult
from lanewise.report.json import to_json
from lanewise.toolchain import cache

_NAME = "last-run.json"


def _path() -> Path | None:
    """In the cache's directory; None where nothing is kept between runs."""
    root = cache.default().root
    return None if root is None else root / _NAME


def save(result: RunResult) -> None:
    """Keep it in place of the one before. A run never fails by this: what cannot be written is not kept."""
    path = _path()
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(to_json(result))
            os.replace(scratch, path)
        except OSError:
            os.unlink(scratch)
            raise


def load() -> RunResult:
    """Raises UsageError where there is none, or it was written by another version."""
    path = _path()
    if path is None or not path.is_file():
        raise UsageError("no run to speak of is kept", next_step="Run a program first: lanewise run program.cu.")
    return read_result(path)
