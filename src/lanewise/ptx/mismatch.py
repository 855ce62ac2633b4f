"""Whether the registers and constants of an instruction have the types it takes (PTX ISA 6.1, 9.4; as ptxas does).

Registers of one size agree where one of the two types is untyped bits, or both are integers, or both are the same
floating-point type. Loads, stores and conversions also take wider registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from lanewise.ptx.instructions.spec import InstructionSpec
from lanewise.ptx.registers import function_register_type
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Address,
    Float,
    Function,
    Instruction,
    Integer,
    Negated,
    Operand,
    PairOperand,
    Register,
    SubWord,
    TensorAddress,
    VectorOperand,
)

_TAKE_WIDER = frozenset(("ld", "ldu", "st", "cvt", "suld", "sust"))
_NUMBERS = ("f16", "f32", "f64")  # floating-point types that a register can have; one of f16x2 counts as bits
_ADDRESS = "address"


def mismatch(function: Function, instruction: Instruction, spec: InstructionSpec) -> str | None:
    """What is wrong with the types of a supported instruction, as a sentence; None where nothing is."""
    guard = instruction.guard
    if guard is not None and function_register_type(function, guard.register.name) != "pred":
        return f"the guard {guard.register.name} is not a predicate register"
    if instruction.opcode == "call" or spec.lowering is None:
        return None
    for operand, ptx_type in zip(instruction.operands, spec.operand_types(instruction), strict=True):
        for leaf, expected in _leaves(operand, ptx_type):
            problem = _problem(function, instruction, leaf, expected)
            if problem is not None:
                return problem
    return None


def _leaves(operand: Operand, ptx_type: str) -> Iterator[tuple[Operand, str]]:
    """The registers and constants in an operand, each with the type it must have."""
    match operand:
        case VectorOperand(elements):
            for element in elements:
                yield from _leaves(element, ptx_type)
        case PairOperand(first, second):
            yield from _leaves(first, ptx_type)
            yield second, "pred"
        case Negated(inner, _):
            yield from _leaves(inner, ptx_type)
        case SubWord(register, _):
            yield register, ptx_type
        case Address(Register() as base, _):
            yield base, _ADDRESS
        case TensorAddress(Register() as base, _, _):
            yield base, _ADDRESS
        case Register() | Integer() | Float():
            yield operand, ptx_type


def _problem(function: Function, instruction: Instruction, leaf: Operand, expected: str) -> str | None:
    name = instruction.name
    if isinstance(leaf, Register):
        declared = function_register_type(function, leaf.name)
        if declared is None:
            return f"register {leaf.name} is not declared"
        if not _agree(declared, expected, instruction.opcode in _TAKE_WIDER):
            what = "an address" if expected == _ADDRESS else f"a .{expected}"
            return f"'{name}' takes {what} where {leaf.name} is a .{declared} register"
        return None
    expected = expected.partition("/")[0]
    integral = expected == "pred" or (expected[0] in "bsu" and expected[1:].isdecimal())
    if isinstance(leaf, Integer) and not integral:
        return f"'{name}' takes a floating-point constant (such as 1.0), not the integer {leaf.value}"
    if isinstance(leaf, Float) and expected not in ("f32", "f64") and expected != f"b{leaf.width}":
        return f"'{name}' takes a .{expected}, not a floating-point constant of {leaf.width} bits"
    return None


def _agree(declared: str, expected: str, wider: bool) -> bool:
    if expected == _ADDRESS:
        return declared in ("b32", "u32", "s32", "b64", "u64", "s64")
    if "/" in expected:
        return any(_agree(declared, one, wider) for one in expected.split("/"))
    if "pred" in (declared, expected):
        return declared == expected
    size, needed = TYPE_BITS[declared], TYPE_BITS[expected]
    if size != needed and not (wider and size > needed):
        return False
    if declared[0] == "b" or declared == "f16x2":
        return True
    if expected in _NUMBERS:
        return declared == expected
    if expected[0] in "su" and expected[1:].isdecimal():
        return declared[0] in "su"
    return expected[0] == "b" and expected[1:].isdecimal()
