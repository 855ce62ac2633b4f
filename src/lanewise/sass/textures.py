"""Lines of PTX for texture and surface instructions: ptxas gives them none (they seem to carry that of the instruction
before). Where a kernel has as many of one kind and geometry in machine code as in PTX, they are told by their order;
else they carry no line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lanewise.ptx.syntax import Function, Instruction
from lanewise.records import Space
from lanewise.sass.listing import SassFunction, SassInstruction

_KINDS = {"TEX": "tex", "TXD": "tex", "TLD": "tex", "TLD4": "tld4", "SULD": "suld", "SUST": "sust", "SURED": "sured",
          "SUATOM": "sured"}  # fmt: skip
# The word of the machine's operands or opcode, and of the modifiers in PTX.
_GEOMETRIES = {"1D": "1d", "2D": "2d", "3D": "3d", "ARRAY_1D": "a1d", "1D_ARRAY": "a1d", "ARRAY_2D": "a2d",
               "2D_ARRAY": "a2d", "CUBE": "cube", "ARRAY_CUBE": "acube"}  # fmt: skip
Kind = tuple[str, str]


def _machine_kind(instruction: SassInstruction) -> Kind:
    words = [*instruction.opcode.split("."), *instruction.operands.replace(" ", "").split(",")]
    geometry = next((_GEOMETRIES[word] for word in reversed(words) if word in _GEOMETRIES), "")
    return _KINDS.get(instruction.name, ""), geometry


def _ptx_kind(instruction: Instruction) -> Kind:
    geometry = next((m for m in instruction.modifiers if m in _GEOMETRIES.values()), "")
    if instruction.opcode == "tex" and geometry == "1d" and instruction.type == "f32":
        geometry = "2d"  # a texture of one dimension is read as one of two
    return instruction.opcode, geometry


def with_lines(
    section: SassFunction, functions: Sequence[tuple[int, Function]], suffixes: Mapping[int, str]
) -> SassFunction:
    """The section with the lines of its texture and surface instructions; others stay as they are."""
    written: dict[Kind, list[tuple[str, int]]] = defaultdict(list)
    for module, function in functions:
        for statement in function.body:
            if isinstance(statement, Instruction) and statement.opcode in _KINDS.values():
                written[_ptx_kind(statement)].append((suffixes.get(module, ""), statement.line))
    found: dict[Kind, int] = defaultdict(int)
    for instruction in section.instructions:
        if _is_texture(instruction):
            found[_machine_kind(instruction)] += 1
    if not found:
        return section
    left = {kind: list(written[kind]) if count == len(written[kind]) else [] for kind, count in found.items()}

    def told(instruction: SassInstruction) -> SassInstruction:
        lines = left[_machine_kind(instruction)]
        module, line = lines.pop(0) if lines else (instruction.module, None)
        return replace(instruction, module=module, ptx_line=line)

    instructions = [told(i) if _is_texture(i) else i for i in section.instructions]
    return SassFunction(section.name, instructions, section.labels, section.functions)


def _is_texture(instruction: SassInstruction) -> bool:
    return instruction.memory is not None and instruction.memory[0] in (Space.TEXTURE, Space.SURFACE)
