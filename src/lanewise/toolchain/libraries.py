"""NVIDIA's libraries by their headers, files and functions: they are not emulated, and a program that needs one is told
so by its name before it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lanewise.records import SourceLine, Unsupported

NOT_EMULATED = "it brings machine code or needs NVIDIA's driver; only code with PTX can be run"


@dataclass(frozen=True, slots=True)
class Library:
    """`headers`, `files` (what follows "lib", or -l) and `functions` are patterns of whole names."""

    name: str
    headers: str
    files: str
    functions: str


LIBRARIES = (
    Library("cuBLAS", r"(cublas\w*|nvblas)\.h", r"cublas(Lt)?|nvblas", r"cublas[A-Z]\w*"),
    Library("cuFFT", r"cufft\w*\.h", r"cufftw?", r"cufft[A-Z]\w*|fftwf?_\w+"),
    Library("cuRAND (its host functions)", r"curand\.h", r"curand", r"curand[A-Z]\w*"),
    Library("cuSPARSE", r"cusparse\w*\.h", r"cusparse(Lt)?", r"cusparse[A-Z]\w*"),
    Library("cuSOLVER", r"cusolver\w*\.h", r"cusolver(Mg)?", r"cusolver[A-Z]\w*"),
    Library("cuDNN", r"cudnn\w*\.h", r"cudnn\w*", r"cudnn[A-Z]\w*"),
    Library("cuTENSOR", r"cutensor\w*\.h", r"cutensor\w*", r"cutensor[A-Z]\w*"),
    Library("cuDSS", r"cudss\.h", r"cudss", r"cudss[A-Z]\w*"),
    Library("NPP", r"npp\w*\.h|nppdefs\.h", r"npp\w+", r"nppi?[A-Z]\w*|npps[A-Z]\w*"),
    Library("nvJPEG", r"nvjpeg\w*\.h", r"nvjpeg\w*", r"nvjpeg[A-Z]\w*"),
    Library("NCCL", r"nccl\.h", r"nccl", r"nccl[A-Z]\w*"),
    Library("NVSHMEM", r"nvshmem\w*\.h", r"nvshmem\w*", r"nvshmem\w+"),
    Library("NVRTC", r"nvrtc\.h", r"nvrtc", r"nvrtc[A-Z]\w*"),
    Library("nvJitLink", r"nvJitLink\.h", r"nvJitLink", r"nvJitLink[A-Z]\w*"),
    Library("nvPTXCompiler", r"nvPTXCompiler\.h", r"nvptxcompiler", r"nvPTXCompiler[A-Z]\w*"),
    Library("nvFatbin", r"nvFatbin\.h", r"nvfatbin", r"nvFatbin[A-Z]\w*"),
    Library("NVML", r"nvml\.h", r"nvidia-ml", r"nvml[A-Z]\w*"),
    Library("CUPTI", r"cupti\w*\.h", r"cupti", r"cupti[A-Z]\w*"),
    Library("cuFile", r"cufile\.h", r"cufile", r"cuFile[A-Z]\w*"),
    Library("the CUDA driver API", r"cuda\.h", r"cuda", r"cu[A-Z]\w*"),
)
# Headers of functions for kernels that a wheel of its own brings: they can be run once it is installed.
DEVICE_HEADERS = {re.compile(r"curand_\w+\.h"): "nvidia-curand"}
_FILE = re.compile(r"lib(?P<name>[\w-]+)\.so")
_INCLUDE = re.compile(r"""^\s*#\s*include\s*[<"]([^>"]+)[>"]""")


def of_header(header: str) -> Library | None:
    """The library that a header belongs to; None where it is none of NVIDIA's."""
    name = Path(header).name
    return next((library for library in LIBRARIES if re.fullmatch(library.headers, name)), None)


def of_file(file: str) -> Library | None:
    """The library of "libcublas.so.13"."""
    match = _FILE.match(file)
    if match is None:
        return None
    return next((library for library in LIBRARIES if re.fullmatch(library.files, match["name"])), None)


def unsupported(file: str) -> Unsupported:
    """What a report says of "libcublas.so.13"."""
    library = of_file(file)
    assert library is not None, file
    return Unsupported(file, f"{library.name} is not emulated: {NOT_EMULATED}", None, None, None)


def of_function(name: str) -> Library | None:
    """The library that a function belongs to."""
    return next((library for library in LIBRARIES if re.fullmatch(library.functions, name)), None)


def wheel_of(header: str) -> str | None:
    """The wheel that brings a header of device functions."""
    return next((wheel for pattern, wheel in DEVICE_HEADERS.items() if pattern.fullmatch(Path(header).name)), None)


def included(source: Path) -> list[Unsupported]:
    """The headers of libraries that a source includes, each library once; the driver's `cuda.h` alone calls nothing."""
    found: dict[str, Unsupported] = {}
    for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
        match = _INCLUDE.match(line)
        library = of_header(match[1]) if match is not None else None
        if match is not None and library is not None and match[1] != "cuda.h":
            reason = f"{library.name} is not emulated: {NOT_EMULATED}"
            found.setdefault(library.name, Unsupported(match[1], reason, None, None, SourceLine(str(source), number)))
    return list(found.values())
