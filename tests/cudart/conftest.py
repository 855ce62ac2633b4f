"""Programs built once a session against our runtime library, and a fake device to run them on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fake_backend import FakeBackend
from host_run import PROGRAMS, Run, Runner

from lanewise.cudart import library_directory
from lanewise.cudart.host import run_program
from lanewise.emulator.memory import DeviceMemory
from lanewise.toolchain import nvcc, wheels


@pytest.fixture(scope="session", autouse=True)
def _builds(fresh_builds: Path) -> None:
    """Builds are real, and nothing is left behind."""


@pytest.fixture
def run() -> Runner:
    """run(program, *arguments): run it on a fake device of 1 GiB."""

    def run_it(program: Path, *arguments: str) -> Run:
        memory = DeviceMemory(1 << 30)
        backend = FakeBackend(memory)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            result = run_program(program, arguments, memory=memory, backend=backend, stdout=out, stderr=err)
            out.seek(0)
            err.seek(0)
            return Run(result, backend, memory, out.read().decode(), err.read().decode())

    return run_it


def _build(*names: str, arch: str = "sm_90", flags: tuple[str, ...] = ()) -> Path:
    sources = [PROGRAMS / name for name in names]
    return nvcc.build(sources, arch=arch, flags=("-std=c++17", *flags), libcudart_dir=library_directory())


@pytest.fixture(scope="session")
def program_with_rpath() -> Path:
    """A program whose DT_RPATH names NVIDIA's library, which comes before LD_LIBRARY_PATH."""
    place = wheels.locate("libcudart").parent
    return _build("ends.cu", flags=("-Xlinker", f"--disable-new-dtags,-rpath,{place}"))


@pytest.fixture(scope="session")
def memory_program() -> Path:
    return _build("memory.cu")


@pytest.fixture(scope="session")
def control_program() -> Path:
    return _build("control.cu")


@pytest.fixture(scope="session")
def graphs_program() -> Path:
    return _build("graphs.cu")


@pytest.fixture(scope="session")
def textures_program() -> Path:
    return _build("textures.cu")


@pytest.fixture(scope="session")
def clusters_program() -> Path:
    return _build("clusters.cu", arch="sm_90a", flags=("-lcuda",))


@pytest.fixture(scope="session")
def ends_program() -> Path:
    return _build("ends.cu")


@pytest.fixture(scope="session")
def linked_program() -> Path:
    return _build("linked_main.cu", "linked_part.cu", flags=("-rdc=true",))


@pytest.fixture(scope="session")
def child_kernels_program() -> Path:
    return _build("child_kernels.cu", flags=("-rdc=true",))
