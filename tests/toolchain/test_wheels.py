from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lanewise.errors import EnvironmentProblem
from lanewise.toolchain import toolkit, wheels


def install(site: Path, *components: str) -> None:
    for name in components:
        path = site / "nvidia" / "cu13" / wheels.COMPONENTS[name].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o755)


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two site-packages directories in place of the real ones, and no toolkit."""
    places = [tmp_path / "one", tmp_path / "two"]
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(toolkit, "_PLACE", tmp_path / "none")
    monkeypatch.setattr(sys, "path", [str(place) for place in places])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return places


@pytest.mark.parametrize("name", wheels.COMPONENTS)
def test_every_component_is_installed(name: str) -> None:
    assert "site-packages" in wheels.locate(name).parts
    assert wheels.version(wheels.COMPONENTS[name].wheel) is not None


def test_a_missing_wheel_is_named_with_its_command(sites: list[Path]) -> None:
    assert wheels.roots() == ()
    with pytest.raises(EnvironmentProblem, match="comes with the wheel nvidia-nvvm and compiles CUDA") as caught:
        wheels.locate("cicc")
    assert caught.value.next_step == f"run: {sys.executable} -m pip install '{'nvidia-nvvm==13.0.*'}'"


def test_where_there_are_no_wheels_that_is_said(sites: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.sys, "platform", "darwin")
    with pytest.raises(EnvironmentProblem) as caught:
        wheels.locate("nvcc")
    assert "pip" not in (caught.value.next_step or "")
    assert "PTX text runs here without it" in (caught.value.next_step or "")


def test_wheels_of_two_site_packages_are_found(sites: list[Path]) -> None:
    install(sites[0], "nvcc", "runtime headers")
    install(sites[1], "ptxas", "crt headers")
    assert wheels.locate("nvcc").is_relative_to(sites[0])
    assert wheels.locate("ptxas").is_relative_to(sites[1])
    assert wheels.include_directories() == tuple(site / "nvidia" / "cu13" / "include" for site in sites)


def test_a_part_that_is_missing_is_not_an_other_part(sites: list[Path]) -> None:
    install(sites[0], "runtime headers")
    with pytest.raises(EnvironmentProblem, match="nvidia-cuda-crt"):
        wheels.include_directories()
    assert wheels.find("libcudart") is None


def test_a_tool_that_may_not_be_executed(sites: list[Path]) -> None:
    install(sites[0], "nvcc")
    path = sites[0] / "nvidia" / "cu13" / "bin" / "nvcc"
    path.chmod(0o644)
    with pytest.raises(EnvironmentProblem, match="may not be executed") as caught:
        wheels.locate("nvcc")
    assert f"chmod +x {path}" in (caught.value.next_step or "")


def make_toolkit(place: Path, version: int) -> None:
    for name in ("bin/ptxas", "include/crt/host_config.h", "lib64/libcudart.so.13"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("")
        (place / name).chmod(0o755)
    (place / "include" / "cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {version}\n")


def test_a_toolkit_stands_in_for_wheels_that_are_missing_and_for_no_other(
    sites: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "cuda"
    make_toolkit(place, 13000)
    monkeypatch.setenv("CUDA_HOME", str(place))
    install(sites[0], "ptxas", "runtime headers", "cccl headers")
    assert wheels.locate("ptxas").is_relative_to(sites[0])
    assert wheels.locate("crt headers") == place / "include" / "crt" / "host_config.h"
    assert wheels.locate("libcudart") == place / "lib64" / "libcudart.so.13"
    assert wheels.include_directories()[-1] == place / "include"
    with pytest.raises(EnvironmentProblem, match="nvidia-nvvm"):
        wheels.locate("cicc")


def test_headers_of_wheels_are_not_mixed_with_those_of_a_toolkit(
    sites: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_toolkit(tmp_path / "cuda", 13000)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    install(sites[0], "runtime headers", "crt headers", "cccl headers")
    assert tmp_path / "cuda" / "include" not in wheels.include_directories()


def test_the_version_of_a_toolkit_is_its_own(
    sites: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_toolkit(tmp_path / "cuda", 13010)
    monkeypatch.setattr(toolkit, "_PLACE", tmp_path / "cuda")
    assert (wheels.version("no-such-wheel") or "").startswith("13.1 of a toolkit of 20")


def test_a_toolkit_of_another_major_version_is_not_taken(
    sites: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_toolkit(tmp_path / "cuda", 12080)
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda"))
    assert toolkit.root() is None
    with pytest.raises(EnvironmentProblem, match="nvidia-cuda-nvcc"):
        wheels.locate("ptxas")
