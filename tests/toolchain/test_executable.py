from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanewise.errors import LanewiseError, UnsupportedCode, UsageError
from lanewise.toolchain import wheels
from lanewise.toolchain.executable import Form, Runtime, exported, inspect, refusal
from lanewise.toolchain.fatbin import Kind

# A host program that registers device code as nvcc's do, so that ways of linking need no nvcc.
REGISTERS = """
extern "C" { void** __cudaRegisterFatBinary(void*); int cudaNoSuchCall(); }
#ifdef INSIDE
extern "C" void** __cudaRegisterFatBinary(void* p) { return (void**)p; }
extern "C" int cudaNoSuchCall() { return 0; }
#endif
__attribute__((section(".nvFatBinSegment"))) struct { int magic, version; void* data; void* more; }
  wrapper = {0x466243b1, 1, nullptr, nullptr};
int main() { __cudaRegisterFatBinary(&wrapper); return cudaNoSuchCall(); }
"""


def compile_host(source: str, output: Path, *options: str) -> Path:
    compiler = shutil.which("g++")
    assert compiler is not None
    command = [compiler, "-x", "c++", "-", "-x", "none", "-o", str(output), *options]
    subprocess.run(command, input=source, text=True, check=True, cwd=output.parent)
    return output


def reason(path: Path, arch: str = "sm_90") -> LanewiseError:
    error = refusal(inspect(path), arch=arch)
    assert error is not None
    return error


def test_a_program_that_can_be_run(saxpy: Path) -> None:
    info = inspect(saxpy)
    assert (info.form, info.runtime, info.runtime_name) == (Form.PROGRAM, Runtime.SHARED, "libcudart.so.13")
    assert info.has_ptx
    assert info.nvidia_libraries == ()
    assert {"cudaDeviceSynchronize", "__cudaLaunchKernel", "__cudaRegisterFatBinary"} <= set(info.runtime_calls)
    assert refusal(info, arch="sm_90") is None
    assert refusal(info, arch="sm_90", provided=exported(wheels.locate("libcudart"))) is None


def test_calls_that_the_runtime_lacks_are_named_at_once(saxpy: Path) -> None:
    info = inspect(saxpy)
    error = refusal(info, arch="sm_90", provided={name for name in info.runtime_calls if "Launch" not in name})
    assert isinstance(error, UnsupportedCode)
    assert [item.what for item in error.items] == ["__cudaLaunchKernel"]
    assert "__cudaLaunchKernel" in error.message


def test_ptx_for_another_architecture(saxpy: Path) -> None:
    error = reason(saxpy, "sm_80")
    assert "PTX is for compute_90, which sm_80 cannot run" in error.message
    assert "--arch sm_90" in (error.next_step or "")


def test_a_linked_program_has_its_ptx_in_the_other_section(linked: Path) -> None:
    info = inspect(linked)
    assert [image.container for image in info.images if image.kind is Kind.PTX] == [1, 2]
    assert refusal(info, arch="sm_90") is None


def test_a_program_without_ptx(saxpy: Path, tmp_path: Path) -> None:
    data = bytearray(saxpy.read_bytes())
    header = data.rfind(bytes.fromhex("0100 0101"), 0, data.rfind(b".version 9.0"))
    data[header] = 32  # the entry that was PTX is now of an unknown kind
    path = tmp_path / "machine_only"
    path.write_bytes(data)
    path.chmod(0o755)
    error = reason(path)
    assert "holds machine code only (sm_90), no PTX" in error.message
    assert "-gencode arch=compute_90,code=compute_90" in (error.next_step or "")


def test_the_runtime_linked_statically(tmp_path: Path) -> None:
    info = inspect(compile_host(REGISTERS, tmp_path / "static", "-DINSIDE"))
    assert info.runtime is Runtime.STATIC
    error = refusal(info, arch="sm_90")
    assert error is not None
    assert "-cudart shared" in (error.next_step or "")
    # Without device code: NVIDIA's static library is known by the driver it opens.
    opens = compile_host('const char* volatile name = "libcuda.so.1"; int main() { return !name; }', tmp_path / "opens")
    assert inspect(opens).runtime is Runtime.STATIC


@pytest.mark.parametrize(("soname", "version"), [("libcudart.so.12", "12"), ("libcudart.so.11.0", "11.0")])
def test_the_runtime_of_another_version(tmp_path: Path, soname: str, version: str) -> None:
    library = compile_host("int x;", tmp_path / "libcudart.so", "-shared", "-fPIC", f"-Wl,-soname,{soname}")
    program = compile_host("int main() {}", tmp_path / "old", "-Wl,--no-as-needed", str(library))
    error = reason(program)
    assert f"built for CUDA {version}" in error.message
    assert "CUDA 13" in (error.next_step or "")


def test_libraries_that_need_a_gpu(tmp_path: Path) -> None:
    names = ("libcublas.so.13", "libcuda.so.1", "libcudart.so.13")
    files = [compile_host("int x;", tmp_path / name, "-shared", "-fPIC", f"-Wl,-soname,{name}") for name in names]
    error = reason(compile_host("int main() {}", tmp_path / "uses", "-Wl,--no-as-needed", *map(str, files)))
    assert isinstance(error, UnsupportedCode)
    assert [item.what for item in error.items] == ["libcublas.so.13", "libcuda.so.1"]


def test_device_code_in_a_library_that_the_program_brings(tmp_path: Path) -> None:
    compile_host("int x;", tmp_path / "libcudart.so", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.13")
    options = ("-shared", "-fPIC", "-Wl,--no-as-needed", "-L.", "-lcudart", "-Wl,-soname,libkernels.so")
    compile_host(REGISTERS.replace("main", "run"), tmp_path / "libkernels.so", *options)
    search = ("-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", "-L.", "-lkernels", "-Wl,-rpath,$ORIGIN")
    info = inspect(compile_host("int main() {}", tmp_path / "program", *search))
    assert info.libraries == (tmp_path / "libkernels.so",)
    assert info.runtime is Runtime.SHARED
    assert "cudaNoSuchCall" in info.runtime_calls


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"#!/usr/bin/env python\nprint()\n", "is a script (for /usr/bin/env python)"),
        (b"hello\n", "is a text file"),
        (b"", "is an empty file"),
        (b"MZ\x90\0", "is a Windows program"),
        (b"!<arch>\n", "is a static library"),
        (b"\x50\xed\x55\xba" + bytes(20), "is a fat binary"),
        (b"\x7fELF\x02\x01" + bytes(20), "is a damaged ELF file"),
        (b"\x7fELF\x01\x01" + bytes(60), "is a damaged ELF file"),
        (bytes(100), "is no program"),
    ],
)
def test_files_that_are_no_program(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    error = reason(path)
    assert isinstance(error, UsageError)
    assert text in error.message
    assert error.next_step


def test_programs_that_are_not_for_cuda(tmp_path: Path) -> None:
    assert "is not a CUDA program" in reason(Path(sys.executable)).message
    assert "is an object file" in reason(compile_host("int x;", tmp_path / "x.o", "-c")).message
    assert "is a shared library" in reason(compile_host("int x;", tmp_path / "x.so", "-shared", "-fPIC")).message
    plain = compile_host("int main() {}", tmp_path / "plain")
    plain.chmod(0o644)
    assert "may not be executed" in reason(plain).message


def test_places_where_no_file_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        inspect(tmp_path / "absent")
    with pytest.raises(UsageError, match="is a directory"):
        inspect(tmp_path)


def test_any_damage_is_survived(saxpy: Path, tmp_path: Path) -> None:
    good = saxpy.read_bytes()
    dice = random.Random(7)
    path = tmp_path / "damaged"
    headers = range(64), range(len(good) - 64 * 40, len(good))  # the ELF header and the section table
    for _ in range(200):
        bad = bytearray(good)
        for _ in range(dice.randint(1, 6)):
            bad[dice.choice(dice.choice(headers))] = dice.randrange(256)
        path.write_bytes(bad[: dice.choice((len(bad), dice.randrange(len(bad))))])
        path.chmod(0o755)
        info = inspect(path)
        refusal(info, arch="sm_90", provided=())
