"""CUDA C++ to PTX text with NVRTC: no host compiler, no driver, no device. Source: the NVRTC documentation."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from typing import Any

from lanewise.errors import CompileError, EnvironmentProblem
from lanewise.toolchain import arch as architectures
from lanewise.toolchain import cache, wheels
from lanewise.toolchain.nvrtc_headers import HEADERS

DEFAULT_STANDARD = "c++17"
_OTHER_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?!_next)\b[ \t]*(?![ \t<])", re.MULTILINE)


def compile_source(source: str, *, arch: str, options: Sequence[str] = (), name: str = "kernel.cu") -> str:
    """PTX text of CUDA C++ source.

    `arch` such as "sm_90" (PTX is made for the virtual architecture of that number), `options` as nvcc takes them
    (-I, -D, -std, -G, ...), `name` is the file name that messages and `.file` directives carry. -lineinfo and C++17 are
    the defaults. Raises CompileError with the compiler's log, EnvironmentProblem where NVRTC is not installed.
    """
    nvrtc = _library()
    includes = [f"-I{path}" for path in wheels.include_directories()]
    arguments = [f"-arch={architectures.virtual(arch)}", *_defaults(options), *options, *includes]
    if _reads_other_files(source, options):
        return _compile(nvrtc, source, name, arguments)
    version = wheels.version("nvidia-cuda-nvrtc") or ""
    key = cache.key_of("2", version, name, source, *HEADERS.values(), *arguments)
    known = cache.default().get("nvrtc", key)
    if known is not None:
        return known.decode()
    ptx = _compile(nvrtc, source, name, arguments)
    cache.default().put("nvrtc", key, ptx.encode())
    return ptx


def assembler_options(options: Sequence[str]) -> str:
    """What ptxas has to be told of options for NVRTC, which stops at PTX: `-maxrregcount=32`, `--ptxas-options=-O1`."""
    result = []
    words = iter(options)
    for word in words:
        name, separator, value = word.partition("=")
        if name in ("-maxrregcount", "--maxrregcount"):
            result.append(f"-maxrregcount={value if separator else next(words, '')}")
        elif name in ("-Xptxas", "--ptxas-options"):
            result += (value if separator else next(words, "")).split(",")
    return " ".join(result)


def _reads_other_files(source: str, options: Sequence[str]) -> bool:
    """Whether headers other than the wheels' may be read: NVRTC does not say which, so nothing is cached then."""
    named = any(option.startswith(("-I", "--include-path", "-include", "--pre-include")) for option in options)
    return named or _OTHER_INCLUDE.search(source) is not None


def _defaults(options: Sequence[str]) -> list[str]:
    defaults = []
    if not any(option in ("-G", "--device-debug", "-lineinfo", "--generate-line-info") for option in options):
        defaults.append("-lineinfo")
    if not any(option.startswith(("-std", "--std")) for option in options):
        defaults.append(f"-std={DEFAULT_STANDARD}")
    return defaults


def _library() -> Any:
    wheels.locate("libnvrtc")
    try:
        return importlib.import_module("cuda.bindings.nvrtc")
    except ImportError as error:
        raise EnvironmentProblem(
            f"NVRTC cannot be called: cuda.bindings does not load ({error})",
            next_step=wheels.install_step("cuda-bindings"),
        ) from error


def _compile(nvrtc: Any, source: str, name: str, arguments: Sequence[str]) -> str:
    names = [header.encode() for header in HEADERS]
    texts = [text.encode() for text in HEADERS.values()]
    program = _checked(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), len(names), texts, names))
    try:
        (result,) = nvrtc.nvrtcCompileProgram(program, len(arguments), [option.encode() for option in arguments])
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = bytearray(_checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
            _checked(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
            text = bytes(log).rstrip(b"\0\n").decode("utf-8", "replace")
            if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
                if "gpu-architecture" in text:
                    raise architectures.not_compiled_for(arguments[0].partition("=")[2])
                raise CompileError(f"NVRTC does not take an option of {' '.join(arguments)}", text)
            raise CompileError(f"{name} does not compile", text or _text(nvrtc, result), next_step=_next_step(text))
        ptx = bytearray(_checked(nvrtc, nvrtc.nvrtcGetPTXSize(program)))
        _checked(nvrtc, nvrtc.nvrtcGetPTX(program, ptx))
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    # NVRTC puts the working directory before the name in `.file`; the same source gives the same PTX everywhere.
    return bytes(ptx).rstrip(b"\0").decode().replace(f'"{os.getcwd()}/{name}"', f'"{name}"')


def _next_step(log: str) -> str | None:
    header = re.search(r'cannot open source file "([^"]+)"', log)
    if header is None:
        return None
    return (
        f"{header[1]} is no header that device code can use here: leave host code out, take <cuda/std/...> for the "
        "standard library, and name the directory of headers of your own with -I"
    )


def _checked(nvrtc: Any, answer: tuple[Any, ...]) -> Any:
    result, *values = answer
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise EnvironmentProblem(
            f"NVRTC failed: {_text(nvrtc, result)}", next_step=wheels.install_step("nvidia-cuda-nvrtc")
        )
    return values[0] if values else None


def _text(nvrtc: Any, result: Any) -> str:
    (_, text) = nvrtc.nvrtcGetErrorString(result)
    return text.decode() if isinstance(text, bytes) else str(text)
