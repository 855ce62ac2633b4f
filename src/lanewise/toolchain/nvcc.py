"""Whole programs with nvcc: sources in, an executable with PTX and machine code out, cached by content.

Each source is compiled by itself, so that a change recompiles one. An object is found again when the source, every file
it included the last time (the host compiler reports them), the flags and the compilers are the same. A header that
newly appears earlier on the include path is not noticed; this is the limit of every cache of this kind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import CompileError, EnvironmentProblem, LanewiseError, UnsupportedCode, UsageError
from lanewise.records import SourceLine, Unsupported
from lanewise.toolchain import arch as architectures
from lanewise.toolchain import cache, dependencies, host, libraries, process, wheels
from lanewise.toolchain import flags as nvcc_flags

SOURCE_SUFFIXES = frozenset((".cu", ".c", ".cc", ".cpp", ".cxx", ".C", ".c++"))
OBJECT_SUFFIXES = frozenset((".o", ".a", ".so"))
_FORMAT = "1"  # part of every key: change it when the meaning of an entry changes
_VARIANTS = 8  # how many sets of included files are remembered for one source and flags
# What the environment can change in a build, apart from PATH.
_ENVIRONMENT = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "NVCC_PREPEND_FLAGS",
                "NVCC_APPEND_FLAGS", "SOURCE_DATE_EPOCH")  # fmt: skip
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?([A-Za-z_]\w*)")
_NOT_FOUND = re.compile(r"(?:cannot find|unable to find library) -l([\w.+-]+?)(?=:|\s|$)", re.MULTILINE)
_RUNTIME_CALL = re.compile(r"(?:__)?cuda[A-Z]\w*")


@dataclass(frozen=True, slots=True)
class _Job:
    """What is the same for every source of one build."""

    nvcc: Path
    common: tuple[str, ...]  # options of every call
    compile_only: tuple[str, ...]
    identity: str  # hash of everything but the source that an object depends on


def build(
    sources: Sequence[Path],
    *,
    arch: str,
    flags: Sequence[str] = (),
    libcudart_dir: Path | Callable[[], Path] | None = None,
    output: Path | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Path:
    """Build a program from CUDA, C and C++ sources, objects and libraries: `output`, or where the cache keeps it.

    `arch` such as "sm_90": its machine code and PTX are embedded, uncompressed, with source lines. `flags` as for nvcc;
    an architecture, -cudart and -dlto among them are ignored, with a note. `libcudart_dir` holds the `libcudart.so` to
    link with (a function is called once the sources are compiled); None takes the one of NVIDIA's wheel. `on_note` gets
    the compilers' warnings and what was ignored.

    Raises CompileError with the compiler's own text, UnsupportedCode naming all runtime calls that the runtime library
    lacks, UsageError for flags that ask for something other than a program, EnvironmentProblem.
    """
    note = on_note or (lambda text: None)
    parsed = nvcc_flags.parse(flags)
    for ignored in parsed.ignored_for(arch):
        note(f"ignored: {ignored}")
    job = _job(architectures.parse(arch), parsed)
    objects = _objects(job, sources, note)
    directory = libcudart_dir() if callable(libcudart_dir) else libcudart_dir
    libcudart = directory / "libcudart.so" if directory is not None else _wheel_libcudart()
    if not libcudart.exists():
        raise EnvironmentProblem(f"there is no {libcudart} to link with")
    directories = [f"-L{libcudart.parent}", f"-L{wheels.library_directory()}"]
    contents = [dependencies.hash_of(path) or "" for path in (*objects, libcudart, *_libraries(parsed.link))]
    # Without relocatable code, linking the device code only adds an empty image.
    relocatable = parsed.relocatable or any(source.suffix in OBJECT_SUFFIXES for source in sources)
    options = ["-cudart", "shared", *([] if relocatable else ["-nodlink"])]
    # Our directories come first: a user's -L may name a toolkit with another libcudart.
    command = [str(job.nvcc), *job.common, *options, *map(str, objects), *directories, *parsed.link]
    key = cache.key_of(_FORMAT, job.identity, *parsed.link, *contents)

    def link(path: Path) -> None:
        # Not in its place at once: a copy that finds no space says so, a linker says anything.
        with process.scratch() as scratch:
            product = Path(scratch, "program")
            done = process.run([*command, "-o", str(product)])
            if done.returncode:
                raise _link_failure(process.text_of(done), sources)
            data = product.read_bytes()
        path.write_bytes(data)
        path.chmod(0o755)

    built = cache.default().build_once("program", key, link)
    if output is None:
        return built
    return _copy(built, output)


def _job(arch: architectures.Arch, parsed: nvcc_flags.Flags) -> _Job:
    nvcc = wheels.locate("nvcc")
    for name in ("crt headers", "runtime headers"):
        wheels.locate(name)
    if nvcc.parent.parent not in wheels.locate("cicc").parents:
        raise EnvironmentProblem(
            f"the compiler's wheels lie in two places ({nvcc} and {wheels.locate('cicc')}), and nvcc looks in its own",
            next_step=f"run: {wheels.pip_command('nvidia-nvvm')} --force-reinstall, in a virtual environment",
        )
    compiler = host.compiler(parsed.host_compiler)
    common = [_target(arch), *parsed.common]
    if parsed.host_compiler is None:
        common += ["-ccbin", str(compiler)]
    if not parsed.debug:
        common.append("-lineinfo")
    if "-g" not in parsed.common:
        common += ["-Xcompiler", "-g1"]  # line numbers of host code: messages name the cudaMalloc of an array
    if not parsed.optimised:
        common.append("-O3")
    common += ["-Xfatbin", "-compress=false"]
    # Where the wheels lie in two site-packages directories, nvcc finds the headers of its own only.
    common += [f"-isystem={path}" for path in wheels.include_directories() if nvcc.parent.parent not in path.parents]
    versions = [wheels.version(name) or "" for name in sorted({item.wheel for item in wheels.COMPONENTS.values()})]
    environment = [os.environ.get(name, "") for name in _ENVIRONMENT]
    places = [str(nvcc), host.fingerprint(compiler), os.getcwd()]  # line information holds whole paths
    identity = cache.key_of(_FORMAT, *versions, *places, *environment, *common, *parsed.compile_only)
    return _Job(nvcc, tuple(common), parsed.compile_only, identity)


def _target(arch: architectures.Arch) -> str:
    """The flag for one architecture: `-arch=sm_90a` would also compile for sm_90, which has not all of its code."""
    if not arch.suffix:
        return f"-arch={arch.real}"
    return f"-gencode=arch={arch.virtual},code=[{arch.real},{arch.virtual}]"


def _objects(job: _Job, sources: Sequence[Path], note: Callable[[str], object]) -> list[Path]:
    language_named = any(word.startswith(("-x", "--x")) for word in job.compile_only)
    if not sources:
        raise UsageError("no source file given", next_step="name at least one .cu file")
    for source in sources:
        if source.suffix not in SOURCE_SUFFIXES | OBJECT_SUFFIXES and not language_named:
            raise UsageError(
                f"{source}: not a kind of file that nvcc builds a program from",
                next_step=f"give sources ({', '.join(sorted(SOURCE_SUFFIXES))}), objects or libraries",
            )
        if not source.is_file():
            raise UsageError(f"{source}: there is no such file", next_step="check the path")
    with ThreadPoolExecutor(max(1, min(len(sources), os.cpu_count() or 1))) as pool:
        made = list(pool.map(lambda source: _object(job, source), sources))
    for _, warnings in made:
        if warnings:
            note(warnings)
    return [path for path, _ in made]


def _object(job: _Job, source: Path) -> tuple[Path, str]:
    """The object file of one source, and the warnings of its compilation."""
    if source.suffix in OBJECT_SUFFIXES:
        return source.absolute(), ""
    store = cache.default()
    manifest_key = cache.key_of(job.identity, str(source), dependencies.hash_of(source) or "")
    variants = _variants(store.get("dependencies", manifest_key))
    for variant in variants:
        known = store.find("object", variant["object"])
        if known is not None and all(dependencies.hash_of(Path(path)) == digest for path, digest in variant["files"]):
            return known, variant["warnings"]
    started = time.time_ns()
    with process.scratch() as scratch:
        product = Path(scratch, "program.o")
        reported = Path(scratch, "included")
        done = process.run([*_compile_command(job, source), "-o", str(product)], SUNPRO_DEPENDENCIES=f"{reported} -")
        text = process.text_of(done)
        if done.returncode:
            raise _compile_failure(source, text)
        files = _included(job, source, reported)
        key = cache.key_of(manifest_key, *(part for pair in files for part in pair)) + ".o"
        # What was compiled may not be what was hashed: such an object serves this build only.
        changed = dependencies.changed_since(started, [str(source), *(name for name, _ in files)])
        if changed:
            key = cache.key_of(key, str(started)) + ".o"
        path = store.build_once("object", key, lambda place: shutil.copyfile(product, place))
    if changed:
        return path, text
    entry = {"object": key, "files": files, "warnings": text}
    kept = [entry, *(variant for variant in variants if variant["object"] != entry["object"])][:_VARIANTS]
    store.put("dependencies", manifest_key, json.dumps(kept).encode())
    return path, text


def _compile_command(job: _Job, source: Path) -> list[str]:
    return [str(job.nvcc), *job.common, *job.compile_only, "-c", str(source)]


def _variants(data: bytes | None) -> list[dict[str, Any]]:
    """What was found earlier for a source and flags: [{"object", "files": [[path, hash], ...], "warnings"}]."""
    return json.loads(data) if data is not None else []


def _included(job: _Job, source: Path, reported: Path) -> list[tuple[str, str]]:
    """Every file that any of the passes read, with its hash.

    GCC appends to the file that SUNPRO_DEPENDENCIES names in each of its runs, the device pass among them; nvcc's own
    -MD shows the host pass only. Clang does not know the variable, so there nvcc is asked.
    """
    if reported.exists():
        text = reported.read_text(errors="surrogateescape")
    else:
        text = process.run([*_compile_command(job, source), "-M"]).stdout
    return dependencies.hashes(dependencies.prerequisites(text))


def _libraries(link_flags: Sequence[str]) -> list[Path]:
    """The files that -l names in the directories that -L names: a changed library makes another program."""
    joined = " ".join(link_flags)
    directories = re.findall(r"(?:^| )(?:-L|--library-path)[ =]?(\S+)", joined)
    names = re.findall(r"(?:^| )(?:-l|--library)[ =]?(\S+)", joined)
    candidates = (
        Path(place, f"lib{name}{suffix}") for place in directories for name in names for suffix in (".so", ".a")
    )
    return [path for path in candidates if path.is_file()]


def _wheel_libcudart() -> Path:
    """The wheel's libcudart under the name that a linker looks for, which the wheel leaves out: a link in the cache."""
    real = wheels.locate("libcudart")
    place = cache.default().path_for("libcudart-link", cache.key_of(str(real)))
    link = place / "libcudart.so"
    if not link.exists():
        try:
            place.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(real)
        except FileExistsError:  # another process was faster
            pass
        except OSError as error:
            raise EnvironmentProblem(
                f"{link} cannot be made ({error.strerror})", next_step="set LANEWISE_CACHE_DIR to a writable directory"
            ) from error
    return link


def _compile_failure(source: Path, text: str) -> LanewiseError:
    if "cc1plus" in text and "execut" in text:
        return EnvironmentProblem(
            "the host compiler has no C++ part (cc1plus is missing)", next_step=f"install it ({host.INSTALL})"
        )
    unsupported = re.search(r"Unsupported gpu architecture '(\w+)'", text)
    if unsupported is not None:
        return architectures.not_compiled_for(unsupported[1])
    step = None
    if "-allow-unsupported-compiler" in text:
        step = "name an older host compiler with -ccbin, or add -allow-unsupported-compiler"
    header = re.search(r"fatal error: (\S+): No such file", text)
    if header is not None and (wheel := libraries.wheel_of(header[1])) is not None:
        return EnvironmentProblem(
            f"{header[1]} is not installed: it comes with the wheel {wheel} and holds functions for kernels",
            next_step=wheels.install_step(wheel),
        )
    if header is not None and libraries.of_header(header[1]) is not None:
        return _unsupported(libraries.included(source))
    if header is not None:
        step = f"{header[1]} is in none of the include directories: add its directory with -I"
    return CompileError(f"{source} does not compile", text, next_step=step)


def _link_failure(text: str, sources: Sequence[Path]) -> LanewiseError:
    undefined = dict.fromkeys(_UNDEFINED.findall(text))
    items = [
        Unsupported(name, reason, None, None, _where(name, sources))
        for name in undefined
        if (reason := _reason(name)) is not None
    ]
    missing = dict.fromkeys(_NOT_FOUND.findall(text))
    items += [libraries.unsupported(f"lib{name}.so") for name in missing if libraries.of_file(f"lib{name}.so")]
    if items:
        return _unsupported(items)
    step = f"add the directory of lib{next(iter(missing))}.so with -L" if missing else None
    return CompileError("the program does not link", text, next_step=step)


def _reason(function: str) -> str | None:
    """Why a function does not link, where that is known."""
    if _RUNTIME_CALL.fullmatch(function):
        return "this version of the runtime library does not have it"
    library = libraries.of_function(function)
    return None if library is None else f"it belongs to {library.name}, which is not emulated"


def _unsupported(items: Sequence[Unsupported]) -> UnsupportedCode:
    return UnsupportedCode(
        "the program uses what this version does not have: " + ", ".join(item.what for item in items),
        items,
        next_step="leave these out (#ifdef) or replace them; everything else links",
    )


def _where(name: str, sources: Sequence[Path]) -> SourceLine | None:
    """The first line of the sources that names a function."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for source in sources:
        if source.suffix in SOURCE_SUFFIXES:
            for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
                if word.search(line):
                    return SourceLine(str(source), number)
    return None


def _copy(built: Path, output: Path) -> Path:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # A program that is running cannot be overwritten, only replaced.
        handle, name = tempfile.mkstemp(prefix=f".{output.name}-", dir=output.parent)
        os.close(handle)
        try:
            shutil.copyfile(built, name)
            os.chmod(name, 0o755)
            os.replace(name, output)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise EnvironmentProblem(
            f"{output} cannot be written ({error.strerror})", next_step="choose another place"
        ) from error
    return output
