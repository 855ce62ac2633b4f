"""One program on several devices: one run where devices have the same code and the program cannot tell them apart,
else one run each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lanewise import session
from lanewise.hardware import device as devices
from lanewise.hardware.device import DeviceSpec
from lanewise.records import RunResult
from lanewise.request import RunRequest

# A program that calls none of these cannot know what device it runs on.
_ASKS = ("cudaGetDeviceProperties", "cudaDeviceGetAttribute", "cudaMemGetInfo", "cudaOccupancy", "cudaDeviceGetLimit",
         "cudaFuncGetAttributes", "cudaChooseDevice")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """One device: its result, and the devices (itself among them) that one run was for."""

    spec: DeviceSpec
    result: RunResult
    shared_with: tuple[str, ...]


def asks_for_the_device(runtime_calls: Sequence[str]) -> bool:
    """Whether a program may behave differently on another device, by the runtime calls that it is linked with."""
    return any(name.startswith(_ASKS) for name in runtime_calls)


def run_on(request: RunRequest, names: Sequence[str]) -> list[Column]:
    """Columns in the order of `names`; what the program prints is shown of the first run. The first device of those
    that share a run is the one that the program sees.

    Raises what `session.run_program` raises, and UsageError for an unknown device before anything runs.
    """
    specs = [devices.load(name) for name in names]
    found: dict[int, Column] = {}
    for number, spec in enumerate(specs):
        if number in found:
            continue
        own = replace(request, device=names[number])
        program, arch, notes = session.built(own)
        alike = [other for other in range(number + 1, len(specs)) if specs[other].arch == spec.arch]
        group = [number] if asks_for_the_device(session.runtime_calls(program)) else [number, *alike]
        others = [specs[other] for other in group[1:]]
        results = session.run_built(own, program, arch, notes, others, shows_output=number == 0)
        together = tuple(specs[member].name for member in group)
        for member, result in zip(group, results, strict=True):
            found[member] = Column(specs[member], result, together)
    return [found[number] for number in range(len(specs))]
