"""What the matrix instructions of all kernels share, in LLVM IR."""

from __future__ import annotations

from lanewise.emulator.matrix import eight_bits, numbers, products, rounding, rows, warpgroup


def definitions() -> str:
    """Every function."""
    parts = (numbers, products, rounding, rows, warpgroup, eight_bits)
    return "".join(part.definitions() for part in parts)
