"""Where in the program's source an allocation was made, and for which variable.

The runtime library sends the address that a call of cudaMalloc returns to. `addr2line` (it comes with every compiler)
turns it into a source line if the host code has line numbers; the variable's name is read off that line. Both are
looked up only when a message needs them.
"""

from __future__ import annotations

import linecache
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import lru_cache

from lanewise.records import Allocation, SourceLine
from lanewise.toolchain import elf

_KEPT = 100_000
_SECONDS = 10
_LINES_OF_A_CALL = 3
_FRAME = re.compile(r"(.+):(\d+)(?: \(discriminator \d+\))?")
_OF_CUDA = re.compile(r"/cuda_runtime(?:_api)?\.h$")
# The first argument of an allocating call: (void**)&name, reinterpret_cast<void**>(&name), &name, &s.member, name + i
_CALL = re.compile(
    r"cuda(?:Malloc\w*|HostAlloc|HostRegister)\s*(?:<[^>]*>)?\s*\(\s*"
    r"(?:\(\s*void\s*\*\s*\*\s*\)|(?:reinterpret|static)_cast\s*<[^>]*>\s*\()?\s*\(?\s*&?\s*"
    r"([A-Za-z_][\w.]*(?:->\w+|\[\w+\])*)"
)


@dataclass(frozen=True, slots=True)
class CallSite:
    """`path` of the program or library, the address of its first byte, and the address a call returns to."""

    path: str
    base: int
    address: int

    def lookup(self) -> tuple[str | None, SourceLine | None]:
        """The name of the variable that gets the pointer and the line of the call; None for what is not known."""
        return _lookup(self)

    def line(self) -> SourceLine | None:
        """The line that the call is written on, whether its function was inlined or not."""
        _, found = _lookup(self)
        return None if found is None else replace(found, inlined_at=None)


class CallSites:
    """Call sites by the number of the allocation; the oldest of very many are forgotten."""

    def __init__(self) -> None:
        self._sites: dict[int, CallSite] = {}

    def add(self, allocation: int, site: CallSite) -> None:
        self._sites[allocation] = site
        if len(self._sites) > _KEPT:
            del self._sites[next(iter(self._sites))]

    def find(self, allocation: int) -> CallSite | None:
        """The call site of an allocation, by its number."""
        return self._sites.get(allocation)

    def describe(self, allocation: Allocation) -> Allocation:
        """The allocation with the name and the line of its making, as far as they are known."""
        site = self._sites.get(allocation.id)
        if site is None:
            return allocation
        name, made_at = site.lookup()
        return replace(allocation, name=allocation.name or name, made_at=allocation.made_at or made_at)


def variable_of(call: str) -> str | None:
    """The variable that gets the pointer, from the source of an allocating call."""
    match = _CALL.search(call)
    return match[1] if match else None


@lru_cache(maxsize=4096)
def _lookup(site: CallSite) -> tuple[str | None, SourceLine | None]:
    chain: SourceLine | None = None
    for file, line in reversed(_frames(site)):
        chain = SourceLine(file, line, inlined_at=chain)
    if chain is None:
        return None, None
    # A call may go over several lines; its line number is that of its start.
    call = "".join(linecache.getline(chain.file, chain.line + more) for more in range(_LINES_OF_A_CALL))
    return variable_of(call), chain


def _frames(site: CallSite) -> list[tuple[str, int]]:
    """The source lines of a call, innermost first, those of CUDA's own headers left out."""
    tool = shutil.which("addr2line")
    try:
        with open(site.path, "rb") as file:
            absolute = elf.Elf(file.read()).type == elf.ET_EXECUTABLE
        if tool is None:
            return []
        # The call is before the address that it returns to.
        address = site.address - 1 - (0 if absolute else site.base)
        done = subprocess.run(
            [tool, "-i", "-e", site.path, hex(address)], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, elf.NotElf, subprocess.TimeoutExpired):
        return []
    frames = [match for match in map(_FRAME.fullmatch, done.stdout.splitlines()) if match and match[2] != "0"]
    return [(match[1], int(match[2])) for match in frames if not _OF_CUDA.search(match[1])]
