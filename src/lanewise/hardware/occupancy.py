"""Theoretical occupancy, every limit that bounds it, and launches that exceed a device's limits.

The arithmetic is that of NVIDIA's occupancy calculator: registers go to warps in units and to partitions of the
multiprocessor (SM), shared memory to blocks in units and with the driver's reserve. Checked against 50 launches on an
H200 (`launch__occupancy_limit_*`) and, from compute capability 6.0 on, against NVIDIA's `cuda_occupancy.h`;
5.2 and 5.3 follow NVIDIA's spreadsheet, where a block draws registers from one half of the SM.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lanewise.hardware.capability import WARP_SIZE, Limits
from lanewise.hardware.device import DeviceSpec
from lanewise.records import Occupancy, OccupancyLimit

WARPS, BLOCKS, REGISTERS, SHARED_MEMORY = "warps", "blocks", "registers", "shared memory"
_CHECKED_PARTITIONS = 4  # the launch check assumes as many, also where there are two (6.0)
UNLIMITED = 1 << 30  # blocks, by a resource that the kernel does not use


def occupancy(
    spec: DeviceSpec | Limits,
    *,
    threads_per_block: int,
    registers_per_thread: int,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    carveout: int | None = None,
) -> Occupancy:
    """Blocks and warps resident on one SM; shared memory in bytes a block.

    `carveout` is the SM's shared memory in bytes as the driver set it (None: the largest size, as the CUDA runtime's
    occupancy functions assume). A block that cannot run at all gives zero blocks, with the limit that says so.
    """
    limits = spec if isinstance(spec, Limits) else spec.limits
    shared = static_shared + dynamic_shared
    by_resource = {
        WARPS: warps_limit(limits, threads_per_block),
        BLOCKS: limits.max_blocks_per_sm,
        REGISTERS: registers_limit(limits, threads_per_block, registers_per_thread),
        SHARED_MEMORY: shared_limit(limits, shared, carveout),
    }
    active = min(by_resource.values())
    binding = tuple(resource for resource, blocks in by_resource.items() if blocks == active)
    warps = _warps(threads_per_block)
    return Occupancy(
        active_blocks=active,
        active_warps=active * warps,
        max_warps=limits.max_warps_per_sm,
        limits=tuple(OccupancyLimit(resource, blocks) for resource, blocks in by_resource.items()),
        binding=binding,
        next_step=_next_step(limits, threads_per_block, registers_per_thread, shared, carveout, active, binding),
    )


def warps_limit(limits: Limits, threads_per_block: int) -> int:
    """Blocks by warp slots. Profiler: `launch__occupancy_limit_warps`."""
    if threads_per_block > limits.max_threads_per_block:
        return 0
    return limits.max_warps_per_sm // _warps(threads_per_block)


def registers_limit(limits: Limits, threads_per_block: int, registers_per_thread: int) -> int:
    """Blocks by registers. Profiler: `launch__occupancy_limit_registers`."""
    if registers_per_thread > limits.registers_per_thread:
        return 0
    warps, per_warp = _warps(threads_per_block), registers_per_warp(limits, registers_per_thread)
    if registers_checked_warps(threads_per_block) * per_warp > limits.registers_per_block:
        return 0
    if per_warp == 0:
        return UNLIMITED
    if limits.register_pool is not None:
        pools = limits.registers_per_sm // limits.register_pool
        in_pool = limits.register_pool // per_warp // limits.warp_unit * limits.warp_unit // warps
        if in_pool:
            return pools * in_pool
    in_partition = limits.registers_per_sm // limits.warp_unit // per_warp
    return in_partition * limits.warp_unit // warps


def registers_per_warp(limits: Limits, registers_per_thread: int) -> int:
    """Registers that a warp is given: in units of `register_unit`."""
    return _round_up(registers_per_thread * WARP_SIZE, limits.register_unit)


def registers_checked_warps(threads_per_block: int) -> int:
    """Warps that the launch check of `registers_per_block` counts: a multiple of the partitions."""
    return _round_up(_warps(threads_per_block), _CHECKED_PARTITIONS)


def shared_limit(limits: Limits, shared: int, carveout: int | None = None) -> int:
    """Blocks by shared memory, reserve included. Profiler: `launch__occupancy_limit_shared_mem`.

    A carve-out too small for one block is raised to the smallest that holds one.
    """
    if shared > limits.shared_per_block_optin:
        return 0
    allocated = shared_allocated(limits, shared)
    if allocated == 0:
        return UNLIMITED
    available = limits.shared_per_sm if carveout is None else carveout
    if allocated > available:
        available = min(size for size in limits.shared_carveouts if size >= allocated)
    return available // allocated


def shared_allocated(limits: Limits, shared: int) -> int:
    """Bytes that a block is given, with the driver's reserve (Profiler: `launch__shared_mem_per_block`, unrounded)."""
    return _round_up(shared + limits.shared_reserved, limits.shared_unit)


def _warps(threads_per_block: int) -> int:
    return -(-threads_per_block // WARP_SIZE)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@lru_cache(maxsize=1024)  # launches of a kernel come many times
def _next_step(
    limits: Limits,
    threads: int,
    registers: int,
    shared: int,
    carveout: int | None,
    active: int,
    binding: tuple[str, ...],
) -> str | None:
    """The smallest change that puts more warps on the SM, None at full occupancy."""
    warps = _warps(threads)
    if active * warps >= limits.max_warps_per_sm:
        return None
    if active and not {WARPS, BLOCKS} & set(binding):
        wanted = active + 1
        parts = []
        if REGISTERS in binding:
            fits = _largest(registers, lambda count: registers_limit(limits, threads, count) >= wanted)
            parts.append(None if fits is None else f"{fits} registers a thread instead of {registers}")
        if SHARED_MEMORY in binding:
            fits = _largest(shared, lambda size: shared_limit(limits, size, carveout) >= wanted)
            parts.append(None if fits is None else f"{fits} bytes of shared memory a block instead of {shared}")
        if None not in parts:
            return f"with {' and '.join(str(part) for part in parts)}: {_counted(wanted, warps)} an SM"
    return _other_block_size(limits, threads, registers, shared, carveout, active * warps)


def _counted(blocks: int, warps: int) -> str:
    return f"{blocks} block{'s' if blocks > 1 else ''} of {warps} warp{'s' if warps > 1 else ''}"


def _largest(current: int, fits: Callable[[int], bool]) -> int | None:
    """The largest value below `current` that fits, where whatever fits does so for all smaller values too."""
    low, high = -1, current  # low fits (or is -1), high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low if low > 0 else None


def _other_block_size(
    limits: Limits, threads: int, registers: int, shared: int, carveout: int | None, active_warps: int
) -> str | None:
    """The block size that keeps most warps resident (the nearest of them), at the same shared memory a block."""

    def resident(size: int) -> int:
        blocks = min(
            warps_limit(limits, size),
            limits.max_blocks_per_sm,
            registers_limit(limits, size, registers),
            shared_limit(limits, shared, carveout),
        )
        return blocks * _warps(size)

    sizes = range(WARP_SIZE, limits.max_threads_per_block + 1, WARP_SIZE)
    size = max(sizes, key=lambda candidate: (resident(candidate), -abs(candidate - threads), -candidate))
    if resident(size) <= active_warps:
        return None
    of_all = f"{resident(size)} of {limits.max_warps_per_sm}"
    return f"blocks of {size} instead of {threads} threads keep {of_all} warps resident"
