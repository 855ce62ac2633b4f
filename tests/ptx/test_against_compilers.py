"""The table and the parser against NVIDIA's own: what ptxas accepts, and what NVRTC writes."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from texts import EVERYTHING

from lanewise.ptx import function_register_type, parse
from lanewise.ptx.instructions import TABLE, InstructionSpec, explain, lookup
from lanewise.ptx.instructions.forms import Form, OperandPattern, coordinate_count
from lanewise.ptx.mismatch import mismatch
from lanewise.ptx.special_registers import SPECIAL_REGISTERS
from lanewise.ptx.syntax import TYPE_BITS, Instruction, Register
from lanewise.toolchain import nvrtc, wheels

pytest.importorskip("cuda.bindings.nvrtc", reason="the compilers are published for Linux and Windows only")

DECLARATIONS = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 q) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b128 %q<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.shared .align 16 .b8 buffer[64];
"""
FIRST_LINE = DECLARATIONS.count("\n") + 1
BY_WIDTH = {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}

# Entries whose operands are parameters, labels or numbers with a meaning of their own.
SPECIAL = {
    "ld.param", "st.param", "bra", "brx.idx", "call", "lop3", "discard", "applypriority", "pmevent", "setmaxnreg",
    "fence.proxy",
}  # fmt: skip

# What the PTX ISA has and ptxas 13.0 has not, has only in another order of modifiers, or only with 32-bit addresses.
NOT_IN_PTXAS = re.compile(
    r"mad\.cc\.|cvt\.sat\.[su]\d+\.[su]\d+ |cvt\.rn\.satfinite.*\.bf16x2 |bar.*\.cta|cvta.*\.u32 |.*\.volatile\.local"
)


def register(ptx_type: str, number: int) -> str:
    prefix = {"f32": "%f", "f64": "%g"}.get(ptx_type) or BY_WIDTH[TYPE_BITS[ptx_type]]
    return f"{prefix}{number}"


def vector(ptx_type: str, count: int) -> str:
    return "{" + ", ".join(register(ptx_type, number) for number in range(count)) + "}"


def geometry_of(modifiers: list[str]) -> str:
    return next(modifier for modifier in modifiers if modifier in ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube"))


def coordinates(modifiers: list[str]) -> str:
    """The address of a texture or surface instruction."""
    geometry = geometry_of(modifiers)
    count = coordinate_count(tuple(modifiers))
    scalar = "f32" if [modifier for modifier in modifiers if modifier in TYPE_BITS][-1] == "f32" else "s32"
    parts = [register(scalar, 5 + number) for number in range(count)]
    if geometry.startswith("a"):
        parts[0] = "%r4"
    return f"[%d1, {{{', '.join(parts)}}}]"


def operand(pattern: OperandPattern, number: int, modifiers: list[str], choose: random.Random) -> str | None:
    """An operand that fits a pattern; None where the form cannot be written so."""
    types = [modifier for modifier in modifiers if modifier in TYPE_BITS]
    pattern = replace(pattern, type=choose.choice(pattern.type.split("/")))
    named = {"T": types[-1:], "T0": types[:1], "T1": types[1:2], "T2": types[2:3]}.get(pattern.type, [pattern.type])
    if pattern.kind == "address":
        spaces = [modifier for modifier in modifiers if modifier.startswith(("shared", "global"))]
        if len(spaces) == 2 and number < 2:  # a copy: to the first, from the second
            spaces = spaces[number:][:1]
        return "[buffer]" if any(space.startswith("shared") for space in spaces) else "[%d1]"
    if pattern.kind == "sink":
        return "_"
    if pattern.kind == "coordinates":
        return coordinates(modifiers)
    if pattern.kind == "vector" and pattern.type == "T1" and not pattern.count:
        return vector(named[0], {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2}.get(geometry_of(modifiers), 4))
    if pattern.type == "PART":
        return vector("b32", 2) if types[-1] == "b64" else None
    if pattern.type == "W":
        named = [f"{types[-1][0]}{2 * TYPE_BITS[types[-1]]}"]
    if pattern.type == "POLICY":
        return "%d3" if "L2::cache_hint" in modifiers else ""
    if pattern.kind == "constant":
        return "1"
    if pattern.kind == "vector":
        return vector(named[0], pattern.length(tuple(modifiers)) or 2)
    count = next((int(modifier[1]) for modifier in modifiers if modifier in ("v2", "v4", "v8")), 1)
    if pattern.kind == "maybe-vector" and count > 1:
        if count * TYPE_BITS[named[0]] > 128 or count > 4:
            return None
        return vector(named[0], count)
    if pattern.kind == "both" or (pattern.kind == "pair" and choose.random() < 0.5):
        return f"{register(named[0], number)}|%p7"
    return register(named[0], number)


def write(spec: InstructionSpec, form: Form, choose: random.Random) -> str | None:
    """One instruction of a form, its modifiers drawn at random."""
    modifiers = [choose.choice(sorted(slot.words)) for slot in form.slots if not slot.optional or choose.random() < 0.4]
    operands: list[str] = []
    for number, pattern in enumerate(form.operands):
        if pattern.optional and choose.random() < 0.5:
            break
        text = operand(pattern, number, modifiers, choose)
        if text is None:
            return None
        operands += [text] if text else []
    if spec.lowering and spec.lowering.startswith("barrier."):
        operands = [{"%r0": "1", "%r1": "64", "%r2": "64"}.get(text, text) for text in operands]
        if "red" in spec.opcode:
            operands = [register("pred" if "pred" in modifiers else "u32", 5), "1", *operands[2:]]
    if spec.lowering in ("asynchronous.copy", "asynchronous.wait", "bulk.wait"):
        operands = [{"%r0": "3", "%r2": "16"}.get(text, text) for text in operands]
    return f"{'.'.join([spec.word, *modifiers])} {', '.join(operands)};"


def lines_with_errors(lines: list[str], declarations: str = "", arch: str = "sm_100a") -> dict[int, str]:
    """What ptxas says of each line that it refuses. It reports them in several passes, so ask until it is content."""
    declarations = declarations or DECLARATIONS
    ptxas = wheels.locate("ptxas")
    source = Path("module.ptx")
    refused: dict[int, str] = {}
    while True:
        left = [index for index in range(len(lines)) if index not in refused]
        source.write_text(declarations + "\n".join(lines[index] for index in left) + "\nret;\n}\n")
        command = [str(ptxas), "-arch", arch, "-O0", str(source), "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.findall(r"line (\d+); (?:error|fatal)\s*: (.*)", done.stderr)
        new = {left[int(line) - FIRST_LINE]: text for line, text in found if 0 <= int(line) - FIRST_LINE < len(left)}
        if not new:
            assert done.returncode == 0, done.stderr
            return refused
        refused.update(new)


def test_ptxas_accepts_the_forms_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instructions drawn from the forms of all that is supported are PTX to ptxas too."""
    monkeypatch.chdir(tmp_path)
    choose = random.Random(1)
    drawn: dict[str, None] = {}
    for spec in TABLE:
        if spec.lowering is None or spec.opcode in SPECIAL or spec.word == "wgmma" or "tensor" in spec.opcode:
            continue
        for form in spec.forms:
            for _ in range(6):
                text = write(spec, form, choose)
                if text is not None and not NOT_IN_PTXAS.match(text):
                    drawn[text] = None
    lines = list(drawn)
    assert len(lines) > 900
    module = parse(DECLARATIONS + "\n".join(lines) + "\nret;\n}\n")
    written = [ins for ins in module.functions["k"].body if isinstance(ins, Instruction)]
    unknown = [line for line, ins in zip(lines, written, strict=False) if lookup(ins) is None]
    assert not unknown
    refused = lines_with_errors(lines)
    assert not [f"{lines[index]} {text}" for index, text in refused.items()]


def test_ptxas_accepts_the_forms_of_warp_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are of sm_90a alone."""
    monkeypatch.chdir(tmp_path)
    choose = random.Random(2)
    forms = [(spec, form) for spec in TABLE if spec.word == "wgmma" and spec.lowering for form in spec.forms]
    lines = [text for spec, form in forms for _ in range(3) if (text := write(spec, form, choose)) is not None]
    declarations = DECLARATIONS.replace("sm_100a", "sm_90a").replace("<9>", "<129>")
    module = parse(declarations + "\n".join(lines) + "\nret;\n}\n")
    written = [ins for ins in module.functions["k"].body if isinstance(ins, Instruction)]
    assert all(lookup(ins) is not None for ins in written)
    assert not {lines[index]: text for index, text in lines_with_errors(lines, declarations, "sm_90a").items()}


REGISTER_TYPES = (
    "pred", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128",
)  # fmt: skip
OPERANDS_OF_A_TYPE = (
    "add.s32 X, %b32_1, %b32_2", "add.s32 %b32_1, X, %b32_2", "add.f32 X, %f32_1, %f32_2", "add.f16 X, %b16_1, %b16_2",
    "add.f16x2 X, %b32_1, %b32_2", "and.b32 X, %b32_1, %b32_2", "and.pred X, %pred_1, %pred_2", "mov.b64 X, %b64_1",
    "ld.u8 X, [%b64_1]", "ld.f32 X, [%b64_1]", "ld.b32 X, [%b64_1]", "st.u32 [%b64_1], X", "cvt.u64.u32 %b64_1, X",
    "cvt.rn.f32.s32 X, %b32_1", "atom.add.f32 X, [%b64_1], %f32_2", "shl.b64 %b64_1, %b64_2, X",
    "selp.b32 %b32_1, 1, 2, X",
    "mul.wide.s32 X, %b32_1, %b32_2", "setp.eq.s32 X, %b32_1, %b32_2", "setp.eq.s32 %pred_1|X, %b32_1, %b32_2",
    "shfl.sync.idx.b32 X, %b32_1, 0, 31, -1", "mov.b32 %b32_1, {X, %b16_1}", "fma.rn.f64 %f64_1, %f64_1, X, %f64_1",
    "red.add.u32 [%b64_1], X", "vote.sync.any.pred %pred_1, !X, -1", "vadd.s32.u32.s32 %b32_1, X.h0, %b32_2",
)  # fmt: skip
CONSTANTS = (
    "selp.f32 %f32_1, 1, %f32_2, %pred_1", "setp.eq.f32 %pred_1, %f32_1, 0", "st.f32 [%b64_1], 0.0",
    "mov.f32 %f32_1, 5",
    "st.u32 [%b64_1], 0f3F800000", "mov.b32 %b32_1, 1.0", "mov.b32 %b32_1, 0f3F800000", "mov.b64 %b64_1, 1.0",
    "add.s32 %b32_1, %b32_2, 1.0", "add.f64 %f64_1, %f64_2, 0f3F800000", "add.f16 %b16_1, %b16_1, 1.0",
    "and.pred %pred_1, %pred_2, 1", "mov.pred %pred_1, 1.0", "add.u16 %u16_1, %u16_2, 70000", "cvt.f64.f32 %f64_1, 1",
)  # fmt: skip


def test_types_agree_as_they_do_in_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    more = " ".join(f".reg .{ptx_type} %{ptx_type}_<4>;" for ptx_type in REGISTER_TYPES)
    monkeypatch.setattr(sys.modules[__name__], "DECLARATIONS", DECLARATIONS.rstrip("\n") + f" {more}\n")
    lines = [
        text.replace("X", f"%{ptx_type}_3") + ";" for text in OPERANDS_OF_A_TYPE for ptx_type in REGISTER_TYPES
    ] + [f"{text};" for text in CONSTANTS]
    function = parse(DECLARATIONS + "\n".join(lines) + "\nret;\n}\n").functions["k"]
    found: dict[str, str | None] = {}
    for line, ins in zip(lines, function.body, strict=False):
        assert isinstance(ins, Instruction)
        spec = lookup(ins)
        assert spec is not None, line
        found[line] = mismatch(function, ins, spec)
    refused = {lines[index] for index in lines_with_errors(lines)}
    assert {line for line, problem in found.items() if problem} == refused
    assert found["add.s32 %u64_3, %b32_1, %b32_2;"] == "'add.s32' takes a .s32 where %u64_3 is a .u64 register"


def test_ptxas_accepts_the_special_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        f"mov.{entry.type} {register(entry.type, 1)}, {entry.name}{part};"
        for entry in SPECIAL_REGISTERS.values()
        for part in ((".x", ".y", ".z", ".w") if entry.vector else ("",))
    ]
    assert not {lines[index]: text for index, text in lines_with_errors(lines).items()}


def test_ptxas_accepts_the_text_that_the_parser_is_tested_with(tmp_path: Path) -> None:
    source = tmp_path / "module.ptx"
    source.write_text(EVERYTHING)
    command = [str(wheels.locate("ptxas")), "-arch", "sm_90", "-c", str(source), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SOURCE = r"""
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace groups = cooperative_groups;
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int shared_by_all = 7;
__device__ int* pointer = &shared_by_all;
struct Pair { char a; double b; };
__device__ __noinline__ int recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ int (*table[2])(int) = {twice, thrice};
extern "C" __global__ void __launch_bounds__(256, 2)
mixed(float* out, const Pair pair, int n, cuda::atomic<int, cuda::thread_scope_device>* counter)
{
    __shared__ float tile[256];
    extern __shared__ double dynamic[];
    auto block = groups::this_thread_block();
    auto warp = groups::tiled_partition<32>(block);
    tile[threadIdx.x] = out[threadIdx.x] * weights[threadIdx.x & 3];
    block.sync();
    float x = warp.shfl_xor(tile[255 - threadIdx.x], 4);
    counter->fetch_add(1, cuda::memory_order_acq_rel);
    dynamic[threadIdx.x] = pair.b;
    if (n > 3) printf("%f %d\n", x, n);
    __half2 h = __float2half2_rn(x);
    h = __hfma2(h, h, h);
    float local[20];
    for (int i = 0; i < 20; i++) local[(i * n) % 20] = sinf(x) * i;
    unsigned long long product = (unsigned long long)n * clock64();
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p bra SKIP; trap; SKIP: }" ::"r"(n));
    out[n] = local[n % 20] + recurse(n) + table[n & 1](n) + __low2float(h) + *pointer + __popcll(product);
    out[n + 1] = powf(x, 2.2f);
    switch (n) {
    case 0: out[0] = __fdividef(x, 3); break;
    case 1: out[1] = __ballot_sync(~0u, n > 1); break;
    case 2: out[2] = __match_any_sync(~0u, n); break;
    case 3: out[3] = __vabsdiffu4(n, 7); break;
    case 4: out[4] = atomicCAS((int*)out, n, 5); break;
    case 5: out[5] = __dp4a(n, n, n); break;
    }
}
"""


@pytest.mark.parametrize("options", [["-lineinfo"], ["-G"], ["-use_fast_math"]])
def test_what_the_compiler_writes_is_known(options: list[str]) -> None:
    module = parse(nvrtc.compile_source(SOURCE, arch="sm_90", options=options, name="mixed.cu"))
    known = 0
    for function in module.functions.values():
        for statement in function.body:
            if not isinstance(statement, Instruction):
                continue
            spec = lookup(statement)
            assert spec is not None, explain(statement)
            assert spec.lowering is not None, statement.name
            known += 1
            for register_, ptx_type in zip(statement.operands, spec.operand_types(statement), strict=True):
                if isinstance(register_, Register) and spec.elementwise:
                    declared = function_register_type(function, register_.name)
                    assert declared is not None
                    assert TYPE_BITS[declared] == TYPE_BITS[ptx_type] or TYPE_BITS[ptx_type] == 8, statement.name
    assert known > 200
    sources = [ins.source for ins in module.functions["mixed"].body if isinstance(ins, Instruction) and ins.source]
    if options != ["-use_fast_math"]:
        assert any(source.outermost.file.endswith("mixed.cu") for source in sources)
