from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from lanewise.errors import CompileError, EnvironmentProblem, UnsupportedCode, UsageError
from lanewise.toolchain import cache, dependencies, host, nvcc, process, wheels
from lanewise.toolchain import flags as nvcc_flags
from lanewise.toolchain.elf import DT_NEEDED, Elf


def test_a_program_is_linked_to_the_shared_runtime(saxpy: Path) -> None:
    assert "libcudart.so.13" in Elf(saxpy.read_bytes()).dynamic_strings(DT_NEEDED)
    assert saxpy.stat().st_mode & 0o111


def test_an_unchanged_program_is_found_again_at_once(saxpy: Path, saxpy_source: Path) -> None:
    start = time.perf_counter()
    assert nvcc.build([saxpy_source], arch="sm_90") == saxpy
    assert time.perf_counter() - start < 0.3


def test_a_changed_header_builds_another_program(saxpy: Path, saxpy_source: Path) -> None:
    header = saxpy_source.with_name("factor.h")
    before = header.read_text()
    try:
        header.write_text("#define FACTOR 3.0f\n")
        other = nvcc.build([saxpy_source], arch="sm_90")
    finally:
        header.write_text(before)
    assert other != saxpy
    assert nvcc.build([saxpy_source], arch="sm_90") == saxpy


def test_output_is_a_copy(saxpy: Path, saxpy_source: Path, tmp_path: Path) -> None:
    output = tmp_path / "bin" / "saxpy"
    assert nvcc.build([saxpy_source], arch="sm_90", output=output) == output
    assert output.read_bytes() == saxpy.read_bytes()
    assert output.stat().st_mode & 0o111
    output.write_bytes(b"changed")
    assert nvcc.build([saxpy_source], arch="sm_90").read_bytes() != b"changed"


def test_a_source_that_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text("__global__ void k() { undeclared = 1; }\nint main() {}\n")
    with pytest.raises(CompileError, match=r"wrong\.cu does not compile") as caught:
        nvcc.build([source], arch="sm_90")
    assert 'identifier "undeclared" is undefined' in caught.value.output
    assert "wrong.cu(1)" in caught.value.output


def test_runtime_calls_that_the_library_lacks_are_named_at_once(tmp_path: Path) -> None:
    source = tmp_path / "calls.cpp"
    source.write_text(
        'extern "C" { int cudaNoSuchCall(); int cudaNorThisOne(); int cudaMalloc(void**, unsigned long); }\n'
        "int main() { return cudaMalloc(nullptr, 0) + cudaNoSuchCall()\n"
        "  + cudaNorThisOne() + cudaNoSuchCall(); }\n"
    )
    with pytest.raises(UnsupportedCode) as caught:
        nvcc.build([source], arch="sm_90")
    assert [item.what for item in caught.value.items] == ["cudaNoSuchCall", "cudaNorThisOne"]
    assert [item.source.line for item in caught.value.items if item.source] == [1, 1]


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "empty.cpp"
    source.write_text("int main() {}\n")
    with pytest.raises(CompileError, match="does not link") as caught:
        nvcc.build([source], arch="sm_90", flags=["-lnotthere"])
    assert caught.value.next_step == "add the directory of libnotthere.so with -L"


def test_what_needs_a_driver_is_named_at_once(tmp_path: Path) -> None:
    source = tmp_path / "driver.cpp"
    source.write_text('extern "C" int cuInit(int);\nint main() { return cuInit(0); }\n')
    with pytest.raises(UnsupportedCode) as caught:
        nvcc.build([source], arch="sm_90")
    assert [(item.what, item.source.line if item.source else 0) for item in caught.value.items] == [("cuInit", 1)]
    source.write_text("int main() {}\n")
    with pytest.raises(UnsupportedCode, match=r"libcublas\.so, libcurand\.so"):
        nvcc.build([source], arch="sm_90", flags=["-lcublas", "-lcurand"])


def test_warnings_are_told_every_time(tmp_path: Path) -> None:
    source = tmp_path / "warns.cpp"
    source.write_text("int main() { int unused; }\n")
    for _ in range(2):
        notes: list[str] = []
        nvcc.build([source], arch="sm_90", flags=["-Xcompiler", "-Wall", "-cudart=static"], on_note=notes.append)
        assert len(notes) == 2
        assert notes[0].startswith("ignored: -cudart=static")
        assert "unused variable" in notes[1]


def test_sources_of_several_languages_and_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    declared = '#ifdef __cplusplus\nextern "C"\n#endif\nint helper(void);\n'
    Path("main.c").write_text(declared + "int main(void) { return helper(); }\n")
    Path("helper.inc").write_text('extern "C" __host__ __device__ int helper() { return 7; }\n')
    helper = nvcc.build([Path("main.c"), Path("helper.inc")], arch="sm_90", flags=["-x", "cu"])
    assert subprocess.run([helper], check=False).returncode == 7
    subprocess.run(["g++", "-c", "-x", "c++", "helper.inc", "-D__host__=", "-D__device__="], check=True)
    assert subprocess.run([nvcc.build([Path("main.c"), Path("helper.o")], arch="sm_90")], check=False).returncode == 7


def test_an_architecture_the_compiler_has_dropped(tmp_path: Path) -> None:
    source = tmp_path / "old.cu"
    source.write_text("int main() {}\n")
    with pytest.raises(UsageError, match="sm_50"):
        nvcc.build([source], arch="sm_50")


@pytest.mark.parametrize(("name", "text"), [("notes.txt", "not a kind of file"), ("absent.cu", "no such file")])
def test_sources_that_are_none(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match=text):
        nvcc.build([tmp_path / name], arch="sm_90")


def test_no_host_compiler(saxpy_source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="no host C\\+\\+ compiler") as caught:
        nvcc.build([saxpy_source], arch="sm_90")
    assert "apt-get install g++" in (caught.value.next_step or "")
    with pytest.raises(EnvironmentProblem, match="nosuchcompiler"):
        host.compiler("nosuchcompiler")


def test_no_space_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "echo 'ld: final link failed: No space left on device' >&2; exit 1"
    with pytest.raises(EnvironmentProblem, match="no space"):
        process.run(["sh", "-c", script])
    full = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(process.shutil, "disk_usage", lambda _: full)
    with pytest.raises(EnvironmentProblem, match="no space"):
        process.run(["sh", "-c", "kill -BUS $$"])
    with pytest.raises(EnvironmentProblem, match="do not fit into"), process.scratch():
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_cache_that_is_off_still_builds(saxpy_source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "off")
    program = nvcc.build([saxpy_source], arch="sm_90")
    assert Elf(program.read_bytes()).dynamic_strings(DT_NEEDED)
    assert cache.default().root is None


def test_our_own_runtime_library_is_linked(saxpy_source: Path, tmp_path: Path) -> None:
    library = tmp_path / "libcudart.so"
    code = "int cudaMalloc, __cudaGetKernel;"
    command = [
        shutil.which("g++") or "g++",
        "-shared",
        "-x",
        "c",
        "-",
        "-o",
        str(library),
        "-Wl,-soname,libcudart.so.13",
    ]
    subprocess.run(command, input=code, text=True, check=True)
    with pytest.raises(UnsupportedCode) as caught:
        nvcc.build([saxpy_source], arch="sm_90", libcudart_dir=tmp_path)
    names = {item.what for item in caught.value.items}
    assert "cudaDeviceSynchronize" in names
    assert "__cudaRegisterFatBinary" in names
    assert "__cudaGetKernel" not in names


def test_flags_are_sorted() -> None:
    flags = nvcc_flags.parse(
        "-I include -DN=4 -O2 -Xcompiler -Wall -lm -L /opt/lib -std=c++20 --expt-relaxed-constexpr -x cu".split()  # noqa: SIM905
    )
    assert flags.common == ("-O2", "-Xcompiler", "-Wall", "-std=c++20", "--expt-relaxed-constexpr")
    assert flags.compile_only == ("-I", "include", "-DN=4", "-x", "cu")
    assert flags.link == ("-lm", "-L", "/opt/lib")
    assert flags.ignored == ()
    assert (flags.optimised, flags.debug, flags.relocatable, flags.arch) == (True, False, False, None)


def test_options_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "options"
    file.write_text("-DNAME='a b' -lm\n-lineinfo\n")
    parsed = nvcc_flags.parse(["-O1", f"-optf={file}"])
    assert (parsed.common, parsed.compile_only, parsed.link) == (("-O1",), ("-DNAME=a b",), ("-lm",))
    with pytest.raises(UsageError, match="absent"):
        nvcc_flags.parse(["--options-file", "absent"])


@pytest.mark.parametrize("flag", ["-lineinfo", "-ltoir", "-lib", "-link", "-lto"])
def test_flags_that_only_look_like_libraries(flag: str) -> None:
    (item,) = nvcc_flags.split([flag])
    assert item == (flag, "", (flag,))


@pytest.mark.parametrize(
    ("flags", "arch"),
    [
        (["-arch=sm_80"], "sm_80"),
        (["-arch", "compute_75"], "sm_75"),
        (["-gencode", "arch=compute_80,code=sm_80"], "sm_80"),
        (["--generate-code=arch=compute_80,code=[sm_80,compute_80]"], "sm_80"),
        (["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"], None),
        (["-arch=native"], None),
    ],
)
def test_an_architecture_among_the_flags_gives_way_to_the_device(flags: list[str], arch: str | None) -> None:
    parsed = nvcc_flags.parse(flags)
    assert parsed.arch == arch
    assert parsed.common == ()
    ignored = parsed.ignored_for("sm_90")
    assert len(ignored) == len([flag for flag in flags if flag.startswith("-")])
    assert "--device or --arch" in ignored[0]


@pytest.mark.parametrize(
    ("flags", "arch"),
    [
        (["-arch=sm_90a"], "sm_90a"),
        (["-gencode=arch=compute_90a,code=sm_90a"], "sm_90a"),
        (["-arch=sm_100a"], "sm_90"),
        (["-arch=sm_80"], "sm_90"),
        ([], "sm_90"),
    ],
)
def test_code_for_one_architecture_alone_is_made_where_the_device_is_of_it(flags: list[str], arch: str) -> None:
    assert nvcc_flags.specific(flags, "sm_90") == arch
    assert bool(nvcc_flags.parse(flags).ignored_for(arch)) == (flags != [] and arch == "sm_90")


def test_the_static_runtime_and_link_time_optimisation_are_ignored() -> None:
    parsed = nvcc_flags.parse(["-cudart=static", "-lcudart_static", "-cudart", "shared", "-dlto", "-G"])
    assert len(parsed.ignored) == 3
    assert parsed.common == ("-rdc=true", "-G")
    assert parsed.relocatable
    assert parsed.debug


@pytest.mark.parametrize("flags", [["-c"], ["-ptx"], ["-o", "x"], ["--output-file=x"], ["-E"], ["-I"]])
def test_flags_that_ask_for_no_program(flags: list[str]) -> None:
    with pytest.raises(UsageError):
        nvcc_flags.parse(flags)


def test_a_file_written_during_the_compilation_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = tmp_path / "header.h"
    header.write_text("")
    os.utime(header, ns=(1000, 1000))
    assert not dependencies.changed_since(2000, [str(header), str(tmp_path / "absent")])
    assert dependencies.changed_since(500, [str(header)])
    ahead = time.time_ns() + 10**12
    os.utime(header, ns=(ahead, ahead))
    assert not dependencies.changed_since(500, [str(header)])

    # The compiler reads one header, and another one is there when it is done.
    source = tmp_path / "program.cpp"
    source.write_text('#include "header.h"\nint main() { return VALUE; }\n')
    header.write_text("#define VALUE 1\n")
    real = process.run

    def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
        done = real(command, **environment)
        if "-c" in command:
            time.sleep(0.02)
            header.write_text("#define VALUE 2\n")
            time.sleep(0.02)
        return done

    monkeypatch.setattr(process, "run", run)
    assert subprocess.run([nvcc.build([source], arch="sm_90")], check=False).returncode == 1
    assert subprocess.run([nvcc.build([source], arch="sm_90")], check=False).returncode == 2


def test_wheels_in_two_places_are_told_apart(saxpy_source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = wheels.find
    monkeypatch.setattr(wheels, "find", lambda name: Path("/elsewhere/cicc") if name == "cicc" else real(name))
    with pytest.raises(EnvironmentProblem, match="lie in two places"):
        nvcc.build([saxpy_source], arch="sm_90")


def test_dependency_files_are_read_as_make_reads_them() -> None:
    text = "x: /a/one.h \\\n /b/with\\ blank.h /c/dollar$$.h \\\n  /d/hash\\#.h\nx: /a/one.h\n/a/one.h:\n"
    wanted = ["/a/one.h", "/b/with blank.h", "/c/dollar$.h", "/d/hash#.h", "/a/one.h"]
    assert dependencies.prerequisites(text) == wanted
