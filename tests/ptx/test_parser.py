"""The parser, one feature of the syntax at a time."""

from __future__ import annotations

import pytest

from lanewise.errors import PtxSyntaxError
from lanewise.ptx import function_register_type, parse
from lanewise.ptx.syntax import Address, Function, Guard, Instruction, Integer, Label, Register, Special, Symbol

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def kernel(body: str, params: str = "") -> Function:
    return parse(f"{HEAD}.visible .entry k({params})\n{{\n{body}\n}}\n").functions["k"]


def instructions(function: Function) -> list[Instruction]:
    return [statement for statement in function.body if isinstance(statement, Instruction)]


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
    assert load.line == 10
    assert Label("$L__BB0_2", 15) in function.body
    assert [(p.offset, p.size, p.alignment) for p in function.params] == [(0, 8, 8), (8, 12, 4), (20, 1, 1), (24, 8, 8)]
    assert function_register_type(function, "%r3") == "b32"
    assert function_register_type(function, "%r4") is None


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "begins with '.version'"),
        (".version 12.3\n.target sm_200\n", 1, 10, "version 12.3; the newest version known here is 9.5"),
        (HEAD + ".entry k() { mov.u32 %r1, 2; }", 4, 22, "%r1 is not declared"),
        (HEAD + ".entry k() {\n bra there;\n}", 5, 6, "label 'there' does not exist here"),
        (HEAD + ".entry k() {\n ret;\n", 4, 12, "never closed"),
        (HEAD + "/* open", 4, 1, "never closed"),
    ],
)
def test_errors_say_what_and_where(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(PtxSyntaxError, match=words) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
