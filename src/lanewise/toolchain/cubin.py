"""The resources of each kernel as the machine code's own tables state them: the same numbers `ptxas -v` prints.

The layout of `.nv.info` is not published; it was read off cubins of sm_75 to sm_120 beside ptxas's text, and a test
compares the two for each.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from lanewise.errors import CompileError
from lanewise.records import KernelResources
from lanewise.toolchain.elf import MACHINE_CUDA, SHT_NOBITS, Elf, NotElf

# Attributes of .nv.info sections.
_REGISTERS, _FRAME, _STACK, _BARRIERS = 0x2F, 0x11, 0x12, 0x4C
_KERNEL = 0x10  # in a symbol's st_other
# From sm_90 on a kernel's shared section (once it is linked) begins with the part that the system keeps for itself.
_RESERVED_SHARED, _RESERVED_FROM = 1024, 90
_UNKNOWN_STACK = 0xFFFFFFFF  # of kernels that call recursive functions


class _Attribute(NamedTuple):
    code: int
    value: int  # of the short formats
    payload: bytes  # of the long format


def resources(data: bytes) -> dict[str, KernelResources]:
    """Resources by kernel symbol, in the order of the symbol table. Spills are 0: machine code does not state them.

    `local_bytes` is the stack of a thread with everything the kernel is known to call (its own frame where recursion
    hides the depth), `constant_bytes` the module's `__constant__` variables. A card's `cudaFuncGetAttributes` gives the
    same numbers (numRegs, sharedSizeBytes, localSizeBytes, constSizeBytes).

    Raises CompileError for bytes that are not machine code of a GPU.
    """
    try:
        elf = Elf(data)
        if elf.machine != MACHINE_CUDA:
            raise NotElf("not for an NVIDIA GPU")
        return _resources(elf)
    except (NotElf, struct.error) as error:
        raise CompileError(f"the assembler's machine code cannot be read: {error}", "") from error


def _resources(elf: Elf) -> dict[str, KernelResources]:
    names = [symbol.name for symbol in elf.symbols]
    registers: dict[str, int] = {}
    stacks: dict[str, int] = {}
    frames: dict[str, int] = {}
    tables = {_REGISTERS: registers, _STACK: stacks, _FRAME: frames}
    for attribute in _attributes(elf, ".nv.info"):
        if attribute.code in tables and len(attribute.payload) == 8:
            index, value = struct.unpack("<II", attribute.payload)
            if index < len(names):
                tables[attribute.code][names[index]] = value
    constant = elf.section(".nv.constant3")
    # The architecture's place in the flags changed with version 8 of the format.
    arch = elf.flags >> 8 & 0xFF if elf.abi_version >= 8 else elf.flags & 0xFF
    found: dict[str, KernelResources] = {}
    for symbol in elf.symbols:
        name, text = symbol.name, elf.section(f".text.{symbol.name}")
        if not symbol.other & _KERNEL or text is None:
            continue
        attributes = _attributes(elf, f".nv.info.{name}")
        shared = elf.section(f".nv.shared.{name}")
        reserved = _RESERVED_SHARED if arch >= _RESERVED_FROM and shared and shared.type == SHT_NOBITS else 0
        stack = stacks.get(name, _UNKNOWN_STACK)
        barriers = next((a.value for a in attributes if a.code == _BARRIERS), text.flags >> 20 & 0x7F)
        found[name] = KernelResources(
            registers=registers.get(name, text.info >> 24),
            static_shared_bytes=max(shared.size - reserved, 0) if shared is not None else 0,
            local_bytes=stack if stack != _UNKNOWN_STACK else frames.get(name, 0),
            constant_bytes=constant.size if constant is not None else 0,
            barriers=barriers,
        )
    return found


def _attributes(elf: Elf, section_name: str) -> Iterator[_Attribute]:
    """Entries are (format u8, code u8) and then a 16-bit value, or for format 4 a 16-bit length and that many bytes."""
    section = elf.section(section_name)
    data = elf.content(section) if section is not None else b""
    offset = 0
    while offset + 4 <= len(data):
        form, code, value = struct.unpack_from("<BBH", data, offset)
        offset += 4
        if form == 4:
            yield _Attribute(code, 0, data[offset : offset + value])
            offset += value
        else:
            yield _Attribute(code, value, b"")
