"""Names of a function body: what a word means in its block, and how nested blocks are renamed apart (PTX ISA 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from lanewise.ptx.syntax import Function, Operand, Register, RegisterDeclaration, Symbol, VectorOperand

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


class _Family(NamedTuple):
    prefix: str  # as written in its block
    renamed: str
    size: int
    vector: int


def vector_elements(name: str, vector: int) -> VectorOperand:
    """The registers of a vector register: `v` of four is `{v.x, v.y, v.z, v.w}` (eight: `.e4` to `.e7` follow)."""
    parts = ("x", "y", "z", "w", "e4", "e5", "e6", "e7")[:vector]
    return VectorOperand(tuple(Register(f"{name}.{part}") for part in parts))


def family_index(name: str, prefix: str, count: int) -> int | None:
    """Which member of `prefix<count>` a name is; None if it is none (`%r007` is not `%r7`)."""
    digits = name[len(prefix) :]
    if not (name.startswith(prefix) and digits.isdecimal() and digits.isascii() and len(digits) < 10):
        return None
    index = int(digits)
    return index if index < count and str(index) == digits else None


@dataclass(slots=True)
class Scope:
    """One `{ }` block. `cache` keeps operand texts that were parsed before; a declaration empties it."""

    parent: Scope | None = None
    names: dict[str, Operand] = field(default_factory=dict)
    families: list[_Family] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    cache: dict[str, tuple[Operand, ...]] = field(default_factory=dict)

    def resolve(self, name: str) -> Operand | None:
        """A register (a vector register is its elements) or a variable of this block or an outer one; else None."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            for family in scope.families:
                if family_index(name, family.prefix, family.size) is not None:
                    renamed = family.renamed + name[len(family.prefix) :]
                    if family.vector > 1:
                        return vector_elements(renamed, family.vector)
                    return Register(renamed)
            scope = scope.parent
        return None

    def label(self, name: str) -> str | None:
        """The renamed label, prototype or table of this block or an outer one."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None


class Names:
    """The names of one function: hands out unique ones and enters declarations into a scope."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.root = Scope()

    def unique(self, name: str) -> str:
        """`name` itself the first time, then `name$1`, `name$2`, ..."""
        candidate, number = name, 0
        while candidate in self.used:
            number += 1
            candidate = f"{name}${number}"
        self.used.add(candidate)
        return candidate

    def add_register(self, scope: Scope, function: Function, declaration: RegisterDeclaration) -> None:
        """Declare a register or a family. Register vectors become one register an element."""
        scope.cache.clear()
        prefix, vector = declaration.prefix, declaration.vector
        if declaration.count is None:
            name = self.unique(prefix)
            if vector > 1:
                operand = vector_elements(name, vector)
                scope.names[prefix] = operand
                for element in operand.elements:
                    assert isinstance(element, Register)
                    function.registers[element.name] = declaration.type
            else:
                scope.names[prefix] = Register(name)
                function.registers[name] = declaration.type
            return
        renamed = self.unique(prefix + "<>")[: -len("<>")] if prefix + "<>" not in self.used else ""
        if not renamed:
            number = 1
            while f"{prefix}${number}_<>" in self.used:
                number += 1
            renamed = f"{prefix}${number}_"
            self.used.add(renamed + "<>")
        scope.families.append(_Family(prefix, renamed, declaration.count, vector))
        function.register_families += (RegisterDeclaration(renamed, declaration.type, vector, declaration.count),)

    def add_variable(self, scope: Scope, name: str) -> str:
        """Declare a variable; the name to give it in the flattened body."""
        scope.cache.clear()
        renamed = self.unique(name)
        scope.names[name] = Symbol(renamed)
        return renamed

    def add_label(self, scope: Scope, name: str) -> str:
        renamed = self.unique(name)
        scope.labels[name] = renamed
        return renamed
