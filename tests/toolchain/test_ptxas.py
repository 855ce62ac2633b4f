from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lanewise.errors import CompileError, PtxSyntaxError, UsageError
from lanewise.toolchain import cubin, nvcc, nvrtc, ptxas, wheels
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.executable import inspect
from lanewise.toolchain.fatbin import Kind

# Kernels that use every resource: shared memory, a stack, spills, named barriers, constants, recursion.
SOURCE = """
__constant__ float table[16];
extern __shared__ float dynamic[];
__global__ void shared_and_stack(float* a, int n) {
  __shared__ float s[300];
  float l[64];
  for (int i = 0; i < 64; i++) l[i] = a[i * n];
  s[threadIdx.x] = l[a[0] > 1 ? n : 3];
  __syncthreads();
  dynamic[n] = s[n];
  a[n] = s[n ^ 1] * table[n & 15] + dynamic[3];
  for (int i = 0; i < 64; i++) a[i] += l[i];
  asm volatile("bar.sync 3;");
}
__global__ void __launch_bounds__(1024, 2) spills(float* a, int n) {
  float l[64];
#pragma unroll
  for (int i = 0; i < 64; i++) l[i] = a[i * n];
#pragma unroll
  for (int i = 0; i < 64; i++) a[i] = l[i] * l[(i * 7) % 64] + l[63 - i];
}
__device__ __noinline__ float fib(int n) { return n < 2 ? 1.f : fib(n - 1) + fib(n - 2); }
__global__ void recursive(float* a) { a[0] = fib((int)a[0]); }
"""
USED = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers, "
    r"used (\d+) barriers(?:, (\d+) bytes cumulative stack size)?(?:, (\d+) bytes smem)?",
    re.DOTALL,
)
TINY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_resources_are_what_ptxas_says(arch: str, tmp_path: Path) -> None:
    ptx = nvrtc.compile_source(SOURCE, arch=arch)
    found = ptxas.assemble(ptx, arch=arch).resources
    (tmp_path / "in.ptx").write_text(ptx)
    command = [str(wheels.locate("ptxas")), "-v", "-lineinfo", f"-arch={arch}", "in.ptx", "-o", "out.cubin"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    said = {match[1]: [int(value or 0) for value in match.groups()[1:]] for match in USED.finditer(text)}
    assert len(said) == 3
    assert said == {
        symbol: [r.spill_store_bytes, r.spill_load_bytes, r.registers, r.barriers, r.local_bytes, r.static_shared_bytes]
        for symbol, r in found.items()
    }
    assert {r.constant_bytes for r in found.values()} == {64}
    assert found["_Z16shared_and_stackPfi"].static_shared_bytes == 1200


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_linking_and_debugging_change_no_shared_memory(arch: str) -> None:
    ptx = nvrtc.compile_source(SOURCE, arch=arch)
    whole = ptxas.assemble(ptx, arch=arch).resources
    assert ptxas.link([ptx], arch=arch).resources == whole
    debug = nvrtc.compile_source(SOURCE, arch=arch, options=["-G"])
    for result in (ptxas.assemble(debug, arch=arch), ptxas.link([debug], arch=arch)):
        shared = {symbol: r.static_shared_bytes for symbol, r in result.resources.items()}
        assert shared == {symbol: r.static_shared_bytes for symbol, r in whole.items()}


def test_a_card_says_the_same(tmp_path: Path) -> None:
    """What cudaFuncGetAttributes gave on an H200 for this source: registers, shared, local and constant bytes."""
    source = tmp_path / "kernels.cu"
    source.write_text(SOURCE.replace('asm volatile("bar.sync 3;");', "") + "int main() {}\n")
    images = inspect(nvcc.build([source], arch="sm_90")).images
    (found,) = [cubin.resources(image.data) for image in images if image.kind is Kind.MACHINE_CODE]
    measured = {
        "_Z16shared_and_stackPfi": (80, 1200, 256, 64),
        "_Z6spillsPfi": (32, 0, 464, 64),
        "_Z9recursivePf": (24, 0, 0, 64),
    }
    assert measured == {
        symbol: (r.registers, r.static_shared_bytes, r.local_bytes, r.constant_bytes) for symbol, r in found.items()
    }


def test_the_second_time_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ptxas.assemble(TINY, arch="sm_90")
    monkeypatch.setattr(ptxas.process, "run", lambda *_: pytest.fail("ran ptxas"))
    assert ptxas.assemble(TINY, arch="sm_90") == first


def test_older_ptx_runs_on_newer_architectures_only() -> None:
    assert ptxas.assemble(TINY, arch="sm_90").resources["k"].registers > 0
    with pytest.raises(UsageError, match="made for sm_80 and cannot be assembled for sm_75") as caught:
        ptxas.assemble(TINY, arch="sm_75")
    assert "--arch sm_80" in (caught.value.next_step or "")


def test_ptx_newer_than_ptxas() -> None:
    with pytest.raises(
        PtxSyntaxError, match=r"PTX 9\.9 is newer than this ptxas, which knows PTX up to 9\.0"
    ) as caught:
        ptxas.assemble(TINY.replace("8.0", "9.9"), arch="sm_90")
    assert "lower its .version directive to 9.0" in (caught.value.next_step or "")


@pytest.mark.parametrize(("text", "line"), [("garbage", 1), ("", 1), (TINY.replace("ret;", "\nrot;"), 5)])
def test_text_that_is_not_ptx(text: str, line: int) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        ptxas.assemble(text, arch="sm_90")
    assert caught.value.line == line


def test_an_unknown_architecture() -> None:
    with pytest.raises(UsageError, match="no code for sm_91"):
        ptxas.assemble(TINY, arch="sm_91")
    with pytest.raises(UsageError, match="'ninety' is not an architecture"):
        ptxas.assemble(TINY, arch="ninety")


def test_modules_that_call_each_other_are_linked() -> None:
    header = ".version 8.0\n.target sm_90\n.address_size 64\n"
    callee = header + ".visible .func f() { ret; }\n"
    caller = header + ".extern .func f();\n.visible .entry k() { call f; ret; }\n"
    with pytest.raises(CompileError, match="uses what it does not define: f"):
        ptxas.assemble(caller, arch="sm_90")
    linked = ptxas.link([caller, callee], arch="sm_90")
    assert list(linked.resources) == ["k"]
    assert linked.resources["k"].registers >= 24  # what a call may use
    with pytest.raises(CompileError, match="cannot be linked") as caught:
        ptxas.link([caller], arch="sm_90")
    assert "'f'" in caught.value.output


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(100), b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_broken_machine_code_is_refused(data: bytes) -> None:
    with pytest.raises(CompileError, match="cannot be read"):
        cubin.resources(data)


def test_which_ptx_runs_where() -> None:
    assert Arch(90).runs_ptx_of(Arch(80))
    assert not Arch(80).runs_ptx_of(Arch(90))
    assert Arch(90, "a").runs_ptx_of(Arch(90, "a"))
    assert not Arch(90).runs_ptx_of(Arch(90, "a"))
    assert not Arch(100).runs_ptx_of(Arch(90, "a"))
    assert Arch(103, "a").runs_ptx_of(Arch(100, "f"))
    assert not Arch(120, "f").runs_ptx_of(Arch(100, "f"))
