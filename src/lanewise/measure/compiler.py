"""The micro-benchmarks to PTX, by whatever NVRTC a machine with a GPU has: a wheel's library alone, or a toolkit's.

`toolchain.nvrtc` wants all of the compiler's wheels; the benchmarks include no headers. Source: NVRTC documentation,
"Programs" and "Compilation".
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanewise.errors import CompileError, EnvironmentProblem
from lanewise.toolchain import arch as architectures
from lanewise.toolchain import wheels

_NAME = "kernels.cu"
_VERSIONS = (13, 12)  # of the library's name; older ones know too few instructions


def ptx(source: str, arch: str) -> bytes:
    """PTX text for `arch`, such as "sm_90". Raises EnvironmentProblem where there is no NVRTC at all."""
    return _compile(_load(), source, architectures.virtual(arch))


def places() -> Iterator[Path]:
    """Where the library may be: its wheel, CUDA_HOME, CUDA_PATH, beside the nvcc on the path, /usr/local/cuda."""
    wheel = wheels.find("libnvrtc")
    if wheel is not None:
        yield wheel
    roots = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    compiler = shutil.which("nvcc")
    if compiler is not None:
        roots.append(str(Path(compiler).resolve().parent.parent))
    for root in dict.fromkeys((*filter(None, roots), "/usr/local/cuda")):
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            yield from (Path(root, folder, f"libnvrtc.so.{version}") for version in _VERSIONS)


def _load() -> ctypes.CDLL:
    found: list[Path] = [path for path in places() if path.is_file()]
    found += [Path(f"libnvrtc.so.{version}") for version in _VERSIONS]  # where the loader looks by itself
    for path in found:
        try:
            # It opens its builtins by name alone: they are found once they are loaded.
            for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")) if path.is_absolute() else ():
                ctypes.CDLL(str(builtins))
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise EnvironmentProblem(
        "there is no NVRTC to compile the micro-benchmarks with: neither its wheel nor a CUDA toolkit is installed",
        next_step=f"{wheels.install_step('nvidia-cuda-nvrtc')}, or set CUDA_HOME to a toolkit of CUDA 12 or 13",
    )


def _compile(library: Any, source: str, arch: str) -> bytes:
    program = ctypes.c_void_p()
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), _NAME.encode(), 0, None, None))
    try:
        options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
        array = (ctypes.c_char_p * len(options))(*options)
        status = library.nvrtcCompileProgram(program, len(options), array)
        if status:
            log = _text(library, program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
            raise CompileError("the micro-benchmarks do not compile with this machine's NVRTC", log or str(status))
        return _text(library, program, "PTX").rstrip(b"\0")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: Any, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, text))
    return text.raw


def _check(library: Any, status: int) -> None:
    if status:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        reason = library.nvrtcGetErrorString(status).decode("utf-8", "replace")
        raise EnvironmentProblem(f"NVRTC failed: {reason}", next_step="Install another version of the CUDA toolkit.")
