"""What the table says of one instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from lanewise.ptx.instructions.forms import Form
from lanewise.ptx.syntax import Instruction


class Status(StrEnum):
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class InstructionSpec:
    """One instruction of the table.

    `opcode` is the name as the PTX ISA writes it, fixed modifiers included (`bar.warp.sync`). `lowering` names the
    function that translates it (`"integer.add"`); None where this version cannot run it, with the `reason`.
    `elementwise`: each lane's result depends on that lane's operands alone. `destinations`: how many leading operands
    are results; where it `accumulates` they are read too. `convergence` is its effect on control flow: none, branch,
    exit, call, barrier (of a block), warp.
    """

    opcode: str
    title: str
    group: str
    section: str
    forms: tuple[Form, ...]
    lowering: str | None = None
    elementwise: bool = False
    destinations: int = 1
    convergence: str = "none"
    reason: str | None = None
    accumulates: bool = False

    @property
    def status(self) -> Status:
        return Status.SUPPORTED if self.lowering else Status.UNSUPPORTED

    @property
    def word(self) -> str:
        """The opcode proper: the first dotted part."""
        return self.opcode.partition(".")[0]

    def form(self, instruction: Instruction) -> Form | None:
        """The form that a written instruction has; None where it has none of this instruction's."""
        for form in self.forms:
            if form.takes(instruction.modifiers) and form.fits(instruction, self.destinations):
                return form
        return None

    def operand_types(self, instruction: Instruction) -> tuple[str, ...]:
        """The PTX type of each operand, results first: ("s64", "s32", "s32") for mul.wide.s32. Addresses are u64.

        An element's type for vectors; the first one's type for pairs. Raises ValueError for another instruction.
        """
        form = self.form(instruction)
        if form is None:
            raise ValueError(f"'{instruction.name}' is no form of {self.opcode}")
        return form.types(instruction)


SpecMaker = Callable[..., InstructionSpec]


def group(name: str) -> SpecMaker:
    """A function that makes the entries of one group: `entry(opcode, section, title, lowering, *forms, ...)`.

    Modifiers in the opcode are part of every form (`fixed` says them where alternatives exist).
    """

    def entry(
        opcode: str,
        section: str,
        title: str,
        lowering: str | None,
        *forms: str,
        fixed: str | None = None,
        reason: str | None = None,
        elementwise: bool = False,
        destinations: int = 1,
        convergence: str = "none",
        accumulates: bool = False,
    ) -> InstructionSpec:
        words = " ".join(opcode.split(".")[1:]) if fixed is None else fixed
        return InstructionSpec(
            opcode=opcode,
            title=title,
            group=name,
            section=section,
            forms=tuple(Form(f"{words} {form}".strip()) for form in forms),
            lowering=lowering,
            elementwise=elementwise,
            destinations=destinations,
            convergence=convergence,
            reason=reason,
            accumulates=accumulates,
        )

    return entry
