"""The same host programs on the emulator instead of the fake device (and, built with -DCARD, on a card)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from lanewise.cudart.host import run_program
from lanewise.device import EmulatedDevice
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware import device as devices
from lanewise.toolchain import executable


def _run(program: Path, *arguments: str, arch: str | None = None) -> tuple[int, str, str, EmulatedDevice]:
    spec = devices.load("h200")
    memory = DeviceMemory(spec.values.memory_bytes)
    device = EmulatedDevice(spec, memory=memory, arch=arch)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        result = run_program(program, arguments, memory=memory, backend=device, stdout=out, stderr=err)
        assert result.errors == ()
        out.seek(0)
        err.seek(0)
        return result.exit_code, out.read().decode(), err.read().decode(), device


def test_memory(memory_program: Path) -> None:
    assert _run(memory_program)[:3] == (0, "all passed\n", "")


def test_control(control_program: Path) -> None:
    assert _run(control_program)[:3] == (0, "kernel says 1\nall passed\n", "")


def test_graphs(graphs_program: Path) -> None:
    assert _run(graphs_program)[:3] == (0, "all passed\n", "")


def test_textures(textures_program: Path) -> None:
    assert _run(textures_program)[:3] == (0, "all passed\n", "")


def test_clusters(clusters_program: Path) -> None:
    assert _run(clusters_program, arch="sm_90a")[:3] == (0, "all passed\n", "")


@pytest.mark.parametrize("code", [700, 716, 719])
def test_faults(ends_program: Path, code: int) -> None:
    assert _run(ends_program, "sticky", str(code), "real")[:3] == (0, "", "")


def test_a_failed_assertion_is_written_as_a_card_does(ends_program: Path) -> None:
    code, output, complaint, _ = _run(ends_program, "sticky", "710", "real")
    assert (code, output) == (0, "")
    assert complaint.endswith(
        "ends.cu:16: void fail(int): block: [0,0,0], thread: [0,0,0] Assertion `error != cudaErrorAssert` failed.\n"
    )


def test_separate_compilation(linked_program: Path) -> None:
    code, output, _, device = _run(linked_program)
    assert (code, output) == (0, "")
    assert [record.symbol for record in device.records] == ["first_module", "second_module"]


def test_kernels_that_launch_kernels_are_named_and_others_run(child_kernels_program: Path) -> None:
    info = executable.inspect(child_kernels_program)
    assert executable.refusal(info, arch=devices.load("h200").arch) is None  # the device runtime's PTX is no part of it
    code, output, _, device = _run(child_kernels_program)
    assert (code, output) == (0, "cudaSuccess\ncudaErrorNotSupported\n")
    (record,) = device.records
    assert record.symbol.startswith("_Z5plain")
    assert record.resources is not None  # linked with the device runtime, as nvcc does
    found = {(item.source.outermost.line, item.reason) for item in device.unsupported if item.source is not None}
    assert found == {(6, "kernels that launch kernels (dynamic parallelism) are not run")}
