"""Which files a compilation read, and their hashes: what decides whether its result may be used again."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
from pathlib import Path


def hash_of(path: Path) -> str | None:
    """The SHA-256 of a file's content, or None where it cannot be read."""
    try:
        status = path.stat()
        return _hash_at(str(path.absolute()), status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return None


@functools.lru_cache(maxsize=1 << 16)
def _hash_at(path: str, modified: int, size: int, inode: int) -> str:
    """The other arguments are there so that a file changed within this process is read again."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes(names: list[str]) -> list[tuple[str, str]]:
    """(name, hash) of each file once; files that are gone, as a compiler's intermediate ones, are left out."""
    return [(name, digest) for name in dict.fromkeys(names) if (digest := hash_of(Path(name))) is not None]


def changed_since(started: int, names: list[str]) -> bool:
    """Whether a file was written since a time (ns), up to now: a time in the future says nothing about that."""
    now = time.time_ns()
    for name in names:
        with contextlib.suppress(OSError):
            if started <= os.stat(name).st_mtime_ns <= now:
                return True
    return False


def prerequisites(makefile: str) -> list[str]:
    """The prerequisites of all rules in a compiler's dependency file.

    Words end at blanks; a backslash joins lines and keeps a blank or # within a word; `$$` is a dollar.
    """
    words: list[str] = []
    for rule in re.split(r"(?<!\\)\n", makefile):
        _, _, right = rule.partition(": ")
        words += re.findall(r"(?:\\[ #]|[^\s\\]|\\(?!\n))+", right.replace("\\\n", " "))
    return [word.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$") for word in words]
