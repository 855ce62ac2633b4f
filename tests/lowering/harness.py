"""Runs lowerings: many PTX instructions in one LLVM module, each over arrays, as scalars and as 32 lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from lanewise.emulator.ir import WARP, Elementwise, Emitter, Value, bits_of
from lanewise.emulator.lowering import resolve
from lanewise.ptx.syntax import Instruction, Integer, Operand, Register

Array = np.ndarray[Any, Any]
_DTYPES = {"i1": np.uint8, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}


@dataclass(frozen=True)
class Case:
    """One instruction: the table's key, its text without operands, the LLVM types of operands and results.

    Operands given as ints are constants (immediates)."""

    key: str
    name: str
    operands: tuple[str | int, ...]
    results: tuple[str, ...]

    @property
    def instruction(self) -> Instruction:
        opcode, *modifiers = self.name.split(".")
        operands: list[Operand] = [Register("%d")]
        operands += [
            Integer(kind) if isinstance(kind, int) else Register(f"%r{i}") for i, kind in enumerate(self.operands)
        ]
        return Instruction(opcode, tuple(modifiers), tuple(operands))


def _function(case: Case, lanes: int, name: str, out: Emitter) -> str:
    """`void name(ptr inputs.., ptr outputs.., i64 groups)`: i1 is stored as a byte."""
    inputs = [kind for kind in case.operands if isinstance(kind, str)]
    e = Elementwise(out, lanes)
    pointers = [f"%in{i}" for i in range(len(inputs))] + [f"%out{i}" for i in range(len(case.results))]
    out.lines.clear()
    out.line("br label %loop")
    out.label("loop")
    out.line("%i = phi i64 [0, %entry], [%next, %loop]")
    operands, index = [], 0
    for kind in case.operands:
        if isinstance(kind, int):
            operands.append(e.const("i32", kind))
            continue
        memory = "i8" if kind == "i1" else kind
        address = out.let(f"getelementptr {e.shape(memory).replace('i1>', 'i8>')}, ptr %in{index}, i64 %i")
        loaded = Value(out.let(f"load {e.shape(memory)}, ptr {address}, align 1"), memory)
        operands.append(e.cast("trunc", loaded, "i1") if kind == "i1" else loaded)
        index += 1
    result = resolve(case.key)(e, case.instruction, *operands)
    values = [result] if isinstance(result, Value) else list(result)
    assert [value.type for value in values] == list(case.results), f"{case.name}: results {values}"
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
        self.cases = {case.name: (number, case) for number, case in enumerate(cases)}
        assert len(self.cases) == len(cases), "two cases of one name"
        target = llvm.Target.from_default_triple()
        features = llvm.get_host_cpu_features().flatten()
        self.machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
        module = llvm.parse_assembly(llvm_text(cases))
        module.verify()
        passes = llvm.create_pass_builder(self.machine, llvm.create_pipeline_tuning_options(speed_level=1))
        passes.getModulePassManager().run(module, passes)
        self.module = module
        self.engine = llvm.create_mcjit_compiler(module, self.machine)
        self.engine.finalize_object()

    def run(self, name: str, *inputs: Any) -> tuple[Array, ...]:
        """Arrays of operands in, arrays of results out, as unsigned integers. Inputs are padded to whole warps."""
        number, case = self.cases[name]
        kinds = [kind for kind in case.operands if isinstance(kind, str)]
        assert len(kinds) == len(inputs), f"{name} takes {len(kinds)} arrays"
        count = len(inputs[0])
        groups = -(-count // WARP)
        arrays = []
        for kind, given in zip(kinds, inputs, strict=True):
            array = np.zeros(groups * WARP, dtype=_DTYPES[kind])
            mask = (1 << bits_of(kind)) - 1
            array[:count] = given if isinstance(given, np.ndarray) else [int(number) & mask for number in given]
            arrays.append(array)
        both = []
        for lanes in (1, WARP):
            results = [np.zeros(groups * WARP, dtype=_DTYPES[kind]) for kind in case.results]
            pointers = [array.ctypes.data for array in arrays + results]
            prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_uint64)
            function: Callable[..., None] = prototype(self.engine.get_function_address(f"case{number}_{lanes}"))
            function(*pointers, groups * WARP // lanes)
            both.append([result[:count] for result in results])
        for scalar, vector in zip(*both, strict=True):
            differ = np.nonzero(scalar != vector)[0]
            assert not len(differ), (
                f"{name}: scalar and vector shapes differ at {[array[differ[0]] for array in arrays]}: "
                f"{scalar[differ[0]]:#x} and {vector[differ[0]]:#x}"
            )
        return tuple(both[0])
