"""Matrix instructions: their operations, the rate of their types, and how a warp waits for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanewise.hardware import device
from lanewise.model import routes, tensor
from lanewise.model.pipes import Pipe
from lanewise.model.walk import walk
from lanewise.sass.blocks import MachineBlock
from lanewise.sass.listing import SassInstruction

H200 = device.load("h200").rates


def instruction(opcode: str, operands: str = "R0, R4, R8, R0", offset: int = 0) -> SassInstruction:
    return SassInstruction(offset, opcode, operands)


@pytest.mark.parametrize(
    ("opcode", "operations", "tflops"),
    [
        ("HMMA.16816.F32.BF16", 4096, H200.tensor_fp16_tflops),
        ("HMMA.1688.F32.TF32", 2048, H200.tensor_tf32_tflops),
        ("IMMA.16832.S8.S8", 8192, H200.tensor_int8_tops),
        ("IMMA.16864.S4.S4", 16384, 2 * H200.tensor_int8_tops),
        ("DMMA.8x8x4", 512, H200.tensor_fp64_tflops),
        ("HGMMA.64x256x16.F32.BF16", 131072, H200.tensor_fp16_tflops),  # a quarter: one of four warps
        ("QGMMA.64x128x32.F32.E4M3.E4M3", 131072, H200.tensor_fp8_tflops),
        ("FFMA", 0, H200.tensor_fp16_tflops),
    ],
)
def test_operations_and_rates(opcode: str, operations: int, tflops: float) -> None:
    assert tensor.operations(instruction(opcode)) == operations
    assert tensor.tflops(instruction(opcode), H200) == tflops


def test_cycles_are_the_datasheets_rate() -> None:
    """132 SMs of four tensor cores at 1980 MHz: 989 TFLOPS are 946 operations a clock and core."""
    rates = replace(H200, tensor_fp16_tflops=989, mma_clocks=2)
    found = tensor.cycles(instruction("HGMMA.64x64x16.F32"), rates, 1980, 4 * 132)
    assert found == pytest.approx(64 * 64 * 16 * 2 / 4 / 946, rel=0.001)
    alone = tensor.cycles(instruction("HMMA.16816.F32"), rates, 1980, 4 * 132)
    assert alone == pytest.approx(2 + 4096 / 946, rel=0.001)
    half = tensor.cycles(instruction("HMMA.1688.F32"), rates, 1980, 4 * 132)
    assert half == pytest.approx(2 + 2048 / 946, rel=0.001)


def test_doubles_take_sixteen_rows_at_a_time() -> None:
    """67 TFLOPS are 64 operations a clock and core: 8 x 8 x 4 takes as long as 16 x 8 x 4, 16.2 when measured."""
    eight, sixteen = (tensor.cycles(instruction(f"DMMA.{shape}"), H200, 1980, 4 * 132) for shape in ("8x8x4", "16x8x4"))
    assert eight == sixteen == pytest.approx(16.2, rel=0.03)


def test_a_warpgroup_waits_for_its_queue_only() -> None:
    """Two that add to one sum follow each other at the core's pace; the wait for the queue sees the latency."""
    code = (
        instruction("HGMMA.64x64x16.F32", "R24, gdesc[UR4], R24, gsb0", 0),
        instruction("HGMMA.64x64x16.F32", "R24, gdesc[UR4], R24, gsb0", 16),
        instruction("WARPGROUP.DEPBAR.LE", "gsb0, 0x0", 32),
    )
    latency = dict.fromkeys(Pipe, 1.0) | {Pipe.TENSOR: 20.0}
    found = walk([MachineBlock(0, "kernel", code)], [1.0], latency, {}, {}, {0: 32.0, 16: 32.0})
    assert found.cycles == 32 + 32 + 20 + 1


@pytest.mark.parametrize(
    ("opcode", "past"),
    [("LDG.E", False), ("LDG.E.STRONG.GPU", True), ("LDG.E.STRONG.SM", False), ("LDGSTS.E.BYPASS.128", True),
     ("UTMALDG.2D", True), ("STG.E.STRONG.GPU", False)],
)  # fmt: skip
def test_what_goes_past_the_l1(opcode: str, past: bool) -> None:
    assert routes.past_the_l1(instruction(opcode)) is past
