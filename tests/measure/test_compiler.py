"""The compiler of micro-benchmarks: that of the wheels, else a toolkit's."""

from __future__ import annotations

import ctypes
from importlib.resources import files
from pathlib import Path

import pytest

from lanewise.errors import CompileError, EnvironmentProblem
from lanewise.measure import compiler
from lanewise.toolchain import wheels

SOURCE = "__global__ void k(unsigned* out) { out[threadIdx.x] = 1; }"


def test_a_wheel_is_taken_before_a_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/opt/mine")
    monkeypatch.setattr(wheels, "find", lambda name: Path("/wheel/libnvrtc.so.13"))
    found = list(compiler.places())
    assert found[:2] == [Path("/wheel/libnvrtc.so.13"), Path("/opt/mine/lib64/libnvrtc.so.13")]
    assert Path("/usr/local/cuda/lib64/libnvrtc.so.13") in found


def test_the_librarys_own_calls_compile() -> None:
    assert b".entry _Z1kPj" in compiler.ptx(SOURCE, "sm_90")
    with pytest.raises(CompileError) as caught:
        compiler.ptx("nonsense", "sm_90")
    assert "kernels.cu(1)" in str(caught.value.output)


def test_without_any_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(name)

    monkeypatch.setattr(compiler, "places", lambda: iter([]))
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(EnvironmentProblem) as caught:
        compiler.ptx(SOURCE, "sm_90")
    assert "CUDA_HOME" in str(caught.value.next_step)


def test_the_benchmarks_need_no_headers() -> None:
    assert "#include" not in files("lanewise.measure").joinpath("kernels.cu").read_text(encoding="utf-8")
