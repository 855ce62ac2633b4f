"""Variables, their initialisers, registers and blocks."""

from __future__ import annotations

import pytest
from texts import instructions, kernel, module

from lanewise.errors import PtxSyntaxError
from lanewise.ptx import function_register_type
from lanewise.ptx.syntax import Float, Register, RegisterDeclaration, Symbol, SymbolPart, Variable


def variable(text: str) -> Variable:
    (found,) = module(f"{text};").variables.values()
    return found


@pytest.mark.parametrize(
    ("text", "size", "alignment", "initial"),
    [
        (".global .u32 x", 4, 4, ()),
        (".global .align 16 .b8 x[12]", 12, 16, ()),
        (".global .v2 .f64 x", 16, 16, ()),
        (".global .s32 x[3][2] = {{1, 2}, {3}}", 24, 4, (1, 2, 3)),
        (".global .s32 x[3][2] = {{1}, {2}, {3}}", 24, 4, (1, 0, 2, 0, 3)),
        (".global .s32 x[][2] = {{-1, 0}, {0, -1}, {1, 0}}", 24, 4, (0xFFFFFFFF, 0, 0, 0xFFFFFFFF, 1, 0)),
        (".global .b8 x[] = {1, 2, 3}", 3, 1, (1, 2, 3)),
        (".global .b8 x[4] = {010, 0x10, -1, 1+1}", 4, 1, (8, 16, 255, 2)),
        (".global .u8 x = 7", 1, 1, (7,)),
        (".global .v2 .u32 x[2] = {{1, 2}, {3, 4}}", 16, 8, (1, 2, 3, 4)),
        (".const .f32 x = 0f3F800000", 4, 4, (Float(0x3F800000, 32),)),
        (".global .u64 x = generic(y)+8", 8, 8, (SymbolPart("y", 8, generic=True),)),
        (".global .u64 x = y-8", 8, 8, (SymbolPart("y", -8),)),
        (".global .u8 x[2] = {0xFF(y+4), 0xFF00(generic(y)+4)}", 2, 1,
         (SymbolPart("y", 4, mask=0xFF), SymbolPart("y", 4, generic=True, mask=0xFF00))),
        (".extern .shared .align 8 .b8 x[]", 0, 8, ()),
        (".global .samplerref x = {addr_mode_0 = clamp_to_border, filter_mode = nearest}", 8, 8, ()),
        (".tex .u32 x", 4, 4, ()),
        (".const[2] .b32 x[4]", 16, 4, ()),
    ],
)  # fmt: skip
def test_variable(text: str, size: int, alignment: int, initial: tuple[object, ...]) -> None:
    found = variable(text)
    assert (found.name, found.size, found.alignment, found.initial) == ("x", size, alignment, initial)


def test_long_initialisers_take_the_short_way_to_the_same_end() -> None:
    values = [(7 * i) % 256 for i in range(1000)]
    assert variable(f".global .b8 x[1000] = {{{', '.join(map(str, values))}}}").initial == tuple(values)
    assert variable(f".global .b8 x[] = {{{', '.join(f'0{i:o}' for i in values)}}}").initial == tuple(values)


def test_linkage_and_attributes() -> None:
    found = variable(".visible .global .attribute(.managed) .align 4 .u32 x")
    assert (found.linkage, found.managed, found.line) == ("visible", True, 4)
    several = module(".weak .global .u32 a, b[3], c<2>;").variables
    assert {name: (v.linkage, v.count) for name, v in several.items()} == {
        "a": ("weak", 1), "b": ("weak", 3), "c0": ("weak", 1), "c1": ("weak", 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        ".global .b8 x[2] = {{1}, {2}}",
        ".global .b8 x[-1]",
        ".global .b8 x[1 << 40][1 << 40]",
        ".global .pred x",
        ".global .bf16 x",
        ".global .b8 x<99999999>",
        ".global .b8 x = 0x0F(y)",
        ".global .b8 x[2][2000000] = {{}, {}}",
        ".global .b8 x = " + "{" * 100,
    ],
)
def test_no_variable(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        variable(text)


def test_registers_of_every_kind() -> None:
    function = kernel(".reg .b32 %r<3>, plain; .reg .v2 .f32 v; .reg .v4 .b16 %h<2>; .reg .f64 a1<12>;")
    types = {
        name: function_register_type(function, name) for name in ("%r0", "%r2", "%r3", "%r02", "plain", "v.y", "v")
    }
    assert types == {"%r0": "b32", "%r2": "b32", "%r3": None, "%r02": None, "plain": "b32", "v.y": "f32", "v": None}
    assert function_register_type(function, "%h1.w") == "b16"
    assert function_register_type(function, "%h1") is None
    assert function_register_type(function, "a110") == "f64"  # the family's name ends in a digit
    assert function_register_type(function, "a112") is None


def test_nested_blocks_are_renamed_apart() -> None:
    function = kernel(
        """.reg .b32 x, %r<2>;
        mov.b32 x, %r1;
        { .reg .b32 x; .reg .b32 %r<2>; mov.b32 x, %r1; { .reg .b16 x; mov.b16 x, 1; } mov.b32 x, %r0; }
        { .reg .b64 x; mov.b64 x, 2; }
        mov.b32 x, %r0;"""
    )
    names = [tuple(o.name for o in ins.operands if isinstance(o, Register)) for ins in instructions(function)]
    assert names == [("x", "%r1"), ("x$1", "%r$1_1"), ("x$2",), ("x$1", "%r$1_0"), ("x$3",), ("x", "%r0")]
    assert [function_register_type(function, name) for name in ("x", "x$1", "x$2", "x$3")] == [
        "b32",
        "b32",
        "b16",
        "b64",
    ]
    assert function.register_families == (
        RegisterDeclaration("%r", "b32", count=2),
        RegisterDeclaration("%r$1_", "b32", count=2),
    )


def test_labels_belong_to_their_blocks() -> None:
    wait = "{ .reg .pred p; wait: @p bra done; bra wait; done: }"
    function = kernel(f"{wait} {wait} bra out; {{ bra out; }} out: ret;")
    targets = [o.name for ins in instructions(function) for o in ins.operands if isinstance(o, Symbol)]
    assert targets == ["done", "wait", "done$1", "wait$1", "out", "out"]
    with pytest.raises(PtxSyntaxError, match="label 'inner' does not exist"):
        kernel("{ inner: ret; } bra inner;")


def test_variables_of_calls_are_renamed_apart() -> None:
    call = "{ .param .b32 a; st.param.b32 [a+0], 1; call f, (a); }"
    function = kernel(call * 3, before=".extern .func f (.param .b32 x);")
    assert [v.name for v in function.variables] == ["a", "a$1", "a$2"]
    assert {v.space for v in function.variables} == {"param"}
