"""What an address is built from: the variable that an index was meant to stay in, the parameter that a pointer came by.

Only what PTX says plainly: registers computed by moves and additions from the address of one variable, or from one
parameter of 64 bits. Where two meet in a register, or a pointer comes from memory or a call, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache

from lanewise.emulator.analysis import written_and_read
from lanewise.emulator.flow import registers_in
from lanewise.ptx.syntax import TYPE_BITS, Address, Function, Instruction, Operand, Register, Symbol

_POINTER_BITS = 64
_UNKNOWN = "?"  # a pointer of unknown origin
_SUMS = frozenset(("mov", "add", "sub", "or", "and", "cvt", "cvta"))
# Of an instruction that passes an address on: the operands that it may come by; of those not named: none.
_PASSES = {"mad": (3,), "selp": (1, 2), "slct": (1, 2)}


def root(function: Function, address: Operand) -> str | None:
    """The one variable or parameter that an address operand is built from; None where it is not known."""
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
    """For each register the variables and parameters whose address takes part in its value."""
    function = key.function
    roots: dict[str, set[str]] = {}
    body = [s for s in function.body if isinstance(s, Instruction)]
    changed = True
    while changed:
        changed = False
        for instruction in body:
            written, _ = written_and_read(instruction)
            found = _found(function, instruction, roots) if written else set()
            for name in written:
                before = roots.setdefault(name, set())
                if not found <= before:
                    before |= found
                    changed = True
    return {name: frozenset(found) for name, found in roots.items()}


def _found(function: Function, instruction: Instruction, roots: dict[str, set[str]]) -> set[str]:
    """What one instruction's result is built from."""
    if instruction.opcode == "ld" and instruction.has("param") and function.is_kernel:
        address = instruction.operands[1]
        wide = TYPE_BITS[instruction.type] == _POINTER_BITS
        if wide and isinstance(address, Address) and isinstance(address.base, Symbol):
            return {address.base.name} if address.offset == 0 else {_UNKNOWN}
        return {_UNKNOWN} if wide else set()
    if instruction.opcode in ("ld", "ldu", "atom", "call", "shfl"):
        wide = any(TYPE_BITS[ptx_type] == _POINTER_BITS for ptx_type in instruction.types)
        return {_UNKNOWN} if wide or instruction.opcode in ("call", "shfl") else set()
    if instruction.opcode in _SUMS:
        sources: Iterable[Operand] = instruction.operands[1:]
    else:
        sources = [instruction.operands[n] for n in _PASSES.get(instruction.opcode, ())]
    found: set[str] = set()
    for operand in sources:
        if isinstance(operand, Symbol):
            found.add(operand.name)
        elif isinstance(operand, Register) or not isinstance(operand, Address):
            for name in registers_in(operand):
                found |= roots.get(name, set())
    return found
