"""What a matrix instruction computes, and how the tensor cores of an H200 round it (docs/arithmetic.md)."""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.emulator.matrix import numbers

# The exponent below which the numbers of a type have none of their own: subnormal ones are aligned by it.
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}
EIGHT_BITS = ("e4m3", "e5m2")
BIAS, BIAS_OF_EIGHT_BITS = 25, 13  # bits kept below the greatest exponent of a sum


@dataclass(frozen=True, slots=True)
class Product:
    """d = a b + c of m x 8 x k: types of a, b, c and d. `operation` is that of bits (xor, and); `group`: so many
    products are summed at once, 0: all of them."""

    m: int
    k: int
    a: str
    b: str
    c: str
    d: str
    saturate: bool = False
    operation: str = ""
    group: int = 0

    @property
    def name(self) -> str:
        tail = ("_sat" if self.saturate else "") + self.operation + (f"_by{self.group}" if self.group else "")
        return f"m{self.m}n8k{self.k}_{self.a}_{self.b}_{self.c}_{self.d}{tail}"

    @property
    def floating(self) -> bool:
        """Whether tensor cores round it as `lw_dot` does."""
        return self.a in LEAST

    @property
    def depth(self) -> int:
        """Elements that are multiplied one by one: bits go by words."""
        return self.k // 32 if self.a == "b1" else self.k

    @property
    def element(self) -> str:
        """How the elements of its matrices are kept in memory."""
        return numbers.element(self.a)

    @property
    def bias(self) -> int:
        return BIAS_OF_EIGHT_BITS if self.a in EIGHT_BITS else BIAS

    @property
    def accumulator(self) -> str:
        """The type of the sums: those that begin or end as f32 are f32."""
        return "f16" if self.c == self.d == "f16" else "f32"

    @property
    def rounding(self) -> str:
        """The function of `rounding.py` that sums go through."""
        if self.accumulator == "f16":
            return "lw_round_odd"
        return "lw_round_short" if self.a in EIGHT_BITS else "lw_round_zero"
