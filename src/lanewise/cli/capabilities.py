"""What this machine can do for Lanewise: a check for each capability, its cause where it fails, and who can fix it."""

from __future__ import annotations

import ctypes
import importlib
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.cudart import library
from lanewise.emulator.arena import Arena
from lanewise.errors import EnvironmentProblem, LanewiseError
from lanewise.toolchain import cache, gpu, host, nvrtc, process, wheels

YOU, ADMINISTRATOR = "you", "the host's administrator"
_MEGABYTE = 1 << 20
_PLENTY = 200 * _MEGABYTE  # less free space than this and compiled code may not fit
_ARENA = 64 << 30  # bytes of addresses; memory is used only where it is written
_HOST_PROGRAM = '#include <cstdio>\nint main() { std::puts(""); }\n'


@dataclass(frozen=True, slots=True)
class Capability:
    """One line of the answer. `needed_for` is None where nothing of Lanewise needs it."""

    name: str
    present: bool
    detail: str  # what is there, with versions; or what its absence means
    needed_for: str | None = None  # "programs"; "PTX text", so everything; "lanewise.compile" of CUDA C++
    cause: str | None = None
    fixed_by: str | None = None
    command: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether its absence keeps programs from running."""
        return not self.present and self.needed_for in ("programs", "PTX text")


def checks() -> list[Capability]:
    """Every capability, the needed ones first. Takes a second or two; writes to nothing but the cache."""
    found = [
        check() for check in (_python, _compiler, _nvcc, _nvrtc, _ptxas, _nvdisasm, _runtime, _jit, _cache, _arena)
    ]
    return found + _card()


def _python() -> Capability:
    detail = f"{platform.python_version()}, {platform.machine()}, {platform.system()}"
    if sys.platform != "linux":
        cause = f"NVIDIA publishes its compiler for Linux only, and this is {platform.system()}"
        return Capability(
            "Python", False, "PTX text runs; CUDA sources and programs do not", "programs", cause, YOU,
            "use Linux, or a Linux container",
        )  # fmt: skip
    return Capability("Python", True, detail, "PTX text")


def _guarded(name: str, needed_for: str | None, check: Callable[[], str]) -> Capability:
    """The capability by a check that returns its detail, or raises with a message and the next step."""
    try:
        return Capability(name, True, check(), needed_for)
    except LanewiseError as error:
        step = error.next_step or ""
        return Capability(name, False, "not there", needed_for, error.message, YOU, step.removeprefix("run: ") or None)


def _compiler() -> Capability:
    def check() -> str:
        path = host.compiler()
        with process.scratch() as scratch:
            source, program = Path(scratch, "check.cpp"), Path(scratch, "check")
            source.write_text(_HOST_PROGRAM)
            done = process.run([str(path), str(source), "-o", str(program)])
        if done.returncode:
            lines = process.text_of(done).splitlines() or ["no message"]
            raise EnvironmentProblem(
                f"{path} cannot build a C++ program: {lines[0]}", next_step=f"install it whole ({host.INSTALL})"
            )
        version = process.run([str(path), "--version"]).stdout.splitlines()
        return f"{path} ({version[0] if version else 'version unknown'})"

    return _guarded("host C++ compiler", "programs", check)


def _nvcc() -> Capability:
    def check() -> str:
        for name in ("nvcc", "cudafe++", "fatbinary", "nvlink", "cicc", "libdevice", "libcudadevrt"):
            wheels.locate(name)
        wheels.include_directories()
        return _tool_version("nvcc", "nvidia-cuda-nvcc")

    return _guarded("nvcc", "programs", check)


def _nvrtc() -> Capability:
    def check() -> str:
        # A directory of headers keeps the cache out of it.
        nvrtc.compile_source("__global__ void check() {}", arch="sm_90", options=["-I."])
        return f"{wheels.version('nvidia-cuda-nvrtc')}, {wheels.locate('libnvrtc')}"

    return _guarded("NVRTC", "lanewise.compile", check)


def _ptxas() -> Capability:
    return _guarded("ptxas", "programs", lambda: _tool_version("ptxas", "nvidia-cuda-nvcc"))


def _nvdisasm() -> Capability:
    return _guarded("nvdisasm", None, lambda: _tool_version("nvdisasm", "nvidia-cuda-nvdisasm"))


def _runtime() -> Capability:
    """Our own runtime library, which the host's compiler builds once."""
    return _guarded("runtime library", "programs", lambda: str(library.library_directory() / library.SONAME))


def _tool_version(name: str, wheel: str) -> str:
    path = wheels.locate(name)
    try:
        done = process.run([str(path), "--version"])
    except OSError as error:
        raise EnvironmentProblem(
            f"{path} does not start ({error.strerror})", next_step=f"run: {wheels.pip_command(wheel)} --force-reinstall"
        ) from error
    if done.returncode:
        raise EnvironmentProblem(
            f"{path} does not start: {process.text_of(done)}",
            next_step=f"run: {wheels.pip_command(wheel)} --force-reinstall",
        )
    return f"{wheels.version(wheel)}, {path}"


def _jit() -> Capability:
    def check() -> str:
        step = f"run: {wheels.pip_command('llvmlite')} --force-reinstall"
        try:
            binding: Any = importlib.import_module("llvmlite.binding")
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            machine = binding.Target.from_default_triple().create_target_machine()
            module = binding.parse_assembly("define i32 @check() { ret i32 42 }")
            with binding.create_mcjit_compiler(module, machine) as engine:
                address = engine.get_function_address("check")
                answer = _call(address)
        except (ImportError, OSError, RuntimeError) as error:
            raise EnvironmentProblem(f"LLVM does not compile here: {error}", next_step=step) from error
        if answer != 42:
            raise EnvironmentProblem("LLVM compiles wrong code here", next_step=step)
        version = ".".join(map(str, binding.llvm_version_info))
        return f"LLVM {version} by llvmlite {wheels.version('llvmlite')}, for {binding.get_host_cpu_name()}"

    return _guarded("LLVM compiler", "PTX text", check)


def _call(address: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(address)())


def _cache() -> Capability:
    """Not needed: without it everything is compiled again in each run."""
    name = "cache directory"
    try:
        store = cache.default()
    except LanewiseError as error:
        return Capability(name, False, "not used", None, error.message, YOU, error.next_step)
    store.put("doctor", "check", b"")
    if store.note is not None:
        return Capability(
            name, False, "every run compiles again", None, store.note, YOU,
            "make room there, or export LANEWISE_CACHE_DIR=DIRECTORY, one that can be written",
        )  # fmt: skip
    root = store.root
    if root is None:
        return Capability(
            name, False, "every run compiles again", None, "LANEWISE_CACHE_DIR is off", YOU, "unset LANEWISE_CACHE_DIR"
        )
    free = cache.free_bytes(root)
    detail = f"{root}, at most {store.limit // _MEGABYTE} MB, {free // _MEGABYTE} MB free there"
    if free < _PLENTY:
        return Capability(
            name, False, detail, None, "hardly any space is left", YOU,
            "free some, or export LANEWISE_CACHE_DIR=DIRECTORY on another disk",
        )  # fmt: skip
    return Capability(name, True, detail)


def _arena() -> Capability:
    """Device memory: a large range of addresses at a fixed place, shared with the host program."""
    name = "device memory"
    try:
        arena = Arena(_ARENA)
    except LanewiseError as error:
        return Capability(
            name, False, "no arena", "PTX text", error.message, ADMINISTRATOR,
            "lift the limit on virtual memory (ulimit -v unlimited; sysctl vm.overcommit_memory=0)",
        )  # fmt: skip
    if arena.fd is None:
        return Capability(
            name, False, "PTX text runs; programs do not", "programs",
            "this system maps no shared memory (memfd) at a fixed address", ADMINISTRATOR,
            "use Linux 4.17 or newer, and a sandbox that permits memfd_create and mmap (ulimit -v unlimited)",
        )  # fmt: skip
    return Capability(name, True, f"{_ARENA >> 30} GB of addresses at {arena.base:#x}, shared", "programs")


def _card() -> list[Capability]:
    """The driver and what it gives: nothing of it is needed, and its absence is told apart from its refusal."""
    found = gpu.probe()
    if found.driver is None:
        return _no_driver(found)
    driver = Capability("NVIDIA driver", True, f"for CUDA {found.driver}")
    if not found.devices:
        container = gpu.in_container()
        device = Capability(
            "device", False, "kernels run on the CPU", None, found.cause, ADMINISTRATOR,
            "start the container with --gpus all" if container else "nvidia-smi, which says more",
        )  # fmt: skip
        return [driver, device, *_without_device()]
    device = Capability("device", True, ", ".join(found.devices))
    timing = Capability("timing", True, "events on the card need no permission")
    return [driver, device, timing, _counters()]


def _no_driver(found: gpu.Gpu) -> list[Capability]:
    command = "install NVIDIA's driver if the machine has a card"
    if gpu.in_container():
        command = "start the container with --gpus all (NVIDIA Container Toolkit) if the host has a card"
    driver = Capability("NVIDIA driver", False, "not needed", None, found.cause, ADMINISTRATOR, command)
    device = Capability("device", False, "kernels run on the CPU", None, "there is no driver")
    return [driver, device, *_without_device()]


def _without_device() -> list[Capability]:
    cause = "there is no device"
    return [
        Capability("timing", False, "event times are a count, not seconds", None, cause),
        Capability("counters", False, "counts are Lanewise's own", None, cause),
    ]


def _counters() -> Capability:
    restricted = gpu.counters_restricted()
    if restricted is None:
        return Capability(
            "counters", False, "counts are Lanewise's own, which need no permission", None,
            "the kernel module does not say whether they may be read", ADMINISTRATOR,
            "grep RmProfilingAdminOnly /proc/driver/nvidia/params on the host",
        )  # fmt: skip
    if not restricted or gpu.is_administrator():
        return Capability("counters", True, "the driver permits them")
    command = (
        "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf, "
        "then reboot"
    )
    if gpu.in_container():
        command += "; or start the container with --cap-add=SYS_ADMIN"
    return Capability(
        "counters", False, "counts are Lanewise's own, which need no permission; timing works", None,
        "the driver lets administrators only read counters (ERR_NVGPUCTRPERM)", ADMINISTRATOR, command,
    )  # fmt: skip
