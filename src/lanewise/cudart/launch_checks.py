"""What the runtime refuses before a kernel starts, and with which error."""

from __future__ import annotations

from math import prod

from lanewise.cudart.backend import Backend, Dim3, FunctionInfo, LaunchRequest
from lanewise.cudart.codes import CudaError
from lanewise.cudart.properties import DeviceView


def check(request: LaunchRequest, backend: Backend, max_dynamic_shared: int) -> CudaError:
    """SUCCESS, or the error that cudaLaunchKernel returns for this configuration.

    `max_dynamic_shared`: what cudaFuncSetAttribute allows, in bytes.
    """
    view, function = backend.view, request.function
    if not _within(request.grid, view, "maxGridSize") or not _within(request.block, view, "maxThreadsDim"):
        return CudaError.INVALID_CONFIGURATION
    threads = prod(request.block)
    if threads > view.one("maxThreadsPerBlock"):
        return CudaError.INVALID_CONFIGURATION
    if threads > function.max_threads_per_block:
        return CudaError.LAUNCH_OUT_OF_RESOURCES
    if request.dynamic_shared_bytes > max_dynamic_shared:
        return CudaError.INVALID_VALUE
    if request.cooperative:
        fit = backend.active_blocks(function, threads, request.dynamic_shared_bytes)
        if prod(request.grid) > fit * view.one("multiProcessorCount"):
            return CudaError.COOPERATIVE_LAUNCH_TOO_LARGE
    return CudaError.SUCCESS


def default_dynamic_shared(function: FunctionInfo, view: DeviceView) -> int:
    """Dynamic shared memory a kernel may use before cudaFuncSetAttribute: what static memory leaves of a block's."""
    return max(0, view.one("sharedMemPerBlock") - function.resources.static_shared_bytes)


def allows_dynamic_shared(function: FunctionInfo, value: int, view: DeviceView) -> bool:
    """Whether cudaFuncAttributeMaxDynamicSharedMemorySize takes a value."""
    return 0 <= value <= view.one("sharedMemPerBlockOptin") - function.resources.static_shared_bytes


def _within(size: Dim3, view: DeviceView, field: str) -> bool:
    return all(0 < size[axis] <= view.one(field, axis) for axis in range(3))
