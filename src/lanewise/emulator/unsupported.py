"""What a kernel uses that this version cannot run: everything at once, with its PTX and source line."""

from __future__ import annotations

from lanewise.emulator.flow import registers_in
from lanewise.emulator.lowering import asynchronous, tensor_map
from lanewise.emulator.program import Program
from lanewise.emulator.unit import BUILTIN_FUNCTIONS, reachable
from lanewise.ptx.instructions import explain, lookup
from lanewise.ptx.mismatch import mismatch
from lanewise.ptx.registers import function_register_type
from lanewise.ptx.special_registers import SPECIAL_REGISTERS, SPECIAL_VECTORS
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Address,
    Function,
    Instruction,
    Negated,
    Operand,
    OperandList,
    PairOperand,
    Special,
    Symbol,
    TensorAddress,
    VectorOperand,
)
from lanewise.records import Unsupported


def unsupported(program: Program, kernel: Function) -> tuple[Unsupported, ...]:
    """Every instruction, special register and external function that launching `kernel` would need and cannot have."""
    found: list[Unsupported] = []
    for function in reachable(program, kernel):
        module = program.module_of(function)
        for statement in function.body:
            if not isinstance(statement, Instruction):
                continue
            reason = _reason(program, module, function, statement)
            if reason is not None:
                found.append(Unsupported(statement.name, reason, kernel.name, statement.line, statement.source))
    return tuple(found)


def _reason(program: Program, module: int, function: Function, ins: Instruction) -> str | None:
    spec = lookup(ins)
    if spec is None:
        return explain(ins)
    if spec.lowering is None:
        return spec.reason or "not run yet"
    problem = mismatch(function, ins, spec)
    if problem is not None:
        return problem
    for operand in ins.operands:
        if spec.group in ("Textures", "Surfaces") and _is_variable(operand):
            return "textures are read through handles; variables of type .texref, .samplerref, .surfref are not run"
        for special in _specials(operand):
            name, _, component = special.partition(".")
            entry = SPECIAL_REGISTERS.get(name)
            if entry is None or bool(component) != (name in SPECIAL_VECTORS):
                return f"there is no special register {special}"
            if entry.reason is not None:
                return f"{special}: {entry.reason}"
        for name in registers_in(operand):
            if function_register_type(function, name) is None:
                return f"register {name} is not declared"
    if ins.opcode == "cp" and spec.lowering.startswith("asynchronous."):
        return asynchronous.wrong_constant(ins)
    if spec.lowering == "tensor_map.replace":
        return tensor_map.wrong_constant(ins)
    if ins.opcode == "call":
        return _call_reason(program, module, function, ins)
    if ins.opcode in ("ld", "st") and any(modifier.split("::")[0] == "param" for modifier in ins.modifiers):
        return _parameter_reason(function, ins)
    return None


def _is_variable(operand: Operand) -> bool:
    """Whether a texture is named by a variable, or has a sampler apart (PTX ISA 5.3)."""
    named = isinstance(operand, TensorAddress | Address) and isinstance(operand.base, Symbol)
    return named or (isinstance(operand, TensorAddress) and operand.sampler is not None)


def parameter_sizes(function: Function) -> dict[str, int]:
    """Bytes of every .param variable that a function may name."""
    sizes = {variable.name: variable.size for variable in function.variables if variable.space == "param"}
    return sizes | {param.name: param.size for param in (*function.params, *function.returns)}


def _parameter_reason(function: Function, ins: Instruction) -> str | None:
    """Parameters are no memory that could be checked while the kernel runs: accesses by name must lie within them."""
    address = next(operand for operand in ins.operands if isinstance(operand, Address))
    if not isinstance(address.base, Symbol):
        return None if ins.opcode == "ld" else "parameters are written by name only"
    size = parameter_sizes(function).get(address.base.name)
    if size is None:
        return f"there is no parameter {address.base.name!r}"
    value = next(operand for operand in ins.operands if operand is not address)
    count = len(value.elements) if isinstance(value, VectorOperand) else 1
    offset = address.base.offset + address.offset
    if not 0 <= offset <= size - count * TYPE_BITS[ins.type] // 8:
        return f"byte {offset} is not within parameter {address.base.name!r} of {size} bytes"
    return None


def _specials(operand: Operand) -> list[str]:
    match operand:
        case Special(name):
            return [name]
        case VectorOperand(elements) | OperandList(elements):
            return [name for element in elements for name in _specials(element)]
        case PairOperand(first, second):
            return _specials(first) + _specials(second)
        case Negated(inner, _):
            return _specials(inner)
        case Address(_, _):
            return []
        case _:
            return []


def _call_reason(program: Program, module: int, function: Function, ins: Instruction) -> str | None:
    from lanewise.emulator.lowering.control import call_parts

    results, target, arguments = call_parts(ins)
    sizes = parameter_sizes(function)
    if function.is_kernel:
        sizes = {name: size for name, size in sizes.items() if name not in {param.name for param in function.params}}
    for operand in (*results, *arguments):
        if not isinstance(operand, Symbol) or operand.name not in sizes:
            return "arguments of calls in registers are not run; nvcc passes them in .param variables"
    if not isinstance(target, Symbol) or target.name in BUILTIN_FUNCTIONS:
        return None
    if target.name.startswith("__cudaCDP2"):  # what nvcc makes of <<<>>> in device code: calls of libcudadevrt
        return "kernels that launch kernels (dynamic parallelism) are not run"
    found = program.find_function(target.name, module)
    if found is None:
        return f"function {target.name!r} is not defined in any module"
    given = [sizes[operand.name] for operand in (*results, *arguments) if isinstance(operand, Symbol)]
    if len(found.params) != len(arguments) or given != [param.size for param in (*found.returns, *found.params)]:
        return f"the call does not fit the parameters of {target.name!r}"
    return None
