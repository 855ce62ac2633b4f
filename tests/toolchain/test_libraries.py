"""NVIDIA's libraries by name: what a program that needs one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import EnvironmentProblem, UnsupportedCode
from lanewise.toolchain import libraries, nvcc


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("cublas_v2.h", "cuBLAS"),
        ("cublasLt.h", "cuBLAS"),
        ("cufft.h", "cuFFT"),
        ("cufftXt.h", "cuFFT"),
        ("cudnn.h", "cuDNN"),
        ("curand.h", "cuRAND (its host functions)"),
        ("nppi_filtering_functions.h", "NPP"),
        ("npp.h", "NPP"),
        ("nvrtc.h", "NVRTC"),
        ("cuda.h", "the CUDA driver API"),
        ("curand_kernel.h", None),
        ("cuda_runtime.h", None),
        ("cooperative_groups.h", None),
        ("cuda/barrier", None),
    ],
)
def test_headers(header: str, name: str | None) -> None:
    library = libraries.of_header(header)
    assert (library.name if library is not None else None) == name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libcublas.so.13", "cuBLAS"),
        ("libcublasLt.so.13", "cuBLAS"),
        ("libcuda.so.1", "the CUDA driver API"),
        ("libcudart.so.13", None),
        ("libcudadevrt.so", None),
        ("libnppif.so.13", "NPP"),
        ("libnvidia-ml.so.1", "NVML"),
        ("libc.so.6", None),
    ],
)
def test_files(file: str, name: str | None) -> None:
    library = libraries.of_file(file)
    assert (library.name if library is not None else None) == name


def test_functions_belong_to_one_library_each() -> None:
    found = {name: libraries.of_function(name) for name in ("cublasSgemm_v2", "cuInit", "cufftExecC2C", "nvrtcVersion")}
    assert {name: library.name for name, library in found.items() if library} == {
        "cublasSgemm_v2": "cuBLAS",
        "cuInit": "the CUDA driver API",
        "cufftExecC2C": "cuFFT",
        "nvrtcVersion": "NVRTC",
    }
    assert libraries.of_function("custom_function") is None
    assert libraries.of_function("cudaMalloc") is None


def test_every_library_whose_headers_are_missing_is_named_with_its_line(tmp_path: Path) -> None:
    source = tmp_path / "solve.cu"
    source.write_text(
        "#include <cstdio>\n#include <cuda.h>\n  # include <cublas_v2.h>\n#include <cublasLt.h>\n#include <cufft.h>\n"
    )
    error = nvcc._compile_failure(source, "solve.cu:3:10: fatal error: cublas_v2.h: No such file or directory")
    assert isinstance(error, UnsupportedCode)
    where = [(item.what, item.source.line if item.source else None) for item in error.items]
    assert where == [("cublas_v2.h", 3), ("cufft.h", 5)]
    assert error.items[0].reason.startswith("cuBLAS is not emulated")


def test_a_header_for_kernels_names_its_wheel(tmp_path: Path) -> None:
    text = "noise.cu:1:10: fatal error: curand_kernel.h: No such file or directory"
    error = nvcc._compile_failure(tmp_path / "noise.cu", text)
    assert isinstance(error, EnvironmentProblem)
    assert "nvidia-curand" in error.message
    assert error.next_step is not None
    assert "pip install" in error.next_step


def test_what_does_not_link_is_named(tmp_path: Path) -> None:
    source = tmp_path / "driver.cu"
    source.write_text("int main() {\n  cuInit(0);\n}\n")
    text = "driver.o: undefined reference to `cuInit'\nld: cannot find -lcufft: No such file or directory"
    error = nvcc._link_failure(text, [source])
    assert isinstance(error, UnsupportedCode)
    assert [item.what for item in error.items] == ["cuInit", "libcufft.so"]
    assert "driver API" in error.items[0].reason
    assert error.items[0].source is not None
    assert error.items[0].source.line == 2
