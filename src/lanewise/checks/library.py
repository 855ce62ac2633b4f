"""The check runtime: native functions that translated kernels call, built from `runtime/*.c` with the host's compiler,
once, and kept in the cache."""

from __future__ import annotations

import ctypes
import shlex
import subprocess
import tempfile
from functools import cache as remember
from importlib.resources import files
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from lanewise.emulator import layout
from lanewise.emulator.unit import PLACE_BASE
from lanewise.errors import CompileError
from lanewise.toolchain import cache, host

_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-Wall",
          "-Wextra", "-D_GNU_SOURCE")  # fmt: skip
_STRUCTURES = (layout.Warp, layout.Block, layout.Worker, layout.Launch, layout.Hooks, layout.Status)

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
NOBODY = 0xFFFFFFFF
MOST_LINES = 1 << 13  # source lines of a kernel that records can tell apart


@remember
def library() -> ctypes.CDLL:
    """The loaded library. EnvironmentProblem where there is no host compiler."""
    compiler = host.c_compiler(host.compiler())
    texts = {**_sources(), "layout.h": _layout()}
    key = cache.key_of(
        host.fingerprint(compiler), llvm.get_host_cpu_name(), *_FLAGS,
        *(part for item in sorted(texts.items()) for part in item),
    )  # fmt: skip
    built = cache.default().build_once("checks", key + ".so", lambda path: _build(path, compiler, texts))
    loaded = ctypes.CDLL(str(built))
    loaded.lw_check_new.restype = loaded.lw_check_begin.restype = loaded.lw_check_end.restype = ctypes.c_void_p
    loaded.lw_check_new.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    loaded.lw_check_begin.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_uint32] * 4
    ]  # fmt: skip
    loaded.lw_check_end.argtypes = [ctypes.c_void_p] * 3
    loaded.lw_check_undefined.restype = ctypes.c_uint64
    loaded.lw_check_writers.restype = ctypes.c_void_p
    loaded.lw_check_writers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loaded.lw_check_spoiled.restype = ctypes.c_uint32
    for name, numbers in (("define", 2), ("forget", 2), ("copy", 3), ("undefined", 2), ("spoiled", 0)):
        getattr(loaded, f"lw_check_{name}").argtypes = [ctypes.c_void_p] + [ctypes.c_uint64] * numbers
    loaded.lw_check_free.argtypes = [ctypes.c_void_p]
    return loaded


def _sources() -> dict[str, str]:
    folder = files("lanewise.checks").joinpath("runtime")
    return {
        item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith((".c", ".h"))
    }


def _layout() -> str:
    """`layout.h`: the offsets and sizes of the emulator's structures."""
    lines = [
        f"#define {structure.__name__.upper()}_{name} {value}"
        for structure in _STRUCTURES
        for name, value in vars(structure).items()
        if name.isupper() and isinstance(value, int)
    ]
    lines += [
        f"#define PLACE_BASE {PLACE_BASE}u",
        f"#define SHARED_WINDOW_BASE {layout.SHARED_WINDOW}ull",
        f"#define LOCAL_WINDOW_BASE {layout.LOCAL_WINDOW}ull",
        f"#define WINDOW_BYTES_EACH {layout.WINDOW_BYTES}ull",
    ]
    return "\n".join(lines) + "\n"


def _build(path: Path, compiler: Path, texts: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="lanewise-") as name:
        place = Path(name)
        for file, text in texts.items():
            place.joinpath(file).write_text(text, encoding="utf-8")
        command = [str(compiler), *_FLAGS, f"-I{place}", *sorted(map(str, place.glob("*.c"))), "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise CompileError(
                f"{compiler} cannot build the check runtime",
                done.stderr,
                next_step=f"try it by hand: {shlex.join(command)}",
            )
        path.chmod(0o755)
