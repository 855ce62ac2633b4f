"""PTX modules loaded as one program: what each name means, and where its variables lie in device memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from lanewise.emulator.layout import FUNCTION_BASE
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import LanewiseError, UsageError
from lanewise.ptx.syntax import TYPE_BITS, Float, Function, InitialValue, PtxModule, SymbolPart, Variable
from lanewise.records import Allocation


@dataclass(slots=True)
class Program:
    """Modules that were linked together. A name is looked up in its own module first, then among all."""

    modules: tuple[PtxModule, ...]
    variables: dict[tuple[int, str], Allocation] = field(default_factory=dict)  # (module, name) -> where it lies
    home: dict[int, int] = field(default_factory=dict)  # id(function) -> module
    function_numbers: dict[tuple[int, str], int] = field(default_factory=dict)

    def module_of(self, function: Function) -> int:
        return self.home[id(function)]

    def function(self, name: str, module: int | None = None) -> Function:
        """A function with a body. Raises UsageError with the names there are."""
        found = self.find_function(name, module)
        if found is None:
            names = sorted(f.name for m in self.modules for f in m.functions.values() if f.is_kernel)
            raise UsageError(f"there is no kernel {name!r}", next_step=f"kernels: {', '.join(names) or 'none'}")
        return found

    def find_function(self, name: str, module: int | None = None) -> Function | None:
        order = list(range(len(self.modules)))
        if module is not None:
            order.sort(key=lambda m: m != module)
        for m in order:
            candidate = self.modules[m].functions.get(self.modules[m].aliases.get(name, name))
            if candidate is not None and not candidate.is_declaration:
                return candidate
        return None

    def find_variable(self, name: str, module: int) -> tuple[int, Variable] | None:
        """The variable that `name` means in a module, with the module that defines it."""
        own = self.modules[module].variables.get(name)
        if own is not None and own.linkage != "extern":
            return module, own
        for number, other in enumerate(self.modules):
            variable = other.variables.get(name)
            if variable is not None and variable.linkage not in ("extern", ""):
                return number, variable
        return (module, own) if own is not None else None

    def address_of(self, name: str, module: int) -> Allocation | None:
        """Where a .global or .const variable lies."""
        found = self.find_variable(name, module)
        return None if found is None else self.variables.get((found[0], name))

    def function_address(self, function: Function) -> int:
        """The value that stands for a function's address."""
        key = (self.module_of(function), function.name)
        number = self.function_numbers.setdefault(key, len(self.function_numbers))
        return FUNCTION_BASE + 16 * number


def load(modules: Sequence[PtxModule], memory: DeviceMemory) -> Program:
    """Give every .global and .const variable its place and its initial value."""
    program = Program(tuple(modules))
    for number, module in enumerate(modules):
        for function in module.functions.values():
            program.home[id(function)] = number
    for number, module in enumerate(modules):
        for variable in module.variables.values():
            if variable.space not in ("global", "const") or variable.linkage == "extern":
                continue
            found = program.find_variable(variable.name, number)
            if found is not None and found[0] != number:
                continue  # weak or common: another module's definition serves
            kind = "constant" if variable.space == "const" else ("managed" if variable.managed else "global")
            program.variables[number, variable.name] = memory.allocate(
                max(1, variable.size), alignment=max(variable.alignment, 16), kind=kind, name=variable.name
            )
    for module in modules:
        for function in sorted(module.functions.values(), key=lambda f: f.line):
            if not function.is_declaration and not function.is_kernel:
                program.function_address(function)
    initialise(program, memory)
    return program


def initialise(program: Program, memory: DeviceMemory) -> None:
    """Write the initial values of all variables (zero where there are none)."""
    for (number, name), allocation in program.variables.items():
        variable = program.modules[number].variables[name]
        data = _initial_bytes(program, number, variable)
        memory.write(allocation.base, data.ljust(max(1, variable.size), b"\0"))


def _initial_bytes(program: Program, module: int, variable: Variable) -> bytes:
    size = TYPE_BITS[variable.type] // 8
    return b"".join(_element(program, module, item, size, variable.type) for item in variable.initial)


def _element(program: Program, module: int, item: InitialValue, size: int, ptx_type: str) -> bytes:
    if isinstance(item, int):
        if ptx_type in ("f32", "f64"):
            return struct.pack("<f" if size == 4 else "<d", float(item))
        return (item & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    if isinstance(item, Float):
        if item.width == 8 * size:
            return item.bits.to_bytes(size, "little")
        raw = item.bits.to_bytes(item.width // 8, "little")
        number: float = struct.unpack("<d" if item.width == 64 else "<f", raw)[0]
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], number)
    address = _symbol(program, module, item) + item.offset
    if item.mask is not None:
        shift = (item.mask & -item.mask).bit_length() - 1
        address = (address & item.mask) >> shift
    return (address & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _symbol(program: Program, module: int, part: SymbolPart) -> int:
    allocation = program.address_of(part.name, module)
    if allocation is not None:
        return allocation.base
    function = program.find_function(part.name, module)
    if function is not None:
        return program.function_address(function)
    raise LanewiseError(f"an initial value names {part.name!r}, which no module defines")
