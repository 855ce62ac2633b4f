"""Runs the list of `instructions.py` on this machine's GPU and writes what it gave. Standard library and driver only.

    python tests/lowering/card.py tests/lowering/h200.json [results.pickle]

The JSON holds a digest per instruction, which `test_card.py` compares with; the pickle, to look into a difference,
holds the bytes of all results: {case id: [bytes of each result]}.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import pickle
import sys
from array import array
from pathlib import Path

from instructions import ROWS, Case, all_cases, columns, kind_of, selector_of, width_of

_TYPECODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def bytes_of(spec: str) -> int:
    """Bytes of an operand in memory: predicates and 8-bit types take one."""
    return max(1, width_of(spec) // 8)


def _register(spec: str, name: str) -> tuple[str, str]:
    """Declared type and name of the register of an operand (8-bit operands live in 16 bits)."""
    if kind_of(spec) == "pred":
        return "pred", name
    return f"b{max(16, width_of(spec))}", name


def ptx_text(case: Case) -> str:
    """A kernel that applies the instruction to one row per thread."""
    inputs, names, declarations, code = case.inputs, [], [], []
    pointers = [f"in{i}" for i in range(len(inputs))] + [f"out{i}" for i in range(len(case.results))]
    code += ["mov.u32 %row, %tid.x;"]
    specs = [*inputs, *case.results]
    for pointer, spec in zip(pointers, specs, strict=True):
        kind, name = _register(spec, f"%v_{pointer}")
        declarations.append(f".reg .{kind} {name};")
        code += [f"ld.param.u64 %base, [{pointer}];", f"mad.wide.u32 %a_{pointer}, %row, {bytes_of(spec)}, %base;"]
        declarations.append(f".reg .b64 %a_{pointer};")
    for pointer, spec in zip(pointers, inputs, strict=False):
        if kind_of(spec) == "pred":
            code += [f"ld.global.u8 %byte, [%a_{pointer}];", f"setp.ne.u16 %v_{pointer}, %byte, 0;"]
        else:
            code += [f"ld.global.b{bytes_of(spec) * 8} %v_{pointer}, [%a_{pointer}];"]
    index = 0
    for spec in case.operands:
        if isinstance(spec, int):
            names.append(str(spec))
            continue
        dotted = f".{selector_of(spec)}" if selector_of(spec) else ""
        names.append(f"{'-' if spec.startswith('-') else ''}%v_in{index}{dotted}")
        index += 1
    code += _body(case, names)
    for i, spec in enumerate(case.results):
        if kind_of(spec) == "pred":
            code += [f"selp.u16 %byte, 1, 0, %v_out{i};", f"st.global.u8 [%a_out{i}], %byte;"]
        else:
            code += [f"st.global.b{bytes_of(spec) * 8} [%a_out{i}], %v_out{i};"]
    params = ", ".join(f".param .u64 {pointer}" for pointer in pointers)
    lines = [".reg .b32 %row, %carry;", ".reg .b64 %base;", ".reg .b16 %byte;", *declarations, *code, "ret;"]
    body = "\n".join("  " + line for line in lines)
    return f".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry kernel({params}) {{\n{body}\n}}\n"


def _body(case: Case, names: list[str]) -> list[str]:
    """The instruction itself; carries go through CC.CF, which is no register."""
    text = case.name
    if not case.key.startswith("carry."):
        first = f"%v_out0.{selector_of(case.results[0])}" if selector_of(case.results[0]) else "%v_out0"
        result = "%v_out0|%v_out1" if len(case.results) == 2 else first
        return [f"{text} {', '.join([result, *names])};"]
    subtract = text.startswith("sub")
    code = []
    if case.operands[-1] == "pred":
        code += [f"selp.u32 %carry, 1, 0, {names.pop()};"]
        code += ["sub.cc.u32 %carry, 0, %carry;" if subtract else "add.cc.u32 %carry, %carry, 0xffffffff;"]
    code += [f"{text} {', '.join(['%v_out0', *names])};"]
    if len(case.results) == 2:
        code += [f"{'subc' if subtract else 'addc'}.u32 %carry, 0, 0;", "setp.ne.u32 %v_out1, %carry, 0;"]
    return code


class Card:
    """The CUDA driver, as little of it as this needs."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        context = ctypes.c_void_p()
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.check("cuCtxSetCurrent", context)
        self.buffers = [self.allocate(8 * ROWS) for _ in range(8)]

    def check(self, name: str, *args: object) -> None:
        status = getattr(self.cuda, name)(*args)
        if status:
            raise RuntimeError(f"{name} failed with CUDA error {status}")

    def allocate(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self.check("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def run(self, case: Case) -> list[bytes] | str:
        """Bytes of each result, or what the assembler says."""
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(5, 6)  # error log buffer and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module = ctypes.c_void_p()
        text = ptx_text(case).encode()
        if self.cuda.cuModuleLoadDataEx(ctypes.byref(module), text, 2, options, values):
            return log.value.decode(errors="replace") or "does not assemble"
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
        specs = [*case.inputs, *case.results]
        for buffer, spec, column in zip(self.buffers, case.inputs, columns(case), strict=False):
            data = array(_TYPECODES[bytes_of(spec)], column).tobytes()
            self.check("cuMemcpyHtoD_v2", buffer, data, ctypes.c_size_t(len(data)))
        pointers = (ctypes.c_void_p * len(specs))(*(ctypes.addressof(self.buffers[i]) for i in range(len(specs))))
        self.check("cuLaunchKernel", function, 1, 1, 1, ROWS, 1, 1, 0, None, pointers, None)
        self.check("cuCtxSynchronize")
        results = []
        for buffer, spec in zip(self.buffers[len(case.inputs) :], case.results, strict=False):
            data = ctypes.create_string_buffer(ROWS * bytes_of(spec))
            self.check("cuMemcpyDtoH_v2", data, buffer, ctypes.c_size_t(len(data)))
            results.append(data.raw)
        self.check("cuModuleUnload", module)
        return results


_NAN_AT = {"f32": (0x7F80_0000, 0x7FFF_FFFF), "f64": (0x7FF << 52, 0xFFF8 << 48)}


def comparable(case: Case, data: bytes, spec: str) -> bytes:
    """A result without what `emulator/lowering/floats.py` says is the CPU's own: NaN bits of add, sub, mul and fma,
    and the least normal number that `.ftz` multiplication and fma may give for zero."""
    if case.key not in ("floating.add", "floating.sub", "floating.mul", "floating.fma"):
        return data
    kind = kind_of(spec).removesuffix("x2")
    infinity, nan = _NAN_AT[kind]
    sign = 1 << (width_of(kind) - 1)
    values = array(_TYPECODES[bytes_of(kind)], data)
    for index, value in enumerate(values):
        if value & (sign - 1) > infinity:
            values[index] = nan
        elif "ftz" in case.name and value & (sign - 1) == 0x0080_0000:
            values[index] = value & sign
    return values.tobytes()


def digest(case: Case, results: list[bytes]) -> str:
    """Of all comparable bits of the results."""
    checksum = hashlib.sha1(usedforsecurity=False)
    for data, spec in zip(results, case.results, strict=True):
        checksum.update(comparable(case, data, spec))
    return checksum.hexdigest()[:16]


def main() -> None:
    card = Card()
    name = ctypes.create_string_buffer(100)
    card.check("cuDeviceGetName", name, 100, 0)
    version = ctypes.c_int()
    card.check("cuDriverGetVersion", ctypes.byref(version))
    cases = [case for case in all_cases() if case.arch <= 90]
    results: dict[str, list[bytes]] = {}
    for case in cases:
        result = card.run(case)
        if isinstance(result, str):
            sys.exit(f"{case.id} does not assemble: {result}")
        results[case.id] = result
    digests = {case.id: digest(case, results[case.id]) for case in cases if case.against == "card"}
    text = {"device": name.value.decode(), "driver": version.value, "rows": ROWS, "digests": digests}
    Path(sys.argv[1]).write_text(json.dumps(text, indent=0) + "\n")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_bytes(pickle.dumps(results))
    print(f"{name.value.decode()}: {len(results)} instructions")


if __name__ == "__main__":
    main()
