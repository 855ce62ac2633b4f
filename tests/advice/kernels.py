"""Small kernels run with advice: what tests of rules look at."""

from __future__ import annotations

from functools import cache

import numpy as np

from lanewise.cudart.backend import ModuleImage
from lanewise.device import EmulatedDevice, LoadedProgram
from lanewise.emulator.memory import DeviceMemory
from lanewise.hardware import device as devices
from lanewise.records import Finding, LaunchRecord
from lanewise.toolchain import nvrtc

Dim = tuple[int, int, int]


class Kernels:
    """Kernels of one source, with advice for each launch. Arrays hold 0, 1, 2, ..."""

    def __init__(self, source: str, *, device: str = "h200") -> None:
        spec = devices.load(device)
        self._device = EmulatedDevice(spec, memory=DeviceMemory(spec.values.memory_bytes), advice=True)
        text = nvrtc.compile_source(source, arch=self._device.arch, options=[], name="kernel.cu")
        self._loaded: LoadedProgram = self._device.load((ModuleImage("kernel.cu", text, ""),))
        for path in self._loaded.program.modules[0].files.values():
            self._device.sources[path] = source

    def launch(self, name: str, grid: Dim, block: Dim, *arguments: int | bytes, shared: int = 0) -> LaunchRecord:
        """Whole numbers are sizes of arrays of u32, bytes are scalars as they are."""
        memory = self._device.memory
        symbol = self._symbol(name)
        params = self._loaded.program.function(symbol).params
        made: list[int] = []
        buffer = bytearray(max(p.offset + p.size for p in params))
        try:
            for param, argument in zip(params, arguments, strict=True):
                if isinstance(argument, int):
                    made.append(memory.allocate(argument).base)
                    memory.write(made[-1], np.arange(argument // 4, dtype=np.uint32).tobytes())
                data = argument if isinstance(argument, bytes) else made[-1].to_bytes(8, "little")
                buffer[param.offset : param.offset + param.size] = data
            launched, record = self._device.run(self._loaded, symbol, grid, block, shared, bytes(buffer))
            assert launched.fault is None, launched.fault
            return record
        finally:
            for base in made:
                memory.free(base)

    def arrays(self, *sizes: int) -> list[int]:
        """Addresses of arrays that stay."""
        return [self._device.memory.allocate(size).base for size in sizes]

    def launch_on(self, name: str, grid: Dim, block: Dim, *values: int) -> LaunchRecord:
        """Whole numbers are addresses, or values of 4 bytes."""
        symbol = self._symbol(name)
        params = self._loaded.program.function(symbol).params
        buffer = bytearray(max(p.offset + p.size for p in params))
        for param, value in zip(params, values, strict=True):
            buffer[param.offset : param.offset + param.size] = value.to_bytes(param.size, "little")
        launched, record = self._device.run(self._loaded, symbol, grid, block, 0, bytes(buffer))
        assert launched.fault is None, launched.fault
        return record

    def _symbol(self, name: str) -> str:
        symbols = [f.name for f in self._loaded.program.modules[0].functions.values() if f.is_kernel]
        return next(symbol for symbol in symbols if name in symbol)


@cache
def kernels(source: str) -> Kernels:
    return Kernels(source)


def of_rule(record: LaunchRecord, rule: str) -> list[Finding]:
    return [finding for finding in record.advice if finding.check == rule]
