"""What the source calls things: arrays behind pointers, variables in an index. Nothing where it is not plain."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanewise.demangle import demangle
from lanewise.emulator.roots import root
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import Address, Function, Instruction

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def array(function: Function, sources: Mapping[str, str], site: SiteInfo) -> str | None:
    """The array of an access: a variable by its name, a pointer by that of the kernel's parameter it came by."""
    if site.array:
        return demangle(site.array)
    if site.function != function.name:
        return None
    found = next(
        (s for s in function.body if isinstance(s, Instruction) and s.line == site.ptx_line and _address(s)), None
    )
    if found is None:
        return None
    name = root(function, _address(found)[0])
    number = next((n for n, param in enumerate(function.params) if param.name == name), None)
    if number is None or site.source is None:
        return None
    listed = parameters(sources.get(site.source.outermost.file, ""), demangle(function.name))
    return listed[number] if len(listed) == len(function.params) else None


def _address(instruction: Instruction) -> list[Address]:
    return [operand for operand in instruction.operands if isinstance(operand, Address)][:1]


def parameters(source: str, kernel: str) -> tuple[str, ...]:
    """The names of a kernel's parameters, from its definition in the source; empty where it is not found there once."""
    name = re.escape(kernel.split("(")[0].split("<")[0].split(" ")[-1].split("::")[-1])
    found = [
        match
        for match in re.finditer(rf"\b{name}\s*\(([^(){{}};]*)\)\s*\{{", source)
        if "__global__" in source[max(0, match.start() - 400) : match.start()].rsplit("}", 1)[-1]
    ]
    if len(found) != 1 or not found[0][1].strip():
        return ()
    names = []
    for parameter in found[0][1].split(","):
        words = _IDENTIFIER.findall(parameter.split("=")[0].split("[")[0])
        if not words:
            return ()
        names.append(words[-1])
    return tuple(names)


def is_table(sources: Mapping[str, str], site: SiteInfo, name: str) -> bool:
    """Whether the source declares a shared array of that name with rows and columns."""
    if site.source is None:
        return False
    text = sources.get(site.source.outermost.file, "")
    return re.search(rf"__shared__[^;]*\b{re.escape(name)}\s*\[[^\]]*\]\s*\[", text) is not None
