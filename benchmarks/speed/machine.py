"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from lanewise.version import __version__
from speed import pocl


def describe() -> dict[str, str]:
    """Processor, cores, versions, and how busy the machine was."""
    try:
        yardstick = pocl.version()
    except pocl.NoPocl as reason:
        yardstick = f"not measured: {reason}"
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f} (running processes, mean of the minute before)",
        "lanewise": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": f"{llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}",
        "pocl": yardstick,
    }


def _processor() -> str:
    """The processor's name, and the one that LLVM compiles for."""
    name = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name} ({llvm.get_host_cpu_name()})"
