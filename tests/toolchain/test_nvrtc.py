from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import CompileError, UsageError
from lanewise.toolchain import nvrtc
from lanewise.toolchain.cache import Cache
from lanewise.toolchain.nvrtc_headers import HEADERS

KERNEL = "__global__ void set(float* a) { a[threadIdx.x] = 1; }"


def test_ptx_for_the_architecture_with_source_lines() -> None:
    ptx = nvrtc.compile_source(KERNEL, arch="sm_80", name="set.cu")
    assert ".target sm_80" in ptx
    assert ".visible .entry _Z3setPf(" in ptx
    assert ".loc" in ptx
    assert "set.cu" in ptx
    assert "\0" not in ptx


def test_the_standard_is_17_unless_told_otherwise() -> None:
    source = "__global__ void k(long* a) { a[0] = __cplusplus; }"
    assert "201703" in nvrtc.compile_source(source, arch="sm_90")
    assert "202002" in nvrtc.compile_source(source, arch="sm_90", options=["--std=c++20"])


def test_the_wheels_headers_are_found() -> None:
    source = (
        "#include <cuda_fp16.h>\n#include <cuda/std/cstdint>\n__global__ void k(__half* a) { *a = __hadd(*a, *a); }"
    )
    assert "add" in nvrtc.compile_source(source, arch="sm_90")


def test_an_error_carries_the_compilers_log() -> None:
    with pytest.raises(CompileError, match=r"bad\.cu does not compile") as caught:
        nvrtc.compile_source("__global__ void k() { undeclared = 1; }", arch="sm_90", name="bad.cu")
    assert 'bad.cu(1): error: identifier "undeclared" is undefined' in caught.value.output


def test_an_unknown_option_or_architecture() -> None:
    with pytest.raises(CompileError, match="does not take an option") as caught:
        nvrtc.compile_source(KERNEL, arch="sm_90", options=["--nonsense"])
    assert "--nonsense" in caught.value.output
    with pytest.raises(UsageError, match="sm_50"):
        nvrtc.compile_source(KERNEL, arch="sm_50")


def test_a_source_with_headers_of_its_own_is_not_kept(tmp_path: Path, fresh_cache: Cache) -> None:
    header = tmp_path / "value.h"
    source = '#include "value.h"\n__global__ void k(int* a) { *a = VALUE; }'
    for value in ("1111", "2222"):
        header.write_text(f"#define VALUE {value}\n")
        assert value in nvrtc.compile_source(source, arch="sm_90", options=[f"-I{tmp_path}"])
    assert fresh_cache.root is not None
    assert not (fresh_cache.root / "nvrtc").exists()
    nvrtc.compile_source(KERNEL, arch="sm_90")
    assert (fresh_cache.root / "nvrtc").exists()


def test_standard_headers_that_kernels_include() -> None:
    includes = "".join(f"#include <{name}>\n" for name in HEADERS) + "#include <cub/block/block_reduce.cuh>\n"
    checks = "".join(
        f"static_assert({macro} == std::numeric_limits<{type}>::{member}());\n"
        for macro, type, member in (
            ("FLT_MAX", "float", "max"), ("FLT_MIN", "float", "min"), ("FLT_EPSILON", "float", "epsilon"),
            ("DBL_MAX", "double", "max"), ("DBL_MIN", "double", "min"), ("DBL_EPSILON", "double", "epsilon"),
            ("INT_MIN", "int", "min"), ("UINT_MAX", "unsigned", "max"), ("LONG_MIN", "long", "min"),
            ("LLONG_MAX", "long long", "max"), ("ULLONG_MAX", "unsigned long long", "max"), ("CHAR_MIN", "char", "min"),
            ("SHRT_MIN", "short", "min"), ("USHRT_MAX", "unsigned short", "max"), ("UCHAR_MAX", "unsigned char", "max"),
            ("INT64_MAX", "int64_t", "max"), ("UINT8_MAX", "std::uint8_t", "max"), ("INFINITY", "float", "infinity"),
        )
    )  # fmt: skip
    body = (
        '*a = std::sqrt(*a) + sqrt(M_PI) + std::fmax(*a, NAN); assert(*a > 0); std::printf("%d", (int)std::size_t());'
    )
    ptx = nvrtc.compile_source(f"{includes}{checks}__global__ void k(float* a) {{ {body} }}", arch="sm_90")
    assert "vprintf" in ptx
    assert "__assertfail" in ptx
    assert "sqrt" in ptx


def test_a_host_header_is_refused_with_advice() -> None:
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_source("#include <iostream>\n__global__ void k() {}", arch="sm_90")
    assert (caught.value.next_step or "").startswith("iostream is no header that device code can use here")
