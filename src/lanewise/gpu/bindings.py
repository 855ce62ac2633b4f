"""NVIDIA's bindings of the driver and of NVRTC: untyped, and imported when first used."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def driver() -> Any:
    """cuda.bindings.driver."""
    return importlib.import_module("cuda.bindings.driver")


@cache
def nvrtc() -> Any:
    """cuda.bindings.nvrtc."""
    return importlib.import_module("cuda.bindings.nvrtc")


@cache
def device_class() -> Any:
    """cuda.core.Device."""
    try:
        return importlib.import_module("cuda.core").Device
    except AttributeError:  # before cuda-core 0.5
        return importlib.import_module("cuda.core.experimental").Device
