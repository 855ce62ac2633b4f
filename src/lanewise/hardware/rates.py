"""What the model of time knows of a device: the table `rates` of its file, every value with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates are warp instructions a clock and SM, latencies are clocks of the SM, GB are 10^9 bytes.

    A latency is from the issue of an instruction to the issue of one that needs its result. Those of `l1`, `l2` and
    `dram` are of loads whose sectors come from there.
    """

    issue_rate: float
    fma_rate: float
    imad_rate: float
    alu_rate: float
    fp64_rate: float
    half_rate: float
    xu_rate: float
    conversion_rate: float
    lsu_rate: float  # memory instructions and shuffles
    uniform_rate: float
    branch_rate: float
    tensor_fp16_tflops: float  # dense, with sums in f32, also of bf16; 0 without tensor cores
    tensor_tf32_tflops: float  # the same, 0 where a device has no such units
    tensor_fp8_tflops: float
    tensor_int8_tops: float
    tensor_fp64_tflops: float
    mma_clocks: float  # that an instruction of one warp takes beside its operations
    fma_latency: float
    imad_latency: float
    alu_latency: float
    fp64_latency: float
    half_latency: float
    xu_latency: float
    conversion_latency: float
    shuffle_latency: float
    uniform_latency: float
    constant_latency: float
    tensor_latency: float
    warpgroup_latency: (
        float  # from the last matrix instruction of a warpgroup at the core to the warps that wait for it
    )
    texture_latency: float  # of a texel in the L1
    branch_latency: float
    barrier_latency: float  # of one warp alone
    barrier_rate: float  # warps that arrive at barriers, a clock and SM
    shared_latency: float
    shared_wave_clocks: float  # that each further wavefront adds to the latency of a load
    shared_atomic_latency: float
    l1_latency: float
    l2_latency: float
    dram_latency: float
    l2_spread: float  # more that the slowest of 32 loads at once takes
    dram_spread: float
    atomic_latency: float
    shared_wavefronts: float  # a clock and SM
    lsu_off_clocks: float  # of a memory instruction whose predicate holds in no lane
    l1_lines: float  # lines of 128 bytes that a load or store may ask for, a clock and SM
    l1_bytes: float  # a clock and SM
    l1_fill_sectors: float  # sectors that come into the L1, a clock and SM; its banks serve no loads meanwhile
    constant_clocks: float  # for each further address in a warp
    constant_cache_bytes: float  # of the first cache of constant memory
    constant_miss_clocks: float  # for each line of 64 bytes that it does not hold
    texture_clocks: float  # of a request, at least
    texture_sectors: float  # that the texture unit takes from the L1, a clock and SM
    bulk_latency: float  # of a bulk copy, beside that of the L2 or DRAM
    bulk_bytes: float  # that bulk copies bring into shared memory, a clock and SM
    l2_port_bytes: float  # between an SM and the L2, a clock
    l2_read_gb_s: float
    l2_write_gb_s: float
    l2_requests: float  # lines that loads ask for, a clock of the SM and device
    l2_partial_sectors: float  # sectors written in part, the same
    l2_slices: float  # parts of the L2 that work side by side
    l2_reuse_bytes: float  # what is found again in the L2 by all SMs
    coalescing_sms: float  # SMs whose requests to the L2 for the same are made once
    dram_gb_s: float  # reached by plain streams
    dram_turn: float  # more time for bytes of which half are written
    dram_access_bytes: float  # read at once
    atomic_clocks: float  # between two atomics in one slice, ...
    atomic_float_clocks: float  # ... and between sums of floating point
    launch_us: float  # of a kernel that does nothing
    blocks_per_us: float  # started, device
    block_latency: float  # clocks from the end of a block to the start of the next in its place
    event_us: float  # what two events around a launch measure beside it
    host_gb_s: float = (
        27.5  # copies between host and device, each direction; PCI Express 4.0 x16, half of what 5.0 gives
    )
