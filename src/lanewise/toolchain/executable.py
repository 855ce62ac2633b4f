"""What a program file is, before it is started: how it is linked, which device code it holds, what it will call.

A program that cannot be run here usually says nothing useful by itself: one with the static runtime finds no driver,
prints garbage and exits with 0. So it is looked at first, and refused with what to do.
"""

from __future__ import annotations

import mmap
import os
import platform
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from lanewise.errors import LanewiseError, UnsupportedCode, UsageError
from lanewise.records import Unsupported
from lanewise.toolchain import arch as architectures
from lanewise.toolchain import elf, fatbin, libraries
from lanewise.toolchain.fatbin import FatbinEntry, Kind

RUNTIME = "libcudart.so.13"
_RUNTIME_CALL = re.compile(r"(?:__)?cuda[A-Z]\w*")
_MACHINES = {elf.MACHINE_X86_64: "x86_64", elf.MACHINE_AARCH64: "aarch64"}


class Form(StrEnum):
    """What kind of file it is."""

    PROGRAM = "program"
    LIBRARY = "shared library"
    OBJECT = "object file"
    SCRIPT = "script"
    OTHER = "other"


class Runtime(StrEnum):
    """How the CUDA runtime library is linked."""

    SHARED = "shared"  # libcudart.so.13
    OTHER_VERSION = "other version"  # libcudart.so of another CUDA
    STATIC = "static"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ExecutableInfo:
    """What `inspect` finds. The last five take in the shared libraries that the program brings along."""

    path: Path
    form: Form
    detail: str = ""  # of a script its interpreter, of another file what it looks like
    machine: str = ""
    needed: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()  # those needed that were found outside the system's directories
    runtime: Runtime = Runtime.NONE
    runtime_name: str = ""  # the libcudart that is needed
    nvidia_libraries: tuple[str, ...] = ()
    runtime_calls: tuple[str, ...] = ()  # undefined symbols cuda* and __cuda*, sorted
    images: tuple[FatbinEntry, ...] = ()  # containers are numbered through all files and sections

    @property
    def has_ptx(self) -> bool:
        return any(image.kind is Kind.PTX for image in self.images)


def inspect(path: Path) -> ExecutableInfo:
    """Read a program file and the libraries it brings along. Takes any bytes; UsageError where there are none."""
    info = _inspect_file(path)
    if info.form is not Form.PROGRAM:
        return info
    seen = {path.resolve()}
    waiting = list(info.libraries)
    while waiting:
        library = waiting.pop(0)
        if library.resolve() in seen:
            continue
        seen.add(library.resolve())
        found = _inspect_file(library)
        if found.form is Form.LIBRARY:
            waiting += found.libraries
            info = _merge(info, found)
    return info


def refusal(
    info: ExecutableInfo, *, arch: str, provided: Collection[str] | None = None, device_code: bool = True
) -> LanewiseError | None:
    """Why the program cannot be run, and what to do; None where it can.

    `arch` is what the device runs ("sm_90"). `provided` are the calls that the runtime library has (see `exported`):
    all others the program needs are listed at once; None does not check them. `device_code` False leaves the PTX
    unchecked.
    """
    error = _wrong_file(info) or _wrong_libraries(info, arch)
    if error is None and provided is not None:
        error = _missing_calls(info, provided)
    if error is None and device_code:
        error = _wrong_code(info, architectures.parse(arch))
    return error


def is_nvidia_library(name: str) -> bool:
    """Whether a library ("libcublas.so.13") is one of NVIDIA's that needs a GPU."""
    return libraries.of_file(name) is not None


def exported(library: Path) -> frozenset[str]:
    """The names that a shared library defines."""
    symbols = elf.Elf(library.read_bytes()).dynamic_symbols
    return frozenset(symbol.name for symbol in symbols if symbol.section != 0 and symbol.binding != 0)


def _inspect_file(path: Path) -> ExecutableInfo:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return ExecutableInfo(path, Form.OTHER, "an empty file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _inspect_bytes(path, data)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file", next_step="check the path") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a directory", next_step="name the program in it") from error
    except (OSError, ValueError) as error:  # ValueError: a device or pipe cannot be mapped
        raise UsageError(f"{path} cannot be read ({error})", next_step="check its permissions") from error


def _inspect_bytes(path: Path, data: mmap.mmap) -> ExecutableInfo:
    if data[:2] == b"#!":
        line = data[2:256].split(b"\n")[0].decode("utf-8", "replace").strip()
        return ExecutableInfo(path, Form.SCRIPT, line)
    if data[:4] != elf.MAGIC:
        return ExecutableInfo(path, Form.OTHER, _looks_like(data))
    try:
        return _inspect_elf(path, elf.Elf(data))
    except (elf.NotElf, fatbin.BadFatbin) as error:
        return ExecutableInfo(path, Form.OTHER, f"a damaged ELF file ({error})")


def _looks_like(data: mmap.mmap) -> str:
    start = data[:8]
    for magic, name in (
        (b"MZ", "a Windows program"),
        (b"\xcf\xfa\xed\xfe", "a macOS program"),
        (b"\xca\xfe\xba\xbe", "a macOS program"),
        (b"!<arch>\n", "a static library"),
        (b"\x50\xed\x55\xba", "a fat binary: device code with no host program"),
    ):
        if start.startswith(magic):
            return name
    text = data[:512]
    return "a text file" if b"\0" not in text and text.isascii() else "no program"


def _inspect_elf(path: Path, file: elf.Elf) -> ExecutableInfo:
    machine = _MACHINES.get(file.machine, "NVIDIA GPU" if file.machine == elf.MACHINE_CUDA else f"ELF {file.machine}")
    if file.machine == elf.MACHINE_CUDA:
        return ExecutableInfo(path, Form.OTHER, "machine code of a GPU with no host program", machine)
    if file.type == elf.ET_RELOCATABLE:
        return ExecutableInfo(path, Form.OBJECT, machine=machine)
    if file.type not in (elf.ET_EXECUTABLE, elf.ET_DYNAMIC):
        return ExecutableInfo(path, Form.OTHER, "no program", machine)
    form = Form.PROGRAM if file.type == elf.ET_EXECUTABLE or file.has_interpreter else Form.LIBRARY
    needed = file.dynamic_strings(elf.DT_NEEDED)
    images: list[FatbinEntry] = []
    for name in (".nv_fatbin", "__nv_relfatbin"):
        section = file.section(name)
        if section is not None:
            images += _renumbered(fatbin.entries(file.content(section)), images)
    undefined = {symbol.name.partition("@")[0] for symbol in file.dynamic_symbols if symbol.section == 0}
    calls = sorted(name for name in undefined if _RUNTIME_CALL.fullmatch(name))
    runtimes = [name for name in needed if name.startswith("libcudart.so")]
    if runtimes:
        runtime = Runtime.SHARED if runtimes == [RUNTIME] else Runtime.OTHER_VERSION
    elif file.section(".nvFatBinSegment") is not None and "__cudaRegisterFatBinary" not in undefined:
        runtime = Runtime.STATIC  # it registers device code, and the function that takes it is inside
    elif not calls and "libcuda.so.1" not in needed and file.data.find(b"libcuda.so.1\0") >= 0:
        runtime = Runtime.STATIC  # no device code, but what opens the driver is inside
    else:
        runtime = Runtime.NONE
    return ExecutableInfo(
        path, form, machine=machine, needed=needed, libraries=tuple(_found(path, file, needed)), runtime=runtime,
        runtime_name=next((name for name in runtimes if name != RUNTIME), "".join(runtimes[:1])),
        nvidia_libraries=tuple(name for name in needed if is_nvidia_library(name)),
        runtime_calls=tuple(calls), images=tuple(images),
    )  # fmt: skip


def _renumbered(images: list[FatbinEntry], before: list[FatbinEntry] | tuple[FatbinEntry, ...]) -> list[FatbinEntry]:
    first = before[-1].container + 1 if before else 0
    return [replace(image, container=image.container + first) for image in images]


def _found(path: Path, file: elf.Elf, needed: tuple[str, ...]) -> Iterator[Path]:
    """The needed libraries that the program's own search path or LD_LIBRARY_PATH leads to, except NVIDIA's."""
    entries = [*file.dynamic_strings(elf.DT_RPATH), os.environ.get("LD_LIBRARY_PATH", ""),
               *file.dynamic_strings(elf.DT_RUNPATH)]  # fmt: skip
    origin = str(path.resolve().parent)
    places = [place for entry in entries for place in entry.replace("${ORIGIN}", "$ORIGIN").split(":") if place]
    for name in needed:
        if is_nvidia_library(name) or name.startswith("libcudart.so"):
            continue
        candidates = [Path(place.replace("$ORIGIN", origin), name) for place in places]
        if "/" in name:
            candidates = [Path(name)]
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
        if found is not None:
            yield found


def _merge(program: ExecutableInfo, library: ExecutableInfo) -> ExecutableInfo:
    order = (Runtime.STATIC, Runtime.OTHER_VERSION, Runtime.SHARED, Runtime.NONE)
    worst = min(program, library, key=lambda info: order.index(info.runtime))
    return replace(
        program,
        runtime=worst.runtime,
        runtime_name=worst.runtime_name,
        nvidia_libraries=tuple(dict.fromkeys(program.nvidia_libraries + library.nvidia_libraries)),
        runtime_calls=tuple(sorted({*program.runtime_calls, *library.runtime_calls})),
        images=(*program.images, *_renumbered(list(library.images), program.images)),
    )


def _wrong_file(info: ExecutableInfo) -> LanewiseError | None:
    if info.form is Form.SCRIPT:
        return UsageError(
            f"{info.path} is a script (for {info.detail})", next_step="name the program that it starts, or its sources"
        )
    if info.form is Form.OBJECT:
        return UsageError(f"{info.path} is an object file", next_step="link it to a program first")
    if info.form is Form.LIBRARY:
        return UsageError(f"{info.path} is a shared library", next_step="name the program that uses it")
    if info.form is Form.OTHER:
        return UsageError(f"{info.path} is {info.detail}", next_step="name a .cu source, or a Linux program")
    if info.machine != platform.machine() and platform.machine() in _MACHINES.values():
        return UsageError(
            f"{info.path} is a program for {info.machine}, and this machine is {platform.machine()}",
            next_step="rebuild it here",
        )
    if not os.access(info.path, os.X_OK):
        return UsageError(f"{info.path} may not be executed", next_step=f"run: chmod +x {info.path}")
    return None


def _wrong_libraries(info: ExecutableInfo, arch: str) -> LanewiseError | None:
    virtual = architectures.virtual(arch)
    if info.runtime is Runtime.STATIC:
        return UsageError(
            f"{info.path} holds the CUDA runtime library in itself (linked statically, nvcc's default), "
            "so that Lanewise cannot take its place",
            next_step="relink it with -cudart shared (CMake: set CUDA_RUNTIME_LIBRARY to Shared), with CUDA 13",
        )
    if info.runtime is Runtime.OTHER_VERSION:
        version = info.runtime_name.removeprefix("libcudart.so.") or "another version"
        return UsageError(
            f"{info.path} was built for CUDA {version} ({info.runtime_name}), and this is the runtime of CUDA 13",
            next_step=f"rebuild it with CUDA 13 and -cudart shared -gencode arch={virtual},code={virtual}",
        )
    if info.nvidia_libraries:
        items = [libraries.unsupported(name) for name in info.nvidia_libraries]
        return UnsupportedCode(
            f"{info.path} needs {', '.join(info.nvidia_libraries)}, which cannot run without a GPU",
            items,
            next_step="replace these libraries by kernels of the program's own",
        )
    if info.runtime is Runtime.NONE and not info.images:
        return UsageError(
            f"{info.path} is not a CUDA program: it is linked with no CUDA runtime and holds no device code",
            next_step="name a program built by nvcc with -cudart shared",
        )
    return None


def _missing_calls(info: ExecutableInfo, provided: Collection[str]) -> LanewiseError | None:
    missing = [name for name in info.runtime_calls if name not in provided]
    if not missing:
        return None
    reason = "this version of the runtime library does not have it"
    return UnsupportedCode(
        f"{info.path} calls {len(missing)} runtime function{'s' * (len(missing) > 1)} that this version does not have: "
        + ", ".join(missing),
        [Unsupported(name, reason, None, None, None) for name in missing],
        next_step="leave these calls out (#ifdef) or replace them",
    )


def _wrong_code(info: ExecutableInfo, arch: architectures.Arch) -> LanewiseError | None:
    if info.images and not info.has_ptx:
        return fatbin.no_ptx(info.images, arch)
    for container in {image.container for image in info.images}:
        images = [image for image in info.images if image.container == container]
        # Containers with machine code alone are those that the linker of device code adds.
        if not any(image.kind is Kind.PTX for image in images) or fatbin.choose_ptx(images, arch) is not None:
            continue
        if not fatbin.is_device_runtime(images):
            return fatbin.no_ptx(images, arch)
    return None
