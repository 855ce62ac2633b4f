"""Kernels on the emulated device, with data that stays there: only launches are timed."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.cudart.backend import ModuleImage
from lanewise.device import EmulatedDevice
from lanewise.emulator.launch import Dim
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware import device as devices
from lanewise.records import LaunchRecord
from lanewise.request import DEFAULT_DEVICE
from lanewise.toolchain import nvrtc

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True, slots=True)
class Timed:
    """What something took: seconds of wall time, and of processor time of all threads of this process."""

    wall: float
    cpu: float

    @staticmethod
    def total(*parts: Timed) -> Timed:
        return Timed(sum(part.wall for part in parts), sum(part.cpu for part in parts))


class Stopwatch:
    """`with Stopwatch() as watch: ...`, then `watch.timed`."""

    timed: Timed

    def __enter__(self) -> Stopwatch:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.timed = Timed(time.perf_counter() - self._began[0], time.process_time() - self._began[1])


class Emulated:
    """The kernels of one source file on a device of their own."""

    def __init__(self, source: str) -> None:
        spec = devices.load(DEFAULT_DEVICE)
        self.device = EmulatedDevice(spec, memory=DeviceMemory(spec.values.memory_bytes))
        path = KERNELS / source
        with Stopwatch() as watch:
            text = nvrtc.compile_source(path.read_text(), arch=self.device.arch, options=(), name=source)
        self.nvrtc = watch.timed
        with Stopwatch() as watch:
            self.loaded = self.device.load((ModuleImage(source, text),))
        self.parse = watch.timed
        self.bytes = 0  # of device memory

    def upload(self, array: npt.NDArray[Any]) -> int:
        """Copy an array to the device; returns its address there."""
        allocation = self.device.memory.allocate(array.nbytes)
        self.bytes += array.nbytes
        self.device.memory.write(allocation.base, array.tobytes())
        return allocation.base

    def download(self, address: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.frombuffer(self.device.memory.read(address, like.nbytes), like.dtype).reshape(like.shape)

    def launch(self, kernel: str, grid: Dim, block: Dim, *arguments: int) -> tuple[Timed, LaunchRecord]:
        """Addresses come first, as 64-bit arguments, then 32-bit integers. Raises RuntimeError on a fault."""
        params = b"".join(struct.pack("<Q" if argument > 1 << 32 else "<i", argument) for argument in arguments)
        with Stopwatch() as watch:
            launched, record = self.device.run(self.loaded, kernel, grid, block, 0, params)
        if launched.fault is not None:
            raise RuntimeError(f"{kernel}: {launched.fault.message}")
        return watch.timed, record
