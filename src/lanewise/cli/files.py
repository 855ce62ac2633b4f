"""Reports on disk: where one may be written, and how one is read back. The same for every command and format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import EnvironmentProblem, UsageError
from lanewise.records import RunResult
from lanewise.report.json import from_json

Force = Annotated[bool, typer.Option("--force", help="Write over report files that exist already.")]


def check_writable(path: Path, *, force: bool) -> None:
    """Said before the work, not after it. Raises UsageError where a report cannot be written, or where a file would be
    written over without `force`; what is no regular file (/dev/stdout) holds nothing that could be lost."""
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a directory", next_step="Name a file in it.")
    if path.is_file() and not force:
        raise UsageError(f"{path} exists already", next_step="Name another file, or write over it with --force.")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no directory {path.parent}", next_step="Make it first.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(
            f"cannot write {path}: no permission", next_step="Choose a file in a directory that you can write to."
        )


def write(path: Path, content: str) -> None:
    """Raises EnvironmentProblem where that fails after all."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {path}: {error.strerror}", next_step="Make room and run again."
        ) from error


def read_result(path: Path) -> RunResult:
    """What `--json` wrote. Raises UsageError for a file that cannot be read or is no report."""
    try:
        written = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {error}", next_step="Write it with `lanewise run --json FILE program.cu`."
        ) from error
    return from_json(written, name=str(path))
