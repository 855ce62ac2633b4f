"""Processes that are measured from outside: wall time, processor time with that of their children, peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended well. `wall` and `cpu` in seconds; `cpu` includes the children it waited for."""

    wall: float
    cpu: float
    output: str


class ProcessFailed(Exception):
    """The process ended with another exit code than 0; the message holds the end of what it wrote."""


def peak_memory() -> int:
    """The most bytes of memory that this process had resident so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise RuntimeError("no VmHWM in /proc/self/status: the benchmark needs Linux")


def measure(command: list[str], environment: dict[str, str]) -> Ended:
    """Run a command to its end. Raises ProcessFailed."""
    began = time.perf_counter()
    child = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise ProcessFailed(f"{' '.join(command)} ended with {child.returncode}:\n{output[-2000:]}")
    return Ended(wall, usage.ru_utime + usage.ru_stime, output)


def case(name: str, arguments: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    """Run one case in a fresh process; what it returned, and the whole process under `process`."""
    path = os.pathsep.join([str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "speed.child", name, json.dumps(arguments)]
    ended = measure(command, {**environment, "PYTHONPATH": path})
    result: dict[str, Any] = json.loads(ended.output.splitlines()[-1])
    result["process"] = {"wall": ended.wall, "cpu": ended.cpu}
    return result
