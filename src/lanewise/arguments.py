"""Numpy arrays as arguments of a launch: copied to device memory and back.

Arrays whose bytes overlap in the host's memory (one array given twice, two views of one buffer) overlap in the
device's in the same way, so a kernel sees the aliasing that the caller wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import LimitReached

Array = np.ndarray[Any, Any]


class Unset(np.ndarray[Any, Any]):
    """An array whose bytes count as never written when a launch is checked; others count as written by the host."""


def unset(array: Array) -> Unset:
    """The array, as one that a kernel has to write before it reads it."""
    return array.view(Unset)


@dataclass(frozen=True, slots=True)
class Places:
    """Where arrays lie on the device: `addresses[i]` is the address of `arrays[i]`; `bases` are the allocations."""

    arrays: Sequence[Array]
    addresses: tuple[int, ...]
    bases: tuple[int, ...]

    def parts(self) -> list[tuple[int, int]]:
        """(address, bytes) of each array."""
        return [(address, array.nbytes) for array, address in zip(self.arrays, self.addresses, strict=True)]

    def copy_back(self, memory: DeviceMemory) -> None:
        """What the kernel left, into every array that may be written."""
        for array, address in zip(self.arrays, self.addresses, strict=True):
            if array.flags.writeable:
                array[...] = np.frombuffer(memory.read(address, array.nbytes), array.dtype).reshape(array.shape)

    def free(self, memory: DeviceMemory) -> None:
        for base in self.bases:
            memory.free(base)


def place(memory: DeviceMemory, arrays: Sequence[Array]) -> Places:
    """Allocate device memory for the arrays, in C order, and copy them there. Raises LimitReached."""
    addresses = [0] * len(arrays)
    bases: list[int] = []
    for members in _overlapping(arrays):
        start = min(_host_address(arrays[i]) for i in members)
        end = max(_host_address(arrays[i]) + arrays[i].nbytes for i in members)
        name = "argument " + ", ".join(str(i) for i in sorted(members))
        try:
            base = memory.allocate(max(1, end - start), name=name).base
        except LimitReached:
            for earlier in bases:
                memory.free(earlier)
            raise
        bases.append(base)
        for i in members:
            addresses[i] = base + _host_address(arrays[i]) - start
            memory.write(addresses[i], np.ascontiguousarray(arrays[i]).tobytes())
    return Places(arrays, tuple(addresses), tuple(bases))


def _host_address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _overlapping(arrays: Sequence[Array]) -> list[list[int]]:
    """Indices in groups whose bytes overlap; an array that is not contiguous is copied on its own."""
    alone = [[i] for i, array in enumerate(arrays) if not array.flags.c_contiguous or array.nbytes == 0]
    dense = sorted(
        (i for i, array in enumerate(arrays) if array.flags.c_contiguous and array.nbytes),
        key=lambda i: _host_address(arrays[i]),
    )
    groups: list[list[int]] = []
    end = 0
    for i in dense:
        if groups and _host_address(arrays[i]) < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, _host_address(arrays[i]) + arrays[i].nbytes)
    return sorted(alone + groups, key=min)
