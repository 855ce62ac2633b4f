"""Run the micro-benchmarks of `kernels.cu` and derive the table `rates` of a device file from them.

Clocks are of the SM (`%clock64`), read in the kernel; times are between two events, less those of an empty kernel.
Nothing here depends on what programs the model is judged by.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.hardware import device
from lanewise.measure import compiler
from lanewise.measure.driver import Driver

Pointer, Int, Unsigned, Long, Size = ctypes.c_uint64, ctypes.c_int, ctypes.c_uint, ctypes.c_longlong, ctypes.c_ulonglong
Tell = Callable[[str], None]
MB = 1 << 20
_SM_COUNT, _MAJOR, _MINOR, _L2, _THREADS_OF_SM = 16, 75, 76, 38, 39  # CUdevice_attribute
_HAS_MATRICES, _HAS_BULK_COPIES, _HAS_WARPGROUPS = 8, 9, 9  # major compute capabilities
_TYPES: dict[str, Any] = {"ffma": ctypes.c_float, "dfma": ctypes.c_double, "rsqrt": ctypes.c_float, "imad": Unsigned,
          "lop3": Unsigned, "shfl": Unsigned, "hfma2": Unsigned, "convert": ctypes.c_float}  # fmt: skip
_CHAIN = 32  # instructions of one trip
_TRIPS = 64
_PARTITIONS = 4  # of an SM, each with a tensor core
_MATRIX = 2 * 16 * 8 * 16  # operations of the matrix instruction
_WARM_UP = 400_000_000  # clocks, a fifth of a second
_ADDRESS = 4.0  # clocks that a chase spends on the address of its next load
_BLOCK, _ROUNDS = 256, 8  # threads of a block, blocks one after the other in a place
_STAY, _APART = 8000, 4096  # clocks of a block, and so many more that few end together
_LAUNCH_US = 1.25  # of an empty kernel, as a profiler reads it on an H200; events cannot tell it from their own cost


@dataclass(frozen=True, slots=True)
class Bench:
    """A device with the kernels loaded and memory for them."""

    driver: Driver
    module: ctypes.c_void_p
    sms: int
    clocks: int
    out: int
    memory: int
    memory_bytes: int
    empty_us: float

    @staticmethod
    def start() -> Bench:
        """Compile for the device that is there. Raises EnvironmentProblem without a driver or NVRTC."""
        driver = Driver()
        source = files("lanewise.measure").joinpath("kernels.cu").read_text(encoding="utf-8")
        arch = f"sm_{driver.attribute(_MAJOR)}{driver.attribute(_MINOR)}"
        module = driver.module(compiler.ptx(source, arch))
        size = 1 << (min(2 << 30, driver.memory_bytes // 4).bit_length() - 1)
        sms, clocks, out = driver.attribute(_SM_COUNT), driver.allocate(MB), driver.allocate(64 * MB)
        # An idle card runs slowly: bring its clocks up first.
        driver.launch(driver.function(module, "clock_rate"), sms, 128, [Pointer(clocks), Pointer(out), Long(_WARM_UP)])
        driver.synchronize()
        empty = driver.timed(driver.function(module, "empty"), 1, 32, [], times=25)
        return Bench(driver, module, sms, clocks, out, driver.allocate(size), size, empty)

    def cycles(
        self,
        kernel: str,
        warps: int,
        arguments: Sequence[Any],
        *,
        blocks: int | None = None,
        threads: int | None = None,
    ) -> float:
        """Clocks of the timed part, the median over SMs, of the second of two launches; `threads` of a block where it
        has no whole warps."""
        blocks, threads = blocks or self.sms, threads or 32 * warps
        function = self.driver.function(self.module, kernel)
        for _ in range(2):
            self.driver.launch(function, blocks, threads, [Pointer(self.clocks), Pointer(self.out), *arguments])
            self.driver.synchronize()
        return float(np.median(self.driver.read(self.clocks, blocks, np.int64)))

    def microseconds(self, kernel: str, blocks: int, threads: int, arguments: Sequence[Any]) -> float:
        """Of one launch, without what an empty one takes."""
        function = self.driver.function(self.module, kernel)
        return max(1e-3, self.driver.timed(function, blocks, threads, arguments) - self.empty_us)

    def latency(self, name: str) -> float:
        one = _TYPES[name](1)
        return self.cycles(f"latency_{name}", 1, [Int(_TRIPS), one, one], blocks=1) / _TRIPS / _CHAIN

    def rate(self, name: str) -> float:
        one = _TYPES[name](1)
        return 32 * _TRIPS * _CHAIN / self.cycles(f"rate_{name}", 32, [Int(_TRIPS), one, one])

    def chase(self, operator: str, size: int, *, stride: int = 128, steps: int = 4096, lanes: int = 1) -> float:
        """Clocks a load of a random ring of `size` bytes, the ring read once before where that is quick; `lanes` go
        round it together, each from a place of its own."""
        count = size // stride
        order = np.random.default_rng(1).permutation(count).astype(np.int64)
        ring = np.zeros(size // 4, np.uint32)
        ring[order * (stride // 4)] = np.roll(order, -1).astype(np.uint32) * np.uint32(stride // 4)
        self.driver.write(self.memory, ring)
        self.driver.write(self.out, (order[:32] * (stride // 4)).astype(np.uint32) * np.uint32(lanes > 1))
        warm = count if count < 1 << 19 else 0
        arguments = [Pointer(self.clocks), Pointer(self.out), Pointer(self.memory), Int(warm), Int(steps)]
        function = self.driver.function(self.module, f"chase_{operator}")
        for _ in range(2):
            self.driver.launch(function, 1, lanes, arguments)
            self.driver.synchronize()
        return float(self.driver.read(self.clocks, 1, np.int64)[0]) / steps

    def loads(self, kernel: str, stride: int) -> float:
        """Clocks an SM spends on one load of a warp."""
        return self.cycles(kernel, 32, [Pointer(self.memory), Int(32), Int(stride)]) / (32 * 32 * 16)

    def stores(self, kernel: str, stride: int) -> float:
        return self.cycles(kernel, 32, [Int(32), Int(stride)]) / (32 * 32 * 16)

    def stream(self, kernel: str, size: int, trips: int) -> float:
        """10^9 bytes a second of a stream over `size` bytes, `trips` times."""
        blocks = 8 * self.sms
        half = self.memory + self.memory_bytes // 2
        arguments: list[Any] = {
            "stream_read": [Pointer(self.out), Pointer(self.memory), Size(size // 16), Int(trips)],
            "stream_write": [Pointer(self.memory), Size(size // 16), Int(trips)],
            "stream_copy": [Pointer(self.memory), Pointer(half), Size(size // 32), Int(trips)],
        }[kernel]
        return size * trips / self.microseconds(kernel, blocks, 256, arguments) / 1000

    def bulk(self, size: int) -> float:
        """Clocks of one bulk copy of `size` bytes that the L2 holds."""
        function, steps = self.driver.function(self.module, "bulk_copy"), 64
        for _ in range(2):
            arguments = [Pointer(self.clocks), Pointer(self.memory), Int(size), Int(steps)]
            self.driver.launch(function, 1, 1, arguments, shared=size)
            self.driver.synchronize()
        return float(self.driver.read(self.clocks, 1, np.int64)[0]) / steps

    def atomics(self, kernel: str, distinct: int, step: int) -> float:
        """Nanoseconds an atomic of one lane, each warp at one of `distinct` addresses `step` words apart."""
        blocks, trips = 8 * self.sms, 8
        arguments = [Pointer(self.memory), Int(trips), Unsigned(distinct), Unsigned(step), Int(0)]
        return 1000 * self.microseconds(kernel, blocks, 256, arguments) / (blocks * 256 * trips)


def _whole(rate: float) -> float:
    """The power of two that a rate without the loop around it would be."""
    return float(2.0 ** round(math.log2(rate)))


def _round(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")


def measure(bench: Bench, tell: Tell) -> dict[str, float]:
    """Values of `hardware.rates.Rates` that micro-benchmarks give; `tell` is called with what is under way."""
    found: dict[str, float] = {"issue_rate": 4}
    tell("arithmetic")
    for name, field in (("ffma", "fma"), ("imad", "imad"), ("lop3", "alu"), ("dfma", "fp64"), ("hfma2", "half"),
                        ("rsqrt", "xu"), ("convert", "conversion")):  # fmt: skip
        found[f"{field}_rate"] = _whole(bench.rate(name))
        found[f"{field}_latency"] = _round(bench.latency(name), 2)
    found["lsu_rate"] = _whole(bench.rate("shfl"))
    found["shuffle_latency"] = _round(bench.latency("shfl"), 2)
    tell("barriers, constants, shared memory")
    one, many = (bench.cycles("barrier", warps, [Int(32)]) / (32 * 16) for warps in (1, 32))
    found["barrier_rate"] = _round(31 / (many - one), 2)
    found["barrier_latency"] = _round(one - 1 / found["barrier_rate"], 2)
    found["constant_latency"] = _round(bench.cycles("chase_constant", 1, [Int(1024)], blocks=1) / 1024 - _ADDRESS, 2)
    spread = bench.cycles("rate_constant", 32, [Int(32), Int(32), Int(1)]) / (32 * 32 * 8)
    found["constant_clocks"] = _round(spread / 32, 2)
    found |= _constant_cache(bench)
    both = 2 * bench.sms  # so many warps that no latency is seen
    off, on = (bench.cycles("predicated_loads", 32, [Int(32), Int(warps)], blocks=both) for warps in (0, 32))
    found["lsu_off_clocks"] = _round(min(off, on) / on / found["lsu_rate"], 2)
    found["shared_latency"] = _round(bench.cycles("chase_shared", 1, [Int(1024)], blocks=1) / 1024, 2)
    found["shared_wavefronts"] = _round(32 / bench.stores("shared_store32", 32), 2)
    steps = 512
    alone = {name: bench.cycles(f"latency_{name}", 1, [Int(steps)], blocks=1, threads=1) / steps
             for name in ("atomic", "atomic_shared")}  # fmt: skip
    found["shared_atomic_latency"] = _round(alone["atomic_shared"], 2)
    found["atomic_latency"] = _round(alone["atomic"])
    if bench.driver.attribute(_MAJOR) >= _HAS_MATRICES:
        tell("tensor cores")
        found |= _tensor_cores(bench)
    tell("caches and DRAM: latencies")
    l2 = bench.driver.attribute(_L2)
    found["l1_latency"] = _round(bench.chase("l1", 8192) - _ADDRESS)
    far = min(bench.memory_bytes, 8 * l2)
    for place, size, stride in (("l2", l2 // 8, 128), ("dram", far, 512)):
        one = bench.chase("l2", size, stride=stride)
        found[f"{place}_latency"] = _round(one - _ADDRESS)
        found[f"{place}_spread"] = _round(max(1.0, bench.chase("l2", size, stride=stride, lanes=32) - one), 2)
    if bench.driver.attribute(_MAJOR) >= _HAS_BULK_COPIES:
        few, lots = (bench.bulk(size) for size in (16, 32768))
        found["bulk_latency"] = _round(max(1.0, few - found["l2_latency"]), 2)
        found["bulk_bytes"] = _round((32768 - 16) / max(1.0, lots - few))
    tell("caches and DRAM: bandwidths")
    found["l1_lines"] = _round(32 / bench.loads("l1_load32", 33), 2)  # lanes in as many lines and banks
    found["l1_bytes"] = _round(512 / bench.loads("l1_load128", 1), 2)
    found |= _below(bench, l2)
    tell("atomics, launches")
    clock = bench.driver.attribute(13) / 1e6
    for kernel, field in (("atomic_add", "atomic_clocks"), ("atomic_addfloat", "atomic_float_clocks")):
        found[field] = _round(bench.atomics(kernel, 1, 1) * clock)
    empty = bench.driver.function(bench.module, "empty")
    few, lots = (bench.driver.timed(empty, blocks, 256, []) for blocks in (16384, 65536))
    found["block_latency"] = _round(block_latency(bench), 2)
    found["blocks_per_us"] = _round((65536 - 16384) / (lots - few))
    found["event_us"] = _round(max(0.0, bench.empty_us - _LAUNCH_US), 2)
    return found


def block_latency(bench: Bench) -> float:
    """Clocks from the end of a block to the start of the one in its place, read off the clocks of the SMs, so that
    neither the start of a launch nor the times of other SMs are in it."""
    resident = bench.driver.attribute(_THREADS_OF_SM) // _BLOCK
    blocks = bench.sms * resident * _ROUNDS
    function = bench.driver.function(bench.module, "stays")
    for _ in range(2):
        arguments = [Pointer(bench.clocks), Pointer(bench.out), Long(_STAY), Unsigned(_APART)]
        bench.driver.launch(function, blocks, _BLOCK, arguments)
        bench.driver.synchronize()
    begun = bench.driver.read(bench.clocks, blocks, np.int64)
    numbers = np.arange(blocks, dtype=np.uint32)
    stayed = _STAY + (numbers * np.uint32(2654435761) >> np.uint32(8)) % _APART
    return vacancy(bench.driver.read(bench.out, blocks, np.uint32), begun, begun + stayed, resident)


def vacancy(sm: npt.NDArray[Any], begun: npt.NDArray[Any], ended: npt.NDArray[Any], resident: int) -> float:
    """The median clocks for which a place of an SM is empty between two blocks, of blocks with these SMs and times; an
    SM has `resident` places. Which block took whose place is not seen, but the n-th to come after the first filling
    comes to the n-th place that becomes free."""
    gaps = [
        np.sort(begun[sm == number])[resident:]
        - np.sort(ended[sm == number])[: max(0, (sm == number).sum() - resident)]
        for number in np.unique(sm)
    ]
    return float(np.median(np.concatenate(gaps)))


def _constant_cache(bench: Bench) -> dict[str, float]:
    """The size of the first cache of constants, from warps that walk through tables in step, and what a line costs that
    it does not hold, from lanes that are in as many lines, less those that it does hold (`model.demand`)."""

    def clocks(words: int, distinct: int, step: int, move: int) -> float:
        arguments = [Int(32), Int(distinct), Int(step), Int(max(1, words // 32)), Int(move), Unsigned(words)]
        return bench.cycles("walk_constant", 32, arguments) / (32 * 32 * 8)

    sizes = [1 << exponent for exponent in range(8, 15)]  # words
    times = [clocks(words, 1, 1, 17) for words in sizes]
    held = 4 * max(words for words, time in zip(sizes, times, strict=True) if time < 1.5 * times[0])
    near, far = (clocks(words, 32, words // 32, 1) for words in (sizes[0], sizes[-1]))
    missing = (1 - held / (4 * sizes[-1])) ** 4
    return {
        "constant_cache_bytes": float(held),
        "constant_miss_clocks": _round(max(1.0, (far - near) / 32 / max(missing, 0.1)), 3),
    }


def _tensor_cores(bench: Bench) -> dict[str, float]:
    """Latency and rate of matrix instructions of a warp. Instructions of a warpgroup, which Hopper has beside them, are
    faster: there the rates are the NVIDIA H200's by SMs and clock."""
    one = Unsigned(0)
    latency = bench.cycles("latency_matrix", 1, [Int(_TRIPS), one], blocks=1) / _TRIPS / _CHAIN
    found = {"tensor_latency": _round(latency, 2)}
    operations = _MATRIX * 16 * _TRIPS * _CHAIN / bench.cycles("rate_matrix", 16, [Int(_TRIPS), one])
    clock = bench.driver.attribute(13) / 1e9
    if bench.driver.attribute(_MAJOR) == _HAS_WARPGROUPS:
        like = device.load("h200")
        part = bench.sms * clock / (like.values.sm_count * like.values.sm_clock_khz / 1e9)
        for field in ("fp16_tflops", "tf32_tflops", "fp8_tflops", "int8_tops", "fp64_tflops"):
            found[f"tensor_{field}"] = _round(part * getattr(like.rates, f"tensor_{field}"))
        found["mma_clocks"] = _round(mma_clocks(operations, found["tensor_fp16_tflops"] / bench.sms / clock), 2)
    else:
        found["tensor_fp16_tflops"] = _round(operations * bench.sms * clock)
        found["mma_clocks"] = 0.0
    return found


def mma_clocks(reached: float, most: float) -> float:
    """Clocks that a matrix instruction of a warp takes beside its operations, of which an SM does `reached` a clock by
    such instructions and `most` by others."""
    return max(0.0, _PARTITIONS * _MATRIX * (1 / reached - 1 / most))


def _below(bench: Bench, l2: int) -> dict[str, float]:
    """Bandwidths of L2 and DRAM, and how much the L2 keeps from launch to launch."""
    clock = bench.driver.attribute(13) / 1e6  # clocks a nanosecond
    small, large = l2 // 4 // MB * MB, bench.memory_bytes
    found = {
        "l2_read_gb_s": _round(bench.stream("stream_read", small, 64)),
        "l2_write_gb_s": _round(bench.stream("stream_write", small, 64)),
        "dram_gb_s": _round(max(bench.stream("stream_read", large, 1), bench.stream("stream_write", large, 1))),
    }
    copied = bench.stream("stream_copy", large, 1)
    found["dram_turn"] = _round(max(0.01, 2 * (found["dram_gb_s"] / copied - 1)), 2)
    threads, trips, stride = 8 * bench.sms * 256, 32, 32
    words = small // 4
    for kernel, field in (("scatter_write", "l2_partial_sectors"), ("scatter_read", "l2_requests")):
        first = [Pointer(bench.out)] if kernel == "scatter_read" else []
        arguments = [*first, Pointer(bench.memory), Size(words), Int(stride), Int(trips)]
        nanoseconds = 1000 * bench.microseconds(kernel, 8 * bench.sms, 256, arguments)
        found[field] = _round(threads * trips / nanoseconds / clock)
    # One launch after the other over the same bytes: the largest size that is still read faster than DRAM gives it.
    found["l2_reuse_bytes"] = float(l2 // 2)
    for eighths in range(4, 9):
        size = l2 * eighths // 8 // MB * MB
        if bench.stream("stream_copy", size, 1) > found["dram_gb_s"] * size / (size + l2 / 2):
            found["l2_reuse_bytes"] = float(size)
    alone = [Pointer(bench.out), Pointer(bench.memory), Size(MB // 16), Int(64)]
    nanoseconds = 1000 * bench.microseconds("stream_read", 1, 1024, alone)
    found["l2_port_bytes"] = _round(64 * MB / nanoseconds / clock, 2)
    return found
