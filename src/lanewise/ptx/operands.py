"""Operands, constant expressions among them (PTX ISA 4.5.4 and chapter 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lanewise.ptx.constants import (
    BINARY,
    SIGNED_RESULT,
    Constant,
    float_of,
    float_value,
    parse_float,
    parse_integer,
    wrap,
)
from lanewise.ptx.lexer import Cursor, Token
from lanewise.ptx.scopes import COMPONENTS, Scope
from lanewise.ptx.special_registers import SPECIAL_REGISTERS, SPECIAL_VECTORS
from lanewise.ptx.syntax import (
    Address,
    Float,
    Integer,
    Negated,
    Operand,
    OperandList,
    PairOperand,
    Register,
    Sink,
    Special,
    SubWord,
    Symbol,
    TensorAddress,
    VectorOperand,
)

WARP_SIZE = 32
MAX_DEPTH = 60  # of nested parentheses and unary operators; far more than any compiler writes
_SELECTORS = ("b", "h")
_PAIR_LEVEL = BINARY["|"][0]


class Based(NamedTuple):
    """A register or symbol plus a byte offset."""

    base: Register | Symbol
    offset: int


Value = Constant | Based | Operand


class OperandParser:
    """Reads operands at a cursor; words get their meaning from a scope."""

    def __init__(self, cursor: Cursor, scope: Scope, unresolved: dict[str, int] | None = None) -> None:
        self.cursor = cursor
        self.scope = scope
        self.unresolved = unresolved  # names that are neither registers nor variables here, and where
        self.depth = 0
        self.memory = False  # of an instruction that accesses memory: `a[1]` is an address there, else a value
        self.found_element = False

    # --- operands
    def operands(self) -> tuple[Operand, ...]:
        """All operands up to the end of the region, separated by commas."""
        if self.cursor.token.kind == "end":
            return ()
        found = [self.operand()]
        while self.cursor.accept(","):
            found.append(self.operand())
        self.cursor.done()
        return tuple(found)

    def call_operands(self) -> tuple[Operand, ...]:
        """The operands of call: `(results), function, (arguments), prototype`, all but the function optional."""
        cursor = self.cursor
        found: list[Operand] = []
        if cursor.at("("):
            found.append(self.operand_list())
            cursor.expect(",", "between the results and the function")
        start = cursor.token
        found.append(self.operand())
        if not isinstance(found[-1], Register | Symbol):
            raise cursor.error("a call needs the name of a function, or a register with its address", start)
        if cursor.accept(","):
            if cursor.at("("):
                found.append(self.operand_list())
            if not isinstance(found[-1], OperandList) or cursor.accept(","):
                found.append(Symbol(cursor.identifier("the label of a prototype")))
        cursor.done()
        return tuple(found)

    def operand_list(self) -> OperandList:
        self.cursor.expect("(", "to open a list")
        found: list[Operand] = []
        while not self.cursor.at(")"):
            found.append(self.operand())
            if not self.cursor.accept(","):
                break
        self.cursor.expect(")", "to close the list")
        return OperandList(tuple(found))

    def operand(self) -> Operand:
        if self.cursor.at("["):
            return self.address()
        if self.cursor.at("{"):
            vector = self.vector()
            return PairOperand(vector, self.simple(self.unary())) if self.cursor.accept("|") else vector
        return self.simple(self.expression())

    def simple(self, value: Value) -> Operand:
        """A value where no `register + offset` may stand."""
        if isinstance(value, Constant):
            return Integer(value.value)
        if isinstance(value, Based):
            if isinstance(value.base, Symbol):
                return Address(*value) if self.memory and self.found_element else Symbol(value.base.name, value.offset)
            raise self.cursor.error(f"'{value.base.name} + offset' is only possible in an address, in brackets")
        return value

    def vector(self) -> Operand:
        """`{a, b}`; `{a}` is the scalar a, as ptxas has it."""
        self.cursor.expect("{", "to open a vector")
        elements = [self.simple(self.expression())]
        while self.cursor.accept(","):
            elements.append(self.simple(self.expression()))
        self.cursor.expect("}", "to close the vector")
        return elements[0] if len(elements) == 1 else VectorOperand(tuple(elements))

    def address(self) -> Operand:
        self.cursor.expect("[", "to open an address")
        start = self.cursor.token
        value = self.expression()
        base: Register | Symbol | None = None
        offset = 0
        if isinstance(value, Constant):
            offset = value.value
        elif isinstance(value, Based):
            base, offset = value
        elif isinstance(value, Register | Symbol):
            base = value
        else:
            raise self.cursor.error("an address is a register, a variable or a number, with an optional offset", start)
        rest: list[Operand] = []
        while self.cursor.accept(","):
            rest.append(self.operand())
        self.cursor.expect("]", "to close the address")
        self.cursor.accept(".unified")  # of ld: a hint about generic addressing without meaning for the result
        address = Address(base, offset)
        if not rest:
            return address
        sampler = rest.pop(0) if len(rest) > 1 else None
        last = rest[-1]
        coordinates = last.elements if len(rest) == 1 and isinstance(last, VectorOperand) else tuple(rest)
        return TensorAddress(base if base is not None and not offset else address, coordinates, sampler)

    # --- expressions
    def expression(self, level: int = 0) -> Value:
        """A constant expression, or a name with what may stand around it (`-r`, `!p`, `p|q`, `v.x`, `a+8`)."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.cursor.error(f"this expression is nested more than {MAX_DEPTH} levels deep")
        left = self.unary()
        while (entry := BINARY.get(self.cursor.token.text)) is not None and self.cursor.token.kind == "op":
            strength, function = entry
            if strength <= level:
                break
            operator = self.cursor.next()
            if strength == _PAIR_LEVEL and isinstance(left, Register | Sink):
                left = PairOperand(left, self.simple(self.unary()))
                continue
            left = self.binary(operator, function, left, self.expression(strength))
        if level == 0 and self.cursor.at("?"):
            left = self.conditional(left)
        self.depth -= 1
        return left

    def conditional(self, condition: Value) -> Value:
        question = self.cursor.next()
        if not isinstance(condition, Constant):
            raise self.cursor.error("the condition of '?:' must be a constant", question)
        yes = self.expression()
        self.cursor.expect(":", "between the two values of '?:'")
        no = self.expression()
        return yes if condition.value else no

    def unary(self) -> Value:
        token = self.cursor.next()
        if token.kind == "int":
            return parse_integer(self.cursor, token)
        if token.kind == "float":
            return parse_float(token.text)
        if token.kind == "id":
            return self.name(token)
        if token.text in ("-", "~", "!", "+") and token.kind == "op":
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.cursor.error(f"this expression is nested more than {MAX_DEPTH} levels deep")
            value = self.negate(token, self.unary())
            self.depth -= 1
            return value
        if token.text == "(" and token.kind == "op":
            return self.parenthesis()
        self.cursor.index -= token.kind != "end"
        raise self.cursor.unexpected("expected an operand")

    def negate(self, operator: Token, value: Value) -> Value:
        if isinstance(value, Constant):
            number = {"-": -value.value, "~": ~value.value, "!": int(not value.value), "+": value.value}[operator.text]
            return wrap(number, value.unsigned and operator.text != "!")
        if isinstance(value, Float) and operator.text in "+-":
            return value if operator.text == "+" else Float(value.bits ^ (1 << (value.width - 1)), value.width)
        if isinstance(value, Register | SubWord | VectorOperand | Special) and operator.text in "!-":
            return Negated(value, operator.text)
        raise self.cursor.error(f"'{operator.text}' cannot stand before this operand", operator)

    def parenthesis(self) -> Value:
        if self.cursor.at(".s64", ".u64"):
            unsigned = self.cursor.next().text == ".u64"
            self.cursor.expect(")", "after the type of a cast")
            start = self.cursor.token
            value = self.unary()
            if not isinstance(value, Constant):
                raise self.cursor.error("only an integer constant can be cast", start)
            return wrap(value.value, unsigned)
        value = self.expression()
        self.cursor.expect(")", "to close the parenthesis")
        return value

    def binary(self, operator: Token, function: Callable[[int, int], int], left: Value, right: Value) -> Value:
        text = operator.text
        if isinstance(left, Constant) and isinstance(right, Constant):
            if text in "/%" and right.value == 0:
                raise self.cursor.error("division by zero in a constant expression", operator)
            unsigned = (left.unsigned or right.unsigned) and text not in ("<<", ">>")
            a, b = wrap(left.value, unsigned or left.unsigned), wrap(right.value, unsigned or right.unsigned)
            return wrap(function(a.value, b.value), a.unsigned and text not in SIGNED_RESULT)
        if isinstance(right, Constant) and text in "+-":
            offset = right.value if text == "+" else -right.value
            if isinstance(left, Register | Symbol):
                return Based(left, wrap(offset, False).value)
            if isinstance(left, Based):
                return Based(left.base, wrap(left.offset + offset, False).value)
        if isinstance(left, Constant) and isinstance(right, Symbol | Register) and text == "+":
            return Based(right, wrap(left.value, False).value)
        if isinstance(left, Float) and isinstance(right, Float) and text in "+-*/":
            return self.float_binary(operator, float_value(left), float_value(right))
        raise self.cursor.error(
            f"'{text}' cannot join these operands: only constants, or a name and a constant", operator
        )

    def float_binary(self, operator: Token, a: float, b: float) -> Float:
        try:
            result = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[operator.text]()
        except ZeroDivisionError:
            raise self.cursor.error("division by zero in a constant expression", operator) from None
        return float_of(result)

    # --- names
    def name(self, token: Token) -> Value:
        """A word: register, special register, variable, label or function; `v.x` and `r.b0` parts included."""
        text = token.text
        if text == "_":
            return Sink()
        operand = self.scope.resolve(text)
        part = self.cursor.token if self.cursor.token.kind == "dot" else None
        if operand is None:
            if text[0] == "%":
                return self.special(token, part)
            if text == "WARP_SZ":
                return Constant(WARP_SIZE)
            operand = Symbol(text)
            if self.unresolved is not None:
                self.unresolved.setdefault(text, token.offset)
        if isinstance(operand, Symbol) and self.cursor.at("["):
            return self.element(operand, text)
        if part is None or (isinstance(operand, Symbol) and part.text == ".unified"):
            return operand
        return self.part(operand, self.cursor.next())

    def element(self, array: Symbol, name: str) -> Value:
        """`a[3]`: the address of an element of an array (PTX ISA 6.4.2)."""
        size = self.scope.element_size(name)
        self.found_element = True
        self.cursor.expect("[", "to open an index")
        start = self.cursor.token
        index = self.expression()
        self.cursor.expect("]", "to close the index")
        if size is None:
            raise self.cursor.error(f"'{name}' is not an array declared before this place", start)
        if not isinstance(index, Constant):
            raise self.cursor.error("the index of an array is a constant here", start)
        return Based(array, index.value * size)

    def special(self, token: Token, part: Token | None) -> Operand:
        name = token.text
        if name in SPECIAL_VECTORS:
            if part is None:
                return VectorOperand(tuple(Special(f"{name}.{component}") for component in "xyzw"))
            component = COMPONENTS.get(self.cursor.next().text[1:])
            if component is None:
                raise self.cursor.error(f"{name} has the components .x, .y, .z and .w, not '{part.text}'", part)
            return Special(f"{name}.{'xyzw'[component]}")
        if name in SPECIAL_REGISTERS:
            return Special(name)
        raise self.cursor.error(
            f"register {name} is not declared here and is not a special register",
            token,
            next_step="declare it with .reg before its first use",
        )

    def part(self, operand: Operand, part: Token) -> Operand:
        """An element of a register vector, or a byte or half-word selection of video instructions."""
        word = part.text[1:]
        if isinstance(operand, VectorOperand):
            index = COMPONENTS.get(word)
            if index is not None and index < len(operand.elements):
                return operand.elements[index]
            raise self.cursor.error(f"this vector register has no component '{part.text}'", part)
        if isinstance(operand, Register) and word[0] in _SELECTORS and word[1:].isdecimal():
            return SubWord(operand, word)
        raise self.cursor.error(f"'{part.text}' cannot follow this operand", part)
