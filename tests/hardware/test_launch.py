"""Launches over the limits are refused with the inequality they violate."""

from __future__ import annotations

import pytest

from lanewise.hardware import device
from lanewise.hardware.launch import refuse

H200 = device.load("h200")


@pytest.mark.parametrize(
    ("grid", "block", "more", "reason"),
    [
        ((1, 1, 1), (1024, 1, 1), {}, None),
        ((2147483647, 65535, 65535), (1, 1, 64), {}, None),
        ((1, 0, 1), (32, 1, 1), {}, "grid.y = 0, and every dimension is at least 1"),
        ((1, 65536, 1), (32, 1, 1), {}, "grid.y = 65536 > 65535, the largest grid dimension y"),
        ((1, 1, 1), (1, 1, 65), {}, "block.z = 65 > 64, the largest block dimension z"),
        ((1, 1, 1), (32, 33, 1), {}, "32 x 33 x 1 = 1056 threads a block > 1024, the most a block can have"),
        (
            (1, 1, 1),
            (992, 1, 1),
            {"registers_per_thread": 65},
            "32 warps x 2304 registers (of 992 threads at 65 registers, rounded up as they are allocated) = "
            "73728 registers a block > 65536, the most a block can have",
        ),
        ((1, 1, 1), (32, 1, 1), {"registers_per_thread": 255}, None),
        (
            (1, 1, 1),
            (32, 1, 1),
            {"registers_per_thread": 256},
            "256 registers a thread > 255, the most a thread can have",
        ),
        ((1, 1, 1), (32, 1, 1), {"static_shared": 49152}, None),
        (
            (1, 1, 1),
            (32, 1, 1),
            {"static_shared": 1024, "dynamic_shared": 49152},
            "1024 static + 49152 dynamic = 50176 bytes of shared memory a block > 49152, the most without "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
        ),
        (
            (1, 1, 1),
            (32, 1, 1),
            {"static_shared": 1024, "dynamic_shared": 65536, "dynamic_shared_allowed": 65536},
            None,
        ),
        (
            (1, 1, 1),
            (32, 1, 1),
            {"dynamic_shared": 65537, "dynamic_shared_allowed": 65536},
            "65537 bytes of dynamic shared memory > 65536, what cudaFuncSetAttribute allowed this kernel",
        ),
        (
            (1, 1, 1),
            (32, 1, 1),
            {"dynamic_shared": 232449, "dynamic_shared_allowed": 232449},
            "0 static + 232449 dynamic = 232449 bytes of shared memory a block > 232448, the most a block can have",
        ),
    ],
)
def test_refuse(
    grid: tuple[int, int, int], block: tuple[int, int, int], more: dict[str, int], reason: str | None
) -> None:
    assert refuse(H200, grid, block, **more) == reason
