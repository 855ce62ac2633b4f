"""Operands and constant expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import instructions, kernel

from lanewise.errors import PtxSyntaxError
from lanewise.ptx.constants import float_value
from lanewise.ptx.syntax import (
    Address,
    Float,
    Integer,
    Negated,
    Operand,
    PairOperand,
    Register,
    Sink,
    Special,
    SubWord,
    Symbol,
    TensorAddress,
    VectorOperand,
)

REGISTERS = ".reg .b32 a, b; .reg .b64 d; .reg .pred p, q; .reg .v4 .f32 v; .reg .v2 .b32 w; .shared .b16 array[4][2];"
BEFORE = ".global .texref map; .global .samplerref sampler; .global .u64 word;"


def operands(text: str) -> tuple[Operand, ...]:
    return instructions(kernel(f"{REGISTERS}\nx {text};", before=BEFORE))[0].operands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", Register("a")),
        ("_", Sink()),
        ("!p", Negated(Register("p"))),
        ("-a", Negated(Register("a"), "-")),
        ("p|q", PairOperand(Register("p"), Register("q"))),
        ("_|q", PairOperand(Sink(), Register("q"))),
        ("p|_", PairOperand(Register("p"), Sink())),
        ("{a, _, 5}", VectorOperand((Register("a"), Sink(), Integer(5)))),
        ("{ a }", Register("a")),
        ("v", VectorOperand(tuple(Register(f"v.{c}") for c in "xyzw"))),
        ("v.z", Register("v.z")),
        ("v.b", Register("v.z")),
        ("w.y", Register("w.y")),
        ("a.b3", SubWord(Register("a"), "b3")),
        ("a.h10", SubWord(Register("a"), "h10")),
        ("-a.h1", Negated(SubWord(Register("a"), "h1"), "-")),
        ("%ctaid.y", Special("%ctaid.y")),
        ("%laneid", Special("%laneid")),
        ("%tid", VectorOperand(tuple(Special(f"%tid.{c}") for c in "xyzw"))),
        ("word", Symbol("word")),
        ("word+8", Symbol("word", 8)),
        ("word-8", Symbol("word", -8)),
        ("array[3]", Symbol("array", 6)),
        ("[d]", Address(Register("d"))),
        ("[ d + 4 * 2 ]", Address(Register("d"), 8)),
        ("[d+-4]", Address(Register("d"), -4)),
        ("[d-4]", Address(Register("d"), -4)),
        ("[word+4]", Address(Symbol("word"), 4)),
        ("[0x40]", Address(None, 64)),
        ("[d].unified", Address(Register("d"))),
        ("[map, {a, b}]", TensorAddress(Symbol("map"), (Register("a"), Register("b")))),
        ("[map, sampler, {a}]", TensorAddress(Symbol("map"), (Register("a"),), Symbol("sampler"))),
        ("[map, a]", TensorAddress(Symbol("map"), (Register("a"),))),
        ("{a, b}|p", PairOperand(VectorOperand((Register("a"), Register("b"))), Register("p"))),
        ("0f3F800000", Float(0x3F800000, 32)),
        ("0D3ff0000000000000", Float(0x3FF0000000000000, 64)),
        ("1.0", Float(0x3FF0000000000000, 64)),
        ("-0f3F800000", Float(0xBF800000, 32)),
        ("1.0 + 2e0 / 4.0", Float(0x3FF8000000000000, 64)),
        ("0x10", Integer(16)),
        ("0b101U", Integer(5)),
        ("017", Integer(15)),
        ("-1", Integer(-1)),
        ("0xFFFFFFFFFFFFFFFF", Integer((1 << 64) - 1)),
        ("~0", Integer(-1)),
        ("~0U", Integer((1 << 64) - 1)),
        ("!7", Integer(0)),
        ("2 + 3 * 4", Integer(14)),
        ("(2 + 3) * 4", Integer(20)),
        ("1 << 4 | 3", Integer(19)),
        ("-7 / 2", Integer(-3)),
        ("-7 % 3", Integer(-1)),
        ("1 ? 2 : 3", Integer(2)),
        ("5 < 4 || 3 == 3", Integer(1)),
        ("-1 < 0U", Integer(0)),
        ("(.s64)0xFFFFFFFFFFFFFFFF >> 60", Integer(-1)),
        ("0xFFFFFFFFFFFFFFFF >> 60", Integer(15)),
        ("WARP_SZ * 2", Integer(64)),
        ("1 << 64", Integer(0)),
    ],
)
def test_operand(text: str, expected: Operand) -> None:
    assert operands(text) == (expected,)
    assert operands(f"a, {text}, b") == (Register("a"), expected, Register("b"))


@pytest.mark.parametrize(
    "text",
    [
        "1/0",
        "1%0",
        "1.0/0.0",
        "1 + 1.0",
        "d + 4",
        "[d + a]",
        "[5, ]",
        "{}",
        "a b",
        "(a",
        "v.q",
        "d[1]",
        "word[a]",
        "~a",
    ],
)
def test_no_operand(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        operands(text)


def test_what_is_nested_too_deeply_is_an_error_not_a_crash() -> None:
    for text in ("(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "1" + "?1:1" * 5000):
        with pytest.raises(PtxSyntaxError, match="levels deep"):
            operands(text)


numbers = st.integers(0, (1 << 63) - 1)
binary = st.sampled_from(["+", "-", "*", "&", "|", "^", "<", ">", "==", "!=", "<=", ">="])
expressions = st.recursive(
    numbers.map(str),
    lambda inner: st.one_of(
        st.tuples(inner, binary, inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda text: f"(-{text})"),
        inner.map(lambda text: f"(~{text})"),
    ),
    max_leaves=12,
)


@given(expressions)
def test_constant_expressions_are_those_of_64_bit_integers(text: str) -> None:
    value = eval(text.replace("(-", "(0-"))  # Python's operators, on parenthesised text, are C's without a width
    (found,) = operands(text)
    assert isinstance(found, Integer)
    if not any(operator in text for operator in "<>=!"):
        assert (found.value - value) % (1 << 64) == 0
    assert -(1 << 63) <= found.value < 1 << 64


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=0))
def test_decimal_floats_are_read_exactly(value: float) -> None:
    text = repr(value)
    if "." not in text and "e" not in text:
        text += ".0"
    (found,) = operands(text)
    assert isinstance(found, Float)
    assert float_value(found) == value


def written(operand: Operand) -> str:
    """An operand as PTX text."""
    match operand:
        case Register(name) | Special(name):
            return name
        case Integer(value):
            return str(value)
        case Float(bits, 32):
            return f"0f{bits:08X}"
        case Float(bits, _):
            return f"0d{bits:016X}"
        case Symbol(name, offset):
            return f"{name}{offset:+d}" if offset else name
        case Address(None, offset):
            return f"[{offset}]"
        case Address(base, offset) if base is not None:
            return f"[{written(base)}+{offset}]"
        case VectorOperand(elements):
            return "{" + ", ".join(map(written, elements)) + "}"
        case PairOperand(first, second):
            return f"{written(first)}|{written(second)}"
        case Negated(inner, operator):
            return operator + written(inner)
        case SubWord(register, selector):
            return f"{register.name}.{selector}"
        case Sink():
            return "_"
        case TensorAddress(base, coordinates, sampler):
            middle = f"{written(sampler)}, " if sampler else ""
            return f"[{written(base)}, {middle}{written(VectorOperand(coordinates))}]"
    raise AssertionError(operand)


integers = st.integers(1 - (1 << 63), (1 << 64) - 1).map(Integer)  # -2**63 is written as an unsigned 2**63
offsets = st.integers(-(1 << 31), (1 << 31) - 1)
registers = st.sampled_from(["a", "b", "d", "v.x", "w.y"]).map(Register)
symbols = st.builds(Symbol, st.just("word"), offsets)
scalars = st.one_of(
    registers,
    integers,
    st.sampled_from(["%tid.z", "%clock64", "%envreg3"]).map(Special),
    st.builds(Float, st.integers(0, (1 << 32) - 1), st.just(32)),
    st.builds(Float, st.integers(0, (1 << 64) - 1), st.just(64)),
)
trees = st.one_of(
    scalars,
    symbols,
    st.just(Sink()),
    st.builds(Address, st.one_of(st.none(), registers, st.just(Symbol("word"))), offsets),
    st.lists(st.one_of(scalars, st.just(Sink())), min_size=2, max_size=9).map(
        lambda parts: VectorOperand(tuple(parts))
    ),
    st.builds(PairOperand, st.sampled_from([Register("p"), Sink()]), st.sampled_from([Register("q"), Sink()])),
    st.builds(Negated, registers, st.sampled_from("!-")),
    st.builds(SubWord, st.just(Register("a")), st.sampled_from(["b0", "h1", "b3210"])),
    st.builds(
        TensorAddress,
        st.just(Symbol("map")),
        st.lists(registers, min_size=1, max_size=5).map(tuple),
        st.one_of(st.none(), st.just(Symbol("sampler"))),
    ),
)


@given(st.lists(trees, min_size=1, max_size=5).map(tuple))
def test_operands_survive_writing_and_reading(expected: tuple[Operand, ...]) -> None:
    assert operands(", ".join(map(written, expected))) == expected
