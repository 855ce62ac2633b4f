from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanewise.errors import CompileError, EnvironmentProblem, UsageError
from lanewise.toolchain import cache
from lanewise.toolchain.cache import Cache, key_of


def test_put_then_get(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    assert store.get("object", "ab12") is None
    store.put("object", "ab12", b"code")
    assert store.get("object", "ab12") == b"code"
    assert store.get("other", "ab12") is None
    assert Cache(tmp_path).path_for("object", "ab12").read_bytes() == b"code"


def test_keys_keep_their_parts_apart() -> None:
    assert key_of("ab", "c") != key_of("a", "bc") != key_of("abc")
    assert key_of("a", b"b") == key_of(b"a", "b")


@pytest.mark.parametrize("kind", ["", "../x", "a/b", ".hidden"])
def test_a_kind_or_key_cannot_leave_the_directory(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ValueError, match="not a cache kind"):
        Cache(tmp_path).path_for(kind, "ab")
    with pytest.raises(ValueError, match="not a cache kind"):
        Cache(tmp_path).path_for("ab", kind)


def test_build_once_builds_once_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    store = Cache(tmp_path)

    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("compiler died")

    with pytest.raises(RuntimeError):
        store.build_once("program", "k1", fail)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "locks" not in path.parts] == []
    made = store.build_once("program", "k1", lambda path: path.write_bytes(b"whole"))
    assert made.read_bytes() == b"whole"
    assert store.build_once("program", "k1", fail) == made


def test_of_several_processes_one_builds(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from lanewise.toolchain.cache import Cache
root = Path(sys.argv[1])
def build(path):
    with open(root / "builds", "a") as log:
        log.write("x")
    time.sleep(0.3)
    path.write_bytes(b"whole")
assert Cache(root / "cache").build_once("program", "key", build).read_bytes() == b"whole"
"""
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(30) for process in running] == [0, 0, 0, 0]
    assert (tmp_path / "builds").read_text() == "x"


def test_the_entries_unused_for_longest_go_first(tmp_path: Path) -> None:
    store = Cache(tmp_path, limit=10_000)
    for index in range(8):
        store.put("object", f"key{index}", bytes(1000))
        old = time.time() - 1000 + index
        os.utime(store.path_for("object", f"key{index}"), (old, old))
    assert store.get("object", "key0") is not None  # used just now
    store.limit = 5000
    assert store.evict() == 4000
    left = [index for index in range(8) if store.path_for("object", f"key{index}").exists()]
    assert left == [0, 5, 6, 7]


def test_writing_keeps_the_directory_within_its_limit(tmp_path: Path) -> None:
    store = Cache(tmp_path, limit=50_000)
    for index in range(100):
        store.put("object", f"key{index}", bytes(1000))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert 10_000 < size < 53_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("root", ["/proc/lanewise", "/dev/null/lanewise", "/" + 300 * "x"])
def test_a_directory_that_cannot_be_made_costs_only_the_cache(root: str) -> None:
    store = Cache(Path(root))
    store.put("object", "ab12", b"code")
    assert store.note is not None
    assert root in store.note
    assert store.get("object", "ab12") == b"code"


def test_two_threads_that_meet_a_full_disk_at_once_both_go_on(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    met = threading.Barrier(2, timeout=20)

    def build(path: Path) -> None:
        if tmp_path in path.parents:
            met.wait()
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(b"made")

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda kind: store.build_once(kind, "ab12", build).read_bytes(), ("one", "two")))
    assert made == [b"made", b"made"]


def test_a_directory_that_cannot_be_written_costs_only_the_cache(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = Cache(blocked / "cache")
    store.put("object", "key", b"code")
    assert store.get("object", "key") == b"code"
    assert store.note is not None
    assert str(blocked / "cache") in store.note
    built = store.build_once("program", "key", lambda path: path.write_bytes(b"program"))
    assert built.read_bytes() == b"program"
    assert tmp_path not in built.parents


def test_no_space_anywhere_is_one_clear_error(tmp_path: Path) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = Cache(tmp_path)
    with pytest.raises(EnvironmentProblem, match="no space left") as caught:
        store.build_once("program", "key", full)
    assert caught.value.next_step is not None
    assert "LANEWISE_CACHE_DIR" in caught.value.next_step


def test_a_compiler_that_fails_on_a_full_disk_is_tried_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "free_bytes", lambda path: 1000 if tmp_path in path.parents else 1 << 30)

    def build(path: Path) -> None:
        if tmp_path in path.parents:
            raise CompileError("ld died", "signal 7")
        path.write_bytes(b"whole")

    store = Cache(tmp_path)
    assert store.build_once("program", "key", build).read_bytes() == b"whole"
    assert "no space left" in (store.note or "")


def test_the_environment_chooses_directory_and_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("LANEWISE_CACHE_LIMIT", "3M")
    assert (cache.default().root, cache.default().limit) == (tmp_path / "own", 3 << 20)
    assert cache.default() is cache.default()
    monkeypatch.delenv("LANEWISE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.default().root == tmp_path / "lanewise"
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "off")
    assert cache.default().root is None
    monkeypatch.setenv("LANEWISE_CACHE_LIMIT", "much")
    with pytest.raises(UsageError, match="much"):
        cache.default()
