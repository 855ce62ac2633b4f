"""Small libraries in C that this package brings as source: built with the host's compiler once, and kept."""

from __future__ import annotations

import ctypes
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from lanewise.errors import CompileError
from lanewise.toolchain import cache, host

FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-shared", "-Wall", "-Wextra")


def sources(package: str, folder: str) -> dict[str, str]:
    """The C files of a folder of a package, by name."""
    found = files(package).joinpath(folder).iterdir()
    return {item.name: item.read_text(encoding="utf-8") for item in found if item.name.endswith((".c", ".h"))}


def library(
    kind: str, what: str, texts: Mapping[str, str], *, flags: Sequence[str] = FLAGS, depends: Sequence[str] = ()
) -> ctypes.CDLL:
    """The library of `texts` (file name -> C), loaded. `kind` is where in the cache it is kept, `what` its name in
    messages; `depends`: what it depends on beside texts, flags and the compiler.

    Raises EnvironmentProblem where there is no host compiler, CompileError where it refuses.
    """
    compiler = host.c_compiler(host.compiler())
    of_texts = [part for item in sorted(texts.items()) for part in item]
    key = cache.key_of(host.fingerprint(compiler), *depends, *flags, *of_texts)
    built = cache.default().build_once(kind, key + ".so", lambda path: _build(path, compiler, what, texts, flags))
    return ctypes.CDLL(str(built))


def _build(path: Path, compiler: Path, what: str, texts: Mapping[str, str], flags: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="lanewise-") as name:
        place = Path(name)
        for file, text in texts.items():
            place.joinpath(file).write_text(text, encoding="utf-8")
        command = [str(compiler), *flags, f"-I{place}", *sorted(map(str, place.glob("*.c"))), "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise CompileError(
                f"{compiler} cannot build {what}",
                done.stderr,
                next_step=f"try it by hand: {shlex.join(command)}",
            )
        path.chmod(0o755)
