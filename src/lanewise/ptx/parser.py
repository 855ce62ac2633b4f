"""A PTX module: its head, variables, functions and sections (PTX ISA chapter 11)."""

from __future__ import annotations

import re

from lanewise.ptx.debug_info import DWARF, LOC, LineTable
from lanewise.ptx.declarations import LINKAGES, make_variables, parse_declaration
from lanewise.ptx.functions import FunctionParser
from lanewise.ptx.lexer import PRAGMA, Source, shorten
from lanewise.ptx.scopes import Scope
from lanewise.ptx.syntax import PtxModule

OLDEST_VERSION = (1, 0)
NEWEST_VERSION = (9, 5)  # of CUDA 13.5

_HEAD = re.compile(r"\s*\.version\s+(\d{1,4})\s*\.\s*(\d{1,4})(?![\w.])", re.ASCII)
_TARGET = re.compile(r"\s*\.target\s+([\w]+(?:\s*,\s*[\w]+)*)", re.ASCII)
_ADDRESS_SIZE = re.compile(r"\.address_size\s+(32|64)(?!\w)", re.ASCII)
_FILE = re.compile(r'\.file\s+\d+(?:\s+"(?:[^"\\\n]|\\[^\n])*"){1,2}(?:\s*,\s*\d+\s*,\s*\d+)?', re.ASCII)
_SECTION = re.compile(r"\.section\s+\.?[\w.$]+\s*\{[^{}]*\}", re.ASCII)
_ALIAS = re.compile(r"\.alias\s+([\w$%]+)\s*,\s*([\w$%]+)\s*;", re.ASCII)
_SPACE = re.compile(r"\s*", re.ASCII)
_FUNCTION = re.compile(r"((?:\.(?:visible|extern|weak|common)\s+)*)\.(entry|func)(?!\w)", re.ASCII)
_KEYWORD = re.compile(r"\.[A-Za-z_]\w*", re.ASCII)
_DECLARATIONS = (*LINKAGES, ".global", ".const", ".shared", ".local", ".param", ".tex", ".reg")


def parse(text: str) -> PtxModule:
    """The syntax tree of a PTX text, of ISA version 1.0 to 9.5. Raises PtxSyntaxError for anything that is not PTX."""
    return _ModuleParser(text).module()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.code = self.source.code
        self.scope = Scope()
        self.lines = LineTable(self.source)
        self.unresolved: dict[str, int] = {}

    def module(self) -> PtxModule:
        module, position = self.head()
        module.files = dict(self.lines.files)
        while True:
            match = _SPACE.match(self.code, position)
            position = match.end() if match else position
            if position >= len(self.code):
                self.check_names(module)
                return module
            position = self.statement(module, position)

    def check_names(self, module: PtxModule) -> None:
        """Every name used in a function is declared somewhere in the module."""
        for name, position in self.unresolved.items():
            if not (name in module.variables or name in module.functions or name in module.aliases):
                raise self.source.error(f"'{name}' is not declared in this module", position)

    def head(self) -> tuple[PtxModule, int]:
        version = _HEAD.match(self.code)
        if version is None:
            match = _SPACE.match(self.code)
            start = match.end() if match else 0
            found = shorten(self.code[start : start + 80]) or "nothing"
            raise self.source.error(f"PTX begins with '.version', but here is {found!r}", start)
        number = (int(version[1]), int(version[2]))
        if number > NEWEST_VERSION:
            newest = f"{NEWEST_VERSION[0]}.{NEWEST_VERSION[1]}"
            raise self.source.error(
                f"this is PTX of version {number[0]}.{number[1]}; the newest version known here is {newest}",
                version.start(1),
                next_step="compile with an older CUDA toolkit, or use a newer Lanewise",
            )
        if number < OLDEST_VERSION:
            raise self.source.error(f"there is no PTX version {number[0]}.{number[1]}", version.start(1))
        target = _TARGET.match(self.code, version.end())
        if target is None:
            raise self.source.error("expected '.target' after '.version'", version.end())
        names = [name.strip() for name in target[1].split(",")]
        return PtxModule(self.source.text, number, names[0], 32), target.end()

    def statement(self, module: PtxModule, position: int) -> int:
        """One statement at module level; gives back where the next begins."""
        code = self.code
        function = _FUNCTION.match(code, position)
        if function is not None:
            return self.function(module, function)
        keyword = _KEYWORD.match(code, position)
        word = keyword[0] if keyword else ""
        if word in _DECLARATIONS:
            return self.variable(module, position)
        if word == ".address_size":
            match = _ADDRESS_SIZE.match(code, position)
            if match is None:
                raise self.source.error("the address size is 32 or 64", position)
            module.address_bits = int(match[1])
            return match.end()
        if word == ".alias":
            match = _ALIAS.match(code, position)
            if match is None:
                raise self.source.error("expected '.alias name, function;'", position)
            module.aliases[match[1]] = match[2]
            return match.end()
        if word == ".target" and (match := _TARGET.match(code, position)) is not None:
            return match.end()
        for name, pattern in ((".file", _FILE), (".section", _SECTION), (".pragma", PRAGMA), (".loc", LOC)):
            if word == name:
                match = pattern.match(code, position)
                if match is None:
                    raise self.source.error(f"this '{name}' directive is incomplete", position)
                return match.end()
        dwarf = DWARF.match(code, position)
        if dwarf is not None:
            return dwarf.end()
        if code[position] == ";":
            return position + 1
        end = code.find("\n", position)
        text = shorten(code[position : end if end >= 0 else None])
        raise self.source.error(f"'{text}' is not a directive of PTX", position)

    def variable(self, module: PtxModule, position: int) -> int:
        end = self.source.statement_end(position)
        linkage, prefix, declarators = parse_declaration(self.source, position, end, self.scope)
        if prefix.space == "reg":
            raise self.source.error("registers are declared within a function", position)
        for declarator in declarators:
            for variable in make_variables(self.source, linkage, prefix, declarator):
                self.scope.element_sizes[variable.name] = prefix.bits // 8
                old = module.variables.get(variable.name)
                if old is not None and "extern" not in (old.linkage, variable.linkage) and old.linkage != "weak":
                    raise self.source.error(f"'{variable.name}' is declared twice", declarator.offset)
                if old is None or variable.linkage != "extern":
                    module.variables[variable.name] = variable
        return end + 1

    def function(self, module: PtxModule, match: re.Match[str]) -> int:
        linkage = match[1].split()
        keyword = match.start(2) - 1
        parser = FunctionParser(self.source, self.lines, self.scope)
        function = parser.parse(match.start(), keyword, linkage[0][1:] if linkage else "")
        for name, position in parser.unresolved.items():
            self.unresolved.setdefault(name, position)
        old = module.functions.get(function.name)
        if old is not None and not old.is_declaration and not function.is_declaration:
            raise self.source.error(f"'{function.name}' has two bodies; the first is at line {old.line}", match.start())
        if old is None or not function.is_declaration:
            module.functions[function.name] = function
        return parser.end
