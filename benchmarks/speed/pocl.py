"""The yardstick: the same matrix products as OpenCL kernels on PoCL, through the OpenCL loader and ctypes.

Nothing is counted there. Constants are those of the OpenCL 3.0 headers (CL/cl.h).
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from speed.cases import Result, fastest
from speed.emulated import KERNELS, Stopwatch, Timed
from speed.process import peak_memory

LIBRARY = "libOpenCL.so.1"
DEVICE_TYPE_CPU = 1 << 1
PLATFORM_VERSION = 0x0901
PROGRAM_BUILD_LOG = 0x1183
MEM_READ_WRITE = 1 << 0
MEM_COPY_HOST_PTR = 1 << 5


class NoPocl(Exception):
    """PoCL is not installed; the message says what is missing."""


class _OpenCL:
    """Calls of the OpenCL library that raise where they fail. Objects are plain pointers, never released: the process
    ends soon."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NoPocl(f"{LIBRARY} cannot be loaded ({error})") from error

    def call(self, name: str, *arguments: Any) -> None:
        """A function that returns an error code."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} failed with OpenCL error {code}")

    def make(self, name: str, *arguments: Any) -> c_void_p:
        """A function that returns an object and has the error code as its last parameter."""
        function = getattr(self._library, name)
        function.restype = c_void_p
        code = c_int()
        made = function(*arguments, byref(code))
        if code.value != 0:
            raise RuntimeError(f"{name} failed with OpenCL error {code.value}")
        return c_void_p(made)

    def text(self, function: str, *arguments: Any) -> str:
        buffer = ctypes.create_string_buffer(1 << 14)
        self.call(function, *arguments, c_size_t(len(buffer)), buffer, None)
        return buffer.value.decode(errors="replace")

    def pocl(self) -> tuple[c_void_p, str]:
        """The PoCL platform and its version. Raises NoPocl."""
        platforms, count = (c_void_p * 16)(), ctypes.c_uint()
        if self._library.clGetPlatformIDs(16, platforms, byref(count)) == 0:
            for platform in platforms[: count.value]:
                version = self.text("clGetPlatformInfo", c_void_p(platform), PLATFORM_VERSION)
                if "pocl" in version.lower():
                    return c_void_p(platform), version
        raise NoPocl("the OpenCL loader knows no PoCL platform")


def version() -> str:
    """PoCL's own description of itself. Raises NoPocl."""
    return _OpenCL().pocl()[1].strip()


def gemm(kernel: str, n: int) -> Result:
    """As `cases.gemm`; the first run compiles for its work-group size."""
    cl = _OpenCL()
    platform, _ = cl.pocl()
    device = c_void_p()
    cl.call("clGetDeviceIDs", platform, c_uint64(DEVICE_TYPE_CPU), 1, byref(device), None)
    context = cl.make("clCreateContext", None, 1, byref(device), None, None)
    queue = cl.make("clCreateCommandQueue", context, device, c_uint64(0))
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    c = np.zeros_like(a)
    arrays = [_buffer(cl, context, array) for array in (a, b, c)]
    with Stopwatch() as build:
        function = _function(cl, context, device, kernel)
    for place, array in enumerate(arrays):
        cl.call("clSetKernelArg", function, place, c_size_t(8), byref(array))
    cl.call("clSetKernelArg", function, 3, c_size_t(4), byref(c_int(n)))
    grid, block = (c_size_t * 2)(n, n), (c_size_t * 2)(32, 32)
    runs = []
    for _ in range(3):
        with Stopwatch() as watch:
            cl.call("clEnqueueNDRangeKernel", queue, function, 2, None, grid, block, 0, None, None)
            cl.call("clFinish", queue)
        runs.append(watch.timed)
    cl.call("clEnqueueReadBuffer", queue, arrays[2], 1, c_size_t(0), c_size_t(c.nbytes), _pointer(c), 0, None, None)
    if not np.allclose(c, a @ b, rtol=1e-3, atol=1e-3 * n**0.5):
        raise RuntimeError(f"{kernel} gave a wrong product on PoCL")
    return {
        "kernel": kernel,
        "n": n,
        "first": asdict(Timed.total(build.timed, runs[0])),
        "again": asdict(fastest(runs[1:])),
        "peak_bytes": peak_memory(),
    }


def _pointer(array: npt.NDArray[Any]) -> c_void_p:
    return c_void_p(array.ctypes.data)


def _buffer(cl: _OpenCL, context: c_void_p, array: npt.NDArray[Any]) -> c_void_p:
    flags = c_uint64(MEM_READ_WRITE | MEM_COPY_HOST_PTR)
    return cl.make("clCreateBuffer", context, flags, c_size_t(array.nbytes), _pointer(array))


def _function(cl: _OpenCL, context: c_void_p, device: c_void_p, kernel: str) -> c_void_p:
    source = ctypes.c_char_p((KERNELS / "gemm.cl").read_bytes())
    program = cl.make("clCreateProgramWithSource", context, 1, byref(source), None)
    try:
        cl.call("clBuildProgram", program, 1, byref(device), b"", None, None)
    except RuntimeError as error:
        log = cl.text("clGetProgramBuildInfo", program, device, PROGRAM_BUILD_LOG)
        raise RuntimeError(f"{error}\n{log}") from error
    return cl.make("clCreateKernel", program, kernel.encode())
