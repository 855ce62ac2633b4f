"""Floating-point arithmetic: f32 and f64 (PTX ISA 9.7.3), half precision (9.7.4) and mixed precision (9.7.5)."""

from __future__ import annotations

from functools import partial

from lanewise.ptx.instructions.spec import InstructionSpec, group

_entry = partial(group("Floating-point arithmetic"), elementwise=True)
_half = partial(group("Half-precision arithmetic"), elementwise=True)
_mixed = partial(group("Mixed-precision arithmetic"), elementwise=True)

_ARITHMETIC = ("RND? ftz? sat? f32 : T T T", "RND? ftz? f32x2 : T T T", "RND? f64 : T T T")
_HALF_ARITHMETIC = ("rn? ftz? sat? f16|f16x2 : T T T", "rn? bf16|bf16x2 : T T T")
_EXTREME = (
    "ftz? NaN? f32 : T T T",
    "ftz? NaN? xorsign abs f32 : T T T",
    "ftz? NaN? abs? f32 : T T T T",
    "f64 : T T T",
)
_HALF_EXTREME = (
    "ftz? NaN? f16|f16x2 : T T T",
    "ftz? NaN? xorsign abs f16|f16x2 : T T T",
    "NaN? bf16|bf16x2 : T T T",
    "NaN? xorsign abs bf16|bf16x2 : T T T",
)

SPECS: tuple[InstructionSpec, ...] = (
    _entry(
        "testp",
        "9.7.3.1",
        "Test a property",
        "floating.testp",
        "finite|infinite|number|notanumber|normal|subnormal f32|f64 : pred T",
    ),
    _entry("copysign", "9.7.3.2", "Copy the sign", "floating.copysign", "f32|f64 : T T T"),
    _entry("add", "9.7.3.3", "Add", "floating.add", *_ARITHMETIC),
    _entry("sub", "9.7.3.4", "Subtract", "floating.sub", *_ARITHMETIC),
    _entry("mul", "9.7.3.5", "Multiply", "floating.mul", *_ARITHMETIC),
    _entry(
        "fma",
        "9.7.3.6",
        "Fused multiply and add",
        "floating.fma",
        "RND ftz? sat? f32 : T T T T",
        "RND ftz? f32x2 : T T T T",
        "RND f64 : T T T T",
    ),
    _entry("mad", "9.7.3.7", "Multiply and add", "floating.fma", "RND ftz? sat? f32 : T T T T", "RND f64 : T T T T"),
    _entry("div", "9.7.3.8", "Divide", "floating.div", "approx|full|RND ftz? f32 : T T T", "RND f64 : T T T"),
    _entry("abs", "9.7.3.9", "Absolute value", "floating.abs", "ftz? f32 : T T", "f64 : T T"),
    _entry("neg", "9.7.3.10", "Negate", "floating.neg", "ftz? f32 : T T", "f64 : T T"),
    _entry("min", "9.7.3.11", "Minimum", "floating.min", *_EXTREME),
    _entry("max", "9.7.3.12", "Maximum", "floating.max", *_EXTREME),
    _entry("rcp", "9.7.3.13", "Reciprocal", "floating.rcp", "approx|RND ftz? f32 : T T", "RND f64 : T T"),
    _entry("rcp.approx.ftz.f64", "9.7.3.14", "Gross reciprocal of a double", "floating.rcp", ": T T"),
    _entry("sqrt", "9.7.3.15", "Square root", "floating.sqrt", "approx|RND ftz? f32 : T T", "RND f64 : T T"),
    _entry(
        "rsqrt", "9.7.3.16", "Reciprocal square root", "floating.rsqrt", "approx ftz? f32 : T T", "approx f64 : T T"
    ),
    _entry("rsqrt.approx.ftz.f64", "9.7.3.17", "Gross reciprocal square root of a double", "floating.rsqrt", ": T T"),
    _entry("sin", "9.7.3.18", "Sine", "approximate.sin", "approx ftz? f32 : T T"),
    _entry("cos", "9.7.3.19", "Cosine", "approximate.cos", "approx ftz? f32 : T T"),
    _entry("lg2", "9.7.3.20", "Base-2 logarithm", "approximate.lg2", "approx ftz? f32 : T T"),
    _entry("ex2", "9.7.3.21", "Base-2 exponential", "approximate.ex2", "approx ftz? f32 : T T"),
    _entry("tanh", "9.7.3.22", "Hyperbolic tangent", "approximate.tanh", "approx f32 : T T"),
    _half("add", "9.7.4.1", "Add", "half.add", *_HALF_ARITHMETIC),
    _half("sub", "9.7.4.2", "Subtract", "half.sub", *_HALF_ARITHMETIC),
    _half("mul", "9.7.4.3", "Multiply", "half.mul", *_HALF_ARITHMETIC),
    _half(
        "fma",
        "9.7.4.4",
        "Fused multiply and add",
        "half.fma",
        "rn ftz? sat? f16|f16x2 : T T T T",
        "rn ftz? relu f16|f16x2 : T T T T",
        "rn relu? bf16|bf16x2 : T T T T",
    ),
    _half(
        "fma",
        "9.7.4.4",
        "Fused multiply and add that takes out-of-bounds operands for zero",
        None,
        "rn oob relu? f16|f16x2|bf16|bf16x2 : T T T T",
        reason="operands out of a tensor's bounds come from tensor copies, which are not run yet",
    ),
    _half("neg", "9.7.4.5", "Negate", "half.neg", "ftz? f16|f16x2 : T T", "bf16|bf16x2 : T T"),
    _half("abs", "9.7.4.6", "Absolute value", "half.abs", "ftz? f16|f16x2 : T T", "bf16|bf16x2 : T T"),
    _half("min", "9.7.4.7", "Minimum", "half.min", *_HALF_EXTREME),
    _half("max", "9.7.4.8", "Maximum", "half.max", *_HALF_EXTREME),
    _half("tanh", "9.7.4.9", "Hyperbolic tangent", "half.tanh", "approx f16|f16x2|bf16|bf16x2 : T T"),
    _half(
        "ex2", "9.7.4.10", "Base-2 exponential", "half.ex2", "approx f16|f16x2 : T T", "approx ftz bf16|bf16x2 : T T"
    ),
    _mixed("add", "9.7.5.1", "Add to f32", "half.add", "RND? sat? f32 f16|bf16 : T0 T1 T0"),
    _mixed("sub", "9.7.5.2", "Subtract from f32", "half.sub", "RND? sat? f32 f16|bf16 : T0 T1 T0"),
    _mixed("fma", "9.7.5.3", "Multiply halves and add to f32", "half.fma", "RND sat? f32 f16|bf16 : T0 T1 T1 T0"),
)
