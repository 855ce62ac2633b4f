"""Fat binaries: the containers in which nvcc embeds PTX and machine code, for several architectures at once.

The layout is not published. It was read off what fatbinary 13.0 writes; `fatbinary_section.h` of the runtime's headers
states the wrapper. A container is a 16-byte header (magic, version, header size, size of what follows) and entries,
each with a header of its own: the identifier, the architecture, flags, and how the payload is compressed.

A program built without -rdc=true has one container for each source in `.nv_fatbin`, registered through a wrapper of
version 1. With -rdc=true `.nv_fatbin` holds one container with the linked machine code and no PTX, registered through a
wrapper of version 2, whose second pointer is a list (ending in NULL, filled before registration) of the modules'
containers; these lie in the section `__nv_relfatbin` and hold the PTX.
"""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lanewise.errors import EnvironmentProblem, LanewiseError, UsageError
from lanewise.toolchain import lz4, wheels
from lanewise.toolchain.arch import Arch

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
WRAPPER_SIZE = 24
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")  # 64 bytes
_LZ4, _ZSTD, _ARCH_SPECIFIC, _FAMILY_SPECIFIC = 0x2000, 0x8000, 0x100000, 0x200000
_NOT_ZERO = re.compile(rb"[^\0]")
_LARGEST = 1 << 30  # bytes one entry may unpack to
_DEVICE_RUNTIME = "cuda_device_runtime"  # in the names of all that is in it


class BadFatbin(ValueError):
    """Bytes that are not a fat binary, or a broken one."""


class Kind(StrEnum):
    PTX = "ptx"
    MACHINE_CODE = "machine code"
    LINK_TIME = "link-time intermediate code"
    OTHER = "other"


_KINDS = {1: Kind.PTX, 2: Kind.MACHINE_CODE, 8: Kind.LINK_TIME}


@dataclass(frozen=True, slots=True)
class FatbinEntry:
    """One image. `name` is the source file's, as nvcc got it; `container` counts the containers of the bytes read.

    `options` of PTX are the assembler's, `version` of PTX is the PTX ISA's (major, minor). `payload` is as stored;
    `data` unpacks it (not link-time code, which is also encrypted).
    """

    kind: Kind
    arch: Arch
    name: str
    options: str
    version: tuple[int, int]
    container: int
    compression: str  # "none", "lz4" or "zstd"
    payload: bytes = field(repr=False)
    unpacked_size: int

    @property
    def data(self) -> bytes:
        """The image, unpacked. BadFatbin where that fails."""
        if self.compression == "none":
            return self.payload
        if self.unpacked_size > _LARGEST:
            raise BadFatbin(f"an image of {self.unpacked_size} bytes")
        if self.compression == "lz4":
            try:
                return lz4.decompress(self.payload, self.unpacked_size)
            except ValueError as error:
                raise BadFatbin(f"an image cannot be unpacked: {error}") from error
        return _unpack_zstd(self.payload, self.unpacked_size)

    @property
    def text(self) -> str:
        """PTX text, without the zeros that pad it."""
        return self.data.rstrip(b"\0").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What a program hands to `__cudaRegisterFatBinary`: addresses within the program.

    Version 1: `fatbin` is the container. Version 2: it is the linked one, and `modules` the address of a list of the
    modules' containers that NULL ends.
    """

    version: int
    fatbin: int
    modules: int


def read_wrapper(data: bytes) -> Wrapper:
    """The wrapper in the first 24 bytes. BadFatbin where they are none."""
    if len(data) < WRAPPER_SIZE:
        raise BadFatbin("a wrapper of fewer than 24 bytes")
    magic, version, fatbin, modules = struct.unpack_from("<IIQQ", data)
    if magic != WRAPPER_MAGIC or version not in (1, 2):
        raise BadFatbin(f"no wrapper: magic {magic:#x}, version {version}")
    return Wrapper(version, fatbin, modules if version == 2 else 0)


def size_of(header: bytes) -> int:
    """Bytes of the container whose first 16 bytes are given. BadFatbin where they begin none."""
    if len(header) < _HEADER.size:
        raise BadFatbin("fewer than 16 bytes")
    magic, version, header_size, size = _HEADER.unpack_from(header)
    if magic != MAGIC or version != 1 or header_size < _HEADER.size:
        raise BadFatbin(f"no fat binary: magic {magic:#x}, version {version}")
    return int(header_size + size)


def entries(data: bytes) -> list[FatbinEntry]:
    """All images of one container, or of all in a section such as `.nv_fatbin`. BadFatbin where they are broken."""
    found: list[FatbinEntry] = []
    for index, (start, end) in enumerate(_containers(data)):
        found += _entries_of(data[start:end], index)
    return found


def choose_ptx(images: Sequence[FatbinEntry], arch: Arch) -> FatbinEntry | None:
    """The PTX that a driver would compile for `arch`: the newest that runs there, or None.

    For containers of several modules use it on each: `images` must be of one.
    """
    usable = [image for image in images if image.kind is Kind.PTX and arch.runs_ptx_of(image.arch)]
    return max(usable, key=lambda image: (image.arch.number, image.arch.suffix), default=None)


def choose_machine_code(images: Sequence[FatbinEntry], arch: Arch) -> FatbinEntry | None:
    """The machine code that a card of `arch` would load, or None.

    Code runs on cards of the same major number and a minor number at least its own (CUDA C++ Programming Guide, binary
    compatibility); code for one architecture or family only is taken for that very architecture.
    """
    usable = [
        image
        for image in images
        if image.kind is Kind.MACHINE_CODE
        and (image.arch == arch or (not image.arch.suffix and _same_major(image.arch, arch)))
    ]
    return max(usable, key=lambda image: (image.arch.number, image.arch.suffix), default=None)


def _same_major(made_for: Arch, arch: Arch) -> bool:
    return made_for.number // 10 == arch.number // 10 and made_for.number <= arch.number


def is_device_runtime(images: Sequence[FatbinEntry]) -> bool:
    """Whether the images of one container are NVIDIA's device runtime (libcudadevrt): code for kernels that launch
    kernels, which nvcc links to programs of relocatable code. Its PTX is for the newest architecture alone."""
    return any(image.kind is Kind.PTX and not image.name and _DEVICE_RUNTIME in image.text for image in images)


def no_ptx(images: Sequence[FatbinEntry], arch: Arch) -> LanewiseError:
    """The error for images among which `choose_ptx` finds nothing: what there is, and what to do."""
    there = sorted({image.arch.virtual for image in images if image.kind is Kind.PTX})
    if there:
        return UsageError(
            f"the program's PTX is for {', '.join(there)}, which {arch.real} cannot run",
            next_step=f"choose --arch {there[0].replace('compute', 'sm')}, or rebuild with "
            f"-gencode arch={arch.virtual},code={arch.virtual}",
        )
    real = ", ".join(sorted({image.arch.real for image in images if image.kind is Kind.MACHINE_CODE}))
    return UsageError(
        f"the program holds machine code only ({real or 'for no architecture'}), no PTX, and only PTX can be run",
        next_step=f"rebuild it with -gencode arch={arch.virtual},code={arch.virtual} (or -arch={arch.real}) "
        "added to nvcc's flags, without -dlto",
    )


def _containers(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while (content := _NOT_ZERO.search(data, at)) is not None:  # zeros lie between containers
        at = content.start()
        end = at + size_of(data[at : at + _HEADER.size])
        if end > len(data):
            raise BadFatbin("a fat binary ends early")
        yield at, end
        at = end


def _entries_of(container: bytes, index: int) -> Iterator[FatbinEntry]:
    at = _HEADER.unpack_from(container)[2]
    while at < len(container):
        if len(container) - at < _ENTRY.size:
            raise BadFatbin("an entry ends early")
        (kind, _, header_size, size, packed_size, options_at, minor, major, arch, name_at, name_size, flags, _,
         unpacked_size) = _ENTRY.unpack_from(container, at)  # fmt: skip
        header = container[at : at + header_size]
        end = at + header_size + size
        if header_size < _ENTRY.size or end > len(container):
            raise BadFatbin("an entry ends early")
        compression = "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "none"
        payload = container[at + header_size : end]
        yield FatbinEntry(
            kind=_KINDS.get(kind, Kind.OTHER),
            arch=Arch(arch, "a" if flags & _ARCH_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""),
            name=header[name_at : name_at + name_size].decode("utf-8", "replace"),
            options=_options(header, options_at) if kind == 1 else "",
            version=(major, minor),
            container=index,
            compression=compression,
            payload=payload if compression == "none" else payload[:packed_size],
            unpacked_size=unpacked_size if compression != "none" else len(payload),
        )
        at = end


def _options(header: bytes, at: int) -> str:
    """The compiler's options: (offset u32, size u32) at `at`, then the text, padded."""
    if not at or at + 8 > len(header):
        return ""
    start, size = struct.unpack_from("<II", header, at)
    return header[start : start + size].decode("utf-8", "replace").strip("\0 ")


def _unpack_zstd(payload: bytes, size: int) -> bytes:
    try:
        try:
            zstd = importlib.import_module("compression.zstd")  # Python 3.14
            data: bytes = zstd.ZstdDecompressor().decompress(payload, max_length=size + 1)
        except ImportError:
            zstandard = importlib.import_module("zstandard")
            # Read as a stream: the frame's own statement of its size is not to be trusted with memory.
            data = zstandard.ZstdDecompressor().stream_reader(payload).read(size + 1)
    except ImportError as error:
        raise EnvironmentProblem(
            "the program's PTX is compressed with zstd, and nothing here unpacks that",
            next_step=f"run: {wheels.pip_command('zstandard')}; or rebuild the program with -Xfatbin -compress=false",
        ) from error
    except Exception as error:  # each decompressor has an exception class of its own
        raise BadFatbin(f"an image cannot be unpacked: {error}") from error
    if len(data) != size:
        raise BadFatbin(f"an image unpacks to {len(data)} bytes instead of {size}")
    return data
