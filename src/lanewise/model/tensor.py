"""Operations of matrix instructions on the tensor cores, and how long they keep one busy.

Shapes stand in the opcodes: HMMA.16816 is 16 x 8 x 16 for a warp, HGMMA.64x256x16 is for four warps together, a quarter
on the tensor core of each one's partition (PTX ISA, "Warp Level Matrix Multiply-Accumulate" and "Asynchronous Warpgroup
Level Matrix Multiply-Accumulate").
"""

from __future__ import annotations

import re

from lanewise.hardware.rates import Rates
from lanewise.sass.listing import SassInstruction

_WARP_SHAPES = {
    "884": (8, 8, 4), "848": (8, 4, 8), "1684": (16, 8, 4), "1688": (16, 8, 8), "8816": (8, 8, 16),
    "16816": (16, 8, 16), "8832": (8, 8, 32), "16832": (16, 8, 32), "16864": (16, 8, 64), "88128": (8, 8, 128),
    "168128": (16, 8, 128), "168256": (16, 8, 256),
}  # fmt: skip
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
_PER_GROUP = frozenset(("HGMMA", "QGMMA", "IGMMA", "BGMMA"))
_GROUP_WARPS = 4
_ROWS_OF_DOUBLES = 16  # that a tensor core passes through, also where an instruction has 8 (measured on an H200)
_HALF_BYTES = frozenset(("S4", "U4"))


def group(instruction: SassInstruction) -> bool:
    """Whether four warps do it together, and go on before it is done."""
    return instruction.name in _PER_GROUP


def _shape(instruction: SassInstruction) -> tuple[int, int, int] | None:
    """Rows, columns and depth; None of what is no matrix instruction."""
    for modifier in instruction.opcode.split(".")[1:]:
        match = _SHAPE.fullmatch(modifier)
        shape = (int(match[1]), int(match[2]), int(match[3])) if match else _WARP_SHAPES.get(modifier)
        if shape is not None:
            return shape
    return None


def operations(instruction: SassInstruction) -> int:
    """Of one warp's share: two for each product and sum; 0 of what is no matrix instruction."""
    shape = _shape(instruction)
    if shape is None:
        return 0
    return 2 * shape[0] * shape[1] * shape[2] // (_GROUP_WARPS if group(instruction) else 1)


def tflops(instruction: SassInstruction, rates: Rates) -> float:
    """10^12 dense operations a second of the whole device at this instruction's types; 0 where it has no such units."""
    modifiers = set(instruction.opcode.split(".")[1:])
    kind = instruction.name[0]
    if kind == "D":
        return rates.tensor_fp64_tflops
    if kind == "I":
        return rates.tensor_int8_tops * (2 if modifiers & _HALF_BYTES else 1)
    if kind == "B":
        return rates.tensor_int8_tops * 8
    if kind in ("Q", "O"):
        return rates.tensor_fp8_tflops
    return rates.tensor_tf32_tflops if "TF32" in modifiers else rates.tensor_fp16_tflops


def cycles(instruction: SassInstruction, rates: Rates, clocks_per_us: float, partitions: int) -> float:
    """Of the tensor core of a partition, `partitions` in the device. Instructions of one warp take `mma_clocks` on top,
    whatever their shape. A type that the device has no units for takes as long as f16."""
    rate = tflops(instruction, rates) or rates.tensor_fp16_tflops
    if not rate:
        return 0.0
    work = operations(instruction) * partitions * clocks_per_us / (rate * 1e6)
    shape = _shape(instruction)
    if instruction.name == "DMMA" and shape is not None:
        return work * max(1, _ROWS_OF_DOUBLES // shape[0])
    return work + (0.0 if group(instruction) else rates.mma_clocks)
