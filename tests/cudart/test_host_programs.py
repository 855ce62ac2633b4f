"""Whole host programs against a fake device: what the runtime calls do, and every way a program can end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from host_run import PROGRAMS, Runner

from lanewise.cudart import known_symbols, library_directory, supported_symbols
from lanewise.errors import UsageError
from lanewise.toolchain.executable import exported


def test_memory_of_every_kind(run: Runner, memory_program: Path) -> None:
    done = run(memory_program)
    assert done.output == "all passed\n"
    assert (done.result.exit_code, done.complaint, done.result.errors) == (0, "", ())
    assert done.memory.allocations() == ()
    assert done.backend.unloaded == 2  # once by cudaDeviceReset, once at the end


def test_launches_streams_device_and_threads(run: Runner, control_program: Path) -> None:
    done = run(control_program)
    assert done.output == "kernel says 1\nall passed\n"
    assert all("the launch was refused" in finding.message for finding in done.result.findings)
    assert (done.result.exit_code, done.complaint, done.result.errors) == (0, "", ())
    assert done.result.unsupported_calls == ("cudaMallocMipmappedArray", "cudaIpcGetMemHandle")
    assert done.backend.limits[2] == 32 << 20


def test_graphs(run: Runner, graphs_program: Path) -> None:
    done = run(graphs_program)
    assert (done.output, done.complaint, done.result.exit_code) == ("all passed\n", "", 0)
    assert done.memory.allocations() == ()
    messages = [finding.message for finding in done.result.findings]
    assert any("the graph has a cycle" in message for message in messages)
    assert any("edge 0 would make a node come after itself, a cycle" in message for message in messages)


def test_refused_launches_say_why(run: Runner, control_program: Path) -> None:
    messages = [finding.message for finding in run(control_program).result.findings]
    assert any("grid.x = 0, and every dimension is at least 1" in message for message in messages)
    assert any("129 threads a block > 128, the kernel's launch bound" in message for message in messages)
    assert any("265 blocks of a cooperative launch > 264" in message for message in messages)


def test_parameters_arrive_at_their_offsets(run: Runner, control_program: Path) -> None:
    launches = run(control_program).backend.launches
    bounded = next(it for it in launches if it.function.handle[1] == "bounded")
    assert (bounded.params[0], bounded.params[2:4], bounded.params[16]) == (1, b"\2\0", 3)
    many = next(it for it in launches if it.function.handle[1] == "many")
    assert (many.grid, many.block, many.dynamic_shared_bytes) == ((1, 2, 3), (4, 5, 6), 100)
    assert [(p.offset, p.size) for p in many.function.params] == [(0, 8), (8, 1), (12, 12), (32, 16)]
    assert many.params[12:24] == b"\1\0\0\0\2\0\0\0\3\0\0\0"
    assert len(many.params) == 48


def test_launches_say_where_they_come_from(run: Runner, control_program: Path) -> None:
    launches = run(control_program).backend.launches
    assert {it.stream for it in launches if it.function.handle[1] == "say"} == {2}
    assert {it.host_thread for it in launches} >= {0, 1, 2, 3}
    assert any(it.cooperative for it in launches)
    assert [it.cluster for it in launches if it.cluster] == [(2, 1, 1)]


@pytest.mark.parametrize("code", [700, 702, 710, 716, 719])
def test_a_fault_stays_until_reset(run: Runner, ends_program: Path, code: int) -> None:
    done = run(ends_program, "sticky", str(code))
    assert (done.output, done.result.exit_code) == ("", 0)
    assert done.complaint == ("the assertion\n" if code == 710 else "")


def test_a_fault_at_the_launch_itself_when_launches_block(
    run: Runner, ends_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    assert run(ends_program, "blocking").result.exit_code == 0


@pytest.mark.parametrize(
    ("way", "code", "by"),
    [
        (("exit", "0"), 0, None),
        (("exit", "7"), 7, None),
        (("exit", "300"), 44, None),
        (("abort",), 134, signal.SIGABRT),
        (("kill",), 137, signal.SIGKILL),
        (("null",), 139, signal.SIGSEGV),
        (("handled",), 9, None),
        (("syscall",), 0, None),
    ],
)
def test_exit_codes_are_the_programs_own(
    run: Runner, ends_program: Path, way: tuple[str, ...], code: int, by: int | None
) -> None:
    done = run(ends_program, *way)
    assert (done.result.exit_code, done.result.signal, done.complaint) == (code, by, "")
    assert done.result.connected
    assert done.memory.allocations() == ()  # what a crashed program had is freed


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("read", r"host code read device memory at 0x[0-9a-f]+, byte 12 of allocation 1: 40 bytes made by cudaMalloc"),
        ("write", r"host code wrote device memory at .*, byte 36 of allocation 1: 40 bytes made by cudaMalloc"),
        ("beyond", r"host code read device memory at .*, which is in no allocation of this process"),
        ("freed", r"host code read device memory at .*, byte 8 of allocation 1: 40 bytes made by cudaMalloc, freed"),
    ],
)
def test_host_code_that_touches_device_memory_is_told(run: Runner, ends_program: Path, way: str, message: str) -> None:
    done = run(ends_program, way)
    assert done.result.exit_code == 139
    assert re.search(message, done.complaint)
    assert "next: copy it to the host with cudaMemcpy" in done.complaint
    (finding,) = done.result.findings
    assert re.search(message, finding.message)
    made = [text for text in finding.evidence if re.search(r"allocated for 'p' at .*ends.cu:\d+$", text)]
    assert len(made) == (0 if way == "beyond" else 1)
    assert finding.source is not None
    line = (PROGRAMS / "ends.cu").read_text().splitlines()[finding.source.line - 1]
    assert f'if (way == "{way}")' in line
    assert done.output == ("about to read\n" if way == "read" else "")


def test_what_kernels_print_comes_when_the_program_waits(run: Runner, ends_program: Path) -> None:
    output = run(ends_program, "say").output
    assert output.splitlines() == ["before", "between", "kernel says 1", "after", "kernel says 2"]


def test_processes_of_one_program(run: Runner, ends_program: Path) -> None:
    done = run(ends_program, "fork")
    assert (done.output, done.result.exit_code) == ("", 0)
    assert {it.process for it in done.backend.launches} == {1}
    assert done.memory.allocations() == ()


def test_a_mistake_in_the_backend_is_an_error_of_ours(run: Runner, ends_program: Path) -> None:
    done = run(ends_program, "mistake")
    assert (done.output, done.result.exit_code) == ("", 0)
    assert [str(error) for error in done.result.errors] == ["a mistake in the backend"]


def test_a_program_that_dies_during_a_launch(run: Runner, ends_program: Path) -> None:
    started = time.monotonic()
    done = run(ends_program, "die in launch")
    assert done.result.signal == signal.SIGALRM
    assert done.backend.interrupted.is_set()
    assert time.monotonic() - started < 10


def test_separate_compilation_registers_all_modules(run: Runner, linked_program: Path) -> None:
    done = run(linked_program)
    assert (done.output, done.result.exit_code, done.result.errors) == ("", 0, ())
    (program,) = done.backend.programs
    kernels = {name for module in program.modules for name in module.functions}
    assert program.linked
    assert kernels >= {"first_module", "second_module"}
    assert [it.function.handle[1] for it in done.backend.launches] == ["first_module", "second_module"]


def test_options_of_the_assembler_come_with_the_ptx(run: Runner, ends_program: Path) -> None:
    ((image,),) = run(ends_program, "say").backend.images
    assert image.name.endswith("ends.cu")
    assert "--generate-line-info" in image.options.split()


def test_an_rpath_to_another_runtime_library(run: Runner, program_with_rpath: Path) -> None:
    done = run(program_with_rpath, "abort")
    assert (done.result.connected, done.result.exit_code) == (True, 134)


def test_a_program_without_cuda(run: Runner) -> None:
    done = run(Path("/bin/true"))
    assert (done.result.exit_code, done.result.connected) == (0, False)


def test_what_cannot_be_executed(run: Runner, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        run(tmp_path / "absent")
    text = tmp_path / "text"
    text.write_bytes(b"\0\0 no program")
    with pytest.raises(UsageError, match="Permission denied"):
        run(text)
    text.chmod(0o755)
    with pytest.raises(UsageError, match="Exec format error"):
        run(text)


def test_outside_of_a_run_the_library_says_so(ends_program: Path) -> None:
    environment = {"LD_LIBRARY_PATH": str(library_directory())}
    done = subprocess.run([ends_program, "abort"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 99
    assert done.stderr.count("start it with `lanewise run`") == 1


def test_ctrl_c_ends_program_and_launch(ends_program: Path) -> None:
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from fake_backend import FakeBackend
from lanewise.cudart.host import run_program
from lanewise.emulator.memory import DeviceMemory
memory = DeviceMemory(1 << 30)
backend = FakeBackend(memory)
done = run_program(Path({str(ends_program)!r}), ["wait"], memory=memory, backend=backend)
print(done.exit_code, done.interrupted, backend.interrupted.is_set(), flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "130 True True\n"
    assert process.wait() == 0


def test_every_call_of_the_cuda_13_runtime_is_there() -> None:
    names = exported(library_directory() / "libcudart.so.13")
    driver = {"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapReplaceAddress"}
    assert names - {"libcudart.so.13"} == known_symbols() | driver
    assert supported_symbols() < known_symbols()
    assert {"cudaMalloc", "cudaMemcpyAsync_ptsz", "__cudaPushCallConfiguration"} <= supported_symbols()
    assert "cudaMallocMipmappedArray" not in supported_symbols()
