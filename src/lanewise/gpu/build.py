"""Rungs to machine code through NVRTC, in parallel, each distinct source and set of macros once."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lanewise.errors import CompileError, EnvironmentProblem
from lanewise.gpu import bindings
from lanewise.ladder import Plan
from lanewise.toolchain import wheels

Key = tuple[str, ...]


def key(plan: Plan) -> Key:
    """Plans with the same key share their machine code."""
    return (plan.rung.subject, plan.rung.file, *(f"{name}={value}" for name, value in sorted(plan.defines.items())))


def build(plan: Plan, target: str) -> bytes:
    """The cubin of a plan for `target`, such as sm_90a. Raises CompileError with the compiler's log."""
    nvrtc = bindings.nvrtc()
    options = [f"--gpu-architecture={target}", "--std=c++17", "-lineinfo", "-default-device"]
    options += [f"-I{folder}" for folder in wheels.include_directories()]
    options += [f"-D{name}={value}" for name, value in plan.defines.items()]
    program = _done(nvrtc.nvrtcCreateProgram(plan.rung.source().encode(), plan.rung.file.encode(), 0, None, None))
    try:
        encoded = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = bytearray(_done(nvrtc.nvrtcGetProgramLogSize(program)))
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileError(f"{' '.join(key(plan))} does not compile", log.decode(errors="replace"))
        cubin = bytearray(_done(nvrtc.nvrtcGetCUBINSize(program)))
        nvrtc.nvrtcGetCUBIN(program, cubin)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return bytes(cubin)


def build_all(plans: Iterable[Plan], target: str, workers: int, *, skip_failing: bool = False) -> dict[Key, bytes]:
    """The cubins by `key`. `skip_failing`: plans that do not compile are left out (points of a search)."""

    def one(plan: Plan) -> bytes | None:
        try:
            return build(plan, target)
        except CompileError:
            if skip_failing:
                return None
            raise

    distinct = {key(plan): plan for plan in plans}
    with ThreadPoolExecutor(workers) as pool:
        cubins = pool.map(one, distinct.values())
        return {name: cubin for name, cubin in zip(distinct, cubins, strict=True) if cubin is not None}


def _done(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if status != bindings.nvrtc().nvrtcResult.NVRTC_SUCCESS:
        raise EnvironmentProblem(f"NVRTC: {status.name}")
    return values[0] if values else None
