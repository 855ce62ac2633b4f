"""Rungs to machine code through NVRTC, in parallel, each distinct source and set of macros once."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cuda.bindings import nvrtc

from lanewise.ladder import Plan


class BuildError(RuntimeError):
    """NVRTC refused a rung; the text is its log."""


def include_folders() -> list[str]:
    """Where CUDA's headers are: the toolkit of the nvcc on the path, else the wheels."""
    found = []
    nvcc = shutil.which("nvcc")
    if nvcc:
        found.append(Path(nvcc).resolve().parent.parent / "include")
    found.append(Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "include")
    return [str(folder) for folder in found if (folder / "cuda_bf16.h").is_file()][:1]


def key(plan: Plan) -> tuple[str, ...]:
    """Plans with the same key share their machine code."""
    return (plan.rung.subject, plan.rung.file, *(f"{name}={value}" for name, value in sorted(plan.defines.items())))


def build(plan: Plan, arch: str) -> bytes:
    """The cubin of a plan for `arch`, such as sm_90a; BuildError with the compiler's log."""
    options = [f"--gpu-architecture={arch}", "--std=c++17", "-lineinfo", "-default-device"]
    options += [f"-I{folder}" for folder in include_folders()]
    options += [f"-D{name}={value}" for name, value in plan.defines.items()]
    source = plan.rung.source().encode()
    program = _done(nvrtc.nvrtcCreateProgram(source, plan.rung.file.encode(), 0, None, None))
    encoded = [option.encode() for option in options]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = bytearray(_done(nvrtc.nvrtcGetProgramLogSize(program)))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise BuildError(f"{' '.join(key(plan))}:\n{log.decode()}")
    cubin = bytearray(_done(nvrtc.nvrtcGetCUBINSize(program)))
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(program)
    return bytes(cubin)


def build_all(
    plans: Iterable[Plan], arch: str, workers: int, *, skip_failing: bool = False
) -> dict[tuple[str, ...], bytes]:
    """The cubins by `key`. `skip_failing`: plans that do not compile are left out (points of a search)."""

    def one(plan: Plan) -> bytes | None:
        try:
            return build(plan, arch)
        except BuildError:
            if skip_failing:
                return None
            raise

    distinct = {key(plan): plan for plan in plans}
    with ThreadPoolExecutor(workers) as pool:
        cubins = pool.map(one, distinct.values())
        return {name: cubin for name, cubin in zip(distinct, cubins, strict=True) if cubin is not None}


def _done(result: tuple) -> object:
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise BuildError(str(status))
    return values[0] if values else None
