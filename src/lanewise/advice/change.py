"""A kernel changed so that it can be run again: other lanes for the same threads, other blocks, fewer registers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lanewise.emulator.launch import Dim
from lanewise.emulator.program import Program
from lanewise.ptx.syntax import (
    Function,
    Instruction,
    Negated,
    Operand,
    OperandList,
    PairOperand,
    PtxModule,
    Special,
    TensorAddress,
    VectorOperand,
)

_EXCHANGED = {
    f"%{name}.{one}": f"%{name}.{other}"
    for name in ("tid", "ntid", "ctaid", "nctaid")
    for one, other in (("x", "y"), ("y", "x"))
}
_BOUNDS = re.compile(r"\.(?:maxntid|minnctapersm|maxnreg)\s+\d+(?:\s*,\s*\d+)*")


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a re-run. `swapped`: x and y change places, in the launch and wherever the kernel asks for
    them, so that the same threads run, in other lanes; `resident`: blocks an SM that ptxas is told to make room for
    (`__launch_bounds__(threads, resident)`)."""

    grid: Dim
    block: Dim
    swapped: bool = False
    resident: int | None = None


def swapped_launch(grid: Dim, block: Dim) -> Change:
    """The launch with x and y exchanged."""
    return Change((grid[1], grid[0], grid[2]), (block[1], block[0], block[2]), swapped=True)


def swapped_program(program: Program) -> Program:
    """The same program with x and y of threads and blocks exchanged. Its variables lie where they did."""
    modules = tuple(_swapped_module(module) for module in program.modules)
    result = Program(modules, program.variables, function_numbers=program.function_numbers)
    for number, module in enumerate(modules):
        result.home.update((id(function), number) for function in module.functions.values())
    return result


def _swapped_module(module: PtxModule) -> PtxModule:
    functions = {name: _swapped_function(function) for name, function in module.functions.items()}
    # Compiled code is kept by the text, which must not be that of the module as it was.
    return replace(module, functions=functions, text=module.text + "\n// x and y exchanged\n")


def _swapped_function(function: Function) -> Function:
    body = tuple(
        replace(item, operands=tuple(_swapped(operand) for operand in item.operands))
        if isinstance(item, Instruction)
        else item
        for item in function.body
    )
    return replace(function, body=body)


def _swapped(operand: Operand) -> Operand:
    match operand:
        case Special(name):
            return Special(_EXCHANGED.get(name, name))
        case VectorOperand(elements) | OperandList(elements):
            return replace(operand, elements=tuple(map(_swapped, elements)))
        case PairOperand(first, second):
            return PairOperand(_swapped(first), _swapped(second))
        case Negated(inner):
            return replace(operand, operand=_swapped(inner))
        case TensorAddress(coordinates=coordinates):
            return replace(operand, coordinates=tuple(map(_swapped, coordinates)))
        case _:
            return operand


def with_bounds(text: str, kernel: str, block: Dim, resident: int) -> str | None:
    """PTX in which a kernel has `__launch_bounds__(threads of block, resident)`, its lines where they were; None where
    the kernel is not found."""
    entry = re.compile(rf"(\.entry\s+{re.escape(kernel)}\s*\([^)]*\))([^{{]*)\{{")
    found = entry.search(text)
    if found is None:
        return None
    rest = _BOUNDS.sub("", found[2])
    most = "" if ".reqntid" in rest else f".maxntid {block[0] * block[1] * block[2]} "
    return f"{text[: found.start()]}{found[1]} {most}.minnctapersm {resident} {rest}{{{text[found.end() :]}"
