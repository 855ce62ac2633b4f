"""Integer arithmetic (PTX ISA 9.7.1) and its extended-precision forms (9.7.2)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Integer arithmetic"), elementwise=True)
_bytes = partial(_entry, reason="four-byte and further saturating integer forms (sm_120f) are not run yet")
_carry = partial(group("Extended-precision integer arithmetic"), elementwise=True)

SPECS: tuple[InstructionSpec, ...] = (
    _entry("add", "9.7.1.1", "Add", "integer.add", "INT|u16x2|s16x2 : T T T", "sat s32 : T T T"),
    _entry("sub", "9.7.1.2", "Subtract", "integer.sub", "INT : T T T", "sat s32 : T T T"),
    _entry("mul", "9.7.1.3", "Multiply", "integer.mul", "hi|lo INT : T T T", "wide u16|s16|u32|s32 : W T T"),
    _entry(
        "mad",
        "9.7.1.4",
        "Multiply and add",
        "integer.mad",
        "hi|lo INT : T T T T",
        "wide u16|s16|u32|s32 : W T T W",
        "hi sat s32 : T T T T",
    ),
    _entry("mul24", "9.7.1.5", "Multiply 24-bit values", "integer.mul24", "hi|lo INT32 : T T T"),
    _entry(
        "mad24",
        "9.7.1.6",
        "Multiply 24-bit values and add",
        "integer.mad24",
        "hi|lo INT32 : T T T T",
        "hi sat s32 : T T T T",
    ),
    _entry("sad", "9.7.1.7", "Sum of absolute differences", "integer.sad", "INT : T T T T"),
    _entry("div", "9.7.1.8", "Divide", "integer.div", "INT : T T T"),
    _entry("rem", "9.7.1.9", "Remainder", "integer.rem", "INT : T T T"),
    _entry("abs", "9.7.1.10", "Absolute value", "integer.abs", "s16|s32|s64 : T T"),
    _entry("neg", "9.7.1.11", "Negate", "integer.neg", "s16|s32|s64 : T T"),
    _entry("min", "9.7.1.12", "Minimum", "integer.min", "INT|u16x2|s16x2 : T T T", "relu s16x2|s32 : T T T"),
    _entry("max", "9.7.1.13", "Maximum", "integer.max", "INT|u16x2|s16x2 : T T T", "relu s16x2|s32 : T T T"),
    _entry("popc", "9.7.1.14", "Count the set bits", "integer.popc", "b32|b64 : u32 T"),
    _entry("clz", "9.7.1.15", "Count the leading zeros", "integer.clz", "b32|b64 : u32 T"),
    _entry("bfind", "9.7.1.16", "Find the leading significant bit", "integer.bfind", "shiftamt? INT3264 : u32 T"),
    _entry("fns", "9.7.1.17", "Find the n-th set bit", "integer.fns", "b32 : b32 b32 b32 s32"),
    _entry("brev", "9.7.1.18", "Reverse the bits", "integer.brev", "b32|b64 : T T"),
    _entry("bfe", "9.7.1.19", "Extract a bit field", "integer.bfe", "INT3264 : T T u32 u32"),
    _entry("bfi", "9.7.1.20", "Insert a bit field", "integer.bfi", "b32|b64 : T T T u32 u32"),
    _entry("szext", "9.7.1.21", "Extend a value of any width", "integer.szext", "MODE INT32 : T T u32"),
    _entry("bmsk", "9.7.1.22", "Make a bit mask", "integer.bmsk", "MODE b32 : b32 u32 u32"),
    _entry("dp4a", "9.7.1.23", "Four-way byte dot product", "integer.dp4a", "INT32 INT32 : b32 T0 T1 b32"),
    _entry("dp2a", "9.7.1.24", "Two-way dot product", "integer.dp2a", "lo|hi INT32 INT32 : b32 T0 T1 b32"),
    _bytes("add", "9.7.1.1", "Add bytes, saturate", None, "u8x4|s8x4 : T T T", "sat u32|u16x2|s16x2 : T T T"),
    _bytes("sub", "9.7.1.2", "Subtract bytes", None, "u8x4|s8x4 : T T T"),
    _bytes("neg", "9.7.1.11", "Negate bytes", None, "s8x4 : T T"),
    _bytes("min", "9.7.1.12", "Minimum of bytes", None, "u8x4|s8x4 : T T T"),
    _bytes("max", "9.7.1.13", "Maximum of bytes", None, "u8x4|s8x4 : T T T"),
    _carry("add.cc", "9.7.2.1", "Add, carry out", "carry.add_cc", "INT3264 : T T T"),
    _carry("addc", "9.7.2.2", "Add with carry in", "carry.addc", "cc? INT3264 : T T T"),
    _carry("sub.cc", "9.7.2.3", "Subtract, borrow out", "carry.sub_cc", "INT3264 : T T T"),
    _carry("subc", "9.7.2.4", "Subtract with borrow in", "carry.subc", "cc? INT3264 : T T T"),
    _carry("mad.cc", "9.7.2.5", "Multiply and add, carry out", "carry.mad_cc", "hi|lo INT3264 : T T T T"),
    _carry("madc", "9.7.2.6", "Multiply and add with carry in", "carry.madc", "hi|lo cc? INT3264 : T T T T"),
)
