"""PTX to machine code with ptxas, and what that says of each kernel's resources."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lanewise.errors import CompileError, PtxSyntaxError, UsageError
from lanewise.records import KernelResources
from lanewise.toolchain import arch as architectures
from lanewise.toolchain import cache, cubin, process, wheels

DEVICE_RUNTIME_PREFIX = "__cudaCDP2"  # of the functions in libcudadevrt that launch kernels from kernels
_TARGET = re.compile(r"^\s*\.target\s+((?:sm|compute)_\w+)([^\n]*)", re.MULTILINE)
_SPILLS = re.compile(r"Function properties for (\S+)\n\s*\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes")
_ERROR_LINE = re.compile(r"line (\d+)[^;]*;\s*(?:error|fatal)\s*:\s*(.*)")
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '([^']+)'")
_VERSION = re.compile(r"Unsupported \.version (\S+); current version is '(\S+)'")


@dataclass(frozen=True, slots=True)
class Assembled:
    """Machine code of one PTX module (or of several, linked). `resources` is by the kernel's symbol."""

    cubin: bytes
    resources: dict[str, KernelResources]


def assemble(ptx: str, *, arch: str, options: Sequence[str] = (), relocatable: bool = False) -> Assembled:
    """Machine code for `arch` ("sm_90") of one PTX module, with its PTX line numbers in it.

    `relocatable` makes an object for `link` (modules of -rdc=true programs that call each other); the registers of its
    kernels are then not the final ones. Cached by content.

    Raises PtxSyntaxError where the text is not valid PTX or is newer than this ptxas, UsageError where it was made for
    another architecture, CompileError for everything else ptxas refuses.
    """
    target = architectures.parse(arch)
    arguments = [f"-arch={target.real}", "-v", *_debug_options(ptx, options), *options]
    if relocatable:
        arguments.append("-c")
    return _cached("ptxas", ptx, target, arguments)


def link(ptx_modules: Sequence[str], *, arch: str, options: Sequence[Sequence[str]] = ()) -> Assembled:
    """Machine code of PTX modules that call each other, linked by nvlink. `options` are of each module, where there are
    any. Errors as of `assemble`."""
    target = architectures.parse(arch)
    given = options or [()] * len(ptx_modules)
    objects = [
        assemble(ptx, arch=arch, options=own, relocatable=True) for ptx, own in zip(ptx_modules, given, strict=True)
    ]
    key = cache.key_of(_version(), target.real, *(item.cubin for item in objects))
    spills = {symbol: item for each in objects for symbol, item in each.resources.items()}
    data = cache.default().get("nvlink", key)
    if data is None:
        with process.scratch() as scratch:
            inputs = []
            for index, item in enumerate(objects):
                path = Path(scratch, f"{index}.cubin")
                path.write_bytes(item.cubin)
                inputs.append(str(path))
            if any(DEVICE_RUNTIME_PREFIX in ptx for ptx in ptx_modules):
                inputs.append(str(wheels.locate("libcudadevrt")))
            output = Path(scratch, "linked.cubin")
            command = [str(wheels.locate("nvlink")), f"-arch={target.real}", *inputs, "-o", str(output)]
            done = process.run(command)
            if done.returncode or not output.exists():
                raise CompileError("the PTX modules cannot be linked with each other", process.text_of(done))
            data = output.read_bytes()
        cache.default().put("nvlink", key, data)
    final = cubin.resources(data)
    return Assembled(data, {symbol: with_spills(item, spills.get(symbol)) for symbol, item in final.items()})


def with_spills(resources: KernelResources, text: KernelResources | None) -> KernelResources:
    """The resources that machine code states, with the spills from those that ptxas's text states too."""
    if text is None:
        return resources
    return replace(resources, spill_store_bytes=text.spill_store_bytes, spill_load_bytes=text.spill_load_bytes)


def _debug_options(ptx: str, options: Sequence[str]) -> list[str]:
    match = _TARGET.search(ptx)
    if match is not None and "debug" in match[2]:
        return [] if {"-g", "--device-debug"} & set(options) else ["-g"]
    return [] if {"-lineinfo", "--generate-line-info"} & set(options) else ["-lineinfo"]


def _cached(kind: str, ptx: str, target: architectures.Arch, arguments: list[str]) -> Assembled:
    key = cache.key_of(_version(), ptx, *arguments)
    # One entry: a line of JSON with the resources, then the machine code.
    known = cache.default().get(kind, key)
    if known is not None:
        head, _, data = known.partition(b"\n")
        return Assembled(data, {symbol: KernelResources(**item) for symbol, item in json.loads(head).items()})
    result = _run(ptx, target, arguments)
    head = json.dumps({symbol: asdict(item) for symbol, item in result.resources.items()}, sort_keys=True).encode()
    cache.default().put(kind, key, head + b"\n" + result.cubin)
    return result


def _run(ptx: str, target: architectures.Arch, arguments: Sequence[str]) -> Assembled:
    tool = wheels.locate("ptxas")
    with process.scratch() as scratch:
        source, output = Path(scratch, "module.ptx"), Path(scratch, "module.cubin")
        source.write_text(ptx)
        command = [str(tool), *arguments, str(source), "-o", str(output)]
        done = process.run(command)
        text = process.text_of(done).replace(str(source), "PTX")
        if done.returncode or not output.exists():
            raise _failure(text, ptx, target)
        data = output.read_bytes()
    spills = {match[1]: (int(match[2]), int(match[3])) for match in _SPILLS.finditer(text)}
    found = cubin.resources(data)
    for symbol, (stores, loads) in spills.items():
        if symbol in found:
            found[symbol] = replace(found[symbol], spill_store_bytes=stores, spill_load_bytes=loads)
    return Assembled(data, found)


def _failure(text: str, ptx: str, target: architectures.Arch) -> Exception:
    version = _VERSION.search(text)
    if version is not None:
        return PtxSyntaxError(
            f"PTX {version[1]} is newer than this ptxas, which knows PTX up to {version[2]}",
            ptx[: max(ptx.find(".version"), 0)].count("\n") + 1,
            1,
            next_step="make the PTX with CUDA 13.0 or older, "
            f"or lower its .version directive to {version[2]} if the code needs nothing newer",
        )
    match = _TARGET.search(ptx)
    if match is not None:
        made_for = architectures.parse(match[1])
        if not target.runs_ptx_of(made_for):
            return UsageError(
                f"this PTX was made for {made_for.real} and cannot be assembled for {target.real}",
                next_step=f"choose --arch {made_for.real} (or a device of that architecture), "
                f"or compile the program for {target.virtual}",
            )
    if f"'{target.real}' is not defined" in text:
        return architectures.not_compiled_for(target.real)
    unresolved = _UNRESOLVED.findall(text)
    if unresolved:
        return CompileError(
            f"the PTX uses what it does not define: {', '.join(unresolved)}",
            text,
            next_step="give all modules of the program together (it was compiled with -rdc=true)",
        )
    error = _ERROR_LINE.search(text)
    if error is not None:
        return PtxSyntaxError(f"ptxas: {error[2].strip()}", int(error[1]), 1)
    return CompileError("ptxas refuses the PTX", text)


def _version() -> str:
    return wheels.version("nvidia-cuda-nvcc") or ""
