"""How much memory this machine can still give: device memory is the machine's own in the end."""

from __future__ import annotations

import re
from pathlib import Path

_SPARE = 256 << 20  # bytes left to the emulator and the program


def available_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that can be taken without swapping or being killed: what the kernel and the control group say, less a
    spare. None where neither says anything. `root` is there for tests."""
    found = [size for size in (_meminfo(root), _control_group(root)) if size is not None]
    return max(0, min(found) - _SPARE) if found else None


def _meminfo(root: Path) -> int | None:
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) << 10 if match else None


def _control_group(root: Path) -> int | None:
    """The limit of the control group (version 2, as seen from inside a container) less what is in use."""
    try:
        limit = (root / "sys/fs/cgroup/memory.max").read_text().strip()
        used = (root / "sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else None
