"""`lanewise occupancy` and `lanewise devices`."""

from __future__ import annotations

import pytest
from command_line import CommandLine

from lanewise.hardware.device import names


def test_every_limit_is_listed_and_the_binding_one_marked(lanewise: CommandLine) -> None:
    outcome = lanewise(*["occupancy", "--device", "h200", "--threads", "256", "--registers", "40", "--shared", "4096"])
    assert outcome.status == 0
    assert "occupancy 75%: 48 of 64 warps in 6 blocks an SM, limited by registers" in outcome.out
    rows = {line.split("  ")[1]: line for line in outcome.out.splitlines() if line.startswith("  ")}
    assert "8" in rows["warps"].split()
    assert "32" in rows["blocks"].split()
    assert rows["registers"].split()[1:3] == ["6", "<"]
    assert "<" not in rows["shared memory"]
    assert "next: " in outcome.out


def test_registers_are_allocated_by_block_on_5_2(lanewise: CommandLine) -> None:
    outcome = lanewise(*["occupancy", "--capability", "5.2", "--threads", "128", "--registers", "85"])
    assert "16 of 64 warps in 4 blocks an SM, limited by registers" in outcome.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--threads 2048 --registers 32", "such a block cannot run on NVIDIA H200"),
        ("--threads 1024 --registers 128", "the most a block can have"),
        ("--threads 32 --registers 32 --shared 300000", "the most a block can have"),
        ("--threads 32 --registers 32 --device h300", "unknown device 'h300'"),
        ("--threads 32 --registers 32 --capability nine", "'nine' is not a compute capability"),
        ("--threads 32 --registers 32 --capability 3.5", "3.5"),
        ("--threads 32", "--registers"),
        ("--threads 0 --registers 32", "--threads"),
    ],
)
def test_what_cannot_run_is_said(lanewise: CommandLine, words: str, says: str) -> None:
    outcome = lanewise("occupancy", *words.split())
    assert outcome.status == 2
    assert says in outcome.err
    assert outcome.out == ""


def test_devices_are_listed(lanewise: CommandLine) -> None:
    lines = lanewise("devices").out.splitlines()
    assert [line.split()[0] for line in lines[1:] if line[:1].strip()][: len(names())] == list(names())
    assert all(len(line) <= 120 for line in lines)


def test_a_device_is_shown_with_the_source_of_each_value(lanewise: CommandLine) -> None:
    shown = lanewise("devices", "h200").out
    assert "sm_count" in shown
    assert any(line.split()[:1] == ["l2_latency"] and "measured" in line for line in shown.splitlines())
    assert "micro-benchmarks" in shown


def test_a_measured_device_file_needs_its_ending_and_a_driver(lanewise: CommandLine) -> None:
    assert "does not end in .toml" in lanewise("devices", "--measure", "card.txt").err
