"""Source lines of PTX: `.file`, `.loc` and the names in `.debug_str` (PTX ISA 11.5)."""

from __future__ import annotations

import re

from lanewise.ptx.lexer import Source
from lanewise.records import SourceLine

_FILE = re.compile(
    r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"((?:[^"\\\n]|\\[^\n])*)"(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?',
    re.ASCII | re.MULTILINE,
)
LOC = re.compile(
    r"\.loc\s+(\d{1,9})\s+(\d{1,9})(?:[ \t]+(\d{1,9}))?"
    r"(?:\s*,\s*function_name\s+([\w$.]+)(?:\s*\+\s*(\d{1,9}))?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})(?:\s+(\d{1,9}))?)?",
    re.ASCII,
)
DWARF = re.compile(r"@@DWARF[^\n]*")  # PTX before 2.0
_DEBUG_STR = re.compile(r"\.section\s+\.debug_str\s*\{([^{}]*)\}", re.ASCII)
_BYTE = re.compile(r"0[xX][0-9A-Fa-f]{1,2}|-?[1-9]\d{0,2}|0")
_DEBUG_STR_ITEM = re.compile(r"([\w$.]+)[ \t]*:|\.b8[ \t]+([0-9A-Fa-fxX,\-\s]+)", re.ASCII)


class DebugStrings:
    """The strings of `.debug_str` by label; decoded once, on first use."""

    def __init__(self, source: Source) -> None:
        self._bytes = bytearray()
        self._labels: dict[str, int] = {".debug_str": 0}
        section = _DEBUG_STR.search(source.code)
        if section is None:
            return
        for match in _DEBUG_STR_ITEM.finditer(section[1]):
            if match[1] is not None:
                self._labels[match[1]] = len(self._bytes)
                continue
            for word in match[2].split(","):
                number = _BYTE.fullmatch(word.strip())
                if number is not None:
                    self._bytes.append(int(number[0], 0) & 0xFF)

    def at(self, label: str, offset: int) -> str | None:
        """The NUL-terminated string at `label + offset`; None where there is none."""
        start = self._labels.get(label)
        if start is None or start + offset >= len(self._bytes):
            return None
        end = self._bytes.find(0, start + offset)
        return self._bytes[start + offset : end if end >= 0 else None].decode("utf-8", "replace")


def _path(first: str, second: str | None) -> str:
    """A file name, or (as LLVM writes it) a directory and a file name."""
    path = first if second is None else f"{first}/{second}"
    return path.replace('\\"', '"')


class LineTable:
    """`.file` entries of the module, and `.loc` directives resolved to SourceLine, chains of inlining included.

    nvcc writes the files after the functions, so they are collected first.
    """

    def __init__(self, source: Source) -> None:
        self.files = {int(match[1]): _path(match[2], match[3]) for match in _FILE.finditer(source.code)}
        self._source = source
        self._strings: DebugStrings | None = None
        self._seen: dict[tuple[int, int, int], SourceLine] = {}
        self._cache: dict[str, SourceLine | None] = {}

    def new_function(self) -> None:
        """Forget the places seen: the caller of an inlined place is looked for in the same function only."""
        self._seen = {}
        self._cache = {}

    def locate(self, match: re.Match[str]) -> SourceLine | None:
        """The SourceLine of a `.loc` match; None where its file is not declared or its line is 0."""
        text = match[0]
        if text not in self._cache:
            self._cache[text] = self._resolve(match)
        return self._cache[text]

    def _resolve(self, match: re.Match[str]) -> SourceLine | None:
        place = (int(match[1]), int(match[2]), int(match[3] or 0))
        if place[0] not in self.files or place[1] == 0:
            return None
        function = outer = None
        if match[4] is not None:
            if self._strings is None:
                self._strings = DebugStrings(self._source)
            function = self._strings.at(match[4], int(match[5] or 0))
            outer = self._at((int(match[6]), int(match[7]), int(match[8] or 0)))
        line = SourceLine(self.files[place[0]], place[1], place[2], function, outer)
        self._seen[place] = line
        return line

    def _at(self, place: tuple[int, int, int]) -> SourceLine | None:
        found = self._seen.get(place)
        if found is None and place[0] in self.files:
            found = self._seen[place] = SourceLine(self.files[place[0]], place[1], place[2])
        return found
