"""The one table of PTX instructions: each instruction of the PTX ISA once, with what it takes and how it is run.

Lowering keys: the elementwise ones name functions of `lanewise.emulator.lowering` (`integer`, `carry`, `logic`,
`floating`, `half`, `approximate`, `compare`, `convert`, `video`, `move`). The others are translated with knowledge of
lanes and memory: those of `memory`, `atomics`, `warp`, `barrier`, `mbarrier`, `asynchronous`, `cluster`, `matrix`,
`mma` and `control`.

Section numbers are those of PTX ISA 9.1; what 9.2 added is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from lanewise.ptx.instructions import (
    asynchronous,
    compare,
    control,
    conversion,
    floating,
    integer,
    logic,
    matrix,
    movement,
    synchronisation,
    tensor_memory,
    texture,
    video,
    warpgroup,
)
from lanewise.ptx.instructions.forms import Form
from lanewise.ptx.instructions.remember import remembered
from lanewise.ptx.instructions.spec import InstructionSpec, Status
from lanewise.ptx.syntax import Instruction

__all__ = ["TABLE", "Form", "InstructionSpec", "Status", "explain", "lookup"]

TABLE: tuple[InstructionSpec, ...] = (
    *integer.SPECS,
    *floating.SPECS,
    *compare.SPECS,
    *logic.SPECS,
    *movement.SPECS,
    *conversion.SPECS,
    *asynchronous.SPECS,
    *texture.SPECS,
    *control.SPECS,
    *synchronisation.SPECS,
    *matrix.SPECS,
    *warpgroup.SPECS,
    *tensor_memory.SPECS,
    *video.SPECS,
)

_BY_WORD: dict[str, tuple[InstructionSpec, ...]] = {}
for _spec in TABLE:
    _BY_WORD[_spec.word] = (*_BY_WORD.get(_spec.word, ()), _spec)


@lru_cache(maxsize=8192)
def _candidates(opcode: str, modifiers: tuple[str, ...]) -> tuple[tuple[InstructionSpec, Form], ...]:
    """The forms that take these modifiers."""
    specs = _BY_WORD.get(opcode, ())
    return tuple((spec, form) for spec in specs for form in spec.forms if form.takes(modifiers))


@remembered
def lookup(instruction: Instruction) -> InstructionSpec | None:
    """The table's entry for a written instruction; None where PTX has no such form (`explain` says why)."""
    for spec, form in _candidates(instruction.opcode, instruction.modifiers):
        if form.fits(instruction, spec.destinations):
            return spec
    return None


def explain(instruction: Instruction) -> str:
    """Why `lookup` found nothing, as a sentence."""
    specs = _BY_WORD.get(instruction.opcode)
    if specs is None:
        return (
            f"PTX has no instruction '{instruction.opcode}' that is known here{_similar(instruction.opcode, _BY_WORD)}"
        )
    if _candidates(instruction.opcode, instruction.modifiers):
        return f"'{instruction.name}' does not take these operands"
    known = set[str]().union(*(slot.words for spec in specs for form in spec.forms for slot in form.slots))
    strange = [modifier for modifier in instruction.modifiers if modifier not in known]
    if strange:
        return f"'{instruction.opcode}' has no modifier '.{strange[0]}'{_similar(strange[0], known)}"
    return f"'{instruction.opcode}' has no form '{instruction.name}'"


def _similar(word: str, known: Iterable[str]) -> str:
    found = get_close_matches(word, sorted(known), n=1)
    return f"; is '{found[0]}' meant?" if found else ""
