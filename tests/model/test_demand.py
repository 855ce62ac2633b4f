"""Floating-point operations of machine instructions."""

import pytest

from lanewise.model.demand import _operations
from lanewise.sass.listing import SassInstruction


@pytest.mark.parametrize(
    ("opcode", "operands", "operations"),
    [
        ("FFMA", "R4, R5, R6, R4", 2),
        ("HFMA2.MMA", "R4, R5, R6, R4", 4),
        ("HFMA2.MMA", "R5, -RZ, RZ, 0, 0", 0),  # a constant
        ("FADD", "R5, -RZ, R2", 1),
        ("IMAD", "R5, R6, R7, RZ", 0),
    ],
)
def test_operations(opcode: str, operands: str, operations: int) -> None:
    assert _operations(SassInstruction(0, opcode, operands)) == operations
