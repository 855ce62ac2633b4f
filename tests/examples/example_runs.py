"""Runs `lanewise` as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def lanewise(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lanewise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)
