"""The device as a program sees it: what `hardware` says of the device, with what this runtime does otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.hardware.device import DeviceSpec, load
from lanewise.hardware.properties import cuda_attributes, cuda_properties

# Where this runtime is not like the card: (field of cudaDeviceProp, cudaDeviceAttr) -> value. A kernel reaches
# registered host memory at the address that cudaHostGetDevicePointer gives, not at the host's.
_DIFFERENT = {("canUseHostPointerForRegisteredMem", 91): 0}

# By cudaLimit: stack size, printf FIFO, malloc heap, sync depth, pending launches, L2 fetch granularity, persisting L2.
# As an H200 gave them; the sync depth is not supported since CUDA 12.
DEFAULT_LIMITS = (1024, 8_650_752, 8 << 20, 0, 2048, 64, 0)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """`values`: fields of cudaDeviceProp by name, but `name`; `attributes`: cudaDeviceAttr -> value."""

    name: str
    values: dict[str, tuple[int, ...]]
    attributes: dict[int, int]


def view_of(spec: DeviceSpec, memory_bytes: int) -> DeviceView:
    """The view of a device of which `memory_bytes` can be allocated."""
    values: dict[str, tuple[int, ...]] = {}
    for field, value in cuda_properties(spec).items():
        if not isinstance(value, str):
            values[field] = value if isinstance(value, tuple) else (value,)
    values["totalGlobalMem"] = (memory_bytes,)
    attributes = cuda_attributes(spec)
    for (field, number), ours in _DIFFERENT.items():
        values[field] = (ours,)
        attributes[number] = ours
    return DeviceView(spec.name, values, attributes)


def c_fields() -> str:
    """The text of `property_fields.h`: each field of cudaDeviceProp and how many values it has."""
    view = view_of(load("h200"), 0)
    return "".join(f"FIELD({name}, {len(values)})\n" for name, values in view.values.items())
