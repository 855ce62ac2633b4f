"""Allocations are called by the variable that got their address."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_run import PROGRAMS, Runner

from lanewise.cudart.call_sites import CallSite, variable_of


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("cudaMalloc(&d_a, n * sizeof(float));", "d_a"),
        ("  cudaMalloc((void**)&d_a, n);", "d_a"),
        ("checkCudaErrors(cudaMalloc((void **) &d_a, n));", "d_a"),
        ("cudaMalloc(reinterpret_cast<void **>(&d_a), n);", "d_a"),
        ("if (cudaMallocManaged<float>(&x.y, n) != cudaSuccess) {", "x.y"),
        ("cudaMalloc(&this->rows, n);", "this->rows"),
        ("CHECK(cudaMalloc(&parts[i], n));", "parts[i]"),
        ("cudaMalloc(out, n);", "out"),
        ("cudaMallocPitch((void**)(&image), &pitch, w, h);", "image"),
        ("cudaMallocHost(\n    (void**)&pinned,\n    n);", "pinned"),
        ("cudaFree(d_a);", None),
        ("float *d_a = device_alloc<float>(n);", None),
    ],
)
def test_the_variable_of_a_call(source: str, name: str | None) -> None:
    assert variable_of(source) == name


def test_an_allocation_of_a_program(run: Runner, memory_program: Path) -> None:
    done = run(memory_program)
    address = int.from_bytes(done.backend.launches[0].params[:8], "little")
    gone = done.memory.freed(address)
    assert gone is not None
    assert gone.made_at is not None
    assert (gone.name, Path(gone.made_at.file).name) == ("a", "memory.cu")
    line = (PROGRAMS / "memory.cu").read_text().splitlines()[gone.made_at.line - 1]
    assert line.strip() == "OK(cudaMalloc(&a, sizeof host));"


@pytest.mark.parametrize("path", ["/absent", "/etc/passwd", "/bin/true", ""])
def test_places_without_lines(path: str) -> None:
    assert CallSite(path, 0x1000, 0x1010).lookup() == (None, None)
