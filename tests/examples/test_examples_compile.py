"""Every example compiles without a warning, and each kernel it names is there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
from example_runs import EXAMPLES

SOURCES = sorted(EXAMPLES.rglob("*.cu"))


def nvcc() -> Path:
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations))) / "cu13" / "bin" / "nvcc"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_compiles(source: Path, tmp_path: Path) -> None:
    ptx = tmp_path / "out.ptx"
    command = [
        nvcc(),
        "-std=c++17",
        "-O3",
        "-arch=sm_90",
        "-lineinfo",
        "-Werror=all-warnings",
        "-ptx",
        source,
        "-o",
        ptx,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kernels = re.findall(r"__global__ void (\w+)\(", source.read_text())
    assert kernels
    text = ptx.read_text()
    for kernel in kernels:
        assert re.search(rf"\.entry _Z\d+{kernel}", text), kernel
