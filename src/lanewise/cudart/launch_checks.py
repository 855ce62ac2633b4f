"""What the runtime refuses before a kernel starts: with which error, and why in words."""

from __future__ import annotations

from math import prod

from lanewise.cudart.backend import FunctionInfo, LaunchRequest
from lanewise.cudart.codes import CudaError
from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.launch import refuse, refuse_cluster, resident_blocks
from lanewise.hardware.occupancy import occupancy, registers_limit


def check(
    request: LaunchRequest, spec: DeviceSpec, max_dynamic_shared: int | None, *, non_portable: bool = False
) -> tuple[CudaError, str] | None:
    """None, or the error that cudaLaunchKernel returns for this configuration and its reason.

    The errors are those of an H200 with a driver for CUDA 13.0: sizes over the limits are all "invalid argument".

    `max_dynamic_shared`: what cudaFuncSetAttribute allowed, in bytes; None where it was not called. `non_portable`: it
    allowed clusters of more blocks than every device has room for.
    """
    function, threads = request.function, prod(request.block)
    registers = function.resources.registers
    reason = refuse(spec, request.grid, request.block)
    if reason:
        return CudaError.INVALID_VALUE, reason
    bound = function.max_threads_per_block
    if bound is not None and threads > bound:
        return CudaError.INVALID_VALUE, f"{threads} threads a block > {bound}, the kernel's launch bound"
    reason = refuse(spec, request.grid, request.block, registers_per_thread=registers)
    if reason:
        return CudaError.LAUNCH_OUT_OF_RESOURCES, reason
    shared = request.dynamic_shared_bytes
    reason = refuse(
        spec,
        request.grid,
        request.block,
        static_shared=function.resources.static_shared_bytes,
        dynamic_shared=shared,
        dynamic_shared_allowed=max_dynamic_shared,
    )
    if reason:
        return CudaError.INVALID_VALUE, reason
    cluster = request.cluster or function.cluster
    if request.cluster is not None and function.cluster is not None and request.cluster != function.cluster:
        given, compiled = (" x ".join(map(str, shape)) for shape in (request.cluster, function.cluster))
        return CudaError.INVALID_CLUSTER_SIZE, f"a cluster of {given} blocks, and the kernel is compiled for {compiled}"
    if cluster is not None:
        reason = refuse_cluster(spec, request.grid, cluster, non_portable=non_portable)
        if reason:
            return CudaError.INVALID_CLUSTER_SIZE, reason
    if request.cooperative:
        fit = resident_blocks(
            spec,
            threads,
            registers_per_thread=registers,
            static_shared=function.resources.static_shared_bytes,
            dynamic_shared=shared,
        )
        if prod(request.grid) > fit:
            return (
                CudaError.COOPERATIVE_LAUNCH_TOO_LARGE,
                f"{prod(request.grid)} blocks of a cooperative launch > {fit}, the most that run at one time",
            )
    return None


def active_blocks(function: FunctionInfo, threads: int, dynamic_shared: int, spec: DeviceSpec) -> int:
    """How many such blocks fit one multiprocessor at a time."""
    return occupancy(
        spec,
        threads_per_block=threads,
        registers_per_thread=function.resources.registers,
        static_shared=function.resources.static_shared_bytes,
        dynamic_shared=dynamic_shared,
    ).active_blocks


def max_threads(function: FunctionInfo, spec: DeviceSpec) -> int:
    """The largest block a kernel can be launched with, by its launch bound and its registers."""
    most = min(function.max_threads_per_block or spec.limits.max_threads_per_block, spec.limits.max_threads_per_block)
    while most > 32 and registers_limit(spec.limits, most, function.resources.registers) == 0:
        most = (most - 1) // 32 * 32
    return most


def default_dynamic_shared(function: FunctionInfo, spec: DeviceSpec) -> int:
    """Dynamic shared memory a kernel may use before cudaFuncSetAttribute: what static memory leaves of a block's."""
    return max(0, spec.limits.shared_per_block - function.resources.static_shared_bytes)


def allows_dynamic_shared(function: FunctionInfo, value: int, spec: DeviceSpec) -> bool:
    """Whether cudaFuncAttributeMaxDynamicSharedMemorySize takes a value."""
    return 0 <= value <= spec.limits.shared_per_block_optin - function.resources.static_shared_bytes
