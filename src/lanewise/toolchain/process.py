"""Running the compilers: captured text, a scratch directory, and one clear error where there is no space for either."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

from lanewise.errors import EnvironmentProblem


def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool without a shell and without input, messages in English. EnvironmentProblem where the disk is full."""
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
    )  # fmt: skip
    if done.returncode and "No space left on device" in done.stderr + done.stdout:
        raise EnvironmentProblem(
            "no space is left for the compiler's files", next_step="free some space, or set TMPDIR to another directory"
        )
    return done


def text_of(done: subprocess.CompletedProcess[str]) -> str:
    """Everything a tool said."""
    return (done.stdout + done.stderr).strip("\n")


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory for a tool's files, deleted after use."""
    try:
        return tempfile.TemporaryDirectory(prefix="lanewise-")
    except OSError as error:
        raise EnvironmentProblem(
            f"{tempfile.gettempdir()} cannot be written ({error.strerror})",
            next_step="free some space there, or set TMPDIR to another directory",
        ) from error
