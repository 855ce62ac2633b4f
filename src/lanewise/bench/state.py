"""What card it is, and its clocks now."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from typing import Any

import torch

_NOW = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")


def this_card() -> dict[str, Any]:
    """Name, driver, versions, date, and the clocks now."""
    name, driver = _query(("name", "driver_version"))
    return {
        "name": name,
        "driver": driver,
        "date": datetime.date.today().isoformat(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "before": clocks(),
    }


def clocks() -> dict[str, str]:
    """Clocks, temperature and power as nvidia-smi says; "unknown" where there is no nvidia-smi."""
    return dict(zip(_NOW, _query(_NOW), strict=True))


def _query(fields: tuple[str, ...]) -> list[str]:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return ["unknown"] * len(fields)
    command = [smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    return lines[0].split(", ") if done.returncode == 0 and lines else ["unknown"] * len(fields)
