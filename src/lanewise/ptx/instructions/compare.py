"""Comparison and selection (PTX ISA 9.7.6, 9.7.7)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Comparison and selection"), elementwise=True)
_half = partial(group("Half-precision comparison"), elementwise=True)


def _both(form: str) -> tuple[str, str]:
    """A comparison alone, and combined with a predicate."""
    return form, f"BOOL {form} pred"


SPECS: tuple[InstructionSpec, ...] = (
    _entry(
        "set",
        "9.7.6.1",
        "Compare to a number",
        "compare.set_",
        *_both("COMPARE u32|s32|f32 SIGNED : T0 T1 T1"),
        *_both("UCOMPARE u32|s32|f32 UNSIGNED : T0 T1 T1"),
        *_both("eq|ne u32|s32|f32 BITS : T0 T1 T1"),
        *_both("FCOMPARE ftz? u32|s32|f32 f32 : T0 T1 T1"),
        *_both("FCOMPARE u32|s32|f32 f64 : T0 T1 T1"),
    ),
    _entry(
        "setp",
        "9.7.6.2",
        "Compare to a predicate",
        "compare.setp",
        *_both("COMPARE SIGNED : pred|pred T T"),
        *_both("UCOMPARE UNSIGNED : pred|pred T T"),
        *_both("eq|ne BITS : pred|pred T T"),
        *_both("FCOMPARE ftz? f32 : pred|pred T T"),
        *_both("FCOMPARE f64 : pred|pred T T"),
    ),
    _entry("selp", "9.7.6.3", "Select by a predicate", "compare.selp", "BITS|INT|f32|f64 : T T T pred"),
    _entry(
        "slct",
        "9.7.6.4",
        "Select by a sign",
        "compare.slct",
        "BITS|INT|f32|f64 s32 : T0 T0 T0 s32",
        "ftz? BITS|INT|f32|f64 f32 : T0 T0 T0 f32",
    ),
    _half(
        "set",
        "9.7.7.1",
        "Compare to a number",
        "compare.set_",
        *_both("FCOMPARE ftz? f16 f16|f32 : T0 T1 T1"),
        *_both("FCOMPARE f16 f64 : T0 T1 T1"),
        *_both("COMPARE f16|bf16 SIGNED : T0 T1 T1"),
        *_both("UCOMPARE f16|bf16 UNSIGNED : T0 T1 T1"),
        *_both("eq|ne f16|bf16 BITS : T0 T1 T1"),
        *_both("FCOMPARE bf16 f16|bf16|f32|f64 : T0 T1 T1"),
        *_both("FCOMPARE ftz? u16|s16|u32|s32 f16 : T0 T1 T1"),
        *_both("FCOMPARE u16|s16|u32|s32 bf16 : T0 T1 T1"),
        *_both("FCOMPARE ftz? f16x2|u32|s32 f16x2 : T0 T1 T1"),
        *_both("FCOMPARE bf16x2|u32|s32 bf16x2 : T0 T1 T1"),
    ),
    _half(
        "setp",
        "9.7.7.2",
        "Compare to a predicate",
        "compare.setp",
        *_both("FCOMPARE ftz? f16 : pred T T"),
        *_both("FCOMPARE ftz? f16x2 : pred|pred T T"),
        *_both("FCOMPARE bf16 : pred T T"),
        *_both("FCOMPARE bf16x2 : pred|pred T T"),
    ),
)
