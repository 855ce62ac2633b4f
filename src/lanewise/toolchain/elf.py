"""A reader of 64-bit little-endian ELF files, host programs and cubins alike, that takes any bytes without harm.

Source: the System V ABI, chapters 4 and 5 (sections, symbols, dynamic section), and the Linux standard base for symbol
versions.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

MAGIC = b"\x7fELF"
MACHINE_X86_64, MACHINE_AARCH64, MACHINE_CUDA = 62, 183, 190
ET_RELOCATABLE, ET_EXECUTABLE, ET_DYNAMIC = 1, 2, 3
SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
DT_NEEDED, DT_RPATH, DT_RUNPATH = 1, 15, 29
PT_INTERP = 3


class NotElf(ValueError):
    """The bytes are not a 64-bit little-endian ELF file, or its tables do not fit in it."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section header; `offset` and `size` in bytes within the file, `address` in the program's memory."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    entry_size: int


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """One symbol. `section` is the index of its section; 0 where it is undefined."""

    name: str
    value: int
    size: int
    kind: int  # low four bits of st_info: 1 object, 2 function
    binding: int  # 0 local, 1 global, 2 weak
    section: int
    other: int = 0  # st_other: visibility, and in cubins 0x10 for a kernel


class Elf:
    """The tables of one file. Raises NotElf from the constructor or from the first use of a broken table."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        if data[:4] != MAGIC:
            raise NotElf("no ELF magic")
        if len(data) < 64 or data[4] != 2 or data[5] != 1:
            raise NotElf("not a 64-bit little-endian file")
        self.data = data
        self.abi_version = data[8]
        (self.type, self.machine, _, self.entry, self._program_offset, self._section_offset, self.flags, _,
         self._program_size, self._program_count, self._section_size, self._section_count, self._names,
         ) = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)  # fmt: skip

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        if not self._section_count:
            return ()
        if self._section_size != 64 or self._section_offset + 64 * self._section_count > len(self.data):
            raise NotElf("the section table lies outside the file")
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, self._section_offset + 64 * i)
               for i in range(self._section_count)]  # fmt: skip
        if self._names >= len(raw):
            raise NotElf("no section holds the section names")
        names = self._slice(raw[self._names][4], raw[self._names][5])
        return tuple(
            Section(i, _string(names, name), kind, flags, address, offset, size, link, info, entry_size)
            for i, (name, kind, flags, address, offset, size, link, info, _, entry_size) in enumerate(raw)
        )

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section) -> bytes:
        """The section's bytes; empty for one that takes no room in the file."""
        return b"" if section.type == SHT_NOBITS else self._slice(section.offset, section.size)

    @cached_property
    def symbols(self) -> tuple[ElfSymbol, ...]:
        """The full symbol table; the dynamic one of a stripped file."""
        return self._symbols(SHT_SYMTAB) or self.dynamic_symbols

    @cached_property
    def dynamic_symbols(self) -> tuple[ElfSymbol, ...]:
        return self._symbols(SHT_DYNSYM)

    @cached_property
    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """(tag, value) of every entry of the dynamic section."""
        section = self.section(".dynamic")
        if section is None:
            return ()
        data = self.content(section)
        return tuple(struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]))

    def dynamic_strings(self, tag: int) -> tuple[str, ...]:
        """The strings of a tag, such as the names of the shared libraries needed (DT_NEEDED)."""
        table = self.section(".dynstr")
        if table is None:
            return ()
        strings = self.content(table)
        return tuple(_string(strings, value) for kind, value in self.dynamic if kind == tag)

    @cached_property
    def has_interpreter(self) -> bool:
        """Whether it is a program that the dynamic loader starts, and not a shared library."""
        size = self._program_size
        if size < 56 or self._program_offset + size * self._program_count > len(self.data):
            return False
        return any(
            struct.unpack_from("<I", self.data, self._program_offset + size * index)[0] == PT_INTERP
            for index in range(self._program_count)
        )

    def _symbols(self, kind: int) -> tuple[ElfSymbol, ...]:
        return tuple(self._symbols_of(kind))

    def _symbols_of(self, kind: int) -> Iterator[ElfSymbol]:
        for section in self.sections:
            if section.type != kind:
                continue
            if section.link >= len(self.sections):
                raise NotElf("a symbol table has no names")
            strings = self.content(self.sections[section.link])
            data = self.content(section)
            for name, info, other, index, value, size in struct.iter_unpack("<IBBHQQ", data[: len(data) // 24 * 24]):
                yield ElfSymbol(_string(strings, name), value, size, info & 15, info >> 4, index, other)

    def _slice(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.data):
            raise NotElf("a section lies outside the file")
        return self.data[offset : offset + size]


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if offset >= len(table) or end < 0:
        raise NotElf("a name lies outside its table")
    return table[offset:end].decode("utf-8", "replace")
