"""Programs that several tests of the toolchain look at, each built once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.toolchain import cache, nvcc

SAXPY = """
#include <cstdio>
#include "factor.h"
__global__ void saxpy(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += FACTOR * x[i];
}
int main() {
  saxpy<<<1, 32>>>(nullptr, nullptr, 0);
  cudaDeviceSynchronize();
  std::printf("done\\n");
}
"""
TWICE = "__device__ float twice(float x) { return 2 * x; }\n"
CALLER = """
extern __device__ float twice(float);
__global__ void apply(float* a) { a[threadIdx.x] = twice(a[threadIdx.x]); }
int main() { apply<<<1, 32>>>(nullptr); }
"""


@pytest.fixture(scope="session", autouse=True)
def _builds(fresh_builds: Path) -> None:
    """Builds are real, and nothing is left behind."""


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cache.Cache:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "cache"))
    return cache.default()


@pytest.fixture(scope="session")
def saxpy_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("saxpy")
    (directory / "factor.h").write_text("#define FACTOR 2.0f\n")
    source = directory / "saxpy.cu"
    source.write_text(SAXPY)
    return source


@pytest.fixture(scope="session")
def saxpy(saxpy_source: Path) -> Path:
    """A plain program: one source, no -rdc."""
    return nvcc.build([saxpy_source], arch="sm_90")


@pytest.fixture(scope="session")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two sources whose device code is linked (-rdc=true)."""
    directory = tmp_path_factory.mktemp("linked")
    (directory / "twice.cu").write_text(TWICE)
    (directory / "caller.cu").write_text(CALLER)
    return nvcc.build([directory / "caller.cu", directory / "twice.cu"], arch="sm_90", flags=["-rdc=true"])
