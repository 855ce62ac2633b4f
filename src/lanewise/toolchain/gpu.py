"""Whether this machine has an NVIDIA driver, a device, and permission to read its counters. Nothing here needs them.

The driver is asked in a process of its own: loading it can hang or crash where it is installed badly.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_PARAMETERS = Path("/proc/driver/nvidia/params")
_CAP_SYS_ADMIN = 21
_PROBE = """
import ctypes, json
found = {"driver": None, "error": 0, "devices": []}
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    found["missing"] = str(error)
else:
    version, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    found["driver"] = version.value
    found["error"] = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    name = ctypes.create_string_buffer(256)
    for index in range(count.value if not found["error"] else 0):
        if cuda.cuDeviceGetName(name, 256, index) == 0:
            found["devices"].append(name.value.decode("utf-8", "replace"))
print(json.dumps(found))
"""
# CUresult values that cuInit and cuDeviceGetCount return, from the driver API's documentation.
_CAUSES = {
    3: "the driver could not be initialised",
    100: "the driver sees no device",
    101: "the driver refuses the device",
    34: "the library is a stub, not a driver",
    46: "the device is in use or exclusive",
    802: "the system is not ready (on machines with NVSwitch the fabric manager must run)",
    803: "the driver's library and its kernel module have different versions",
    804: "the compatibility driver does not support this device",
    999: "the driver failed for an unknown reason",
}


@dataclass(frozen=True, slots=True)
class Gpu:
    """`driver` is the CUDA version it supports, such as "13.0"; None without one. `cause` says what is missing."""

    driver: str | None
    devices: tuple[str, ...]
    cause: str | None


def probe(timeout: float = 20.0) -> Gpu:
    """Ask the driver. Seconds until it counts as hanging: `timeout`."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=timeout, check=True
        )
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Gpu(None, (), f"the driver did not answer within {timeout:.0f} s")
    except (subprocess.CalledProcessError, ValueError):
        return Gpu(None, (), "the driver crashed when it was asked")
    if found["driver"] is None:
        return Gpu(None, (), "there is no libcuda.so.1")
    driver = f"{found['driver'] // 1000}.{found['driver'] % 1000 // 10}"
    cause = None
    if found["error"]:
        cause = _CAUSES.get(found["error"], f"the driver reports error {found['error']}")
    elif not found["devices"]:
        cause = "the driver sees no device"
    return Gpu(driver, tuple(found["devices"]), cause)


def counters_restricted() -> bool | None:
    """Whether only administrators may read the device's counters; None where the kernel module does not say."""
    try:
        text = _PARAMETERS.read_text()
    except OSError:
        return None
    match = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    return match[1] != "0" if match is not None else None


def is_administrator() -> bool:
    """Whether this process has CAP_SYS_ADMIN, which the driver asks for (root of a container often lacks it)."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return False
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", text, re.MULTILINE)
    return match is not None and bool(int(match[1], 16) >> _CAP_SYS_ADMIN & 1)


def in_container() -> bool:
    """Whether the usual signs of a container are there."""
    return any(Path(name).exists() for name in ("/.dockerenv", "/run/.containerenv")) or "container" in os.environ
