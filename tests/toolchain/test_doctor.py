from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lanewise.cli import capabilities
from lanewise.cli.capabilities import Capability
from lanewise.cli.doctor import as_json, checks, doctor, exit_code, show
from lanewise.errors import ExitCode
from lanewise.toolchain import gpu, wheels

NAMES = (
    "Python", "host C++ compiler", "nvcc", "NVRTC", "ptxas", "nvdisasm", "runtime library", "LLVM compiler",
    "cache directory", "device memory", "NVIDIA driver", "device", "timing", "counters",
)  # fmt: skip
NO_DRIVER = gpu.Gpu(None, (), "there is no libcuda.so.1")


def by_name(monkeypatch: pytest.MonkeyPatch, found: gpu.Gpu = NO_DRIVER) -> dict[str, Capability]:
    monkeypatch.setattr(gpu, "probe", lambda: found)
    return {item.name: item for item in checks()}


def test_every_capability_says_whether_it_is_there_and_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_name(monkeypatch)
    assert tuple(found) == NAMES
    assert [name for name, item in found.items() if item.blocks] == []
    for item in found.values():
        assert item.detail
        assert (item.cause is None) == item.present
        assert item.fixed_by in (None, "you", "the host's administrator")


def test_json_and_the_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "probe", lambda: NO_DRIVER)
    assert doctor(json=True) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True
    assert [item["name"] for item in answer["capabilities"]] == list(NAMES)


def test_on_a_terminal_the_cause_and_the_cure_stand_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = list(by_name(monkeypatch).values())
    text = io.StringIO()
    show(found, Console(file=text, width=60))
    lines = text.getvalue().splitlines()
    at = next(index for index, line in enumerate(lines) if "host C++ compiler" in line)
    assert lines[at].split()[0] == "missing"
    assert "why: no host C++ compiler" in lines[at + 1]
    assert "you can fix it: install one (Debian and Ubuntu: sudo apt-get install g++" in lines[at + 2]
    assert lines[-1] == "Programs cannot be run here: host C++ compiler, runtime library."
    assert exit_code(found) == ExitCode.ENVIRONMENT
    assert json.loads(as_json(found))["ok"] is False


@pytest.mark.parametrize(
    ("component", "name", "blocks"),
    [("nvcc", "nvcc", True), ("cicc", "nvcc", True), ("crt headers", "nvcc", True), ("ptxas", "ptxas", True),
     ("libnvrtc", "NVRTC", False), ("nvdisasm", "nvdisasm", False)],
)  # fmt: skip
def test_a_missing_wheel_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, component: str, name: str, blocks: bool
) -> None:
    real = wheels.find
    monkeypatch.setattr(wheels, "find", lambda wanted: None if wanted == component else real(wanted))
    item = by_name(monkeypatch)[name]
    wheel = wheels.COMPONENTS[component].wheel
    assert not item.present
    assert wheel in (item.cause or "")
    assert item.fixed_by == "you"
    assert item.command is not None
    assert f"{sys.executable} -m pip install" in item.command
    assert wheel in item.command
    assert item.blocks is blocks


def test_a_cache_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    item = capabilities._cache()
    assert (item.present, item.blocks) == (False, False)
    assert "cannot be written" in (item.cause or "")
    monkeypatch.setenv("LANEWISE_CACHE_LIMIT", "much")
    assert "much" in (capabilities._cache().cause or "")


def test_a_driver_without_a_device_and_counters_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_name(monkeypatch, gpu.Gpu("13.0", (), "the driver sees no device"))
    assert found["NVIDIA driver"].present
    assert (found["device"].present, found["device"].cause) == (False, "the driver sees no device")
    assert not found["timing"].present

    monkeypatch.setattr(gpu, "counters_restricted", lambda: True)
    monkeypatch.setattr(gpu, "is_administrator", lambda: False)
    found = by_name(monkeypatch, gpu.Gpu("13.0", ("NVIDIA H200",), None))
    assert found["device"].detail == "NVIDIA H200"
    assert found["timing"].present
    counters = found["counters"]
    assert (counters.present, counters.fixed_by) == (False, "the host's administrator")
    assert "ERR_NVGPUCTRPERM" in (counters.cause or "")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in (counters.command or "")

    monkeypatch.setattr(gpu, "is_administrator", lambda: True)
    assert by_name(monkeypatch, gpu.Gpu("13.0", ("NVIDIA H200",), None))["counters"].present


def test_a_driver_that_hangs_or_crashes_does_not_take_us_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_PROBE", "import time; time.sleep(60)")
    assert "did not answer" in (gpu.probe(timeout=0.2).cause or "")
    monkeypatch.setattr(gpu, "_PROBE", "import os; os.abort()")
    assert "crashed" in (gpu.probe().cause or "")


def test_another_system_runs_ptx_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities.sys, "platform", "darwin")
    item = capabilities._python()
    assert item.blocks
    assert item.detail == "PTX text runs; CUDA sources and programs do not"
    assert "Linux only" in wheels.install_step("nvidia-cuda-nvcc")
