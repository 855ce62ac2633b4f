"""The device as a program sees it: `cudaDeviceProp`, `cudaDeviceGetAttribute`, `cudaDeviceGetLimit`.

Sources: driver_types.h of CUDA 13.0 for fields and attribute numbers; limits of textures and surfaces from the CUDA C++
Programming Guide 13.0, "Technical Specifications per Compute Capability" (equal for 7.5 to 12.x).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Fields of cudaDeviceProp and how many values each has; `name`, `uuid` and `luid` are not numbers.
FIELDS: dict[str, int] = {
    "totalGlobalMem": 1, "sharedMemPerBlock": 1, "regsPerBlock": 1, "warpSize": 1, "memPitch": 1,
    "maxThreadsPerBlock": 1, "maxThreadsDim": 3, "maxGridSize": 3, "totalConstMem": 1, "major": 1, "minor": 1,
    "textureAlignment": 1, "texturePitchAlignment": 1, "multiProcessorCount": 1, "integrated": 1,
    "canMapHostMemory": 1, "maxTexture1D": 1, "maxTexture1DMipmap": 1, "maxTexture2D": 2, "maxTexture2DMipmap": 2,
    "maxTexture2DLinear": 3, "maxTexture2DGather": 2, "maxTexture3D": 3, "maxTexture3DAlt": 3, "maxTextureCubemap": 1,
    "maxTexture1DLayered": 2, "maxTexture2DLayered": 3, "maxTextureCubemapLayered": 2, "maxSurface1D": 1,
    "maxSurface2D": 2, "maxSurface3D": 3, "maxSurface1DLayered": 2, "maxSurface2DLayered": 3, "maxSurfaceCubemap": 1,
    "maxSurfaceCubemapLayered": 2, "surfaceAlignment": 1, "concurrentKernels": 1, "ECCEnabled": 1, "pciBusID": 1,
    "pciDeviceID": 1, "pciDomainID": 1, "tccDriver": 1, "asyncEngineCount": 1, "unifiedAddressing": 1,
    "memoryBusWidth": 1, "l2CacheSize": 1, "persistingL2CacheMaxSize": 1, "maxThreadsPerMultiProcessor": 1,
    "streamPrioritiesSupported": 1, "globalL1CacheSupported": 1, "localL1CacheSupported": 1,
    "sharedMemPerMultiprocessor": 1, "regsPerMultiprocessor": 1, "managedMemory": 1, "isMultiGpuBoard": 1,
    "multiGpuBoardGroupID": 1, "hostNativeAtomicSupported": 1, "pageableMemoryAccess": 1, "concurrentManagedAccess": 1,
    "computePreemptionSupported": 1, "canUseHostPointerForRegisteredMem": 1, "cooperativeLaunch": 1,
    "sharedMemPerBlockOptin": 1, "pageableMemoryAccessUsesHostPageTables": 1, "directManagedMemAccessFromHost": 1,
    "maxBlocksPerMultiProcessor": 1, "accessPolicyMaxWindowSize": 1, "reservedSharedMemPerBlock": 1,
    "hostRegisterSupported": 1, "sparseCudaArraySupported": 1, "hostRegisterReadOnlySupported": 1,
    "timelineSemaphoreInteropSupported": 1, "memoryPoolsSupported": 1, "gpuDirectRDMASupported": 1,
    "gpuDirectRDMAFlushWritesOptions": 1, "gpuDirectRDMAWritesOrdering": 1, "memoryPoolSupportedHandleTypes": 1,
    "deferredMappingCudaArraySupported": 1, "ipcEventSupported": 1, "clusterLaunch": 1, "unifiedFunctionPointers": 1,
    "deviceNumaConfig": 1, "deviceNumaId": 1, "mpsEnabled": 1, "hostNumaId": 1, "gpuPciDeviceID": 1,
    "gpuPciSubsystemID": 1, "hostNumaMultinodeIpcSupported": 1,
}  # fmt: skip

# Values that attributes ask for and cudaDeviceProp of CUDA 13 no longer has.
EXTRA = frozenset(
    {
        "clockRate",
        "memoryClockRate",
        "computeMode",
        "kernelExecTimeoutEnabled",
        "gpuOverlap",
        "singleToDoublePrecisionPerfRatio",
    }
)

# cudaDeviceAttr -> (field, index)
ATTRIBUTES: dict[int, tuple[str, int]] = {
    1: ("maxThreadsPerBlock", 0), 2: ("maxThreadsDim", 0), 3: ("maxThreadsDim", 1), 4: ("maxThreadsDim", 2),
    5: ("maxGridSize", 0), 6: ("maxGridSize", 1), 7: ("maxGridSize", 2), 8: ("sharedMemPerBlock", 0),
    9: ("totalConstMem", 0), 10: ("warpSize", 0), 11: ("memPitch", 0), 12: ("regsPerBlock", 0), 13: ("clockRate", 0),
    14: ("textureAlignment", 0), 15: ("gpuOverlap", 0), 16: ("multiProcessorCount", 0),
    17: ("kernelExecTimeoutEnabled", 0), 18: ("integrated", 0), 19: ("canMapHostMemory", 0), 20: ("computeMode", 0),
    21: ("maxTexture1D", 0), 22: ("maxTexture2D", 0), 23: ("maxTexture2D", 1), 24: ("maxTexture3D", 0),
    25: ("maxTexture3D", 1), 26: ("maxTexture3D", 2), 27: ("maxTexture2DLayered", 0), 28: ("maxTexture2DLayered", 1),
    29: ("maxTexture2DLayered", 2), 30: ("surfaceAlignment", 0), 31: ("concurrentKernels", 0), 32: ("ECCEnabled", 0),
    33: ("pciBusID", 0), 34: ("pciDeviceID", 0), 35: ("tccDriver", 0), 36: ("memoryClockRate", 0),
    37: ("memoryBusWidth", 0), 38: ("l2CacheSize", 0), 39: ("maxThreadsPerMultiProcessor", 0),
    40: ("asyncEngineCount", 0), 41: ("unifiedAddressing", 0), 42: ("maxTexture1DLayered", 0),
    43: ("maxTexture1DLayered", 1), 45: ("maxTexture2DGather", 0), 46: ("maxTexture2DGather", 1),
    47: ("maxTexture3DAlt", 0), 48: ("maxTexture3DAlt", 1), 49: ("maxTexture3DAlt", 2), 50: ("pciDomainID", 0),
    51: ("texturePitchAlignment", 0), 52: ("maxTextureCubemap", 0), 53: ("maxTextureCubemapLayered", 0),
    54: ("maxTextureCubemapLayered", 1), 55: ("maxSurface1D", 0), 56: ("maxSurface2D", 0), 57: ("maxSurface2D", 1),
    58: ("maxSurface3D", 0), 59: ("maxSurface3D", 1), 60: ("maxSurface3D", 2), 61: ("maxSurface1DLayered", 0),
    62: ("maxSurface1DLayered", 1), 63: ("maxSurface2DLayered", 0), 64: ("maxSurface2DLayered", 1),
    65: ("maxSurface2DLayered", 2), 66: ("maxSurfaceCubemap", 0), 67: ("maxSurfaceCubemapLayered", 0),
    68: ("maxSurfaceCubemapLayered", 1), 69: ("maxTexture1D", 0), 70: ("maxTexture2DLinear", 0),
    71: ("maxTexture2DLinear", 1), 72: ("maxTexture2DLinear", 2), 73: ("maxTexture2DMipmap", 0),
    74: ("maxTexture2DMipmap", 1), 75: ("major", 0), 76: ("minor", 0), 77: ("maxTexture1DMipmap", 0),
    78: ("streamPrioritiesSupported", 0), 79: ("globalL1CacheSupported", 0), 80: ("localL1CacheSupported", 0),
    81: ("sharedMemPerMultiprocessor", 0), 82: ("regsPerMultiprocessor", 0), 83: ("managedMemory", 0),
    84: ("isMultiGpuBoard", 0), 85: ("multiGpuBoardGroupID", 0), 86: ("hostNativeAtomicSupported", 0),
    87: ("singleToDoublePrecisionPerfRatio", 0), 88: ("pageableMemoryAccess", 0), 89: ("concurrentManagedAccess", 0),
    90: ("computePreemptionSupported", 0), 91: ("canUseHostPointerForRegisteredMem", 0), 95: ("cooperativeLaunch", 0),
    97: ("sharedMemPerBlockOptin", 0), 99: ("hostRegisterSupported", 0),
    100: ("pageableMemoryAccessUsesHostPageTables", 0), 101: ("directManagedMemAccessFromHost", 0),
    106: ("maxBlocksPerMultiProcessor", 0), 108: ("persistingL2CacheMaxSize", 0), 109: ("accessPolicyMaxWindowSize", 0),
    111: ("reservedSharedMemPerBlock", 0), 112: ("sparseCudaArraySupported", 0),
    113: ("hostRegisterReadOnlySupported", 0), 114: ("timelineSemaphoreInteropSupported", 0),
    115: ("memoryPoolsSupported", 0), 116: ("gpuDirectRDMASupported", 0), 117: ("gpuDirectRDMAFlushWritesOptions", 0),
    118: ("gpuDirectRDMAWritesOrdering", 0), 119: ("memoryPoolSupportedHandleTypes", 0), 120: ("clusterLaunch", 0),
    121: ("deferredMappingCudaArraySupported", 0), 125: ("ipcEventSupported", 0), 130: ("deviceNumaConfig", 0),
    131: ("deviceNumaId", 0), 133: ("mpsEnabled", 0), 134: ("hostNumaId", 0), 139: ("gpuPciDeviceID", 0),
    140: ("gpuPciSubsystemID", 0), 143: ("hostNumaMultinodeIpcSupported", 0),
}  # fmt: skip

# What is the same for every device here: limits of textures, and what this runtime itself can do.
COMMON: dict[str, tuple[int, ...]] = {
    "warpSize": (32,), "memPitch": (2**31 - 1,), "totalConstMem": (65536,), "textureAlignment": (512,),
    "texturePitchAlignment": (32,), "surfaceAlignment": (512,), "maxTexture1D": (131072,),
    "maxTexture1DMipmap": (32768,), "maxTexture2D": (131072, 65536), "maxTexture2DMipmap": (32768, 32768),
    "maxTexture2DLinear": (131072, 65000, 2097120), "maxTexture2DGather": (32768, 32768),
    "maxTexture3D": (16384, 16384, 16384), "maxTexture3DAlt": (8192, 8192, 32768), "maxTextureCubemap": (32768,),
    "maxTexture1DLayered": (32768, 2048), "maxTexture2DLayered": (32768, 32768, 2048),
    "maxTextureCubemapLayered": (32768, 2046), "maxSurface1D": (32768,), "maxSurface2D": (131072, 65536),
    "maxSurface3D": (16384, 16384, 16384), "maxSurface1DLayered": (32768, 2048),
    "maxSurface2DLayered": (32768, 32768, 2048), "maxSurfaceCubemap": (32768,),
    "maxSurfaceCubemapLayered": (32768, 2046), "canMapHostMemory": (1,), "concurrentKernels": (1,),
    "unifiedAddressing": (1,), "streamPrioritiesSupported": (1,), "globalL1CacheSupported": (1,),
    "localL1CacheSupported": (1,), "managedMemory": (1,), "concurrentManagedAccess": (1,),
    "computePreemptionSupported": (1,), "cooperativeLaunch": (1,), "hostRegisterSupported": (1,),
    "memoryPoolsSupported": (1,), "pciBusID": (1,), "hostNumaId": (-1,), "deviceNumaId": (-1,), "gpuOverlap": (1,),
}  # fmt: skip

_REQUIRED = frozenset(
    {
        "totalGlobalMem", "sharedMemPerBlock", "regsPerBlock", "maxThreadsPerBlock", "maxThreadsDim", "maxGridSize",
        "major", "minor", "multiProcessorCount", "memoryBusWidth", "l2CacheSize", "maxThreadsPerMultiProcessor",
        "sharedMemPerMultiprocessor", "regsPerMultiprocessor", "sharedMemPerBlockOptin", "maxBlocksPerMultiProcessor",
        "reservedSharedMemPerBlock", "clockRate", "memoryClockRate",
    }
)  # fmt: skip

# By cudaLimit: stack size, printf FIFO, malloc heap, sync depth, pending launches, L2 fetch granularity, persisting L2.
DEFAULT_LIMITS = (1024, 7 << 20, 8 << 20, 2, 2048, 64, 0)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """One device as the runtime shows it: numbers by field of cudaDeviceProp (and of `EXTRA`)."""

    name: str
    values: Mapping[str, tuple[int, ...]]
    uuid: bytes = bytes(16)

    def one(self, field: str, index: int = 0) -> int:
        """One number; 0 for a field that no device sets. KeyError for a name that is no field."""
        if field not in FIELDS and field not in EXTRA:
            raise KeyError(field)
        return self.values.get(field, (0,) * 3)[index]

    def attributes(self) -> dict[int, int]:
        """cudaDeviceAttr -> value."""
        return {number: self.one(field, index) for number, (field, index) in ATTRIBUTES.items()}


def device_view(name: str, values: Mapping[str, int | tuple[int, ...]]) -> DeviceView:
    """A view from the values of a device, by field name; what all devices share is filled in.

    ValueError for an unknown or missing field, or one with the wrong number of values.
    """
    given = {field: (value,) if isinstance(value, int) else tuple(value) for field, value in values.items()}
    missing, unknown = _REQUIRED - given.keys(), given.keys() - FIELDS.keys() - EXTRA
    wrong = sorted(field for field, numbers in given.items() if len(numbers) != FIELDS.get(field, 1))
    if missing or unknown or wrong:
        raise ValueError(f"missing {sorted(missing)}, unknown {sorted(unknown)}, wrong number of values {wrong}")
    return DeviceView(name, {**COMMON, **given})


def c_fields() -> str:
    """The text of `property_fields.h`."""
    return "".join(f"FIELD({name}, {count})\n" for name, count in FIELDS.items())
