"""What the examples should compute, in numpy, from the inputs that they dump."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32] | NDArray[np.int32] | NDArray[np.float64] | NDArray[np.int64]
Arrays = dict[str, Array]
Sizes = tuple[int, ...]

BLOCK = 256  # threads of a block of banks, reduce and scan


def read_dump(path: Path) -> Arrays:
    """The arrays of `--dump FILE`: records of a line `name type count` and the array's bytes, in order."""
    data, arrays, at = path.read_bytes(), {}, 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, kind, count = data[at:end].decode().split()
        arrays[name] = np.frombuffer(data, np.dtype(kind), int(count), end + 1)
        at = end + 1 + arrays[name].nbytes
    return arrays


def by_block(values: Array, change: Callable[[Array], Array | np.generic]) -> list[Array | np.generic]:
    return [change(values[start : start + BLOCK]) for start in range(0, len(values), BLOCK)]


def vector_add(given: Arrays, sizes: Sizes) -> Arrays:
    return {"vector_add": given["a"] + given["b"]}


def gemm(given: Arrays, sizes: Sizes) -> Arrays:
    n = sizes[0]
    product = (given["a"].astype(np.float64).reshape(n, n) @ given["b"].reshape(n, n)).ravel()
    steps = ["naive", "uncoalesced", "tiled_32", "tiled_16", "transposed_store", "registers"]
    return {f"gemm_{step}": product for step in steps + ["vectorised"] * (n % 4 == 0)}


def tensor_cores(given: Arrays, sizes: Sizes) -> Arrays:
    n = sizes[0]
    product = (given["a"].astype(np.float64).reshape(n, n) @ given["b"].reshape(n, n).T).ravel()
    return {f"gemm_{step}": product for step in ("wmma", "mma", "mma_swizzled")}


def transpose(given: Arrays, sizes: Sizes) -> Arrays:
    turned = given["in"].reshape(sizes).T.ravel()
    return {f"transpose_{step}": turned for step in ("naive", "shared", "padded", "swizzled")}


def copies(given: Arrays, sizes: Sizes) -> Arrays:
    n, stride, offset = sizes
    values = given["in"]
    copied = {"contiguous": values[:n], "strided": values[: n * stride : stride], "float4": values[:n]}
    copied["offset"] = values[offset : offset + n]
    weights = {
        f"weigh_{layout}": given["x"] * given["mass"] for layout in ("array_of_structures", "structure_of_arrays")
    }
    return {f"copy_{way}": result for way, result in copied.items()} | weights


def banks(given: Arrays, sizes: Sizes) -> Arrays:
    reverse = np.concatenate(by_block(given["in"], lambda block: block[::-1]))
    first = np.concatenate(by_block(given["in"], lambda block: np.full_like(block, block[0])))
    return {f"banks_stride_{stride}": reverse for stride in (1, 2, 3, 8, 32, 33)} | {
        "banks_broadcast": first,
        "banks_float4": given["in"],
    }


def reduce(given: Arrays, sizes: Sizes) -> Arrays:
    values = given["in"].astype(np.float64)
    sums, total = np.array(by_block(values, np.sum)), np.array([values.sum()])
    return {f"reduce_{step}": sums for step in ("divergent", "conflict", "sequential", "shuffle")} | {
        f"reduce_{step}": total for step in ("atomics", "grid_stride")
    }


def scan(given: Arrays, sizes: Sizes) -> Arrays:
    parts = np.concatenate(by_block(given["in"], np.cumsum))
    return {f"scan_{step}": parts for step in ("hillis_steele", "blelloch", "shuffle")} | {
        "scan_look_back": np.cumsum(given["in"])
    }


def histogram(given: Arrays, sizes: Sizes) -> Arrays:
    counts = np.bincount(given["values"], minlength=256)
    return {f"histogram_{step}": counts for step in ("global", "shared", "per_warp", "match")}


def divergence(given: Arrays, sizes: Sizes) -> Arrays:
    values, i = given["in"], np.arange(sizes[0])

    def multiply(u: NDArray[np.uint32]) -> NDArray[np.uint32]:
        for _ in range(16):
            u = u * np.uint32(1664525) + np.uint32(1013904223)
        return u

    def shift(u: NDArray[np.uint32]) -> NDArray[np.uint32]:
        u = u | np.uint32(1)
        for _ in range(16):
            u = u ^ (u << np.uint32(13))
            u = u ^ (u >> np.uint32(17))
            u = u ^ (u << np.uint32(5))
        return u

    def squares(trips: NDArray[np.int64]) -> Array:
        u = values.astype(np.int64)
        for trip in range(32):
            u = np.where(trip < trips, ((u * u) % 2**32 % 65521 + trip) % 2**32, u)
        return u.astype(np.int32)

    unsigned = values.view(np.uint32)
    stir = {"lane": i % 2 == 0, "warp": i // 32 % 2 == 0, "data": values < 500}
    branches = {
        f"branch_by_{k}": np.where(v, multiply(unsigned), shift(unsigned)).view(np.int32) for k, v in stir.items()
    }
    return branches | {"loop_uneven": squares(i % 32 + 1), "loop_even": squares(i // 32 % 32 + 1)}


def layernorm(given: Arrays, sizes: Sizes) -> Arrays:
    x = given["in"].astype(np.float64).reshape(sizes)
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    result = (normal * given["scale"] + given["shift"]).ravel()
    return {f"layernorm_{step}": result for step in ("thread_per_row", "block_per_row", "fused")}


def softmax(given: Arrays, sizes: Sizes) -> Arrays:
    x = given["in"].astype(np.float64).reshape(sizes)
    powers = np.exp(x - x.max(1, keepdims=True))
    result = (powers / powers.sum(1, keepdims=True)).ravel()
    return {f"softmax_{step}": result for step in ("block_per_row", "online")}
