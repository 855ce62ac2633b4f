"""Floating-point formats in exact arithmetic: values as fractions, rounding in every mode. Slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True)
class Format:
    """A binary interchange format, or one like it."""

    mantissa: int
    exponent: int  # bits
    has_infinity: bool = True
    low_bits: int = 0  # unused bits below the mantissa (tf32 in its 32-bit register)

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def largest_code(self) -> int:
        """Of the largest finite number; e4m3 has one more binade than IEEE formats, but for its last code."""
        top = (1 << self.exponent) - 1 << self.mantissa
        return top - 1 if self.has_infinity else top + (1 << self.mantissa) - 2

    def is_finite(self, bits: int) -> bool:
        return (bits >> self.low_bits) & ((1 << (self.width - 1)) - 1) <= self.largest_code

    def value(self, bits: int) -> Fraction:
        """Of a finite number."""
        bits >>= self.low_bits
        sign = -1 if bits >> (self.width - 1) else 1
        biased = bits >> self.mantissa & ((1 << self.exponent) - 1)
        significand = bits & ((1 << self.mantissa) - 1) | (biased > 0) << self.mantissa
        return sign * significand * Fraction(2) ** (max(biased, 1) - self.bias - self.mantissa)

    def round(self, value: Fraction, mode: str, *, finite: bool = False) -> int:
        """The bits of a value that is not zero, in mode rn, rna, rz, rm or rp; `finite` overflows to the largest."""
        negative = value < 0
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        scaled = magnitude / Fraction(2) ** (exponent - self.mantissa)
        code, rest = divmod(scaled.numerator, scaled.denominator)
        twice = 2 * rest
        if mode == "rn":
            up = twice > scaled.denominator or (twice == scaled.denominator and code & 1 == 1)
        elif mode == "rna":
            up = twice >= scaled.denominator
        else:
            up = rest > 0 and ((mode == "rm" and negative) or (mode == "rp" and not negative))
        code += (exponent - 1 + self.bias) * (1 << self.mantissa) + up
        if code > self.largest_code:
            stays = finite or mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
            code = self.largest_code if stays or not self.has_infinity else self.largest_code + 1
        return (negative << (self.width - 1) | code) << self.low_bits


FORMATS = {
    "f16": Format(10, 5),
    "bf16": Format(7, 8),
    "tf32": Format(10, 8, low_bits=13),
    "f32": Format(23, 8),
    "f64": Format(52, 11),
    "e4m3": Format(3, 4, has_infinity=False),
    "e5m2": Format(2, 5),
}


def square_root(value: Fraction) -> Fraction:
    """Exact where it is rational; else a value that rounds as the root does to 60 bits or fewer: between the same two
    neighbours, on neither."""
    shift = 2 * max(0, 150 - value.numerator.bit_length() + value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    whole = isqrt(scaled.numerator // scaled.denominator)
    root = Fraction(whole) / Fraction(2) ** (shift // 2)
    if root * root == value:
        return root
    return (Fraction(whole) + Fraction(1, 2)) / Fraction(2) ** (shift // 2)
