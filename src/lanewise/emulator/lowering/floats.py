"""What the floating-point lowerings share: subnormal flushing, saturation, canonical NaN, rounding modes.

NaN: the card gives 0x7fffffff for every f32 NaN result, 0x7fff for f16 and bf16, and keeps an operand's payload in
f64. So it is here, but for f32 add, sub, mul and fma to nearest: they give *a* NaN with the CPU's bits, since fixing
it up would cost as much as the arithmetic. Of several NaN operands, the CPU may pick another one's payload.

`.ftz`: a product just below the least normal number that rounds up to it stays; the card flushes it.
"""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value, bits_of
from lanewise.ptx.syntax import Instruction

LLVM_FLOAT = {"f16": "half", "f32": "float", "f64": "double"}
CANONICAL_NAN = {"half": 0x7FFF, "float": 0x7FFF_FFFF, "double": 0xFFF8_0000_0000_0000}
_EXPONENT_MASK = {"half": 0x7C00, "bfloat": 0x7F80, "float": 0x7F80_0000, "double": 0x7FF0_0000_0000_0000}
_DIRECTED = ("rz", "rm", "rp")


def rounding_of(ins: Instruction) -> str:
    """The rounding modifier of an arithmetic instruction; `.rn` where there is none."""
    return next((modifier for modifier in ins.modifiers if modifier in _DIRECTED), "rn")


def flush_bits(e: Elementwise, bits: Value, element: str) -> Value:
    """Subnormals to zero of the same sign (`.ftz`), on the bits of a float."""
    mask = e.const(bits.type, _EXPONENT_MASK[element])
    small = e.icmp("eq", e.op("and", bits, mask), e.const(bits.type, 0))
    sign = e.op("and", bits, e.const(bits.type, 1 << (bits_of(bits.type) - 1)))
    return e.select(small, sign, bits)


def flush(e: Elementwise, a: Value) -> Value:
    """Subnormals to zero of the same sign, on a float."""
    return e.as_float(flush_bits(e, e.as_int(a), a.type), a.type)


def saturate_unit(e: Elementwise, a: Value) -> Value:
    """`.sat`: clamped to [0, 1]; NaN gives +0."""
    zero, one = e.const(a.type, 0.0), e.const(a.type, 1.0)
    a = e.select(e.fcmp("ogt", a, zero), a, zero)
    return e.select(e.fcmp("olt", a, one), a, one)


def canonical(e: Elementwise, a: Value) -> Value:
    """Every NaN as PTX's canonical one (chosen among integers: LLVM takes float NaNs for equal)."""
    bits = e.const(f"i{bits_of(a.type)}", CANONICAL_NAN[a.type])
    return e.as_float(e.select(e.is_nan(a), bits, e.as_int(a)), a.type)
