"""The parser, one feature of the syntax at a time."""

from __future__ import annotations

import pytest
from texts import EVERYTHING, HEAD, instructions, kernel, module

from lanewise.errors import ExitCode, PtxSyntaxError
from lanewise.ptx import NEWEST_VERSION, call_parts, function_register_type, parse
from lanewise.ptx.syntax import (
    Address,
    CallPrototype,
    Guard,
    Instruction,
    Integer,
    Label,
    Register,
    Special,
    Symbol,
)


def test_kernel_as_the_compiler_writes_it() -> None:
    function = kernel(
        """
        .reg .pred %p<2>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [k_param_0];
        mov.u32 %r1, %tid.x;
        setp.ge.s32 %p1, %r1, 16; // a comment
        @!%p1 bra $L__BB0_2;
        st.global.u32 [%rd1+-4], %r1;
        $L__BB0_2:
        ret;
        """,
        ".param .u64 k_param_0, .param .align 4 .b8 k_param_1[12], .param .u8 c, .param .f64 d",
    )
    load, move, compare, branch, store, _ = instructions(function)
    assert load.operands == (Register("%rd1"), Address(Symbol("k_param_0")))
    assert move.operands == (Register("%r1"), Special("%tid.x"))
    assert compare.modifiers == ("ge", "s32")
    assert compare.operands[2] == Integer(16)
    assert branch.guard == Guard(Register("%p1"), negated=True)
    assert store.operands[0] == Address(Register("%rd1"), -4)
    assert load.line == 11
    assert Label("$L__BB0_2", 16) in function.body
    assert (function.line, function.end_line) == (5, 19)
    assert [(p.offset, p.size, p.alignment) for p in function.params] == [(0, 8, 8), (8, 12, 4), (20, 1, 1), (24, 8, 8)]
    assert function_register_type(function, "%r3") == "b32"
    assert function_register_type(function, "%r4") is None


def test_everything_at_once() -> None:
    found = parse(EVERYTHING)
    assert list(found.functions) == ["vprintf", "twice", "plus", "stop", "kernel"]
    assert found.files == {1: "kernel.cu"}
    kernel_ = found.functions["kernel"]
    assert kernel_.directives == {"maxntid": (128, 1, 1), "minnctapersm": (2,)}
    assert [(p.is_pointer, p.size) for p in kernel_.params] == [(True, 8), (False, 24)]
    for statement in kernel_.body:
        if isinstance(statement, Instruction):
            assert statement.source is not None
            assert (statement.source.file, statement.source.line) == ("kernel.cu", 12)


def test_head() -> None:
    found = parse(".version 3.1\n.target sm_20, texmode_independent // first\n.address_size 64\n")
    assert (found.version, found.target, found.address_bits) == ((3, 1), "sm_20", 64)
    assert parse(".version 1.4\n.target sm_10, map_f64_to_f32\n").address_bits == 32


def test_function_headers() -> None:
    found = module(
        """
        .visible .func first;
        .extern .func (.param .align 8 .b8 r[16]) second (.param .b32 a, .reg .f64 b);
        .func .attribute(.unified(0xAB, 0xCD)) third () .noreturn .abi_preserve 10 .abi_preserve_control 14 { exit; }
        .weak .entry fourth .maxntid 16,4 .reqnctapercluster 2 .explicitcluster .maxnreg 32 { ret; }
        .entry fifth () .pragma "nounroll"; .reqntid 64 { ret; }
        .func (.reg .b32 out) sixth (.reg .b32 in) { mov.b32 out, in; ret; }
        .alias seventh, sixth;
        """
    )
    assert {name: (f.is_kernel, f.is_declaration, f.linkage) for name, f in found.functions.items()} == {
        "first": (False, True, "visible"),
        "second": (False, True, "extern"),
        "third": (False, False, ""),
        "fourth": (True, False, "weak"),
        "fifth": (True, False, ""),
        "sixth": (False, False, ""),
    }
    assert found.functions["second"].returns[0].size == 16
    assert found.functions["third"].directives == {"noreturn": (), "abi_preserve": (10,), "abi_preserve_control": (14,)}
    assert found.functions["fourth"].directives == {
        "maxntid": (16, 4),
        "reqnctapercluster": (2,),
        "explicitcluster": (),
        "maxnreg": (32,),
    }
    assert found.functions["fifth"].directives == {"reqntid": (64,)}
    assert found.functions["sixth"].registers == {"out": "b32", "in": "b32"}
    assert found.aliases == {"seventh": "sixth"}


def test_a_definition_replaces_its_declaration() -> None:
    found = module(".func f (.param .b32 x);\n.func f (.param .b32 x) { ret; }\n.func f (.param .b32 x);")
    assert not found.functions["f"].is_declaration
    with pytest.raises(PtxSyntaxError, match="'f' has two bodies; the first is at line 4"):
        module(".func f { ret; }\n.func f { ret; }")


def test_calls() -> None:
    function = parse(EVERYTHING).functions["kernel"]
    calls = [call_parts(ins) for ins in instructions(function) if ins.opcode == "call"]
    assert calls[0] == ((Register("%r1"),), Symbol("plus"), (Register("x"), Integer(7)), None)
    assert calls[1].results == (Symbol("back"),)
    assert calls[1].arguments == (Symbol("argument"),)
    assert (calls[2].function, calls[2].prototype) == (Register("%rd2"), "prototype")
    assert calls[3].prototype == "targets"
    assert calls[4] == ((), Symbol("stop"), (), None)
    prototype = function.call_prototypes["prototype"]
    assert [(p.type, p.size) for p in prototype.params + prototype.returns] == [("b32", 4), ("b32", 4)]
    assert function.call_prototypes["targets"] == CallPrototype(targets=("twice",))


def test_branch_tables() -> None:
    function = kernel(
        """.reg .b32 %r<2>;
        N0: N1: N2:
        table: .branchtargets N<3>, end;
        brx.idx.uni %r1, table;
        end: ret;"""
    )
    assert function.branch_targets == {"table": ("N0", "N1", "N2", "end")}


def test_modifiers_keep_their_scopes() -> None:
    (load,) = instructions(
        kernel(".reg .b32 %r<2>; .reg .b64 %d<2>; ld .global.L1::no_allocate.L2::128B .u32 %r1, [%d1];")
    )
    assert load.modifiers == ("global", "L1::no_allocate", "L2::128B", "u32")
    assert load.name == "ld.global.L1::no_allocate.L2::128B.u32"


def test_old_constant_banks_are_left_out() -> None:
    (load,) = instructions(kernel(".reg .b32 a; ld.const[2].b32 a, [table+4];", before=".const[2] .b32 table[4];"))
    assert load.modifiers == ("const", "b32")


def test_lines_may_end_as_on_windows() -> None:
    unix, windows = parse(EVERYTHING), parse(EVERYTHING.replace("\n", "\r\n"))
    assert [f.body for f in unix.functions.values()] == [f.body for f in windows.functions.values()]


def test_what_llvm_writes() -> None:
    function = module(
        """
        .visible .entry k(
        \t.param .u64 .ptr .global .align 1 k_param_0
        )
        .reqntid 128
        {
        \t.reg .pred \t%p<2>; .reg .b32 \t%r<3>; .reg .b64 \t%rd<2>;
        $L__func_begin0:
        \t.loc\t1 180 0
        \tmov.u32 %r1, 0x0;
        \t@%p1 ld.global.b32 { %r1 }, [ %rd1 + 0 ];
        \t{ .reg .b16 tmp; mov.b32 {tmp, _}, %r2; }
        $L__func_end0:
        }
        .file\t1 "/somewhere" "kernel.py"
        """
    ).functions["k"]
    move, load, unpack = instructions(function)
    assert load.operands == (Register("%r1"), Address(Register("%rd1")))
    assert move.source is not None
    assert move.source.file == "/somewhere/kernel.py"
    assert function.registers["tmp"] == "b16"
    assert unpack.name == "mov.b32"


def test_preprocessor_lines_and_comments_are_blank() -> None:
    function = kernel('# 1 "x.cu"\n/* ret;\n ret; */ ret; // ret;\n')
    assert [ins.line for ins in instructions(function)] == [9]


def test_trailing_zeros_of_an_image_are_no_text() -> None:
    assert parse(EVERYTHING + "\0\0\0").functions.keys() == parse(EVERYTHING).functions.keys()


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "begins with '.version'"),
        ("int main() {}", 1, 1, "begins with '.version', but here is 'int main"),
        (".version 12.3\n.target sm_200\n", 1, 10, "version 12.3; the newest version known here is 9.5"),
        (".version 9.0\n.entry k() { ret; }", 1, 13, "expected '.target'"),
        (HEAD + ".entry k() { mov.u32 %r1, 2; }", 4, 22, "%r1 is not declared"),
        (HEAD + ".entry k() {\n bra there;\n}", 5, 6, "label 'there' does not exist"),
        (HEAD + ".entry k() {\n call there;\n}", 5, 7, "'there' is not declared in this module"),
        (HEAD + ".entry k() {\n ret;\n", 4, 12, "never closed"),
        (HEAD + ".entry k() {\n ret\n}", 5, 2, "not closed by ';'"),
        (HEAD + ".entry k() { .reg .b32 a; add.s32 a, a, a a; }", 4, 43, "expected ',' or ';', but found 'a'"),
        (HEAD + ".entry k() { .reg .b32 a; .reg .b32 a; }", 4, 37, "'a' is declared twice"),
        (HEAD + ".entry k() { a: a: ret; }", 4, 17, "'a' is declared twice"),
        (HEAD + ".entry k() { .reg .b32 a; @a. ret; }", 4, 27, "is not a statement"),
        (HEAD + ".entry k() { @p ret; }", 4, 15, "guard 'p' is not a register"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, 08; }", 4, 38, "not an octal number"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, 0x1ffffffffffffffff; }", 4, 38, "more than 64 bits"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, 12ab; }", 4, 38, "'12ab' is not a number"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, \\; }", 4, 38, "unexpected character"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, [a+a]; }", 4, 40, "'+' cannot join"),
        (HEAD + ".entry k() { .reg .b32 a; mov.b32 a, %tid.q; }", 4, 42, "the components .x, .y, .z and .w"),
        (HEAD + ".entry k() { call (a) f; }", 4, 23, "between the results and the function"),
        (HEAD + ".entry k() .maxfoo 3 { }", 4, 12, "not a directive of a function"),
        (HEAD + ".global .b8 x[2] = {1, 2, 3};", 4, 29, "given 3 values"),
        (HEAD + ".global .b8 .b16 x;", 4, 13, "has one type"),
        (HEAD + ".global .align 3 .b8 x;", 4, 16, "power of two"),
        (HEAD + ".global x;", 4, 9, "expected a type"),
        (HEAD + ".reg .b32 x;", 4, 1, "within a function"),
        (HEAD + ".globl .b32 x;", 4, 1, "not a directive of PTX"),
        (HEAD + '.file 1 "open', 4, 1, "incomplete"),
        (HEAD + "/* open", 4, 1, "never closed"),
    ],
)
def test_errors_say_what_and_where(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse(text)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.exit_code is ExitCode.BAD_PTX


def test_newer_versions_are_refused_with_a_next_step() -> None:
    major, minor = NEWEST_VERSION
    with pytest.raises(PtxSyntaxError) as caught:
        parse(f".version {major}.{minor + 1}\n.target sm_100\n")
    assert "older CUDA toolkit" in str(caught.value.next_step)
