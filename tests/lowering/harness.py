"""Runs lowerings: many PTX instructions in one LLVM module, each over arrays, as scalars and as 32 lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from card import comparable
from instructions import Case, Spec, all_cases, columns, selector_of, width_of

from lanewise.emulator.ir import WARP, Elementwise, Emitter, Value
from lanewise.emulator.lowering import resolve
from lanewise.ptx.syntax import Instruction, Integer, Negated, Operand, PairOperand, Register, SubWord

Array = np.ndarray[Any, Any]
_DTYPES = {"i1": np.uint8, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}


def element_of(spec: str) -> str:
    """The LLVM type that carries an operand."""
    return f"i{width_of(spec)}"


def _operand(spec: Spec, name: str) -> Operand:
    if isinstance(spec, int):
        return Integer(spec)
    register = Register(name)
    selected = SubWord(register, selector_of(spec)) if selector_of(spec) else register
    return Negated(selected, "-") if spec.startswith("-") else selected


def instruction_of(case: Case) -> Instruction:
    """The instruction as the parser would give it."""
    opcode, *modifiers = case.name.split(".")
    operands = [_operand(case.results[0], "%d")]
    if case.results == ("pred", "pred"):
        operands = [PairOperand(Register("%p"), Register("%q"))]
    written = [spec for spec in case.operands if not (case.key.startswith("carry.") and spec == "pred")]  # CC.CF
    operands += [_operand(spec, f"%r{index}") for index, spec in enumerate(written)]
    return Instruction(opcode, tuple(modifiers), tuple(operands))


def _function(case: Case, lanes: int, name: str, out: Emitter) -> str:
    """`void name(ptr inputs.., ptr outputs.., i64 groups)`: i1 is stored as a byte."""
    inputs = case.inputs
    e = Elementwise(out, lanes)
    pointers = [f"%in{i}" for i in range(len(inputs))] + [f"%out{i}" for i in range(len(case.results))]
    out.lines.clear()
    out.line("br label %loop")
    out.label("loop")
    out.line("%i = phi i64 [0, %entry], [%next, %loop]")
    operands, index = [], 0
    for spec in case.operands:
        if isinstance(spec, int):
            operands.append(e.const("i32", spec))
            continue
        kind = element_of(spec)
        memory = "i8" if kind == "i1" else kind
        address = out.let(f"getelementptr {e.shape(memory).replace('i1>', 'i8>')}, ptr %in{index}, i64 %i")
        loaded = Value(out.let(f"load {e.shape(memory)}, ptr {address}, align 1"), memory)
        operands.append(e.cast("trunc", loaded, "i1") if kind == "i1" else loaded)
        index += 1
    result = resolve(case.key)(e, instruction_of(case), *operands)
    values = [result] if isinstance(result, Value) else list(result)[: len(case.results)]
    assert [value.type for value in values] == [element_of(spec) for spec in case.results], f"{case.id}: {values}"
    for position, value in enumerate(values):
        stored = e.cast("zext", value, "i8") if value.type == "i1" else value
        address = out.let(f"getelementptr {e.shape(stored.type)}, ptr %out{position}, i64 %i")
        out.line(f"store {e.shape(stored.type)} {stored.text}, ptr {address}, align 1")
    out.line("%next = add i64 %i, 1")
    out.line("%more = icmp ult i64 %next, %groups")
    out.line("br i1 %more, label %loop, label %done")
    out.label("done")
    out.line("ret void")
    params = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    body = "\n".join(out.lines)
    return f"define void @{name}({params}, i64 %groups) {{\nentry:\n{body}\n}}\n"


def llvm_text(cases: Sequence[Case]) -> str:
    """The LLVM module of all cases, both shapes: functions `case<i>_1` and `case<i>_32`."""
    declarations: set[str] = set()
    definitions: dict[str, str] = {}
    functions = []
    for number, case in enumerate(cases):
        for lanes in (1, WARP):
            out = Emitter()
            out.definitions = definitions
            functions.append(_function(case, lanes, f"case{number}_{lanes}", out))
            declarations |= out.declarations
    return "\n".join([*sorted(declarations), *definitions.values(), *functions])


class Compiled:
    """The machine code of a batch of cases; `run` gives a case's results in both shapes, checked to be equal."""

    def __init__(self, cases: Sequence[Case]) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.cases = {case.id: (number, case) for number, case in enumerate(cases)}
        assert len(self.cases) == len(cases), "two cases of one id"
        target = llvm.Target.from_default_triple()
        features = llvm.get_host_cpu_features().flatten()
        self.machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
        module = llvm.parse_assembly(llvm_text(cases))
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_unrolling = options.loop_interleaving = options.loop_vectorization = False
        passes = llvm.create_pass_builder(self.machine, options)
        passes.getModulePassManager().run(module, passes)
        self.module = module
        self.engine = llvm.create_mcjit_compiler(module, self.machine)
        self.engine.finalize_object()

    def run(self, case: Case, inputs: Sequence[Sequence[int] | Array]) -> tuple[Array, ...]:
        """Columns of operands in, arrays of results out, as unsigned integers. Inputs are padded to whole warps."""
        number = self.cases[case.id][0]
        kinds = [element_of(spec) for spec in case.inputs]
        count = len(inputs[0])
        groups = -(-count // WARP)
        arrays = []
        for kind, given in zip(kinds, inputs, strict=True):
            array = np.zeros(groups * WARP, dtype=_DTYPES[kind])
            array[:count] = given
            arrays.append(array)
        both = []
        for lanes in (1, WARP):
            results = [np.zeros(groups * WARP, dtype=_DTYPES[element_of(spec)]) for spec in case.results]
            pointers = [array.ctypes.data for array in arrays + results]
            prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_uint64)
            function: Callable[..., None] = prototype(self.engine.get_function_address(f"case{number}_{lanes}"))
            function(*pointers, groups * WARP // lanes)
            both.append([result[:count] for result in results])
        for given, other, spec in zip(*both, case.results, strict=True):
            scalar, vector = (
                np.frombuffer(comparable(case, result.tobytes(), spec), dtype=result.dtype) for result in (given, other)
            )
            differ = np.nonzero(scalar != vector)[0]
            assert not len(differ), (
                f"{case.id}: scalar and vector shapes differ at {[hex(array[differ[0]]) for array in arrays]}: "
                f"{scalar[differ[0]]:#x} and {vector[differ[0]]:#x}"
            )
        return tuple(both[0])


@cache
def compiled(group: str) -> Compiled:
    """All cases of one file of lowerings."""
    return Compiled([case for case in all_cases() if case.key.startswith(group + ".")])


def run(case: Case) -> tuple[list[list[int]], tuple[Array, ...]]:
    """The columns of operands of a case, and its results."""
    inputs = columns(case)
    return inputs, compiled(case.key.split(".")[0]).run(case, inputs)
