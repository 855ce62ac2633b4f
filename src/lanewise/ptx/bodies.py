"""Bodies of functions: a statement at a time, nested blocks flattened (PTX ISA 4.3)."""

from __future__ import annotations

import re

from lanewise.errors import PtxSyntaxError
from lanewise.ptx.debug_info import DWARF, LOC, LineTable
from lanewise.ptx.declarations import make_register, make_variables, parse_declaration
from lanewise.ptx.labels import LABEL_USERS, Labels
from lanewise.ptx.lexer import PRAGMA, Cursor, Source, shorten
from lanewise.ptx.operands import OperandParser
from lanewise.ptx.scopes import Names, Scope
from lanewise.ptx.special_registers import SPECIAL_REGISTERS, SPECIAL_VECTORS
from lanewise.ptx.syntax import (
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Operand,
    Register,
    Special,
    Statement,
    Symbol,
    Variable,
)
from lanewise.records import SourceLine

_INSTRUCTION = re.compile(
    # Possessive throughout: a label (`name :`) must fail at its colon, not be searched for a ';' far away.
    r"(?:@\s*(!?)\s*([A-Za-z_$%][\w$]*)(\.[xyzwrgba])?\s+)?([A-Za-z_]\w*+)((?:\s*+\.[A-Za-z0-9_:]++(?:\[\d+\](?=\.))?)*+)\s*+(?!:)([^;]*+);",
    re.ASCII,
)
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)", re.ASCII)
_BANK = re.compile(r"\[\d+\]")
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


class BodyParser:
    """Reads the statements of one function from behind its `{` to its `}`."""

    def __init__(self, source: Source, lines: LineTable, names: Names, function: Function) -> None:
        self.source = source
        self.code = source.code
        self.lines = lines
        self.names = names
        self.function = function
        self.labels = Labels(source, names, function)
        self.scope = names.root
        self.statements: list[Statement] = []
        self.variables: list[Variable] = []
        self.unresolved: dict[str, int] = {}  # names that must be functions or variables of the module, and where
        self.location: SourceLine | None = None
        self._modifiers: dict[str, tuple[str, ...]] = {"": ()}

    def parse(self, brace: int) -> int:
        """Fill the function; gives back the position after its `}`."""
        code, skip = self.code, _SPACE.match
        open_braces, position = [brace], brace + 1
        self.lines.new_function()
        while open_braces:
            match = skip(code, position)
            position = match.end() if match else position
            first = code[position : position + 1]
            if first == "":
                raise self.source.error("this '{' is never closed", open_braces[-1])
            if first == ".":
                position = self.directive(position)
            elif first == "{":
                if len(open_braces) > MAX_BLOCKS:
                    raise self.source.error(f"blocks are nested more than {MAX_BLOCKS} deep", position)
                open_braces.append(position)
                self.scope = Scope(self.scope)
                position += 1
            elif first == "}":
                open_braces.pop()
                self.scope = self.scope.parent or self.scope
                position += 1
            elif first == ";":
                position += 1
            else:
                position = self.instruction(position)
        self.function.end_line = self.source.line(position - 1)
        self.labels.resolve(self.statements, self.unresolved)
        function = self.function
        function.body = tuple(self.statements)
        function.register_families = tuple(function.families_by_prefix.values())
        function.variables = tuple(self.variables)
        return position

    def instruction(self, position: int) -> int:
        """An instruction or a label at `position`; gives back where the next statement begins."""
        code = self.code
        match = _INSTRUCTION.match(code, position)
        if match is None:
            label = _LABEL.match(code, position)
            if label is not None:
                return self.labels.declare(label, self.scope, self.statements)
            dwarf = DWARF.match(code, position)
            if dwarf is not None:
                return dwarf.end()
            raise self.not_an_instruction(position)
        negated, predicate, component, opcode, dotted, text = match.groups()
        modifiers = self._modifiers.get(dotted)
        if modifiers is None:
            # `ld.const[2]` names a constant bank (PTX before 2.2); variables carry the same information.
            modifiers = tuple(word.strip() for word in _BANK.sub("", dotted).split(".")[1:])
            if "" in modifiers or any(word[0] == ":" or word[-1] == ":" for word in modifiers):
                raise self.source.error(f"'{shorten(opcode + dotted)}' has an incomplete modifier", match.start(4))
            self._modifiers[dotted] = modifiers
        guard = None
        if predicate is not None:
            guard = self.guard(predicate, component, negated == "!", match.start(2))
        if opcode == "call":
            cursor = Cursor(self.source, match.start(6), match.end(6))
            operands = OperandParser(cursor, self.scope, self.unresolved).call_operands()
        else:
            cached = self.scope.cache.get(text)
            operands = cached if cached is not None else self.operands(opcode, text, match.start(6))
        if opcode in LABEL_USERS:
            self.labels.use(len(self.statements), match.start(6), self.scope)
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

    def directive(self, position: int) -> int:
        location = LOC.match(self.code, position)
        if location is not None:
            self.location = self.lines.locate(location)
            return location.end()
        pragma = PRAGMA.match(self.code, position)
        if pragma is not None:
            return pragma.end()
        end = self.source.statement_end(position)
        linkage, prefix, declarators = parse_declaration(self.source, position, end, self.scope)
        for declarator in declarators:
            known = self.scope.names if declarator.family is None else self.scope.families
            if declarator.name in known:
                raise self.source.error(f"'{declarator.name}' is declared twice in this block", declarator.offset)
            if prefix.space == "reg":
                self.names.add_register(self.scope, self.function, make_register(prefix, declarator))
                continue
            renamed = self.names.add_variable(self.scope, declarator.name, prefix.bits // 8)
            self.variables += make_variables(self.source, linkage, prefix, declarator, renamed)
        return end + 1
