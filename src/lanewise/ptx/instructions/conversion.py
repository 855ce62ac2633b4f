"""Conversions (PTX ISA 9.7.9.21, 9.7.9.22)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Conversion"), elementwise=True)

SPECS: tuple[InstructionSpec, ...] = (
    _entry(
        "cvt",
        "9.7.9.21",
        "Convert",
        "convert.cvt",
        "sat? CONVERTIBLE CONVERTIBLE : T0 T1",
        "IRND sat? CONVERTIBLE f16|f64 : T0 T1",
        "IRND ftz? sat? CONVERTIBLE f32 : T0 T1",
        "IRND INT bf16 : T0 T1",
        "RND sat? f16|f64 CONVERTIBLE : T0 T1",
        "RND ftz? sat? f32 CONVERTIBLE : T0 T1",
        "RND bf16 INT : T0 T1",
        # Floats: to the same type (rounded to whole numbers, perhaps), to a narrower one, to a wider one.
        "IRND? sat? f16 f16 : T0 T1",
        "IRND? bf16 bf16 : T0 T1",
        "IRND? ftz? sat? f32 f32 : T0 T1",
        "IRND? sat? f64 f64 : T0 T1",
        "RND ftz? sat? f32 f64 : T0 T1",
        "RND ftz? sat? f16 f32 : T0 T1",
        "RND ftz? bf16 f32 : T0 T1",
        "RND sat? f16 f64 : T0 T1",
        "RND bf16 f64 : T0 T1",
        "RND? bf16 f16 : T0 T1",
        "RND? f16|f64 bf16 : T0 T1",
        "RND? ftz? f32 bf16 : T0 T1",
        "ftz? sat? f32 f16 : T0 T1",
        "ftz? sat? f64 f32 : T0 T1",
        "sat? f64 f16 : T0 T1",
        "rn|rz relu? satfinite? HALF f32 : T0 T1",
        "rn|rz relu? satfinite? PACKED f32 : T0 f32 f32",
        "rna satfinite? tf32 f32 : T0 T1",
        "rn|rz relu? satfinite? tf32 f32 : T0 T1",
        "rn satfinite relu? e4m3x2|e5m2x2 f32 : T0 f32 f32",
        "rn satfinite relu? e4m3x2|e5m2x2 f16x2|bf16x2 : T0 T1",
        "rn relu? f16x2 e4m3x2|e5m2x2 : T0 T1",
    ),
    _entry(
        "cvt",
        "9.7.9.21",
        "Convert to and from 4- and 6-bit floats, scales, and with random rounding",
        None,
        "rs relu? satfinite? PACKED f32 : T0 f32 f32 b32",
        "rs relu? satfinite e4m3x4|e5m2x4|e2m1x4|e2m3x4|e3m2x4 f32 : T0 {T} b32",
        "rn satfinite relu? e2m1x2|e2m3x2|e3m2x2 f32 : T0 f32 f32",
        "rn satfinite relu? e2m1x2|e2m3x2|e3m2x2 PACKED : T0 T1",
        "rn relu? f16x2 e2m1x2|e2m3x2|e3m2x2 : T0 T1",
        "rn satfinite? relu? bf16x2 e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2 : T0 T1",
        "rz|rp satfinite? ue8m0x2 f32 : T0 f32 f32",
        "rz|rp satfinite? ue8m0x2 bf16x2 : T0 T1",
        "rn bf16x2 ue8m0x2 : T0 T1",
        "rn satfinite relu? scaled::n2::ue8m0? s2f6x2 f32 : b16 f32 f32 b16?",
        "rn satfinite relu? scaled::n2::ue8m0? s2f6x2 bf16x2 : b16 b32 b16?",
        "rn satfinite? relu? scaled::n2::ue8m0? bf16x2 s2f6x2 : b32 b16 b16?",
        reason="conversions of sm_100 (4- and 6-bit floats, scale factors, random rounding) are not run yet",
    ),
    _entry(
        "cvt.pack",
        "9.7.9.22",
        "Convert two integers and pack",
        "convert.cvt_pack",
        "sat u16|s16 s32 : b32 s32 s32",
        "sat u2|s2|u4|s4|u8|s8 s32 b32 : b32 s32 s32 b32",
    ),
)
