"""Which variable an address is built from: what an index that runs over its end was meant to stay in.

Only what PTX says plainly: registers computed by moves and arithmetic from the address of one shared variable, or of
the stack frame. Where two variables meet in a register, or a pointer comes from memory, nothing is said.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from lanewise.emulator.analysis import written_and_read
from lanewise.ptx.syntax import Address, Function, Instruction, Operand, Symbol

_ARITHMETIC = frozenset(("mov", "add", "sub", "mad", "or", "and", "cvt", "cvta", "selp", "shl"))
_UNKNOWN = "?"  # a pointer of unknown origin


def root(function: Function, address: Operand) -> str | None:
    """The one variable that an address operand is built from; None where it is not known."""
    if not isinstance(address, Address) or address.base is None:
        return None
    if isinstance(address.base, Symbol):
        return address.base.name
    found = _roots(_Identity(function)).get(address.base.name, frozenset())
    return next(iter(found)) if len(found) == 1 and _UNKNOWN not in found else None


class _Identity:
    """A function as a key: by identity, since its body cannot be hashed cheaply."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __hash__(self) -> int:
        return id(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.function is self.function


@lru_cache(maxsize=64)
def _roots(key: _Identity) -> dict[str, Set[str]]:
    """For each register the variables whose address takes part in its value."""
    function = key.function
    roots: dict[str, set[str]] = {}
    body = [s for s in function.body if isinstance(s, Instruction)]
    changed = True
    while changed:
        changed = False
        for instruction in body:
            written, read = written_and_read(instruction)
            if not written:
                continue
            found: set[str] = set()
            if instruction.opcode in _ARITHMETIC:
                for operand in instruction.operands:
                    if isinstance(operand, Symbol):
                        found.add(operand.name)
                for name in read:
                    found |= roots.get(name, set())
            elif instruction.opcode == "call" or (instruction.opcode == "ld" and _is_pointer(instruction)):
                found.add(_UNKNOWN)
            for name in written:
                before = roots.setdefault(name, set())
                if not found <= before:
                    before |= found
                    changed = True
    return {name: frozenset(found) for name, found in roots.items()}


def _is_pointer(instruction: Instruction) -> bool:
    """Whether what is loaded may be an address: anything of 64 bits."""
    return instruction.type in ("u64", "b64", "s64")
