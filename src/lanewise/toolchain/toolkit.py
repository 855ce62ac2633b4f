"""A CUDA toolkit of this machine: stands in for wheels that are not installed, and for nothing that is.

Its folders are those of the wheels, except that `lib` is called `lib64`. Only a toolkit of the wheels' major version is
taken: the runtime library and the headers of another one do not fit what is built here.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MAJOR = 13
_PLACE = Path("/usr/local/cuda")
_VERSION = re.compile(r"^#define\s+CUDART_VERSION\s+(\d+)", re.MULTILINE)


def root() -> Path | None:
    """The first toolkit of CUDA 13: of $CUDA_HOME or $CUDA_PATH, of the nvcc on the path, in /usr/local/cuda."""
    return next((place for place in _places() if (version(place) or 0) // 1000 == MAJOR), None)


def find(path: str) -> Path | None:
    """A file or directory by its place in a wheel ("lib/libcudart.so.13"), or None."""
    place = root()
    if place is None:
        return None
    found = place / path
    if path.startswith("lib/") and not found.exists():
        found = place / "lib64" / path.removeprefix("lib/")
    return found if found.exists() else None


@cache
def version(place: Path) -> int | None:
    """13000 for CUDA 13.0, as the toolkit's own header says; None where `place` holds no toolkit."""
    try:
        text = (place / "include" / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def identity() -> str:
    """The version, and the day when the assembler was made: updates of a version differ in that. Empty without one."""
    place = root()
    if place is None:
        return ""
    number = version(place) or 0
    name = f"{number // 1000}.{number % 1000 // 10} of a toolkit"
    try:
        made = (place / "bin" / "ptxas").stat().st_mtime
    except OSError:
        return name
    return f"{name} of {datetime.datetime.fromtimestamp(made, datetime.UTC):%Y-%m-%d}"


def _places() -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        yield Path(nvcc).resolve().parent.parent
    yield _PLACE
