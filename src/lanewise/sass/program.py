"""The machine code of a whole program, kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

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

    def __init__(
        self, cubin: bytes, texts: Sequence[str], listed: Callable[[], dict[str, SassFunction]] | None = None
    ) -> None:
        self._cubin = cubin
        self._listed = listed or partial(listing.listing, cubin)
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
                self._sections = self._listed()
                self._suffixes = suffixes(self._cubin, self._texts)
            section = _with_callees(name, self._sections)
            functions = [(program.module_of(f), f) for f in reachable(program, program.function(name))]
            self._kernels[name] = None if section is None else kernel.join(section, functions, self._suffixes)
        return self._kernels[name]


def suffixes(cubin: bytes, texts: Sequence[str]) -> dict[int, str]:
    """By module, the number that linked machine code appends to the name of the section that holds its PTX: found by
    what the section holds. Empty where nothing was linked."""
    elf = Elf(cubin)
    if not any(section.name.startswith(_PTX_SECTION + ".") for section in elf.sections):
        return {}
    modules = [[line.strip() for line in text.encode().split(b"\n")] for text in texts]
    result: dict[int, str] = {}
    for section in elf.sections:
        if section.name.startswith(_PTX_SECTION):
            held = bytes(elf.data[section.offset : section.offset + section.size]).split(b"\0")
            suffix = section.name.removeprefix(_PTX_SECTION).removeprefix(".")
            result.update(dict.fromkeys((n for n, lines in enumerate(modules) if _is_of(held, lines)), suffix))
    return result


def _is_of(held: Sequence[bytes], lines: Sequence[bytes]) -> bool:
    """Whether a section holds this PTX: line for line, without comments and line information."""
    return all(not line or (n < len(lines) and line.strip() == lines[n]) for n, line in enumerate(held))


def _with_callees(name: str, sections: Mapping[str, SassFunction]) -> SassFunction | None:
    """A kernel's section with those of the functions it calls that were linked on their own, one behind the other."""
    first = sections.get(name)
    if first is None:
        return None
    whole = SassFunction(name, list(first.instructions), dict(first.labels), list(first.functions))
    taken = {name}
    position = 0
    while position < len(whole.instructions):
        for target in whole.instructions[position].targets:
            callee = sections.get(target)
            if callee is not None and target not in taken and target not in whole.labels:
                taken.add(target)
                base = whole.instructions[-1].offset + 16
                whole.instructions += [replace(i, offset=i.offset + base) for i in callee.instructions]
                whole.labels |= {label: offset + base for label, offset in callee.labels.items()}
                whole.functions += callee.functions
        position += 1
    return whole
