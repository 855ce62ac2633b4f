"""CUDA runtime error codes: the ones that the server gives, and the table of names and texts of all of them.

Source: `cudaError` in driver_types.h of CUDA 13.0; texts as cudaGetErrorString gives them.
"""

from __future__ import annotations

import json
from enum import IntEnum
from functools import cache
from importlib.resources import files


class CudaError(IntEnum):
    """`cudaError_t`, as far as the emulator's side of the runtime uses it."""

    SUCCESS = 0
    INVALID_VALUE = 1
    MEMORY_ALLOCATION = 2
    INITIALIZATION = 3
    INVALID_SYMBOL = 13
    INVALID_DEVICE_FUNCTION = 98
    INVALID_KERNEL_IMAGE = 200
    NO_KERNEL_IMAGE_FOR_DEVICE = 209
    UNSUPPORTED_LIMIT = 215
    INVALID_PTX = 218
    UNSUPPORTED_PTX_VERSION = 222
    INVALID_RESOURCE_HANDLE = 400
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIMEOUT = 702
    ASSERT = 710
    HARDWARE_STACK_ERROR = 714
    ILLEGAL_INSTRUCTION = 715
    MISALIGNED_ADDRESS = 716
    INVALID_ADDRESS_SPACE = 717
    INVALID_PC = 718
    LAUNCH_FAILURE = 719
    COOPERATIVE_LAUNCH_TOO_LARGE = 720
    NOT_SUPPORTED = 801
    INVALID_CLUSTER_SIZE = 912
    UNKNOWN = 999

    @property
    def text(self) -> str:
        """What cudaGetErrorString says."""
        return next(text for code, _, text in table() if code == self)

    @property
    def is_sticky(self) -> bool:
        """Whether the error is a kernel's fault, after which the device answers every call with it."""
        return self in _STICKY


_STICKY = frozenset(
    {
        CudaError.ILLEGAL_ADDRESS,
        CudaError.LAUNCH_TIMEOUT,
        CudaError.ASSERT,
        CudaError.HARDWARE_STACK_ERROR,
        CudaError.ILLEGAL_INSTRUCTION,
        CudaError.MISALIGNED_ADDRESS,
        CudaError.INVALID_ADDRESS_SPACE,
        CudaError.INVALID_PC,
        CudaError.LAUNCH_FAILURE,
    }
)


@cache
def table() -> list[tuple[int, str, str]]:
    """(code, name, text) of every error, by code."""
    lines = files("lanewise.cudart").joinpath("data/errors.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [(int(code), name, text) for code, name, text in (line.split("\t") for line in lines)]


def c_table() -> str:
    """The text of `error_table.h`."""
    return "".join(f"ERROR({code}, {json.dumps(name)}, {json.dumps(text)})\n" for code, name, text in table())
