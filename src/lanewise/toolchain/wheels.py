"""Where the parts of NVIDIA's compiler lie that their wheels install, and what to say where one is missing.

The wheels unpack into `nvidia/cu13/` of a site-packages directory: `bin/`, `include/`, `lib/`, `nvvm/`. A part whose
wheel is missing is taken from a CUDA toolkit of this machine (`toolkit.py`), where there is one.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import EnvironmentProblem
from lanewise.toolchain import toolkit


@dataclass(frozen=True, slots=True)
class Component:
    """One file or directory that a wheel installs; `path` is relative to `nvidia/cu13`."""

    name: str
    path: str
    wheel: str
    purpose: str


COMPONENTS: dict[str, Component] = {
    component.name: component
    for component in (
        Component("nvcc", "bin/nvcc", "nvidia-cuda-nvcc", "compiles whole programs"),
        Component("ptxas", "bin/ptxas", "nvidia-cuda-nvcc", "assembles PTX and counts registers"),
        Component("nvlink", "bin/nvlink", "nvidia-cuda-nvcc", "links device code"),
        Component("fatbinary", "bin/fatbinary", "nvidia-cuda-nvcc", "packs device code"),
        Component("cudafe++", "bin/cudafe++", "nvidia-cuda-nvcc", "splits host code from device code"),
        Component("cicc", "nvvm/bin/cicc", "nvidia-nvvm", "compiles CUDA C++ to PTX"),
        Component("libdevice", "nvvm/libdevice/libdevice.10.bc", "nvidia-nvvm", "is the device mathematics library"),
        Component("libnvvm", "lib/libnvvm.so.4", "nvidia-nvvm", "compiles NVVM IR"),
        Component("crt headers", "include/crt/host_config.h", "nvidia-cuda-crt", "holds the compiler's own headers"),
        Component("runtime headers", "include/cuda_runtime.h", "nvidia-cuda-runtime", "holds the runtime's headers"),
        Component("libcudadevrt", "lib/libcudadevrt.a", "nvidia-cuda-runtime", "is the device runtime"),
        Component("libcudart", "lib/libcudart.so.13", "nvidia-cuda-runtime", "is NVIDIA's runtime library"),
        Component("cccl headers", "include/cccl", "nvidia-cuda-cccl", "holds Thrust, CUB and libcu++"),
        Component("libnvrtc", "lib/libnvrtc.so.13", "nvidia-cuda-nvrtc", "compiles CUDA C++ at run time"),
        Component("nvdisasm", "bin/nvdisasm", "nvidia-cuda-nvdisasm", "lists machine code"),
    )
}


# Wheels whose versions are not those of CUDA.
_OTHER_VERSIONS = {"nvidia-cuda-nvdisasm": ">=13.2,<14", "nvidia-curand": ">=10.4,<10.5"}


def roots() -> tuple[Path, ...]:
    """Every `nvidia/cu13` directory on the import path, in its order. Several where wheels lie in two site-packages."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return ()
    locations = spec.submodule_search_locations if spec is not None else None
    return tuple(path for place in locations or () if (path := Path(place, "cu13")).is_dir())


def find(name: str) -> Path | None:
    """The path of a component (a key of `COMPONENTS`), or None where it is not installed."""
    return _in_wheels(name) or toolkit.find(COMPONENTS[name].path)


def _in_wheels(name: str) -> Path | None:
    return next((path for root in roots() if (path := root / COMPONENTS[name].path).exists()), None)


def locate(name: str) -> Path:
    """The path of a component (a key of `COMPONENTS`). EnvironmentProblem, naming the wheel, where it is missing."""
    path = find(name)
    if path is None:
        raise missing(name)
    if path.parent.name == "bin" and not os.access(path, os.X_OK):
        raise EnvironmentProblem(
            f"{path} is there but may not be executed",
            next_step=f"make it executable (chmod +x {shlex.quote(str(path))}), "
            "or install into a file system not mounted noexec",
        )
    return path


def missing(name: str) -> EnvironmentProblem:
    """The error for a component that is not installed."""
    component = COMPONENTS[name]
    what = f"{name} is not installed: it comes with the wheel {component.wheel} and {component.purpose}"
    return EnvironmentProblem(what, next_step=install_step(component.wheel))


def install_step(wheel: str) -> str:
    """What to do to get a wheel on this machine: the pip command, or why there is none."""
    if sys.platform == "linux":
        return f"run: {pip_command(wheel)}"
    return (
        "NVIDIA publishes this wheel for Linux only: use Lanewise on Linux or in a Linux container; "
        "PTX text runs here without it"
    )


def pip_command(wheel: str) -> str:
    """The command that installs a wheel into the running Python, with the versions this project asks for."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(_requirement(wheel))}"


def _requirement(wheel: str) -> str:
    try:
        requirements = importlib.metadata.requires("lanewise") or []
    except importlib.metadata.PackageNotFoundError:
        requirements = []
    for line in requirements:
        requirement = line.partition(";")[0].strip()
        if requirement.startswith(wheel) and not requirement[len(wheel) : len(wheel) + 1].isalnum():
            return requirement
    return f"{wheel}{_OTHER_VERSIONS.get(wheel, '==13.0.*')}"


def version(wheel: str) -> str | None:
    """The installed version of a wheel, of the toolkit that stands in for it, or None."""
    try:
        return importlib.metadata.version(wheel)
    except importlib.metadata.PackageNotFoundError:
        return toolkit.identity() or None


def include_directories() -> tuple[Path, ...]:
    """Header directories for a compiler's -I, CUDA's own first. EnvironmentProblem where the runtime's are missing."""
    for name in ("runtime headers", "crt headers"):
        locate(name)
    return tuple(_include_directories())


def _include_directories() -> Iterator[Path]:
    places = [*roots()]
    stand_in = toolkit.root()
    if stand_in is not None and any(
        _in_wheels(name) is None for name in ("runtime headers", "crt headers", "cccl headers")
    ):
        places.append(stand_in)
    for root in places:
        for path in (root / "include", root / "include" / "cccl"):
            if path.is_dir():
                yield path


def library_directory() -> Path:
    """The directory of libcudadevrt.a, for a linker's -L. It has no `libcudart.so`: the wheels leave that name out."""
    return locate("libcudadevrt").parent
