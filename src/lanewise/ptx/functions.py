"""Kernels and device functions: their headers (PTX ISA 7.1, 11.2, 11.4, 11.7)."""

from __future__ import annotations

from lanewise.ptx.bodies import BodyParser
from lanewise.ptx.constants import Constant
from lanewise.ptx.debug_info import LineTable
from lanewise.ptx.declarations import lay_out, make_register, parse_attribute, parse_parameters
from lanewise.ptx.initialisers import Declarator, Prefix
from lanewise.ptx.lexer import Cursor, Source
from lanewise.ptx.operands import OperandParser
from lanewise.ptx.scopes import Names, Scope
from lanewise.ptx.syntax import Function

# Directives between the parameters and the body; value: how many numbers they take at most.
_DIRECTIVES = {
    ".maxntid": 3,
    ".reqntid": 3,
    ".minnctapersm": 1,
    ".maxnctapersm": 1,
    ".maxnreg": 1,
    ".noreturn": 0,
    ".explicitcluster": 0,
    ".reqnctapercluster": 3,
    ".maxclusterrank": 1,
    ".blocksareclusters": 0,
    ".abi_preserve": 1,
    ".abi_preserve_control": 1,
}


class FunctionParser:
    """Reads one `.entry` or `.func`; `end` is then the position after it."""

    def __init__(self, source: Source, lines: LineTable, module: Scope) -> None:
        self.source = source
        self.code = source.code
        self.lines = lines
        self.names = Names(module)
        self.scope = self.names.root
        self.unresolved: dict[str, int] = {}  # names that must be functions or variables of the module, and where
        self.end = 0

    def parse(self, start: int, position: int, linkage: str) -> Function:
        """`start` is where the declaration begins, `position` the place of `.entry` or `.func`."""
        brace = self.code.find("{", position)
        stop = self.code.find(";", position)
        stop = min(place for place in (brace, stop, len(self.code)) if place >= 0)
        cursor = Cursor(self.source, position, stop)
        is_kernel = cursor.next().text == ".entry"
        function = Function("", is_kernel, linkage=linkage, line=self.source.line(start))
        returns: list[tuple[Prefix, Declarator]] = []
        while cursor.at(".attribute"):
            cursor.next()
            parse_attribute(cursor, self.scope)
        if not is_kernel and cursor.at("("):
            returns = parse_parameters(cursor, self.scope)
        function.name = cursor.identifier("the name of the " + ("kernel" if is_kernel else "function"))
        params = parse_parameters(cursor, self.scope) if cursor.at("(") else []
        stop = self.directives(cursor, function, stop)
        for prefix, declarator in returns + params:
            self.add_parameter(function, prefix, declarator)
        function.params, function.returns = lay_out(self.source, params), lay_out(self.source, returns)
        if stop >= len(self.code):
            raise self.source.error(f"'{function.name}' has neither a body nor a ';'", start)
        if self.code[stop] == ";":
            function.is_declaration = True
            self.end = stop + 1
            function.end_line = self.source.line(stop)
        else:
            body = BodyParser(self.source, self.lines, self.names, function)
            self.end = body.parse(stop)
            self.unresolved = body.unresolved
        return function

    def directives(self, cursor: Cursor, function: Function, stop: int) -> int:
        """The directives after the parameters; gives back where the body or the `;` is (a pragma has a `;` too)."""
        while True:
            while cursor.token.kind == "dot":
                token = cursor.next()
                if token.text == ".pragma":
                    if cursor.next().kind != "string":
                        raise cursor.error("expected a text in quotes after .pragma", token)
                    continue
                if token.text not in _DIRECTIVES:
                    raise cursor.error(f"'{token.text}' is not a directive of a function", token)
                limit = _DIRECTIVES[token.text]
                values: list[int] = []
                while len(values) < limit and (not values or cursor.accept(",")):
                    value = OperandParser(cursor, self.scope).expression()
                    if not isinstance(value, Constant) or value.value < 0:
                        raise cursor.error(f"'{token.text}' takes whole numbers", token)
                    values.append(value.value)
                function.directives[token.text[1:]] = tuple(values)
            cursor.done()
            pragma = len(cursor.tokens) > 1 and cursor.tokens[-2].kind == "string" and self.code[stop : stop + 1] == ";"
            if not pragma:
                return stop
            following = [place for place in (self.code.find(c, stop + 1) for c in "{;") if place >= 0]
            cursor = Cursor(self.source, stop + 1, min(following, default=len(self.code)))
            stop = min(following, default=len(self.code))

    def add_parameter(self, function: Function, prefix: Prefix, declarator: Declarator) -> None:
        if declarator.name == "_":
            return
        if declarator.name in self.scope.names:
            raise self.source.error(f"'{declarator.name}' is declared twice", declarator.offset)
        if prefix.space == "reg":
            self.names.add_register(self.scope, function, make_register(prefix, declarator))
        else:
            self.names.add_variable(self.scope, declarator.name, prefix.bits // 8)
