"""Whatever the text, the parser gives a tree or PtxSyntaxError, and soon."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import EVERYTHING, HEAD

from lanewise.errors import PtxSyntaxError
from lanewise.ptx import parse
from lanewise.ptx.instructions import TABLE, explain, lookup
from lanewise.ptx.mismatch import mismatch
from lanewise.ptx.syntax import Instruction, PtxModule

FRAGMENTS = [
    "{", "}", "(", ")", "[", "]", ";", ",", ".", '"', "/*", "*/", "//", "\n", "%", "%r1", "0x", "08", "1" * 40,
    "1e999", "0f", "-", "!", "((((", "<<", "|", "?", ":", "::", ".u32", ".reg", ".global", ".func", ".entry", "@", "_",
    "@p", "\0", "\u00e9", "$", "<", ">", "=", ".align", ".version", "WARP_SZ", ".loc 1 1", ".section", ".file", "call",
    "bra", "<9>",
]  # fmt: skip


def survives(text: str) -> None:
    """The text is parsed or refused, and each of its instructions is found in the table or explained."""
    try:
        module = parse(text)
    except PtxSyntaxError as error:
        module = PtxModule(text, (0, 0), "", 64)
        place = (error.line, error.column)
    else:
        place = (1, 1)
    assert min(place) >= 1
    for function in module.functions.values():
        for statement in function.body:
            if isinstance(statement, Instruction):
                spec = lookup(statement)
                if spec is None:
                    assert explain(statement)
                else:
                    assert len(spec.operand_types(statement)) == len(statement.operands)
                    assert mismatch(function, statement, spec) != ""


edits = st.lists(
    st.tuples(
        st.integers(0, len(EVERYTHING)),
        st.sampled_from([0, 0, 1, 2, 5, 40]),
        st.one_of(st.sampled_from(FRAGMENTS), st.just(""), st.characters()),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=400, deadline=None)
@given(edits)
def test_edited_ptx(changes: list[tuple[int, int, str]]) -> None:
    text = EVERYTHING
    for place, deleted, inserted in changes:
        text = text[:place] + inserted + text[place + deleted :]
    survives(text)


@given(st.integers(0, len(EVERYTHING)))
def test_truncated_ptx(length: int) -> None:
    survives(EVERYTHING[:length])


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    survives(text)
    survives(HEAD + text)
    survives(f"{HEAD}.entry k() {{ {text} }}")


@pytest.mark.parametrize("seed", range(20))
def test_shuffled_words(seed: int) -> None:
    """Tokens of valid PTX in another order."""
    shuffle = random.Random(seed)
    words = EVERYTHING.removeprefix(HEAD).split()
    for _ in range(8):
        a, b = sorted(shuffle.sample(range(len(words)), 2))
        words[a], words[b] = words[b], words[a]
    survives(HEAD + " ".join(words))


OPERANDS = [
    "p", "h", "r", "d", "f", "e", "v", "q", "c", "!p", "-r", "r.b0", "v.x", "_", "p|p", "r|p", "_|_", "5", "-1", "1.5",
    "0f3F800000", "[d]", "[d+4]", "[g]", "[8]", "[t, {r, r}]", "{r, r}", "{h, h, h, h}", "{r, _}", "{f, 1.0}",
    "{r, r, r}", "{r}", "g", "g+4", "g[2]", "here", "table", "%tid.x", "%clock64", "%tid", "WARP_SZ",
]  # fmt: skip
DECLARATIONS = """.global .texref t; .global .u32 g[4];
.entry k() {
.reg .pred p; .reg .b8 c; .reg .b16 h; .reg .b32 r; .reg .b64 d; .reg .b128 q; .reg .f32 f; .reg .f64 e;
.reg .v4 .f32 v;
here: table: .branchtargets here;
"""


@pytest.mark.parametrize("seed", range(8))
def test_any_words_of_the_table_with_any_operands(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(400):
        spec = choose.choice(TABLE)
        form = choose.choice(spec.forms)
        words = [choose.choice(sorted(slot.words)) for slot in form.slots if not slot.optional or choose.random() < 0.3]
        operands = [choose.choice(OPERANDS) for _ in range(choose.choice([len(form.operands)] * 4 + [2, 3, 5]))]
        survives(f"{HEAD}{DECLARATIONS}{'.'.join([spec.word, *words])} {', '.join(operands)}; }}")


@pytest.mark.parametrize(
    "text",
    [
        ".entry k() {" + "{" * 50_000,
        ".entry k() {" + "a:" * 20_000,
        ".entry k() {" + "".join(f"a{i}:\n" for i in range(50_000)) + "}",
        ".entry k() {" + "@" * 100_000,
        ".entry k() {" + ";" * 100_000 + "}",
        ".entry k() {" + "{ .reg .b32 x; }" * 10_000 + "}",
        ".entry k() {" + "".join(f".reg .b32 q{i}_<3>;" for i in range(10_000)) + "}",
        ".entry k() { a" + ".b" * 100_000 + "; }",
        ".entry k() { .reg .b32 x; mov.b32 x, 1" + "+1" * 50_000 + "; }",
        ".entry k(" + ".param .u64 a," * 20_000,
        ".global .b8 x" + "[4294967296]" * 10_000 + ";",
        ".global .b8 x[2][2] = " + "{" * 50_000,
        ".global .u32 x = " + "-" * 100_000,
        '"' * 200_000,
        "/" * 200_000,
        " " * 500_000,
    ],
)
def test_long_and_deep_text_ends(text: str) -> None:
    survives(HEAD + text)
