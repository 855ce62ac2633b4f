"""One run of a program: build it where it is source, run it on the emulated device, gather the result."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from lanewise.checked_run import run_checked
from lanewise.checks import leak
from lanewise.checks.selection import Check
from lanewise.cudart import host, library
from lanewise.device import EmulatedDevice, ObjectCache
from lanewise.emulator.compile import runtime_code
from lanewise.emulator.launch import Limits
from lanewise.emulator.memory import DeviceMemory
from lanewise.errors import LanewiseError
from lanewise.hardware import device as devices
from lanewise.hardware.device import DeviceSpec
from lanewise.records import Finding, RunResult, Severity
from lanewise.request import RunRequest
from lanewise.toolchain import cache, executable, nvcc
from lanewise.toolchain import flags as nvcc_flags

SOURCES = frozenset((".cu", ".c", ".cc", ".cpp", ".cxx", ".o", ".a", ".obj", ".lib"))
CLOCK_NOTE = "times of CUDA events are modelled, those that the program itself prints among them (docs/model.md)"


def run_program(request: RunRequest) -> RunResult:
    """Build and run. Raises LanewiseError for what stops the run before the program starts."""
    return run_checked(request, _run) if request.checks else _run(request, 0, True)


def _run(request: RunRequest, schedule: int, shows_output: bool) -> RunResult:
    """One run of the program, in one order of blocks and warps."""
    program, arch, notes = built(request)
    return run_built(request, program, arch, notes, (), schedule, shows_output)[0]


def built(request: RunRequest) -> tuple[Path, str, list[str]]:
    """The program for the request's device, the architecture it is built for, and notes for its report."""
    spec = devices.load(request.device)
    arch = request.arch or nvcc_flags.specific(request.flags, spec.arch)
    notes: list[str] = []
    return _executable(request, arch, notes), arch, notes


def runtime_calls(program: Path) -> tuple[str, ...]:
    """The calls of the CUDA runtime that a program is linked with."""
    return executable.inspect(program).runtime_calls


def run_built(
    request: RunRequest,
    program: Path,
    arch: str,
    notes: list[str],
    beside: Sequence[DeviceSpec],
    schedule: int = 0,
    shows_output: bool = True,
) -> list[RunResult]:
    """Run what `built` gave: a result for the request's device, then one for each device of `beside`, which have the
    same architecture and for which only caches and time are modelled anew."""
    spec = devices.load(request.device)
    refusal = executable.refusal(
        executable.inspect(program),
        arch=arch,
        provided=executable.exported(library.library_directory() / library.SONAME),
    )
    if refusal is not None:
        raise refusal
    memory = DeviceMemory(spec.values.memory_bytes)
    device = EmulatedDevice(
        spec,
        memory=memory,
        arch=arch,
        limits=replace(limits(request), schedule=schedule),
        keep=request.reports,
        progress=request.progress,
        cold=request.cold,
        checks=tuple(map(Check, request.checks)),
        beside=beside,
        advice=request.advice,
    )
    output = None if shows_output else subprocess.DEVNULL
    env = {**os.environ, "LANEWISE_CHECKS": _followed(program, request)} if request.checks else None
    ended = host.run_program(
        program, request.arguments, memory=memory, backend=device, env=env, stdout=output, stderr=output
    )
    if ended.interrupted:
        raise KeyboardInterrupt
    device.finish()
    first = _result(request, spec.name, arch, device, ended, notes)
    others = zip(beside, device.records_beside, strict=True)
    return [first, *(replace(first, device=other.name, launches=tuple(records)) for other, records in others)]


_MAKE_STREAMS = ("cudaStreamCreate", "cudaGraphLaunch")  # without these all work is in one order


def _followed(program: Path, request: RunRequest) -> str:
    """What the runtime library tells a run with checks (cudart/client/follow.c)."""
    several = any(call.startswith(_MAKE_STREAMS) for call in runtime_calls(program))
    return "order" if several and Check.RACE in map(Check, request.checks) else "copies"


def limits(request: RunRequest) -> Limits:
    """The emulator's limits with what the request says."""
    result = Limits()
    if request.max_instructions is not None:
        result = replace(result, instructions=request.max_instructions)
    if request.max_seconds is not None:
        result = replace(result, seconds=request.max_seconds)
    if request.deterministic or request.schedules > 1:  # orders that are tried are the same each time
        result = replace(result, threads=1)
    return result


def _executable(request: RunRequest, arch: str, notes: list[str]) -> Path:
    """The program itself, or what nvcc makes of the sources."""
    if len(request.inputs) == 1 and request.inputs[0].suffix not in SOURCES:
        if request.flags:
            nvcc_flags.parse(request.flags)
            notes.append("flags for nvcc have no effect on a program that is built already")
        return request.inputs[0].resolve()
    # What the first run of all compiles for itself is made while nvcc works: it waits on other processes.
    with ThreadPoolExecutor(2) as background:
        directory = background.submit(library.library_directory)
        background.submit(runtime_code, ObjectCache())
        return nvcc.build(
            request.inputs,
            arch=arch,
            flags=request.flags,
            libcudart_dir=directory.result,
            on_note=notes.append,
        )


def _nothing(request: RunRequest, device: EmulatedDevice) -> str:
    """Why there is no launch to report."""
    if not device.left_out:
        return "no kernel ran"
    names = ", ".join(name.split("(")[0] for name in device.left_out)
    return f"kernels ran, but --kernel {request.kernel} is the name of none of them: {names}"


def _result(
    request: RunRequest, device_name: str, arch: str, device: EmulatedDevice, ended: host.HostResult, notes: list[str]
) -> RunResult:
    findings = list(ended.findings)
    for call in ended.unsupported_calls:
        findings.append(
            Finding("runtime call", Severity.WARNING, f"the program called {call}, which this version does not have")
        )
    for error in ended.errors:
        message = error.message if isinstance(error, LanewiseError) else f"a mistake in Lanewise: {error!r}"
        findings.append(Finding("runtime call", Severity.ERROR, message))
    if Check.LEAK in map(Check, request.checks) and not ended.signal:
        findings += leak.findings(ended.leaks)
    if device.records:
        notes.append(CLOCK_NOTE)
    else:
        notes.append(_nothing(request, device))
    notes.extend(device.notes)
    if (note := cache.default().note) is not None:
        notes.append(note)
    return RunResult(
        program=" ".join(str(path) for path in request.inputs),
        device=device_name,
        arch=arch,
        exit_code=-ended.signal if ended.signal else ended.exit_code,
        launches=tuple(device.records),
        sources=device.sources,
        findings=tuple(findings),
        unsupported=tuple(device.unsupported),
        notes=tuple(notes),
        check=None if device.checker is None else device.checker.summary(),
        code=tuple(device.code.values()),
    )
