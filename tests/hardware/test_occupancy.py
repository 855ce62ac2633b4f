"""Occupancy against what an H200's profiler gave, hand-computed cases of other architectures, and its next steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.hardware import capability, device
from lanewise.hardware.occupancy import BLOCKS, REGISTERS, SHARED_MEMORY, WARPS, occupancy, shared_limit

TRUTH = Path(__file__).parents[1] / "truth"
LAUNCHES = json.loads((TRUTH / "h200_occupancy.json").read_text())["launches"]
CARVEOUTS = json.loads((TRUTH / "h200_carveouts.json").read_text())
H200 = device.load("h200")


@pytest.mark.parametrize("name", LAUNCHES)
def test_every_limit_of_the_launches_on_an_h200(name: str) -> None:
    threads, registers, shared_with_reserve, warps, blocks, by_registers, by_shared, percent = LAUNCHES[name]
    shared = shared_with_reserve - H200.limits.shared_reserved
    found = occupancy(H200, threads_per_block=threads, registers_per_thread=registers, static_shared=shared)
    limits = {limit.resource: limit.blocks for limit in found.limits}
    assert (limits[WARPS], limits[BLOCKS], limits[REGISTERS]) == (warps, blocks, by_registers)
    assert found.active_blocks == min(warps, blocks, by_registers, by_shared)
    assert 100 * found.fraction == percent
    # The profiler's limit by shared memory is that of the carve-out which the driver chose for the launch.
    assert by_shared in {
        shared_limit(H200.limits, shared, carveout) for carveout in H200.limits.shared_carveouts if carveout
    }


@pytest.mark.parametrize(
    ("capability_text", "threads", "registers", "shared", "expected"),
    [
        ("5.0", 128, 85, 0, {WARPS: 16, BLOCKS: 32, REGISTERS: 5}),
        ("5.2", 128, 85, 0, {WARPS: 16, BLOCKS: 32, REGISTERS: 4}),  # registers come from one half of the SM
        ("5.2", 1024, 64, 0, {REGISTERS: 1}),  # more than half: the whole SM
        ("5.3", 512, 65, 0, {REGISTERS: 0}),  # 32,768 registers a block
        ("6.0", 160, 192, 0, {REGISTERS: 2}),  # two partitions of 32,768: 5 warps each
        ("6.1", 160, 192, 0, {REGISTERS: 1}),  # four of 16,384: 2 warps each
        ("6.0", 390, 141, 0, {REGISTERS: 0}),  # would fit, but not the other cards of its generation
        ("7.5", 256, 32, 16384, {WARPS: 4, BLOCKS: 16, REGISTERS: 8, SHARED_MEMORY: 4}),
        ("8.6", 128, 40, 8192, {WARPS: 12, BLOCKS: 16, REGISTERS: 12, SHARED_MEMORY: 11}),
        ("8.9", 64, 16, 0, {WARPS: 24, BLOCKS: 24, SHARED_MEMORY: 100}),
        ("12.0", 1024, 64, 0, {WARPS: 1, REGISTERS: 1}),
        ("9.0", 96, 255, 0, {REGISTERS: 2}),
        ("9.0", 1024, 65, 0, {REGISTERS: 0}),
        ("9.0", 1025, 16, 0, {WARPS: 0}),
        ("9.0", 128, 256, 0, {REGISTERS: 0}),
        ("9.0", 32, 16, 232448, {SHARED_MEMORY: 1}),
        ("9.0", 32, 16, 232449, {SHARED_MEMORY: 0}),
    ],
)
def test_limits(capability_text: str, threads: int, registers: int, shared: int, expected: dict[str, int]) -> None:
    major, minor = map(int, capability_text.split("."))
    found = occupancy(
        capability.limits(major, minor),
        threads_per_block=threads,
        registers_per_thread=registers,
        dynamic_shared=shared,
    )
    limits = {limit.resource: limit.blocks for limit in found.limits}
    assert {resource: limits[resource] for resource in expected} == expected
    assert found.active_blocks == min(limits.values())
    assert set(found.binding) == {resource for resource, blocks in limits.items() if blocks == found.active_blocks}


@pytest.mark.parametrize("row", CARVEOUTS["rows"], ids=lambda row: f"{row[0]} threads, {row[1]} registers")
def test_the_carveout_of_the_driver_never_costs_a_block(row: list) -> None:  # type: ignore[type-arg]
    threads, registers, sizes, blocks = row
    for shared, carveout, by_shared in zip(CARVEOUTS["dynamic_shared"], sizes, blocks, strict=True):
        assert carveout in H200.limits.shared_carveouts
        assert shared_limit(H200.limits, shared, carveout) == by_shared
        chosen, largest = (
            occupancy(
                H200,
                threads_per_block=threads,
                registers_per_thread=registers,
                dynamic_shared=shared,
                carveout=size,
            )
            for size in (carveout, None)
        )
        assert chosen.active_blocks == largest.active_blocks


def test_carveout_limits_blocks_and_is_raised_to_hold_one() -> None:
    assert shared_limit(H200.limits, 5120 - 1024, 16384) == 3
    assert shared_limit(H200.limits, 40000, 16384) == 1  # needs 41,088 bytes: the next size is 65,536
    assert shared_limit(H200.limits, 40000) == 5


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "step"),
    [
        (256, 32, 0, None),
        (128, 85, 0, "with 80 registers a thread instead of 85: 6 blocks of 4 warps an SM"),
        (128, 32, 30000, "with 28160 bytes of shared memory a block instead of 30000: 8 blocks of 4 warps an SM"),
        (
            128,
            128,
            56000,
            "with 96 registers a thread instead of 128 and 45568 bytes of shared memory a block instead of 56000: "
            "5 blocks of 4 warps an SM",
        ),
        (768, 32, 0, "blocks of 512 instead of 768 threads keep 64 of 64 warps resident"),
        (32, 16, 0, "blocks of 64 instead of 32 threads keep 64 of 64 warps resident"),
    ],
)
def test_next_step(threads: int, registers: int, shared: int, step: str | None) -> None:
    found = occupancy(H200, threads_per_block=threads, registers_per_thread=registers, static_shared=shared)
    assert found.next_step == step


def test_the_next_step_does_what_it_says() -> None:
    for registers in range(33, 256):
        before = occupancy(H200, threads_per_block=128, registers_per_thread=registers)
        assert before.next_step is not None
        wanted = int(before.next_step.split()[1])
        after = occupancy(H200, threads_per_block=128, registers_per_thread=wanted)
        barely = occupancy(H200, threads_per_block=128, registers_per_thread=wanted + 1)
        assert after.active_blocks > before.active_blocks
        assert barely.active_blocks == before.active_blocks
