"""Logic and shifts (PTX ISA 9.7.8), and byte permutation (9.7.9.7)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Logic and shifts"), elementwise=True)

SPECS: tuple[InstructionSpec, ...] = (
    _entry("and", "9.7.8.1", "Bitwise and", "logic.and_", "pred|BITS : T T T"),
    _entry("or", "9.7.8.2", "Bitwise or", "logic.or_", "pred|BITS : T T T"),
    _entry("xor", "9.7.8.3", "Bitwise exclusive or", "logic.xor", "pred|BITS : T T T"),
    _entry("not", "9.7.8.4", "Bitwise complement", "logic.not_", "pred|BITS : T T"),
    _entry("cnot", "9.7.8.5", "Logical complement", "logic.cnot", "BITS : T T"),
    _entry(
        "lop3",
        "9.7.8.6",
        "Any logic of three inputs",
        "logic.lop3",
        "b32 : b32 b32 b32 b32 u32",
        "or|and b32 : b32+pred b32 b32 b32 u32 pred",
    ),
    _entry("shf", "9.7.8.7", "Funnel shift", "logic.shf", "l|r MODE b32 : b32 b32 b32 u32"),
    _entry("shl", "9.7.8.8", "Shift left", "logic.shl", "BITS : T T u32"),
    _entry("shr", "9.7.8.9", "Shift right", "logic.shr", "BITS|INT : T T u32"),
    _entry("prmt", "9.7.9.7", "Permute bytes", "logic.prmt", "b32 f4e|b4e|rc8|ecl|ecr|rc16? : b32 b32 b32 u32"),
)
