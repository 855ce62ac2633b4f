"""What the source calls things: arrays behind pointers, variables in an index. Nothing where it is not plain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from lanewise.demangle import demangle
from lanewise.emulator.roots import root
from lanewise.emulator.unit import SiteInfo
from lanewise.ptx.syntax import Address, Function, Instruction
from lanewise.records import SourceLine

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
    if number is None:
        return demangle(name) if name is not None else None
    if site.source is None:
        return None
    listed = parameters(sources.get(site.source.outermost.file, ""), demangle(function.name))
    return listed[number] if len(listed) == len(function.params) else None


def _address(instruction: Instruction) -> list[Address]:
    return [operand for operand in instruction.operands if isinstance(operand, Address)][:1]


@lru_cache(maxsize=64)
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


def is_table(source: SourceLine | None, sources: Mapping[str, str], name: str) -> bool:
    """Whether the function that holds a line declares a shared array of that name with rows and columns."""
    if source is None:
        return False
    source = replace(source, inlined_at=None)
    declared = rf"__shared__[^;]*\b{re.escape(name)}\s*\[[^\]]*\]\s*\["
    return re.search(declared, _before(source, sources)) is not None


def members(source: SourceLine | None, sources: Mapping[str, str], array: str | None) -> tuple[str, ...]:
    """The fields of `array[...]` that the line names: `p[i].x + p[i].m` gives x and m."""
    found = []
    for after in _subscripts(_line(source, sources), array)[1]:
        field = re.match(r"\s*\.\s*([A-Za-z_]\w*)", after)
        if field is not None:
            found.append(field[1])
    return tuple(dict.fromkeys(found))


def subscript(source: SourceLine | None, sources: Mapping[str, str], array: str | None) -> str | None:
    """What stands in the brackets behind an array on its line, where it is the same each time."""
    found = _subscripts(_line(source, sources), array)[0]
    return found[0] if len(set(found)) == 1 else None


def lane_variable(
    source: SourceLine | None, sources: Mapping[str, str], array: str | None, block: tuple[int, int, int]
) -> str | None:
    """The one variable of an index in which neighbouring lanes differ, by one from lane to lane.

    Lanes of a warp differ in threadIdx.x alone where rows of the block are whole warps. A variable counts where the
    source defines it once, as a sum in which threadIdx.x stands without a factor.
    """
    if block[0] % 32 and block[1] * block[2] > 1:
        return None
    index = subscript(source, sources, array)
    if index is None or source is None:
        return None
    if _LANE in index:
        return _LANE if _plain(index) else None
    text = _before(source, sources)
    defined: dict[str, list[str]] = {
        name: _definitions(text, name) for name in dict.fromkeys(_IDENTIFIER.findall(index))
    }
    differing = [name for name, values in defined.items() if any(_LANE in value for value in values)]
    if len(differing) != 1 or not all(map(_plain, defined[differing[0]])):
        return None
    return differing[0]


_LANE = "threadIdx.x"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def _plain(text: str) -> bool:
    """Whether threadIdx.x stands once and as a term of a sum."""
    around = re.findall(r"([*/%&|^<>-]?)\s*threadIdx\.x\s*([*/%&|^<>]?)", text)
    return around == [("", "")] and "(" not in text


def _definitions(text: str, name: str) -> list[str]:
    """What is assigned to a variable, wherever the file does so."""
    return re.findall(rf"\b{re.escape(name)}\s*=(?!=)\s*([^,;]*)", text)


def _before(source: SourceLine, sources: Mapping[str, str]) -> str:
    """The function that holds a line, up to the line."""
    lines = sources.get(source.outermost.file, "").splitlines()[: source.outermost.line]
    text = _COMMENT.sub("", "\n".join(lines))
    return text[max(text.rfind("__global__"), text.rfind("__device__"), 0) :]


def _line(source: SourceLine | None, sources: Mapping[str, str]) -> str:
    if source is None:
        return ""
    lines = sources.get(source.outermost.file, "").splitlines()
    at = source.outermost.line
    return _COMMENT.sub("", lines[at - 1]) if 0 < at <= len(lines) else ""


def _subscripts(line: str, array: str | None) -> tuple[list[str], list[str]]:
    """What stands in the brackets behind an array, and what follows them."""
    inside: list[str] = []
    after: list[str] = []
    if array is None:
        return inside, after
    for match in re.finditer(rf"(?<![\w.]){re.escape(array)}\s*\[", line):
        depth = 1
        for position in range(match.end(), len(line)):
            depth += {"[": 1, "]": -1}.get(line[position], 0)
            if depth == 0:
                inside.append(line[match.end() : position].strip())
                after.append(line[position + 1 :])
                break
    return inside, after
