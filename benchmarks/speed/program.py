"""A whole program, measured inside the emulator's process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanewise import session
from lanewise.emulator.memory import DeviceMemory
from lanewise.records import Allocation
from lanewise.report.terminal import report_text
from lanewise.request import RunRequest
from speed.emulated import Stopwatch
from speed.process import peak_memory


class _WatchedMemory(DeviceMemory):
    """Device memory that remembers the most that was allocated at a time."""

    peak = 0

    def allocate(self, *args: Any, **kwargs: Any) -> Allocation:
        allocation = super().allocate(*args, **kwargs)
        _WatchedMemory.peak = max(_WatchedMemory.peak, self.allocated)
        return allocation


def run(source: str, arguments: list[str]) -> dict[str, Any]:
    """Build and run a program as `lanewise run` does, the report included (written to nowhere)."""
    session.DeviceMemory = _WatchedMemory  # type: ignore[misc]
    with Stopwatch() as watch:
        result = session.run_program(RunRequest((Path(source),), arguments=tuple(arguments)))
        report = report_text(result)
    if result.exit_code != 0 or not all(launch.completed for launch in result.launches):
        raise RuntimeError(f"{source} ended with {result.exit_code}\n{report}")
    return {
        "program": Path(source).name,
        "launches": len(result.launches),
        "instructions": sum(launch.ptx_thread_instructions for launch in result.launches),
        "kernels_wall": sum(launch.seconds for launch in result.launches),
        "whole": asdict(watch.timed),
        "device_bytes": _WatchedMemory.peak,
        "peak_bytes": peak_memory(),
    }
