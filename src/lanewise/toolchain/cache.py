"""The user's cache directory: content-addressed, written atomically, shared by processes, bounded in size.

An entry is a file `KIND/xx/KEY`. Its modification time is when it was last used; the entries unused for longest go
first when the directory passes its limit. A cache that cannot be written never fails a run: results are then kept in a
temporary directory of this process (`Cache.note` says why). Only when that is impossible too is it an error.

Environment: `LANEWISE_CACHE_DIR` (else `XDG_CACHE_HOME/lanewise`, else `~/.cache/lanewise`); `LANEWISE_CACHE_LIMIT`,
a number of bytes with an optional K, M, G or T (powers of 1024), default 2G; `LANEWISE_CACHE_DIR=off` keeps nothing.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from lanewise.errors import EnvironmentProblem, LanewiseError, UsageError
from lanewise.toolchain import process

try:
    import fcntl
except ImportError:  # not a POSIX system: builds are then not locked against each other, only repeated
    fcntl = None  # type: ignore[assignment]

DEFAULT_LIMIT = 2 << 30
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def key_of(*parts: bytes | str) -> str:
    """A key for `get`, `put` and `build_once`: the hash of the parts, each with its length so that they cannot run
    into each other."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Cache:
    """A directory of entries. Safe for any number of threads and processes; entries never change once written.

    `root` None keeps everything in a temporary directory of this process. `limit` in bytes.
    """

    def __init__(self, root: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        self.root = root
        self.limit = limit
        self.note: str | None = None  # why the directory is not used, once that is known; for a run's notes
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._written = 0  # bytes since the last eviction
        self._lock = threading.Lock()

    def path_for(self, kind: str, key: str) -> Path:
        """Where the entry lies or would lie."""
        if not _SAFE_NAME.fullmatch(kind) or not _SAFE_NAME.fullmatch(key):
            raise ValueError(f"not a cache kind and key: {kind!r}, {key!r}")
        return self._base() / kind / key[:2] / key

    def find(self, kind: str, key: str) -> Path | None:
        """The entry's path, marked as used now, or None."""
        path = self.path_for(kind, key)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        except OSError:  # another user's entry, or a read-only directory
            if not path.exists():
                return None
        return path

    def get(self, kind: str, key: str) -> bytes | None:
        """The entry's bytes, or None."""
        path = self.find(kind, key)
        if path is None:
            return None
        try:
            return path.read_bytes()
        except OSError:  # evicted meanwhile, or not readable: the same as absent
            return None

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Keep bytes. When they cannot be kept at all they are dropped, and `note` says why."""
        with contextlib.suppress(EnvironmentProblem):
            self._write(kind, key, lambda path: path.write_bytes(data))

    def build_once(self, kind: str, key: str, builder: Callable[[Path], object]) -> Path:
        """The path of the entry, made by `builder(path)` unless it is there.

        `builder` writes the given path (a fresh name in the same file system), mode bits are kept. Of several
        processes one builds and the others wait; `builder` must not build another entry of the same kind. Exceptions of
        `builder` pass through and leave nothing behind.
        EnvironmentProblem where neither the cache nor the temporary directory can be written.
        """
        found = self.find(kind, key)
        if found is not None:
            return found
        with self._building(kind, key):
            return self.find(kind, key) or self._write(kind, key, builder)

    def evict(self) -> int:
        """Delete the entries unused for longest until 90 % of the limit is left. Returns the bytes deleted."""
        if self.root is None:
            return 0
        entries: list[tuple[int, int, str]] = []
        for directory, directories, files in os.walk(self.root):
            if directory == str(self.root) and "locks" in directories:
                directories.remove("locks")
            for name in files:
                path = os.path.join(directory, name)
                with contextlib.suppress(OSError):
                    status = os.stat(path, follow_symlinks=False)
                    entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        deleted = 0
        if total <= self.limit:
            return 0
        for _, size, path in sorted(entries):
            if total - deleted <= self.limit * 0.9:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                deleted += size
        return deleted

    def _base(self) -> Path:
        if self.root is not None:
            return self.root
        with self._lock:
            if self._temporary is None:
                try:
                    self._temporary = tempfile.TemporaryDirectory(prefix="lanewise-", ignore_cleanup_errors=True)
                except OSError as error:
                    raise _cannot_write(tempfile.gettempdir(), error) from error
            return Path(self._temporary.name)

    def _write(self, kind: str, key: str, builder: Callable[[Path], object]) -> Path:
        while True:
            path = self.path_for(kind, key)
            scratch: Path | None = None
            try:
                scratch = self._fresh(path.parent)
                if scratch is None:
                    continue
                builder(scratch)
                size = scratch.stat().st_size
                os.replace(scratch, path)
            except OSError as error:
                if not self._give_up(error, path):
                    raise
                continue
            except LanewiseError:
                # A linker that cannot write says many things, or crashes.
                if free_bytes(path) >= process.NO_SPACE:
                    raise
                self._give_up(OSError(errno.ENOSPC, "No space left on device"), path)
                continue
            finally:
                if scratch is not None:
                    with contextlib.suppress(OSError):
                        scratch.unlink()
            self._count(size)
            return path

    def _fresh(self, directory: Path) -> Path | None:
        """A new file in a directory of the cache; None where the cache was given up, for whatever reason."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".new-", dir=directory)
        except OSError as error:
            self._turn_away(error, directory)
            return None
        os.close(handle)
        return Path(name)

    def _give_up(self, error: OSError, path: Path) -> bool:
        """After a failed write: go on in a temporary directory (True), or let the error pass (False), or give up."""
        unwritable = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST)
        if error.errno not in unwritable:
            return False
        self._turn_away(error, path)
        return True

    def _turn_away(self, error: OSError, path: Path) -> None:
        if self.root is None:
            if self._temporary is None or Path(self._temporary.name) not in path.parents:
                return  # another thread has given up the cache meanwhile
            raise _cannot_write(tempfile.gettempdir(), error) from error
        self.note = f"the cache {self.root} cannot be written ({_reason(error)}): nothing is kept between runs"
        self.root = None

    def _count(self, size: int) -> None:
        # A scan costs milliseconds, so it waits for a twentieth of the limit; whole processes that stay below that
        # are caught by the first write of one in sixteen.
        with self._lock:
            first = self._written == 0
            self._written += size
            due = self._written > self.limit // 20 or (first and os.getpid() % 16 == 0)
            if due:
                self._written = 1
        if due:
            self.evict()

    @contextlib.contextmanager
    def _building(self, kind: str, key: str) -> Iterator[None]:
        handle = None
        if fcntl is not None and self.root is not None:
            # One lock file per kind and first two digits: few enough never to be cleaned up, so that no process locks
            # a file that another one has just deleted.
            path = self.root / "locks" / f"{kind}-{key[:2]}"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                self._give_up(error, path)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)


def default() -> Cache:
    """The cache that the environment names; the same object for the same setting."""
    return _cache_at(_directory(), _limit(os.environ.get("LANEWISE_CACHE_LIMIT", "")))


@functools.cache
def _cache_at(root: Path | None, limit: int) -> Cache:
    return Cache(root, limit)


def _directory() -> Path | None:
    chosen = os.environ.get("LANEWISE_CACHE_DIR")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG base directory specification says to ignore a relative path.
    if base and os.path.isabs(base):
        return Path(base, "lanewise")
    try:
        return Path.home() / ".cache" / "lanewise"
    except RuntimeError:
        return None


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(
            f"LANEWISE_CACHE_LIMIT={text!r} is not a size", next_step="give bytes, or for example 500M or 4G"
        )
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2].upper()]


def _reason(error: OSError) -> str:
    return "no space left" if error.errno in (errno.ENOSPC, errno.EDQUOT) else (error.strerror or str(error)).lower()


def _cannot_write(place: str, error: OSError) -> EnvironmentProblem:
    step = "free some space there, or point TMPDIR and LANEWISE_CACHE_DIR to a directory that can be written"
    return EnvironmentProblem(f"neither the cache nor {place} can be written ({_reason(error)})", next_step=step)


def free_bytes(path: Path) -> int:
    """Bytes free in the file system that holds, or would hold, `path`."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free
