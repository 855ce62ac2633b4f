"""Kernels and device functions: headers and bodies (PTX ISA 7.1, 11.2 to 11.4, 11.7)."""

from __future__ import annotations

import re
from dataclasses import replace

from lanewise.errors import PtxSyntaxError
from lanewise.ptx.calls import call_parts
from lanewise.ptx.debug_info import LOC, LineTable
from lanewise.ptx.declarations import (
    Declarator,
    Prefix,
    lay_out,
    make_register,
    make_variables,
    parse_attribute,
    parse_declaration,
    parse_parameters,
)
from lanewise.ptx.lexer import Cursor, Source, shorten
from lanewise.ptx.operands import Constant, OperandParser
from lanewise.ptx.scopes import Names, Scope
from lanewise.ptx.special_registers import SPECIAL_REGISTERS, SPECIAL_VECTORS
from lanewise.ptx.syntax import (
    Address,
    CallPrototype,
    Function,
    Guard,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Special,
    Statement,
    Symbol,
    Variable,
)
from lanewise.records import SourceLine

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

_INSTRUCTION = re.compile(
    # Possessive throughout: a label (`name :`) must fail at its colon, not be searched for a ';' far away.
    r"(?:@\s*(!?)\s*([A-Za-z_$%][\w$]*)(\.[xyzwrgba])?\s+)?([A-Za-z_]\w*+)((?:\s*+\.[A-Za-z0-9_:]++)*+)\s*+(?!:)([^;]*+);",
    re.ASCII,
)
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)", re.ASCII)
_SPACE = re.compile(r"\s*", re.ASCII)
_PIECE = re.compile(
    r"\s*(?:([A-Za-z%$][\w$]*)|(-?(?:[1-9][0-9]{0,8}|0))|\[\s*([A-Za-z%$][\w$]*)\s*(?:\+\s*(-?(?:[1-9][0-9]{0,8}|0))\s*)?\])\s*",
    re.ASCII,
)
_SPECIALS: dict[str, Operand] = {
    **{name: Special(name) for name in SPECIAL_REGISTERS if name not in SPECIAL_VECTORS},
    **{f"{name}.{part}": Special(f"{name}.{part}") for name in SPECIAL_VECTORS for part in "xyzw"},
}
MAX_BLOCKS = 200  # of nested `{ }` in a function; far more than any compiler writes
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red"))
_LABEL_USERS = frozenset(("bra", "brx", "call"))
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*", re.ASCII)
PRAGMA = re.compile(r'\.pragma\s+"[^"\n]*"(?:\s*,\s*"[^"\n]*")*\s*;', re.ASCII)
DWARF = re.compile(r"@@DWARF[^\n]*")


class FunctionParser:
    """Reads one `.entry` or `.func`, from its keyword on; `end` is then the position after it."""

    def __init__(self, source: Source, lines: LineTable, module: Scope) -> None:
        self.source = source
        self.code = source.code
        self.lines = lines
        self.names = Names(module)
        self.modifiers: dict[str, tuple[str, ...]] = {"": ()}
        self.statements: list[Statement] = []
        self.variables: list[Variable] = []
        self.users: list[tuple[int, int, Scope]] = []  # index and position of a branch or call, to resolve its labels
        self.tables: list[tuple[str, tuple[str, ...], int, Scope]] = []  # .branchtargets
        self.unresolved: dict[str, int] = {}  # names that must be functions or variables of the module, and where
        self.scope = self.names.root
        self.location: SourceLine | None = None
        self.open_braces: list[int] = []
        self.end = 0

    # --- header
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
            self.open_braces.append(stop)
            self.body(function, stop + 1)
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

    # --- body
    def body(self, function: Function, position: int) -> None:
        code, skip = self.code, _SPACE.match
        self.lines.new_function()
        while self.open_braces:
            match = skip(code, position)
            position = match.end() if match else position
            first = code[position : position + 1]
            if first == "":
                raise self.source.error("this '{' is never closed", self.open_braces[-1])
            if first == ".":
                position = self.directive(function, position)
            elif first == "{":
                if len(self.open_braces) > MAX_BLOCKS:
                    raise self.source.error(f"blocks are nested more than {MAX_BLOCKS} deep", position)
                self.open_braces.append(position)
                self.scope = Scope(self.scope)
                position += 1
            elif first == "}":
                self.open_braces.pop()
                self.scope = self.scope.parent or self.scope
                position += 1
            elif first == ";":
                position += 1
            else:
                position = self.instruction(function, position)
        function.end_line = self.source.line(position - 1)
        self.end = position
        self.resolve_labels(function)
        function.body = tuple(self.statements)
        function.register_families = tuple(function.families_by_prefix.values())
        function.variables = tuple(self.variables)

    def instruction(self, function: Function, position: int) -> int:
        """An instruction or a label at `position`; gives back where the next statement begins."""
        code = self.code
        match = _INSTRUCTION.match(code, position)
        if match is None:
            label = _LABEL.match(code, position)
            if label is not None:
                return self.label(function, label)
            dwarf = DWARF.match(code, position)
            if dwarf is not None:
                return dwarf.end()
            raise self.not_an_instruction(position)
        negated, predicate, component, opcode, dotted, text = match.groups()
        modifiers = self.modifiers.get(dotted)
        if modifiers is None:
            modifiers = tuple(word.strip() for word in dotted.split(".")[1:])
            if "" in modifiers or any(word[0] == ":" or word[-1] == ":" for word in modifiers):
                raise self.source.error(f"'{shorten(opcode + dotted)}' has an incomplete modifier", match.start(4))
            self.modifiers[dotted] = modifiers
        guard = None
        if predicate is not None:
            guard = self.guard(predicate, component, negated == "!", match.start(2))
        if opcode == "call":
            cursor = Cursor(self.source, match.start(6), match.end(6))
            operands = OperandParser(cursor, self.scope, self.unresolved).call_operands()
        else:
            cached = self.scope.cache.get(text)
            operands = cached if cached is not None else self.operands(opcode, text, match.start(6))
        if opcode in _LABEL_USERS:
            self.users.append((len(self.statements), match.start(6), self.scope))
        self.statements.append(
            Instruction(opcode, modifiers, operands, guard, self.source.line(position), self.location)
        )
        return match.end()

    def not_an_instruction(self, position: int) -> PtxSyntaxError:
        end = self.code.find("\n", position)
        text = shorten(self.code[position : end if end >= 0 else None])
        if self.code.find(";", position) < 0:
            return self.source.error(f"the statement '{text}' is not closed by ';'", position)
        return self.source.error(f"'{text}' is not a statement of PTX", position)

    def guard(self, predicate: str, component: str | None, negated: bool, position: int) -> Guard:
        register = self.scope.resolve(predicate)
        if component is not None:
            cursor = Cursor(self.source, position, position + len(predicate) + 2)
            register = OperandParser(cursor, self.scope).operand()
        if not isinstance(register, Register):
            raise self.source.error(f"the guard '{predicate}' is not a register declared here", position)
        return Guard(register, negated)

    def operands(self, opcode: str, text: str, position: int) -> tuple[Operand, ...]:
        """Operands by the short way (names, small numbers, plain addresses), else by the full grammar."""
        cache = self.scope.cache
        found: list[Operand] = []
        for piece in text.split(","):
            known = cache.get(piece)
            if known is not None:
                if len(known) != 1:
                    break
                found.append(known[0])
                continue
            operand = self.piece(piece, position)
            if operand is None:
                break
            cache[piece] = (operand,)
            found.append(operand)
        else:
            return tuple(found)
        cursor = Cursor(self.source, position, position + len(text))
        parser = OperandParser(cursor, self.scope, self.unresolved)
        parser.memory = opcode in _MEMORY
        operands = parser.operands()
        if not parser.found_element:
            cache[text] = operands
        return operands

    def piece(self, text: str, position: int) -> Operand | None:
        match = _PIECE.fullmatch(text)
        if match is None:
            return _SPECIALS.get(text.strip())
        name, number, base, offset = match.groups()
        if number is not None:
            return Integer(int(number))
        word = name or base
        operand = self.scope.resolve(word)
        if operand is None:
            if word[0] == "%" or word == "WARP_SZ":
                return _SPECIALS.get(word) if name is not None else None
            operand = Symbol(word)
            self.unresolved.setdefault(word, position)
        if name is not None:
            return operand
        return Address(operand, int(offset or 0)) if isinstance(operand, Register | Symbol) else None

    # --- labels
    def label(self, function: Function, match: re.Match[str]) -> int:
        name = match[1]
        if name in self.scope.labels or name in self.scope.names:
            raise self.source.error(f"'{name}' is declared twice", match.start())
        renamed = self.names.add_label(self.scope, name)
        spaces = _SPACE.match(self.code, match.end())
        position = spaces.end() if spaces else match.end()
        directive = _DIRECTIVE.match(self.code, position)
        kind = directive[0] if directive else ""
        if kind not in (".branchtargets", ".calltargets", ".callprototype"):
            self.statements.append(Label(renamed, self.source.line(match.start())))
            return match.end()
        end = self.statement_end(position)
        cursor = Cursor(self.source, position + len(kind), end)
        if kind == ".callprototype":
            function.call_prototypes[renamed] = self.prototype(cursor)
            return end + 1
        targets = self.target_list(cursor)
        if kind == ".branchtargets":
            self.tables.append((renamed, tuple(targets), position, self.scope))
        else:
            function.call_prototypes[renamed] = CallPrototype(targets=tuple(targets))
        return end + 1

    def target_list(self, cursor: Cursor) -> list[str]:
        """`L1, L2`, `N<5>` (which is N0 to N4)."""
        targets: list[str] = []
        while not targets or cursor.accept(","):
            name = cursor.identifier("a name")
            if not cursor.accept("<"):
                targets.append(name)
                continue
            token = cursor.token
            count = OperandParser(cursor, self.scope).unary()
            if not isinstance(count, Constant) or count.value < 1:
                raise cursor.error("expected how many names there are", token)
            cursor.expect(">", "after the number of names")
            self.source.spend(count.value, token.offset)
            targets += [f"{name}{index}" for index in range(count.value)]
        cursor.done()
        return targets

    def prototype(self, cursor: Cursor) -> CallPrototype:
        """`(returns) _ (params) .noreturn`, after its keyword."""
        returns = parse_parameters(cursor, self.scope) if cursor.at("(") else []
        cursor.expect("_", "as the name in a prototype")
        params = parse_parameters(cursor, self.scope) if cursor.at("(") else []
        while cursor.token.kind == "dot":
            if cursor.next().text not in (".noreturn", ".abi_preserve", ".abi_preserve_control"):
                cursor.index -= 1
                raise cursor.unexpected("expected .noreturn or the end of the prototype")
            if cursor.token.kind == "int":
                cursor.next()
        cursor.done()
        return CallPrototype(lay_out(self.source, params), lay_out(self.source, returns))

    def resolve_labels(self, function: Function) -> None:
        """Give branches the renamed labels of their blocks; a label may stand after its use."""
        for name, targets, position, scope in self.tables:
            function.branch_targets[name] = tuple(self.target(target, position, scope) for target in targets)
        for index, position, scope in self.users:
            instruction = self.statements[index]
            assert isinstance(instruction, Instruction)
            operands = list(instruction.operands)
            for place, operand in enumerate(operands):
                if not isinstance(operand, Symbol) or scope.resolve(operand.name) is not None:
                    continue
                renamed = scope.label(operand.name)
                if renamed is not None:
                    self.unresolved.pop(operand.name, None)
                if renamed is not None and renamed != operand.name:
                    operands[place] = Symbol(renamed, operand.offset)
                if renamed is None and instruction.opcode != "call":
                    self.target(operand.name, position, scope)
            if instruction.opcode == "call" and (label := call_parts(instruction).prototype) is not None:
                self.target(label, position, scope)
            if operands != list(instruction.operands):
                self.statements[index] = replace(instruction, operands=tuple(operands))

    def target(self, name: str, position: int, scope: Scope) -> str:
        renamed = scope.label(name)
        if renamed is None:
            raise self.source.error(f"the label '{name}' does not exist here", position)
        return renamed

    # --- directives within a body
    def directive(self, function: Function, position: int) -> int:
        location = LOC.match(self.code, position)
        if location is not None:
            self.location = self.lines.locate(location)
            return location.end()
        pragma = PRAGMA.match(self.code, position)
        if pragma is not None:
            return pragma.end()
        end = self.statement_end(position)
        linkage, prefix, declarators = parse_declaration(self.source, position, end, self.scope)
        for declarator in declarators:
            known = self.scope.names if declarator.family is None else self.scope.families
            if declarator.name in known:
                raise self.source.error(f"'{declarator.name}' is declared twice in this block", declarator.offset)
            if prefix.space == "reg":
                self.names.add_register(self.scope, function, make_register(prefix, declarator))
                continue
            renamed = self.names.add_variable(self.scope, declarator.name, prefix.bits // 8)
            self.variables += make_variables(self.source, linkage, prefix, declarator, renamed)
        return end + 1

    def statement_end(self, position: int) -> int:
        end = self.code.find(";", position)
        if end < 0:
            raise self.source.error("this statement is not closed by ';'", position)
        return end
