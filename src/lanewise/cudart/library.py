"""Our libcudart.so.13: built from `client/*.c` with the host's compiler, once, and kept in the cache.

Every function that NVIDIA's library of CUDA 13.0 exports is there, under the same symbol version. Those that the
sources do not define are stubs that return cudaErrorNotSupported and put their name into the report, so that programs
that never call them still run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from functools import cache as remember
from importlib.resources import files
from pathlib import Path

from lanewise.cudart import codes, properties, protocol
from lanewise.emulator.textures import record
from lanewise.errors import CompileError, EnvironmentProblem
from lanewise.toolchain import cache, host, wheels

SONAME = "libcudart.so.13"
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra",
          "-D_GNU_SOURCE", "-DCUDA_ENABLE_DEPRECATED")  # fmt: skip
# Functions of the driver that are there; with -lcuda a program is linked with this library too.
DRIVER_SYMBOLS = frozenset(("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapReplaceAddress"))
_DEFINITION = re.compile(r"^API\s[^=;]*?\**(\w+)\(", re.MULTILINE)
_SECOND_NAME = re.compile(r"^SECOND_NAME\((\w+), (\w+)\)", re.MULTILINE)


@remember
def known_symbols() -> frozenset[str]:
    """Every function of the CUDA 13.0 runtime library: a program may be linked with all of them."""
    text = files("lanewise.cudart").joinpath("data/calls.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


@remember
def supported_symbols() -> frozenset[str]:
    """The functions that do what they are for; the rest of `known_symbols` are stubs."""
    found: set[str] = set()
    for text in _sources().values():
        found.update(_DEFINITION.findall(text))
        found.update(name + suffix for name, suffix in _SECOND_NAME.findall(text))
    return frozenset(found - DRIVER_SYMBOLS)


def library_directory() -> Path:
    """A directory with `libcudart.so.13`, and `libcudart.so` and `libcuda.so` to link by. Built now if need be.

    EnvironmentProblem where there is no host compiler, no CUDA headers, or no place for it.
    """
    compiler = host.c_compiler(host.compiler())
    generated = _generated()
    includes = [f"-I{path}" for path in wheels.include_directories()]
    key = cache.key_of(
        host.fingerprint(compiler), wheels.version("nvidia-cuda-runtime") or "", *_FLAGS, *includes,
        *(part for item in sorted({**_sources(), **generated}.items()) for part in item),
    )  # fmt: skip
    built = cache.default().build_once("libcudart", key + ".so", lambda path: _build(path, compiler, includes))
    directory = built.parent / f"{key}.d"
    try:
        directory.mkdir(exist_ok=True)
        for name in (SONAME, "libcudart.so", "libcuda.so"):
            link = directory / name
            if not link.is_symlink():
                link.symlink_to(built)
    except FileExistsError:  # another process was faster
        pass
    except OSError as error:
        raise EnvironmentProblem(
            f"{directory} cannot be made ({error.strerror})",
            next_step="set LANEWISE_CACHE_DIR to a directory that can be written",
        ) from error
    return directory


def _sources() -> dict[str, str]:
    folder = files("lanewise.cudart").joinpath("client")
    return {
        item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith((".c", ".h"))
    }


def _generated() -> dict[str, str]:
    stubs = sorted(known_symbols() - supported_symbols())
    exported = sorted(known_symbols() | DRIVER_SYMBOLS)
    return {
        "operations.h": protocol.c_header(),
        "texture_record.h": record.c_header(),
        "error_table.h": codes.c_table(),
        "property_fields.h": properties.c_fields(),
        "stubs.c": "extern int lw_unsupported(const char *name);\n"
        '#define STUB(name) __attribute__((visibility("default"))) int name(void) { return lw_unsupported(#name); }\n'
        + "".join(f"STUB({name})\n" for name in stubs),
        "exports.map": SONAME + " {\n  global:\n" + "".join(f"    {name};\n" for name in exported)
        + "  local: *;\n};\n",
    }  # fmt: skip


def _build(path: Path, compiler: Path, includes: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="lanewise-") as name:
        place = Path(name)
        for file, text in {**_sources(), **_generated()}.items():
            place.joinpath(file).write_text(text, encoding="utf-8")
        inputs = [str(file) for file in sorted(place.glob("*.c"))]
        linking = [f"-Wl,-soname,{SONAME}", f"-Wl,--version-script,{place / 'exports.map'}", "-Wl,-z,defs"]
        command = [str(compiler), *_FLAGS, f"-I{place}", *includes, *inputs, "-o", str(path), *linking]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise CompileError(
                f"{compiler} cannot build the runtime library", done.stderr,
                next_step=f"try it by hand: {shlex.join(command)}",
            )  # fmt: skip
        path.chmod(0o755)
