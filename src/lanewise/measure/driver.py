"""The few calls of the CUDA driver API that micro-benchmarks need, on the first device.

Source: CUDA driver API reference (NVIDIA), sections "Primary context", "Module", "Memory", "Execution", "Event".
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import EnvironmentProblem

Argument = int | float | tuple[str, int | float]


class Driver:
    """The first device, with its primary context current in the calling thread."""

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise EnvironmentProblem(
                f"there is no driver to measure with: {error}", next_step="Run this on a machine with a GPU."
            ) from error
        self._device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._from, self._to = self._event(), self._event()

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise EnvironmentProblem(
                f"the driver's {name} failed with error {status}", next_step="`lanewise doctor` says what is missing."
            )

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, 256, self._device)
        return text.value.decode()

    def attribute(self, number: int) -> int:
        """An attribute by its number in CUdevice_attribute."""
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    @property
    def memory_bytes(self) -> int:
        size = ctypes.c_size_t()
        self._call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device)
        return size.value

    def module(self, image: bytes) -> ctypes.c_void_p:
        """Load PTX text or machine code."""
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
        return module

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def allocate(self, size: int) -> int:
        """Zeroed device memory; its address."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address: int, data: npt.NDArray[Any]) -> None:
        self._call(
            "cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes)
        )

    def read(self, address: int, count: int, kind: type[np.generic]) -> npt.NDArray[Any]:
        data = np.zeros(count, kind)
        self._call(
            "cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(data.nbytes)
        )
        return data

    def launch(
        self, function: ctypes.c_void_p, blocks: int, threads: int, arguments: Sequence[Any], shared: int = 0
    ) -> None:
        """Launch with `arguments` as ctypes values."""
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments)
        )
        self._call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, None, pointers, None)

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def timed(
        self,
        function: ctypes.c_void_p,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        *,
        times: int = 7,
        shared: int = 0,
    ) -> float:
        """Microseconds between two events around one launch: the median of `times`, after two to warm up."""
        found = []
        for _ in range(times + 2):
            self._call("cuEventRecord", self._from, None)
            self.launch(function, blocks, threads, arguments, shared)
            self._call("cuEventRecord", self._to, None)
            self._call("cuEventSynchronize", self._to)
            milliseconds = ctypes.c_float()
            self._call("cuEventElapsedTime", ctypes.byref(milliseconds), self._from, self._to)
            found.append(1000 * milliseconds.value)
        return sorted(found[2:])[times // 2]
