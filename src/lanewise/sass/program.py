"""The machine code of a whole program, kernel by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.emulator.program import Program
from lanewise.emulator.unit import reachable
from lanewise.sass import kernel, listing
from lanewise.sass.kernel import MachineKernel
from lanewise.sass.listing import SassFunction
from lanewise.toolchain.elf import Elf

_PTX_SECTION = ".nv_debug_ptx_txt"


class MachineProgram:
    """Machine code of a loaded program, listed when first asked for and joined with the PTX of each kernel.

    `texts` are the PTX of its modules, in the order of `Program.modules`, as they were assembled.
    """

    def __init__(self, cubin: bytes, texts: Sequence[str]) -> None:
        self._cubin = cubin
        self._texts = tuple(texts)
        self._sections: dict[str, SassFunction] | None = None
        self._suffixes: Mapping[int, str] = {}
        self._kernels: dict[str, MachineKernel | None] = {}

    def kernel(self, program: Program, name: str) -> MachineKernel | None:
        """The machine code of a kernel; None where the listing has no section of its name.

        Raises what `listing.listing` raises.
        """
        if name not in self._kernels:
            if self._sections is None:
                self._sections = listing.listing(self._cubin)
                self._suffixes = suffixes(self._cubin, self._texts)
            section = self._sections.get(name)
            functions = [(program.module_of(f), f) for f in reachable(program, program.function(name))]
            self._kernels[name] = None if section is None else kernel.join(section, functions, self._suffixes)
        return self._kernels[name]


def suffixes(cubin: bytes, texts: Sequence[str]) -> dict[int, str]:
    """By module, the number that linked machine code appends to the name of the section that holds its PTX: found by
    what the section holds. Empty where there is one module."""
    if len(texts) == 1:
        return {}
    elf = Elf(cubin)
    known = {_essence(text.encode()): number for number, text in enumerate(texts)}
    result = {}
    for section in elf.sections:
        if section.name.startswith(_PTX_SECTION):
            data = bytes(elf.data[section.offset : section.offset + section.size])
            number = known.get(_essence(data))
            if number is not None:
                result[number] = section.name.removeprefix(_PTX_SECTION).removeprefix(".")
    return result


def _essence(text: bytes) -> bytes:
    """The PTX without the ends of its lines, which a section keeps as zeros."""
    return b"".join(text.replace(b"\0", b"\n").split())
