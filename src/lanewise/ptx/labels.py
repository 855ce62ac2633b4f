"""Labels of a function, and what stands behind them: tables of branches, prototypes of calls (PTX ISA 11.3)."""

from __future__ import annotations

import re
from dataclasses import replace

from lanewise.ptx.calls import call_parts
from lanewise.ptx.constants import Constant
from lanewise.ptx.declarations import lay_out, parse_parameters
from lanewise.ptx.lexer import Cursor, Source
from lanewise.ptx.operands import OperandParser
from lanewise.ptx.scopes import Names, Scope
from lanewise.ptx.syntax import CallPrototype, Function, Instruction, Label, Statement, Symbol

LABEL_USERS = frozenset(("bra", "brx", "call"))
_DIRECTIVE = re.compile(r"\s*(\.(?:branchtargets|calltargets|callprototype))(?!\w)", re.ASCII)


class Labels:
    """Enters labels as they are met, and resolves their uses at the end: a label may stand after its use."""

    def __init__(self, source: Source, names: Names, function: Function) -> None:
        self.source = source
        self.names = names
        self.function = function
        self._users: list[tuple[int, int, Scope]] = []  # of each branch and call: index, position, block
        self._tables: list[tuple[str, list[str], int, Scope]] = []

    def use(self, index: int, position: int, scope: Scope) -> None:
        """The statement of this index names labels; its operands are at `position`."""
        self._users.append((index, position, scope))

    def declare(self, match: re.Match[str], scope: Scope, statements: list[Statement]) -> int:
        """A label, with the directive that it may name; gives back where the next statement begins."""
        name = match[1]
        if name in scope.labels or name in scope.names:
            raise self.source.error(f"'{name}' is declared twice", match.start())
        renamed = self.names.add_label(scope, name)
        directive = _DIRECTIVE.match(self.source.code, match.end())
        if directive is None:
            statements.append(Label(renamed, self.source.line(match.start())))
            return match.end()
        end = self.source.statement_end(match.start())
        cursor = Cursor(self.source, directive.end(), end)
        if directive[1] == ".callprototype":
            self.function.call_prototypes[renamed] = self._prototype(cursor, scope)
        elif directive[1] == ".calltargets":
            self.function.call_prototypes[renamed] = CallPrototype(targets=tuple(self._targets(cursor, scope)))
        else:
            self._tables.append((renamed, self._targets(cursor, scope), directive.start(1), scope))
        return end + 1

    def _targets(self, cursor: Cursor, scope: Scope) -> list[str]:
        """`L1, L2`, `N<5>` (which is N0 to N4)."""
        targets: list[str] = []
        while not targets or cursor.accept(","):
            name = cursor.identifier("a name")
            if not cursor.accept("<"):
                targets.append(name)
                continue
            token = cursor.token
            count = OperandParser(cursor, scope).unary()
            if not isinstance(count, Constant) or count.value < 1:
                raise cursor.error("expected how many names there are", token)
            cursor.expect(">", "after the number of names")
            self.source.spend(count.value, token.offset)
            targets += [f"{name}{index}" for index in range(count.value)]
        cursor.done()
        return targets

    def _prototype(self, cursor: Cursor, scope: Scope) -> CallPrototype:
        """`(returns) _ (params) .noreturn`, after its keyword."""
        returns = parse_parameters(cursor, scope) if cursor.at("(") else []
        cursor.expect("_", "as the name in a prototype")
        params = parse_parameters(cursor, scope) if cursor.at("(") else []
        while cursor.token.kind == "dot":
            if cursor.next().text not in (".noreturn", ".abi_preserve", ".abi_preserve_control"):
                cursor.index -= 1
                raise cursor.unexpected("expected .noreturn or the end of the prototype")
            if cursor.token.kind == "int":
                cursor.next()
        cursor.done()
        return CallPrototype(lay_out(self.source, params), lay_out(self.source, returns))

    def resolve(self, statements: list[Statement], unresolved: dict[str, int]) -> None:
        """Give branches and calls the labels of their blocks by their new names; take labels out of `unresolved`."""
        for name, targets, position, scope in self._tables:
            self.function.branch_targets[name] = tuple(self._target(target, position, scope) for target in targets)
        for index, position, scope in self._users:
            instruction = statements[index]
            assert isinstance(instruction, Instruction)
            operands = list(instruction.operands)
            for place, operand in enumerate(operands):
                if not isinstance(operand, Symbol) or scope.resolve(operand.name) is not None:
                    continue
                renamed = scope.label(operand.name)
                if renamed is not None:
                    unresolved.pop(operand.name, None)
                if renamed is not None and renamed != operand.name:
                    operands[place] = Symbol(renamed, operand.offset)
                if renamed is None and instruction.opcode != "call":
                    self._target(operand.name, position, scope)
            if instruction.opcode == "call" and (label := call_parts(instruction).prototype) is not None:
                self._target(label, position, scope)
            if operands != list(instruction.operands):
                statements[index] = replace(instruction, operands=tuple(operands))

    def _target(self, name: str, position: int, scope: Scope) -> str:
        renamed = scope.label(name)
        if renamed is None:
            raise self.source.error(f"the label '{name}' does not exist here", position)
        return renamed
