"""The code of a kernel by source line, as reports show it: PTX as written, machine code as listed."""

from __future__ import annotations

from lanewise.emulator.program import Program
from lanewise.emulator.unit import reachable
from lanewise.ptx.syntax import Instruction
from lanewise.records import KernelCode, LineCode
from lanewise.sass.kernel import MachineKernel

_Key = tuple[str | None, int | None]


def kernel_code(program: Program, name: str, machine: MachineKernel | None) -> KernelCode:
    """PTX of a kernel and of the functions that it may call, and its machine code where that is known."""
    places: dict[tuple[str, int], _Key] = {}  # (suffix of the module's PTX section, line) -> source line
    ptx: dict[_Key, list[tuple[int, str]]] = {}
    sass: dict[_Key, list[tuple[int, int | None, str]]] = {}
    for function in reachable(program, program.function(name)):
        module = program.module_of(function)
        suffix = machine.suffixes.get(module, "") if machine is not None else ""
        text = program.modules[module].text.split("\n")
        for statement in function.body:
            if not isinstance(statement, Instruction) or not 0 < statement.line <= len(text):
                continue
            shown = statement.source.shown if statement.source is not None else None
            key: _Key = (shown.file, shown.line) if shown is not None else (None, None)
            if places.setdefault((suffix, statement.line), key) is key:
                ptx.setdefault(key, []).append((statement.line, text[statement.line - 1].strip()))
    for instruction in machine.section.instructions if machine is not None else ():
        line = instruction.ptx_line
        key = places.get((instruction.module, line), (None, None)) if line is not None else (None, None)
        sass.setdefault(key, []).append((instruction.offset, line, instruction.text))
    keys = sorted({*ptx, *sass}, key=lambda key: (key[0] is None, key[0] or "", key[1] or 0))
    return KernelCode(name, tuple(LineCode(*key, tuple(ptx.get(key, ())), tuple(sass.get(key, ()))) for key in keys))
