"""Launches over a device's limits: the inequality that is violated, in words."""

from __future__ import annotations

from lanewise.hardware.capability import Limits
from lanewise.hardware.device import DeviceSpec
from lanewise.hardware.occupancy import occupancy, registers_checked_warps, registers_limit, registers_per_warp

PORTABLE_CLUSTER = 8  # CUDA C++ programming guide, thread block clusters: blocks of a cluster on every device
MAX_CLUSTER = 16  # with the non-portable size allowed, on compute capability 9.0


def refuse(
    spec: DeviceSpec | Limits,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    *,
    registers_per_thread: int = 0,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    dynamic_shared_allowed: int | None = None,
) -> str | None:
    """Why the launch cannot run, None where it can; shared memory in bytes a block.

    `dynamic_shared_allowed` is what cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) granted (None:
    not called, so that a block has `shared_per_block` bytes in all).
    """
    limits = spec if isinstance(spec, Limits) else spec.limits
    for what, sizes, most in (("grid", grid, limits.max_grid_dim), ("block", block, limits.max_block_dim)):
        for axis, size, limit in zip("xyz", sizes, most, strict=True):
            if size < 1:
                return f"{what}.{axis} = {size}, and every dimension is at least 1"
            if size > limit:
                return f"{what}.{axis} = {size} > {limit}, the largest {what} dimension {axis}"
    threads = block[0] * block[1] * block[2]
    if threads > limits.max_threads_per_block:
        shape = " x ".join(map(str, block))
        return f"{shape} = {threads} threads a block > {limits.max_threads_per_block}, the most a block can have"
    return _registers(limits, threads, registers_per_thread) or _shared(
        limits, static_shared, dynamic_shared, dynamic_shared_allowed
    )


def refuse_cluster(
    spec: DeviceSpec | Limits, grid: tuple[int, int, int], cluster: tuple[int, int, int], *, non_portable: bool = False
) -> str | None:
    """Why blocks of the grid cannot run in clusters of this size, None where they can.

    `non_portable` is what cudaFuncSetAttribute(cudaFuncAttributeNonPortableClusterSizeAllowed) granted.
    """
    limits = spec if isinstance(spec, Limits) else spec.limits
    shape, size = " x ".join(map(str, cluster)), cluster[0] * cluster[1] * cluster[2]
    if limits.compute_capability < (9, 0):
        major, minor = limits.compute_capability
        return f"compute capability {major}.{minor} < 9.0, the first that has clusters"
    if size < 1:
        return f"a cluster of {shape} blocks, and every dimension is at least 1"
    for axis, blocks, together in zip("xyz", grid, cluster, strict=True):
        if blocks % together:
            return f"grid.{axis} = {blocks} is no multiple of cluster.{axis} = {together}"
    if size > MAX_CLUSTER:
        return f"{shape} = {size} blocks a cluster > {MAX_CLUSTER}, the most a cluster can have"
    if size > PORTABLE_CLUSTER and not non_portable:
        return (
            f"{shape} = {size} blocks a cluster > {PORTABLE_CLUSTER}, the most without "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)"
        )
    return None


def resident_blocks(
    spec: DeviceSpec, threads: int, *, registers_per_thread: int, static_shared: int, dynamic_shared: int
) -> int:
    """Blocks that a device runs at one time: the most of a cooperative launch. Shared memory in bytes a block."""
    fitting = occupancy(
        spec,
        threads_per_block=threads,
        registers_per_thread=registers_per_thread,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
    )
    return fitting.active_blocks * spec.values.sm_count


def _registers(limits: Limits, threads: int, per_thread: int) -> str | None:
    if per_thread > limits.registers_per_thread:
        return f"{per_thread} registers a thread > {limits.registers_per_thread}, the most a thread can have"
    if registers_limit(limits, threads, per_thread) > 0:
        return None
    warps = registers_checked_warps(threads)
    per_warp = registers_per_warp(limits, per_thread)
    return (
        f"{warps} warps x {per_warp} registers (of {threads} threads at {per_thread} registers, rounded up as they are "
        f"allocated) = {warps * per_warp} registers a block > {limits.registers_per_block}, the most a block can have"
    )


def _shared(limits: Limits, static: int, dynamic: int, allowed: int | None) -> str | None:
    total = static + dynamic
    sum_text = f"{static} static + {dynamic} dynamic = {total} bytes of shared memory a block"
    if total > limits.shared_per_block_optin:
        return f"{sum_text} > {limits.shared_per_block_optin}, the most a block can have"
    if allowed is not None:
        if dynamic > max(allowed, limits.shared_per_block - static):
            return (
                f"{dynamic} bytes of dynamic shared memory > {allowed}, what cudaFuncSetAttribute allowed this kernel"
            )
        return None
    if total > limits.shared_per_block:
        return (
            f"{sum_text} > {limits.shared_per_block}, the most without "
            "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)"
        )
    return None
