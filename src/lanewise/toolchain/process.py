"""Running the compilers: captured text, a scratch directory, and one clear error where there is no space for either."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from lanewise.errors import EnvironmentProblem

# A tool that cannot write may say so, crash, or leave half a file to the next one: with less than this many bytes free
# the disk is what failed.
NO_SPACE = 256 << 10


def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool without a shell and without input, messages in English. EnvironmentProblem where the disk is full."""
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
    )  # fmt: skip
    if done.returncode:
        place = tempfile.gettempdir()
        if "No space left on device" in done.stderr + done.stdout or shutil.disk_usage(place).free < NO_SPACE:
            raise _no_space(place, "no space is left")
    return done


def text_of(done: subprocess.CompletedProcess[str]) -> str:
    """Everything a tool said."""
    return (done.stdout + done.stderr).strip("\n")


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """A directory for a tool's files, deleted after use. EnvironmentProblem where it cannot be made or is full."""
    try:
        with tempfile.TemporaryDirectory(prefix="lanewise-", ignore_cleanup_errors=True) as place:
            yield place
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        raise _no_space(tempfile.gettempdir(), (error.strerror or str(error)).lower()) from error


def _no_space(place: str, reason: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the compiler's files do not fit into {place} ({reason})",
        next_step="free some space, or set TMPDIR to another directory",
    )
