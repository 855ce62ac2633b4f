"""What was found of an instruction, kept: a translation asks the same of each some twenty times."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from lanewise.ptx.syntax import Instruction

Found = TypeVar("Found")
_MOST = 1 << 15


def remembered(function: Callable[[Instruction], Found]) -> Callable[[Instruction], Found]:
    """The function, its answers kept by the instruction's identity: comparing instructions costs as much as asking.

    An entry holds its instruction, so that no other one can have that identity. Answers must not be changed.
    """
    known: dict[int, tuple[Instruction, Found]] = {}

    @wraps(function)
    def answer(instruction: Instruction) -> Found:
        entry = known.get(id(instruction))
        if entry is None:
            if len(known) >= _MOST:
                known.clear()
            entry = known[id(instruction)] = (instruction, function(instruction))
        return entry[1]

    return answer
