"""Names of a function body: what a word means in its block, and how nested blocks are renamed apart (PTX ISA 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lanewise.ptx.syntax import Function, Operand, Register, RegisterDeclaration, Symbol, VectorOperand

COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


def vector_elements(name: str, vector: int) -> VectorOperand:
    """The registers of a vector register: `v` of four is `{v.x, v.y, v.z, v.w}` (eight: `.e4` to `.e7` follow)."""
    parts = ("x", "y", "z", "w", "e4", "e5", "e6", "e7")[:vector]
    return VectorOperand(tuple(Register(f"{name}.{part}") for part in parts))


def family_prefixes(name: str) -> Iterator[str]:
    """The prefixes of families that a name may belong to: `%r`, and `%r1`, for `%r12`, but not `%r` for `%r012`."""
    end = len(name)
    start = len(name.rstrip("0123456789"))
    for cut in range(max(start, end - 9), end):
        if name[cut] != "0" or cut == end - 1:
            yield name[:cut]


class _Family(NamedTuple):
    renamed: str  # prefix in the flattened body
    size: int
    vector: int

    def member(self, digits: str) -> Operand:
        name = self.renamed + digits
        return vector_elements(name, self.vector) if self.vector > 1 else Register(name)


@dataclass(slots=True)
class Scope:
    """One `{ }` block. `cache` keeps operand texts that were parsed before; a declaration empties it."""

    parent: Scope | None = None
    names: dict[str, Operand] = field(default_factory=dict)
    families: dict[str, _Family] = field(default_factory=dict)  # by prefix
    labels: dict[str, str] = field(default_factory=dict)
    cache: dict[str, tuple[Operand, ...]] = field(default_factory=dict)
    element_sizes: dict[str, int] = field(default_factory=dict)  # of variables, in bytes

    def resolve(self, name: str) -> Operand | None:
        """A register (a vector register is its elements) or a variable of this block or an outer one; else None."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            if scope.families:
                for prefix in family_prefixes(name):
                    family = scope.families.get(prefix)
                    if family is not None and int(name[len(prefix) :]) < family.size:
                        return family.member(name[len(prefix) :])
            scope = scope.parent
        return None

    def element_size(self, name: str) -> int | None:
        """Bytes of an element of a variable of this block or an outer one."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.element_sizes:
                return scope.element_sizes[name]
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

    def __init__(self, module: Scope | None = None) -> None:
        self._times: dict[str, int] = {}  # how often each name was asked for
        self.root = Scope(module)

    def unique(self, name: str) -> str:
        """`name` itself the first time, then `name$1`, `name$2`, ..."""
        candidate = name
        while (number := self._times.get(candidate, 0)) > 0:
            self._times[candidate] = number + 1
            candidate = f"{candidate}${number}"
        self._times[candidate] = 1
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
        renamed = self.unique(prefix + "<>").replace("<>", "")
        renamed += "_" if renamed != prefix else ""  # `%r`, then `%r$1_`: its members are not mistaken for `%r$11`
        scope.families[prefix] = _Family(renamed, declaration.count, vector)
        function.families_by_prefix[renamed] = RegisterDeclaration(renamed, declaration.type, vector, declaration.count)

    def add_variable(self, scope: Scope, name: str, element_size: int) -> str:
        """Declare a variable; the name to give it in the flattened body."""
        scope.cache.clear()
        renamed = self.unique(name)
        scope.names[name] = Symbol(renamed)
        scope.element_sizes[name] = element_size
        return renamed

    def add_label(self, scope: Scope, name: str) -> str:
        renamed = self.unique(name)
        scope.labels[name] = renamed
        return renamed
