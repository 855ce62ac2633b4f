"""Which strided accesses are fields of structs that lie in an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanewise.advice import names
from lanewise.advice.groups import Group, groups, together
from lanewise.advice.subject import Subject
from lanewise.ptx.syntax import Address, Instruction, Register
from lanewise.records import AccessKind, Pattern, Space

_LARGEST = 256  # bytes of a struct


@dataclass(frozen=True, slots=True)
class Structs:
    """Accesses of one kind to the structs of an array, a struct every `size` bytes. `fields` as the source names them,
    where it does; `parts` is how many different places of a struct are accessed."""

    group: Group
    size: int
    fields: tuple[str, ...]
    parts: int


def structs(subject: Subject) -> list[Structs]:
    """Arrays whose elements are a constant distance apart and of which several parts, or named fields, are accessed."""
    arrays: dict[tuple[str | None, AccessKind, int], list[Group]] = {}
    for group in groups(subject, Space.GLOBAL):
        stride = group.stride_bytes
        if group.pattern != Pattern.STRIDED or group.kind == AccessKind.ATOMIC or stride is None:
            continue
        if group.width_bytes < abs(stride) <= _LARGEST:
            arrays.setdefault((group.array, group.kind, abs(stride)), []).append(group)
    found = []
    for (array, _, size), members in arrays.items():
        named = (names.members(group.source, subject.sources, array) for group in members)
        fields = tuple(dict.fromkeys(name for of_line in named for name in of_line))
        parts = _parts(subject, members, size)
        if fields or parts > 1:
            found.append(Structs(together(members), size, fields, parts))
    return found


def _parts(subject: Subject, members: Sequence[Group], size: int) -> int:
    """The most places that are accessed from one register, within a struct of it."""
    lines = {cost.site.site.ptx_line for group in members for cost in group.costs if cost.site is not None}
    offsets: dict[str, set[int]] = {}
    for statement in subject.function.body:
        if isinstance(statement, Instruction) and statement.line in lines:
            for operand in statement.operands:
                if isinstance(operand, Address) and isinstance(operand.base, Register):
                    offsets.setdefault(operand.base.name, set()).add(operand.offset)
    within = (of_one for of_one in offsets.values() if max(of_one) - min(of_one) < size)
    return max((len(of_one) for of_one in within), default=1)
