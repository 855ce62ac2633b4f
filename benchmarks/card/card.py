"""The card: modules, launches and timing. torch owns the memory and the stream; the driver API launches."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from build import build_all, key
from cuda.bindings import driver

from lanewise.ladder import Plan
from lanewise.ladder.catalog import TYPES
from lanewise.ladder.plan import PlannedMap

TORCH = {
    "u8": torch.uint8,
    "u16": torch.int16,  # torch has few operations on unsigned types; the bits are the same
    "u32": torch.int32,
    "i32": torch.int32,
    "u64": torch.int64,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
C_TYPES = {"i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "f32": ctypes.c_float}
Tensors = Mapping[str, torch.Tensor]


def done(result: tuple) -> object:
    """The values of a driver call; RuntimeError where it failed."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{status.name}")
    return values[0] if values else None


MAP_TYPES = {"f16": 6, "f32": 7, "f64": 8, "bf16": 9, "u8": 0, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5}
_LIBRARY = ctypes.CDLL("libcuda.so.1")


def tensor_map(entry: PlannedMap, address: int) -> ctypes.Array:
    """The CUtensorMap of a planned map over the buffer at `address`: 128 bytes at a multiple of 64."""
    whole = (ctypes.c_byte * 192)()
    held = (ctypes.c_byte * 128).from_buffer(whole, -ctypes.addressof(whole) % 64)
    rank = len(entry.extents)
    size = TYPES[entry.type][1]
    pitches = [size]
    for extent in entry.extents[:-1]:
        pitches.append(pitches[-1] * extent)
    status = _LIBRARY.cuTensorMapEncodeTiled(
        ctypes.byref(held),
        MAP_TYPES[entry.type],
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*entry.extents),
        (ctypes.c_uint64 * rank)(*pitches[1:], 0),
        (ctypes.c_uint32 * rank)(*entry.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,  # not interleaved
        {0: 0, 32: 1, 64: 2, 128: 3}[entry.swizzle],
        2,  # L2 lines of 128 bytes are fetched
        0,  # zeros outside
    )
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled: error {status} for {entry}")
    return held


class Kernels:
    """The loaded machine code of a set of plans."""

    def __init__(self, plans: list[Plan], workers: int, *, skip_failing: bool = False) -> None:
        torch.zeros(1, device="cuda")  # makes torch's context the current one
        major, minor = torch.cuda.get_device_capability()
        arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
        cubins = build_all(plans, arch, workers, skip_failing=skip_failing)
        self._modules = {name: done(driver.cuModuleLoadData(cubin)) for name, cubin in cubins.items()}
        self._functions: dict[tuple, object] = {}

    def has(self, plan: Plan) -> bool:
        return key(plan) in self._modules

    def function(self, plan: Plan, kernel: str, shared_bytes: int) -> object:
        name = (*key(plan), kernel)
        function = self._functions.get(name)
        if function is None:
            function = done(driver.cuModuleGetFunction(self._modules[key(plan)], kernel.encode()))
            self._functions[name] = function
        if shared_bytes > 32 * 1024:  # with static shared memory it may pass the 48 KiB that need no permission
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            done(driver.cuFuncSetAttribute(function, attribute, shared_bytes))
        return function

    def prepare(self, plan: Plan, tensors: Tensors) -> Callable[[], None]:
        """A call that queues the plan's launches on torch's current stream, scratch cleared where the plan says so."""
        memory = dict(tensors)
        for buffer in plan.buffers:
            if buffer.name not in memory:
                memory[buffer.name] = torch.empty(max(1, buffer.count), dtype=TORCH[buffer.type], device="cuda")
        for buffer in plan.buffers:
            if buffer.zero == "once":
                memory[buffer.name].zero_()
        cleared = [memory[buffer.name] for buffer in plan.buffers if buffer.zero == "each run" and buffer.count]
        maps = {entry.name: tensor_map(entry, memory[entry.buffer].data_ptr()) for entry in plan.maps if plan.launches}
        calls = []
        for launch in plan.launches:
            held = []
            for kind, value in launch.arguments:
                if kind == "map":
                    held.append(maps[value])
                elif kind == "buffer":
                    held.append(ctypes.c_void_p(memory[value].data_ptr()))
                else:
                    held.append(C_TYPES[kind](value))
            pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(argument) for argument in held))
            function = self.function(plan, launch.kernel, launch.shared_bytes)
            calls.append((function, launch.grid, launch.block, launch.shared_bytes, held, pointers))

        def run() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            for tensor in cleared:
                tensor.zero_()
            for function, grid, block, shared, _, pointers in calls:
                done(driver.cuLaunchKernel(function, *grid, *block, shared, stream, ctypes.addressof(pointers), 0))

        run.memory = memory  # type: ignore[attr-defined]
        return run


@dataclass(frozen=True)
class Sample:
    """Microseconds: median, and the 10th and 90th percentile; `bimodal` where the middle half is wider than a tenth."""

    median: float
    low: float
    high: float
    bimodal: bool

    @staticmethod
    def of(times: list[float]) -> Sample:
        deciles = statistics.quantiles(times, n=20)
        median = statistics.median(times)
        return Sample(median, deciles[1], deciles[17], (deciles[14] - deciles[4]) > 0.1 * median)


def time_together(calls: Mapping[str, Callable[[], None]], repeats: int, *, cold: bool = False) -> dict[str, Sample]:
    """Times all calls in turn, `repeats` rounds: what drifts, drifts for all of them.

    A spin kernel runs before each measurement, so that the host has queued everything before the first event: no
    launch gap of the host's is measured. `cold`: other memory larger than the L2 cache is read before each call.
    """
    flush = torch.ones(64 << 20, device="cuda") if cold else None
    for call in calls.values():
        call()
        call()
    torch.cuda.synchronize()
    events: dict[str, list[tuple[torch.cuda.Event, torch.cuda.Event]]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            if flush is not None:
                flush.sum()
            torch.cuda._sleep(300_000)
            start.record()
            call()
            end.record()
            events[name].append((start, end))
        torch.cuda.synchronize()
    return {name: Sample.of([1000 * start.elapsed_time(end) for start, end in pairs]) for name, pairs in events.items()}
