"""What is measured in a process of its own: each case is a function of its size that returns plain numbers.

Every case checks its results, so that nothing wrong is ever timed. Seconds are wall time (`wall`) and processor time of
all threads (`cpu`); instructions are PTX instructions at thread level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.emulator.launch import Dim
from speed.emulated import Emulated, Timed
from speed.process import peak_memory
from speed.uncounted import stop_counting

Result = dict[str, Any]
Ints = npt.NDArray[np.int32]


def gemm(kernel: str, n: int) -> Result:
    """One matrix product: `first`, from source text to result, and `again`, the best of two more launches."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    c = np.zeros_like(a)
    device = Emulated("gemm.cu")
    arrays = [device.upload(array) for array in (a, b, c)]
    grid: Dim = (n // 32, n // 32, 1)
    runs = [device.launch(kernel, grid, (32, 32, 1), *arrays, n) for _ in range(3)]
    if not np.allclose(device.download(arrays[2], c), a @ b, rtol=1e-3, atol=1e-3 * n**0.5):
        raise RuntimeError(f"{kernel} gave a wrong product")
    best = fastest([timed for timed, _ in runs[1:]])
    first = Timed.total(device.nvrtc, device.parse, runs[0][0])
    return {
        "kernel": kernel,
        "n": n,
        "instructions": runs[0][1].ptx_thread_instructions,
        "first": asdict(first),
        "again": asdict(best),
        "peak_bytes": peak_memory(),
        "device_bytes": device.bytes,
    }


def fastest(runs: list[Timed]) -> Timed:
    return min(runs, key=lambda timed: timed.cpu)


@dataclass(frozen=True, slots=True)
class Work:
    """A kernel of throughput.cu, how much of it, and what it computes."""

    title: str
    blocks: int
    steps: int
    size: int  # values, a power of two
    expected: Callable[[Ints, Ints, int], Ints]  # (values, thread numbers, steps) -> out


def _chase(values: Ints, threads: Ints, steps: int) -> Ints:
    at, total = threads & (len(values) - 1), np.zeros_like(threads)
    for _ in range(steps):
        at = values[at] & (len(values) - 1)
        total += at
    return total


def _gather(values: Ints, threads: Ints, steps: int) -> Ints:
    total = np.zeros_like(threads)
    hashed = threads.astype(np.uint32) * np.uint32(2654435761)
    for step in range(steps):
        at = (hashed + np.uint32(step * 40503)) >> np.uint32(7)
        total += values[at & np.uint32(len(values) - 1)] ^ np.int32(step)
    return total


def _rounds(n: int) -> int:
    rounds = 0
    while n != 1:
        n, rounds = (3 * n + 1 if n % 2 else n // 2), rounds + 1
    return rounds


def _collatz(values: Ints, threads: Ints, steps: int) -> Ints:
    rounds = np.array([_rounds(n + 1) for n in range(1024)], np.int32)
    mask = len(values) - 1
    return sum((rounds[values[(threads + step) & mask] & 1023] for step in range(steps)), np.zeros_like(threads))


def _branches(values: Ints, threads: Ints, steps: int) -> Ints:
    total = np.zeros_like(threads)
    for step in range(steps):
        value = values[(threads + step * 32) & (len(values) - 1)]
        odd, second = (value & 1) != 0, (value & 2) != 0
        total += np.where(odd, values[value & (len(values) - 1)], 0)
        total -= np.where(~odd & ~second, value >> 2, 0)
    return total


def _histogram(values: Ints, threads: Ints, steps: int) -> Ints:
    at = np.arange(len(threads) * steps) & (len(values) - 1)
    out = np.zeros_like(threads)
    out[:256] = np.bincount(values[at] & 255, minlength=256)
    return out


def _tiles(values: Ints, threads: Ints, steps: int) -> Ints:
    out = np.empty_like(threads)
    for block in range(len(threads) // 256):
        at = (block * 1024 + np.arange(1024)) & (len(values) - 1)
        tile = values[at].reshape(32, 32)
        columns = tile.T.reshape(4, 8, 32).sum(axis=0, dtype=np.int32)  # [y][x] sums rows y, y + 8, ... of column x
        out[block * 256 : block * 256 + 256] = (2 * steps * columns + 4 * (steps * (steps - 1) // 2)).ravel()
    return out


def _local(values: Ints, threads: Ints, steps: int) -> Ints:
    total = np.zeros_like(threads)
    for step in range(steps):
        total += step * ((values[(threads + step * 32) & (len(values) - 1)] & 15) + 1)
    return total


THROUGHPUT = {
    "chase": Work("irregular loads: chains of random indices", 1024, 64, 1 << 16, _chase),
    "gather": Work("irregular loads: hashed indices", 1024, 64, 1 << 16, _gather),
    "collatz": Work("divergent loops (Collatz)", 512, 8, 1 << 16, _collatz),
    "branches": Work("divergent branches around loads and stores", 1024, 64, 1 << 16, _branches),
    "histogram_global": Work("atomics in global memory (histogram)", 1024, 64, 1 << 16, _histogram),
    "histogram_shared": Work("atomics in shared memory (histogram)", 1024, 64, 1 << 16, _histogram),
    "tiles": Work("tiles of shared memory read by column", 1024, 16, 1 << 16, _tiles),
    "local_array": Work("local arrays indexed by data", 1024, 64, 1 << 16, _local),
}


def throughput(kernel: str, scale: float, rounds: int = 3, counted: bool = True) -> Result:
    """Instructions a second and core of one kind of code: `rounds` launches after the first, the best counts."""
    if not counted:
        stop_counting()
    work = THROUGHPUT[kernel]
    blocks = max(1, int(work.blocks * scale))
    rng = np.random.default_rng(2)
    values = rng.integers(0, 1 << 20, work.size, np.int32)
    threads = np.arange(blocks * 256, dtype=np.int32)
    device = Emulated("throughput.cu")
    source = device.upload(values)
    out = device.upload(np.zeros_like(threads))
    launches = []
    for _ in range(1 + rounds):
        device.device.memory.write(out, bytes(threads.nbytes))
        launches.append(device.launch(kernel, (blocks, 1, 1), (256, 1, 1), source, out, work.size, work.steps))
    if not np.array_equal(device.download(out, threads), work.expected(values, threads, work.steps)):
        raise RuntimeError(f"{kernel} gave a wrong result")
    best = fastest([timed for timed, _ in launches[1:]])
    count = launches[-1][1].ptx_thread_instructions
    return {
        "kernel": kernel,
        "title": work.title,
        "instructions": count,
        "again": asdict(best),
        "per_core_second": count / best.cpu,
        "peak_bytes": peak_memory(),
        "device_bytes": device.bytes,
    }


def tiny_launches(count: int) -> Result:
    """Launches of one empty block, recorded like any other: what a launch costs."""
    device = Emulated("throughput.cu")
    wall = cpu = 0.0
    for number in range(count + 1):
        timed, _ = device.launch("nothing", (1, 1, 1), (32, 1, 1), 0, 0, 0, 0, 0, 0)
        if number:  # the first one compiles
            wall, cpu = wall + timed.wall, cpu + timed.cpu
    return {"launches": count, "wall": wall / count, "cpu": cpu / count}


def memory(megabytes: int) -> Result:
    """What the emulator takes beside the program's own memory, all of which is touched."""
    device = Emulated("throughput.cu")
    values = np.zeros(megabytes << 18, np.int32)
    source = device.upload(values)
    blocks = len(values) // 256
    device.launch("local_array", (blocks, 1, 1), (256, 1, 1), source, source, 1 << 16, 1)
    return {"device_bytes": device.bytes, "host_bytes": values.nbytes, "peak_bytes": peak_memory()}


CASES: dict[str, Callable[..., Result]] = {
    "gemm": gemm,
    "throughput": throughput,
    "tiny_launches": tiny_launches,
    "memory": memory,
}
