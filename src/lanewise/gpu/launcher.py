"""Loads the machine code of plans and queues their launches; who owns the memory is the caller's affair."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lanewise.errors import EnvironmentProblem, LimitReached
from lanewise.gpu import bindings, tensor_map
from lanewise.gpu.build import Key, build_all, key
from lanewise.gpu.card import Card
from lanewise.gpu.texture import CardTexture
from lanewise.ladder import Plan
from lanewise.ladder.plan import PlannedLaunch
from lanewise.records import KernelResources
from lanewise.toolchain.cubin import resources as kernel_resources

_C_TYPES: Mapping[str, Any] = {
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
}
_FREE_SHARED_BYTES = 32 * 1024  # with static shared memory on top it stays below the 48 KiB that need no permission


class Launcher:
    """The loaded machine code of plans on one card, whose context is current."""

    def __init__(self, card: Card, workers: int = 8) -> None:
        self.card = card
        self._workers = workers
        self._modules: dict[Key, Any] = {}
        self._resources: dict[Key, Mapping[str, KernelResources]] = {}
        self._functions: dict[tuple[str, ...], Any] = {}

    def load(self, plans: Iterable[Plan], *, skip_failing: bool = False) -> None:
        """Compile and load what is not loaded yet. Raises CompileError."""
        missing = [plan for plan in plans if key(plan) not in self._modules]
        for name, cubin in build_all(missing, self.card.target, self._workers, skip_failing=skip_failing).items():
            self._modules[name] = done(bindings.driver().cuModuleLoadData(cubin))
            self._resources[name] = kernel_resources(cubin)

    def has(self, plan: Plan) -> bool:
        return key(plan) in self._modules

    def resources(self, plan: Plan) -> Mapping[str, KernelResources]:
        """What the compiler gave the kernels of a loaded plan, by symbol."""
        return self._resources[key(plan)]

    def prepare(self, plan: Plan, addresses: Mapping[str, int]) -> Callable[[int], None]:
        """A call that queues the plan's launches on a stream. `addresses`: of every buffer of the plan.

        Textures are copies of their buffers as they are now.
        """
        self.load([plan])
        maps = {entry.name: tensor_map.encode(entry, addresses[entry.buffer]) for entry in plan.maps if plan.launches}
        textures = {
            entry.name: CardTexture(entry, addresses[entry.buffer], done) for entry in plan.textures if plan.launches
        }
        calls = []
        for launch in plan.launches:
            held = [_argument(kind, value, addresses, maps, textures) for kind, value in launch.arguments]
            pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(argument) for argument in held))
            calls.append((self._function(plan, launch), launch, held, pointers, textures))

        def run(stream: int) -> None:
            # `held` and `textures` live as long as this call does: the launches point to them.
            for function, launch, _, pointers, _ in calls:
                at = ctypes.addressof(pointers)
                done(
                    bindings.driver().cuLaunchKernel(
                        function, *launch.grid, *launch.block, launch.shared_bytes, stream, at, 0
                    )
                )

        return run

    def _function(self, plan: Plan, launch: PlannedLaunch) -> Any:
        name = (*key(plan), launch.kernel)
        if name not in self._functions:
            self._functions[name] = done(
                bindings.driver().cuModuleGetFunction(self._modules[key(plan)], launch.kernel.encode())
            )
        function = self._functions[name]
        if launch.shared_bytes > _FREE_SHARED_BYTES:
            attribute = bindings.driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            done(bindings.driver().cuFuncSetAttribute(function, attribute, launch.shared_bytes))
        return function


def clear(address: int, size: int, stream: int) -> None:
    """Queue zeros for `size` bytes."""
    if size:
        done(bindings.driver().cuMemsetD8Async(address, 0, size, stream))


def done(result: tuple[Any, ...]) -> Any:
    """The value of a driver call. Raises LimitReached out of device memory, else EnvironmentProblem."""
    status, *values = result
    if status == bindings.driver().CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise LimitReached("out of device memory", next_step="Take a smaller problem, or free memory on the card.")
    if status != bindings.driver().CUresult.CUDA_SUCCESS:
        raise EnvironmentProblem(f"the CUDA driver: {status.name}")
    return values[0] if values else None


def _argument(
    kind: str,
    value: str | int | float,
    addresses: Mapping[str, int],
    maps: Mapping[str, tensor_map.Encoded],
    textures: Mapping[str, CardTexture],
) -> Any:
    if kind == "map":
        return maps[str(value)]
    if kind == "texture":
        return ctypes.c_uint64(textures[str(value)].handle)
    if kind == "buffer":
        return ctypes.c_void_p(addresses[str(value)])
    return _C_TYPES[kind](value)
