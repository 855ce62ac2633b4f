"""What the CUDA runtime says of a device: the fields of cudaDeviceProp, and cudaDeviceGetAttribute by number.

Values that depend on neither the card nor its compute capability are as a driver for CUDA 13.0 gave them on an H200
under Linux (`tests/truth/h200_attributes.json`); texture and surface sizes are those of the CUDA C++ Programming Guide
for compute capability 7.5 to 12.1.
"""

from __future__ import annotations

from lanewise.hardware.capability import WARP_SIZE
from lanewise.hardware.device import DeviceSpec

Property = int | str | tuple[int, ...]


def cuda_properties(spec: DeviceSpec) -> dict[str, Property]:
    """cudaDeviceProp of CUDA 13 by field name, in the struct's order; arrays are tuples, bytes and identifiers zero.

    Left out, for the caller to fill with zeros: `uuid`, `luid`, `reserved`.
    """
    limits, values = spec.limits, spec.values
    major, minor = spec.compute_capability
    return {
        "name": spec.name,
        "luidDeviceNodeMask": 0,
        "totalGlobalMem": values.memory_bytes,
        "sharedMemPerBlock": limits.shared_per_block,
        "regsPerBlock": limits.registers_per_block,
        "warpSize": WARP_SIZE,
        "memPitch": 2147483647,
        "maxThreadsPerBlock": limits.max_threads_per_block,
        "maxThreadsDim": limits.max_block_dim,
        "maxGridSize": limits.max_grid_dim,
        "totalConstMem": 65536,
        "major": major,
        "minor": minor,
        "textureAlignment": 512,
        "texturePitchAlignment": 32,
        "multiProcessorCount": values.sm_count,
        "integrated": 0,
        "canMapHostMemory": 1,
        "maxTexture1D": 131072,
        "maxTexture1DMipmap": 32768,
        "maxTexture2D": (131072, 65536),
        "maxTexture2DMipmap": (32768, 32768),
        "maxTexture2DLinear": (131072, 65000, 2097120),
        "maxTexture2DGather": (32768, 32768),
        "maxTexture3D": (16384, 16384, 16384),
        "maxTexture3DAlt": (8192, 8192, 32768),
        "maxTextureCubemap": 32768,
        "maxTexture1DLayered": (32768, 2048),
        "maxTexture2DLayered": (32768, 32768, 2048),
        "maxTextureCubemapLayered": (32768, 2046),
        "maxSurface1D": 32768,
        "maxSurface2D": (131072, 65536),
        "maxSurface3D": (16384, 16384, 16384),
        "maxSurface1DLayered": (32768, 2048),
        "maxSurface2DLayered": (32768, 32768, 2048),
        "maxSurfaceCubemap": 32768,
        "maxSurfaceCubemapLayered": (32768, 2046),
        "surfaceAlignment": 512,
        "concurrentKernels": 1,
        "ECCEnabled": int(values.ecc),
        "pciBusID": 0,
        "pciDeviceID": 0,
        "pciDomainID": 0,
        "tccDriver": 0,
        "asyncEngineCount": values.copy_engines,
        "unifiedAddressing": 1,
        "memoryBusWidth": values.memory_bus_bits,
        "l2CacheSize": values.l2_bytes,
        "persistingL2CacheMaxSize": values.persisting_l2_bytes,
        "maxThreadsPerMultiProcessor": limits.max_threads_per_sm,
        "streamPrioritiesSupported": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "sharedMemPerMultiprocessor": limits.shared_per_sm,
        "regsPerMultiprocessor": limits.registers_per_sm,
        "managedMemory": 1,
        "isMultiGpuBoard": 0,
        "multiGpuBoardGroupID": 0,
        "hostNativeAtomicSupported": 0,
        "pageableMemoryAccess": 0,
        "concurrentManagedAccess": 1,
        "computePreemptionSupported": 1,
        "canUseHostPointerForRegisteredMem": 1,
        "cooperativeLaunch": 1,
        "sharedMemPerBlockOptin": limits.shared_per_block_optin,
        "pageableMemoryAccessUsesHostPageTables": 0,
        "directManagedMemAccessFromHost": 0,
        "maxBlocksPerMultiProcessor": limits.max_blocks_per_sm,
        "accessPolicyMaxWindowSize": 134217728 if values.persisting_l2_bytes else 0,
        "reservedSharedMemPerBlock": limits.shared_reserved,
        "hostRegisterSupported": 1,
        "sparseCudaArraySupported": 1,
        "hostRegisterReadOnlySupported": 1,
        "timelineSemaphoreInteropSupported": 1,
        "memoryPoolsSupported": 1,
        "gpuDirectRDMASupported": int(values.gpu_direct_rdma),
        "gpuDirectRDMAFlushWritesOptions": 1,
        "gpuDirectRDMAWritesOrdering": 100,
        "memoryPoolSupportedHandleTypes": values.memory_pool_handle_types,
        "deferredMappingCudaArraySupported": 1,
        "ipcEventSupported": 1,
        "clusterLaunch": int(major >= 9),
        "unifiedFunctionPointers": 1,
        "deviceNumaConfig": 0,
        "deviceNumaId": -1,
        "mpsEnabled": 0,
        "hostNumaId": 0,
        "gpuPciDeviceID": values.pci_device_id,
        "gpuPciSubsystemID": 0,
        "hostNumaMultinodeIpcSupported": 0,
    }


def cuda_attributes(spec: DeviceSpec) -> dict[int, int]:
    """cudaDeviceGetAttribute: the value of each cudaDeviceAttr, by its number."""
    properties = cuda_properties(spec)
    found: dict[int, int] = {}
    for first, name in _ATTRIBUTES.items():
        value = properties[name]
        assert not isinstance(value, str)
        parts = value if isinstance(value, tuple) else (value,)
        found.update({first + offset: part for offset, part in enumerate(parts)})
    return found | {
        13: spec.values.sm_clock_khz,
        15: int(spec.values.copy_engines > 0),  # GpuOverlap
        17: 0,  # KernelExecTimeout
        20: 0,  # ComputeMode: default
        36: spec.values.memory_clock_khz,
        69: 268435456,  # MaxTexture1DLinearWidth
        87: spec.limits.fp32_per_fp64,
        98: 0,  # CanFlushRemoteWrites
        126: 4 if spec.compute_capability[0] >= 9 else 1,  # MemSyncDomainCount
        135: 0,  # D3D12CigSupported
        138: 0,  # VulkanCigSupported
        142: 1,  # HostNumaMemoryPoolsSupported
        144: 1,  # HostMemoryPoolsSupported
        147: 0,  # OnlyPartialHostNativeAtomicSupported
    }


# Number of the cudaDeviceAttr (of the first, where a property has several) -> field of cudaDeviceProp.
_ATTRIBUTES = {
    1: "maxThreadsPerBlock",
    2: "maxThreadsDim",
    5: "maxGridSize",
    8: "sharedMemPerBlock",
    9: "totalConstMem",
    10: "warpSize",
    11: "memPitch",
    12: "regsPerBlock",
    14: "textureAlignment",
    16: "multiProcessorCount",
    18: "integrated",
    19: "canMapHostMemory",
    21: "maxTexture1D",
    22: "maxTexture2D",
    24: "maxTexture3D",
    27: "maxTexture2DLayered",
    30: "surfaceAlignment",
    31: "concurrentKernels",
    32: "ECCEnabled",
    33: "pciBusID",
    34: "pciDeviceID",
    35: "tccDriver",
    37: "memoryBusWidth",
    38: "l2CacheSize",
    39: "maxThreadsPerMultiProcessor",
    40: "asyncEngineCount",
    41: "unifiedAddressing",
    42: "maxTexture1DLayered",
    45: "maxTexture2DGather",
    47: "maxTexture3DAlt",
    50: "pciDomainID",
    51: "texturePitchAlignment",
    52: "maxTextureCubemap",
    53: "maxTextureCubemapLayered",
    55: "maxSurface1D",
    56: "maxSurface2D",
    58: "maxSurface3D",
    61: "maxSurface1DLayered",
    63: "maxSurface2DLayered",
    66: "maxSurfaceCubemap",
    67: "maxSurfaceCubemapLayered",
    70: "maxTexture2DLinear",
    73: "maxTexture2DMipmap",
    75: "major",
    76: "minor",
    77: "maxTexture1DMipmap",
    78: "streamPrioritiesSupported",
    79: "globalL1CacheSupported",
    80: "localL1CacheSupported",
    81: "sharedMemPerMultiprocessor",
    82: "regsPerMultiprocessor",
    83: "managedMemory",
    84: "isMultiGpuBoard",
    85: "multiGpuBoardGroupID",
    86: "hostNativeAtomicSupported",
    88: "pageableMemoryAccess",
    89: "concurrentManagedAccess",
    90: "computePreemptionSupported",
    91: "canUseHostPointerForRegisteredMem",
    95: "cooperativeLaunch",
    97: "sharedMemPerBlockOptin",
    99: "hostRegisterSupported",
    100: "pageableMemoryAccessUsesHostPageTables",
    101: "directManagedMemAccessFromHost",
    106: "maxBlocksPerMultiProcessor",
    108: "persistingL2CacheMaxSize",
    109: "accessPolicyMaxWindowSize",
    111: "reservedSharedMemPerBlock",
    112: "sparseCudaArraySupported",
    113: "hostRegisterReadOnlySupported",
    114: "timelineSemaphoreInteropSupported",
    115: "memoryPoolsSupported",
    116: "gpuDirectRDMASupported",
    117: "gpuDirectRDMAFlushWritesOptions",
    118: "gpuDirectRDMAWritesOrdering",
    119: "memoryPoolSupportedHandleTypes",
    120: "clusterLaunch",
    121: "deferredMappingCudaArraySupported",
    125: "ipcEventSupported",
    130: "deviceNumaConfig",
    131: "deviceNumaId",
    133: "mpsEnabled",
    134: "hostNumaId",
    139: "gpuPciDeviceID",
    140: "gpuPciSubsystemID",
    143: "hostNumaMultinodeIpcSupported",
}
