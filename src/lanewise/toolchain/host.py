"""The host's C++ compiler: nvcc needs one for the host half of a program, and our runtime library is built with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lanewise.errors import EnvironmentProblem

_CANDIDATES = ("g++", "clang++", "c++")
INSTALL = "Debian and Ubuntu: sudo apt-get install g++; Fedora: sudo dnf install gcc-c++; Arch: sudo pacman -S gcc"


def find_compiler(chosen: str | None = None) -> Path | None:
    """The compiler to use: `chosen` (a path or a name), else NVCC_CCBIN, else g++, clang++ or c++ of PATH."""
    chosen = chosen or os.environ.get("NVCC_CCBIN")
    if chosen and Path(chosen).is_dir():
        chosen = str(Path(chosen, "g++"))
    for name in (chosen,) if chosen else _CANDIDATES:
        path = shutil.which(name)
        if path is not None:
            return Path(path)
    return None


def compiler(chosen: str | None = None) -> Path:
    """As `find_compiler`; EnvironmentProblem where there is none."""
    path = find_compiler(chosen)
    if path is None:
        wanted = chosen or os.environ.get("NVCC_CCBIN")
        if wanted:
            raise EnvironmentProblem(
                f"the host compiler {wanted} is not there", next_step="name another with -ccbin, or leave -ccbin out"
            )
        raise EnvironmentProblem(
            "no host C++ compiler: neither g++ nor clang++ is on PATH, and a whole program needs one",
            next_step=f"install one ({INSTALL})",
        )
    return path


def c_compiler(compiler: Path) -> Path:
    """The C compiler that comes with a C++ compiler: g++-13 -> gcc-13, clang++ -> clang, c++ -> cc."""
    name = compiler.name.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc")
    for candidate in (compiler.with_name(name), *map(shutil.which, ("cc", "gcc", "clang"))):
        if candidate is not None and Path(candidate).is_file():
            return Path(candidate)
    raise EnvironmentProblem(f"there is no C compiler beside {compiler}", next_step=f"install one ({INSTALL})")


def fingerprint(path: Path) -> str:
    """What identifies the compiler for a cache: where it is and when that file last changed."""
    real = path.resolve()
    status = real.stat()
    return f"{path} {real} {status.st_size} {status.st_mtime_ns}"
