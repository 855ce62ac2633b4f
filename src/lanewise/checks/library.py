"""The check runtime: native functions that translated kernels call, built from `runtime/*.c` with the host's compiler,
once, and kept in the cache."""

from __future__ import annotations

import ctypes
from functools import cache as remember

import llvmlite.binding as llvm
import numpy as np

from lanewise.emulator import layout_header
from lanewise.toolchain import native

_FLAGS = (*native.FLAGS, "-march=native", "-fvisibility=hidden", "-pthread", "-D_GNU_SOURCE")

# The structures of check.h.
SITE = np.dtype(
    [("space", "u1"), ("kind", "u1"), ("bytes", "u1"), ("element", "u1"), ("scope", "u1"), ("flags", "u1"),
     ("line", "<u2"), ("low", "<i4"), ("high", "<i4"), ("nearest", "<i4"), ("farthest", "<i4")]
)  # fmt: skip
SIDE = np.dtype([(name, "<u4") for name in ("line", "site", "block", "warp", "lane", "did")])
FOUND = np.dtype(
    [("what", "<u4"), ("how", "<u4"), ("code", "<u4"), ("bytes", "<u4"), ("now", SIDE), ("before", SIDE),
     ("address", "<u8"), ("mask", "<u4"), ("seen_mask", "<u4"), ("lanes", "<u8"), ("times", "<u8"),
     ("by_order", "<u4"), ("unused", "<u4"), ("addresses", "<u8", (32,))]
)  # fmt: skip
UNDEFINED = np.dtype([("low", "<u8"), ("high", "<u8"), *((name, "<u4") for name in ("site", "block", "warp", "lane"))])
SPAN = np.dtype(
    [
        ("begin", "<u8"),
        ("end", "<u8"),
        *((name, "<u4") for name in ("line", "flags", "block", "thread")),
        ("per", "<u8"),
    ]
)
NOBODY = 0xFFFFFFFF
MOST_LINES = 1 << 13  # source lines of a kernel that records can tell apart


@remember
def library() -> ctypes.CDLL:
    """The loaded library. EnvironmentProblem where there is no host compiler."""
    texts = {**native.sources("lanewise.checks", "runtime"), "layout.h": layout_header.text()}
    loaded = native.library("checks", "the check runtime", texts, flags=_FLAGS, depends=[llvm.get_host_cpu_name()])
    loaded.lw_check_new.restype = loaded.lw_check_begin.restype = loaded.lw_check_end.restype = ctypes.c_void_p
    loaded.lw_check_new.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    loaded.lw_check_begin.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_uint32] * 4
    ]  # fmt: skip
    loaded.lw_check_end.argtypes = [ctypes.c_void_p] * 3
    loaded.lw_check_undefined.restype = ctypes.c_uint64
    loaded.lw_check_writers.restype = ctypes.c_void_p
    loaded.lw_check_writers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loaded.lw_check_spans.restype = ctypes.c_void_p
    loaded.lw_check_spans.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
    loaded.lw_check_spoiled.restype = ctypes.c_uint32
    for name, numbers in (("define", 2), ("forget", 2), ("copy", 3), ("undefined", 2), ("spoiled", 0)):
        getattr(loaded, f"lw_check_{name}").argtypes = [ctypes.c_void_p] + [ctypes.c_uint64] * numbers
    loaded.lw_check_free.argtypes = [ctypes.c_void_p]
    return loaded
