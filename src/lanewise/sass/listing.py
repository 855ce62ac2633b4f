"""The listing of machine code: functions of instructions, each with the line of PTX it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import CompileError
from lanewise.records import AccessKind, Space
from lanewise.sass import opcodes
from lanewise.toolchain import cache, process, wheels

_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_FUNCTION = re.compile(r"\s*\.type\s+(\S+),@function")
_LABEL = re.compile(r"(\S+):\s*$")
_LINE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt(?:\.(\d+))?", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_TARGET = re.compile(r"`\(([^)]+)\)")
_NEVER = ("@!PT", "@!UPT")
_ALWAYS = ("@PT", "@UPT")


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction. `offset` in bytes within the section of its kernel; `ptx_line` None where it has none
    (padding, and functions that ptxas adds); `module` is the suffix of the PTX section of linked code, else ""."""

    offset: int
    opcode: str
    operands: str
    predicate: str | None = None
    ptx_line: int | None = None
    module: str = ""
    spill: bool = False
    targets: tuple[str, ...] = ()  # labels that a branch, a call or BSSY may go to

    @property
    def text(self) -> str:
        """As listed: `@P0 LDG.E R2, desc[UR4][R2.64]`."""
        return " ".join(part for part in (self.predicate, self.opcode, self.operands) if part)

    @property
    def name(self) -> str:
        return opcodes.name_of(self.opcode)

    @property
    def memory(self) -> tuple[Space, AccessKind] | None:
        return opcodes.memory(self.opcode)

    @property
    def width_bits(self) -> int:
        return opcodes.width_bits(self.opcode)

    @property
    def flow(self) -> opcodes.Flow | None:
        return opcodes.flow(self.opcode)


@dataclass(slots=True)
class SassFunction:
    """One section of machine code: a kernel, or a device function linked on its own, with the functions placed behind
    it. `labels` map to offsets; `functions` are the labels at which functions start, in order."""

    name: str
    instructions: list[SassInstruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)


def parse(text: str) -> dict[str, SassFunction]:
    """Functions by the name of their section, from what `nvdisasm -c -gp` prints."""
    result: dict[str, SassFunction] = {}
    current: SassFunction | None = None
    line: int | None = None
    module = ""
    told = False  # whether a line was printed for the instruction to come
    waiting: list[str] = []  # labels whose instruction has not come yet
    declared: set[str] = set()
    for row in text.splitlines():
        stripped = row.lstrip()
        if stripped.startswith("/*") and current is not None:
            head, _, rest = stripped.partition("*/")
            offset = int(head[2:], 16)
            for label in waiting:
                current.labels[label] = offset
                if label in declared:
                    current.functions.append(label)
                    # The functions that ptxas adds have no lines: the last one of the code before is not theirs.
                    line = line if told else None
            waiting.clear()
            told = False
            body, _, note = rest.replace(";", " ").partition("(*")
            predicate, opcode, operands = _split(body)
            targets = _targets(operands, note) if opcodes.flow(opcode) or opcode == "BSSY" else ()
            current.instructions.append(
                SassInstruction(offset, opcode, operands, predicate, line, module, "SpillRefill" in note, targets)
            )
        elif (match := _LINE.match(row)) is not None:
            line, module = int(match[2]), match[1] or ""
            told = True
        elif (match := _SECTION.match(row)) is not None:
            current = result[match[1]] = SassFunction(match[1])
            line, module, told = None, "", False
            waiting.clear()
            declared.clear()
        elif (match := _FUNCTION.match(row)) is not None:
            declared.add(match[1])
        elif (match := _LABEL.match(row)) is not None and current is not None:
            waiting.append(match[1])
    for function in result.values():
        _drop_padding(function)
    return result


def _split(body: str) -> tuple[str | None, str, str]:
    """Predicate (None where it always holds), opcode, operands."""
    predicate: str | None = None
    first, _, rest = body.strip().partition(" ")
    if first.startswith("@"):
        predicate = None if first in _ALWAYS else first
        first, _, rest = rest.strip().partition(" ")
    return predicate, first, rest.strip()


def _targets(operands: str, note: str) -> tuple[str, ...]:
    """Labels in the operands, or of a table that nvdisasm found for an indirect branch."""
    match = _TARGET.search(operands)
    if match is not None:
        return (match[1],)
    _, found, table = note.partition("BRANCH_TARGETS")
    return tuple(re.findall(r"\.L\w+", table)) if found else ()


def _drop_padding(function: SassFunction) -> None:
    """The branch to itself and the NOPs that fill a section are never executed."""
    instructions = function.instructions
    while instructions and (instructions[-1].name == "NOP" or _is_trap_loop(function, instructions[-1])):
        trap = _is_trap_loop(function, instructions[-1])
        instructions.pop()
        if trap:
            break


def _is_trap_loop(function: SassFunction, instruction: SassInstruction) -> bool:
    return (
        instruction.name == "BRA"
        and instruction.predicate is None
        and bool(instruction.targets)
        and function.labels.get(instruction.targets[0]) == instruction.offset
    )


def never_runs(instruction: SassInstruction) -> bool:
    """Whether the predicate is constant false."""
    return instruction.predicate in _NEVER


def listing(cubin: bytes) -> dict[str, SassFunction]:
    """The functions of a cubin by name. Cached by content.

    Raises EnvironmentProblem where nvdisasm is not installed, CompileError where it does not take the file.
    """
    key = cache.key_of(wheels.version("nvidia-cuda-nvdisasm") or "", cubin)
    known = cache.default().get("sass", key)
    if known is None:
        known = _disassemble(cubin).encode()
        cache.default().put("sass", key, known)
    return parse(known.decode())


def _disassemble(cubin: bytes) -> str:
    tool = wheels.locate("nvdisasm")
    with process.scratch() as scratch:
        path = Path(scratch, "module.cubin")
        path.write_bytes(cubin)
        done = process.run([str(tool), "-c", "-gp", str(path)])
    if done.returncode:
        raise CompileError("nvdisasm does not take the machine code", process.text_of(done))
    return done.stdout


def memory_instructions(function: SassFunction) -> Iterator[SassInstruction]:
    """Loads, stores and atomics of global, shared, local and generic memory, in order of address."""
    for instruction in function.instructions:
        found = instruction.memory
        if found is not None and found[0] != Space.CONST and not never_runs(instruction):
            yield instruction
