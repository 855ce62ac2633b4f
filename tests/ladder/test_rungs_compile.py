"""Every rung compiles with NVRTC at its subject's default sizes, for each of its element types."""

from importlib.resources import files

import pytest
from cuda.bindings import nvrtc

from lanewise.ladder import load, resolve, subjects

RUNGS = [(load(name), rung) for name in subjects() for rung in load(name).rungs]


def include_folder() -> str:
    return str(files("nvidia") / "cu13" / "include")


@pytest.mark.parametrize(("subject", "rung"), RUNGS, ids=[f"{subject.name}-{rung.name}" for subject, rung in RUNGS])
def test_compiles(subject, rung) -> None:
    arch = "compute_90a" if rung.arch >= 90 else "compute_75"
    options = [f"--gpu-architecture={arch}", "--std=c++17", "-default-device", f"-I{include_folder()}"]
    for element in rung.types:
        plan = resolve(subject, rung, element, {})
        defines = [f"-D{name}={value}" for name, value in plan.defines.items()]
        encoded = [option.encode() for option in options + defines]
        _, program = nvrtc.nvrtcCreateProgram(rung.source().encode(), rung.file.encode(), 0, None, None)
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
        nvrtc.nvrtcGetProgramLog(program, log)
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, f"{element}: {log.decode()[:2000]}"
        ptx = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, ptx)
        for launch in plan.launches:
            assert f".entry {launch.kernel}(" in ptx.decode(), launch.kernel
