"""Source lines, with functions and chains of inlining."""

from __future__ import annotations

from texts import instructions, module

from lanewise.records import SourceLine

TEXT = """
.entry k ()
{
    brkpt;
    .loc 1 21 3
    brkpt;
    .loc 2 9 5, function_name name0, inlined_at 1 21 3
    brkpt;
    .loc 2 15 7, function_name .debug_str+4, inlined_at 2 9 5
    brkpt;
    .loc 1 30 1, function_name name9, inlined_at 3 1 1
    brkpt;
    .loc 1 0 0
    brkpt;
    .loc 9 1 1
    brkpt;
}
.file 1 "/src/a.cu"
.file 2 "/src/with \\"quotes\\".h", 1339013327, 64118
.section .debug_str
{
    name0:
    .b8 102,111,111,0 // foo
    name1: .b8 0x62, 97
    .b8 114
    .b8 0
}
.section .debug_info { .b32 .debug_abbrev .b64 name1-name0 .b8 -1 }
"""


def test_source_lines() -> None:
    found = [ins.source for ins in instructions(module(TEXT).functions["k"])]
    user = SourceLine("/src/a.cu", 21, 3)
    foo = SourceLine('/src/with "quotes".h', 9, 5, "foo", user)
    bar = SourceLine('/src/with "quotes".h', 15, 7, "bar", foo)
    assert found == [None, user, foo, bar, SourceLine("/src/a.cu", 30, 1), None, None]
    assert bar.outermost == user


def test_places_of_one_function_are_no_callers_in_another() -> None:
    inner = ".loc 2 9 5, function_name name0, inlined_at 1 21 3"
    text = TEXT.replace(".file 1", f".entry other() {{ {inner}\n brkpt; }}\n.file 1").replace(
        ".loc 1 21 3", ".loc 1 21 4"
    )
    (only,) = instructions(module(text).functions["other"])
    assert only.source is not None
    assert only.source.inlined_at == SourceLine("/src/a.cu", 21, 3)
