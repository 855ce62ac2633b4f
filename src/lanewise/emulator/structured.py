"""LLVM functions written with loops and conditions: variables lie in memory, LLVM makes registers of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lanewise.emulator.ir import Emitter


class Code(Emitter):
    """The body of one function. Numbers are i64 unless a type is given."""

    def __init__(self) -> None:
        super().__init__()
        self._variables: list[str] = []

    def text(self, header: str) -> str:
        """The whole function: `header` is such as `define internal void @f(i64 %a)`."""
        return "\n".join([f"{header} {{", "entry:", *self._variables, *self.lines, "}", ""])

    # ------------------------------------------------------------------ variables
    def variable(self, initial: str = "0", kind: str = "i64") -> str:
        """A variable; gives its address."""
        name = self.fresh("v")
        self._variables.append(f"  {name} = alloca {kind}")
        self.line(f"store {kind} {initial}, ptr {name}")
        return name

    def array(self, count: int, kind: str = "i64") -> str:
        name = self.fresh("a")
        self._variables.append(f"  {name} = alloca [{count} x {kind}], align 16")
        return name

    def get(self, variable: str, kind: str = "i64") -> str:
        return self.let(f"load {kind}, ptr {variable}")

    def set(self, variable: str, value: str, kind: str = "i64") -> None:
        self.line(f"store {kind} {value}, ptr {variable}")

    def field(self, base: str, offset: int | str, kind: str = "i64", *, signed: bool = False) -> str:
        """An integer of a structure, as i64."""
        value = self.let(f"load {kind}, ptr {self.at(base, offset)}, align 1")
        return value if kind == "i64" else self.let(f"{'sext' if signed else 'zext'} {kind} {value} to i64")

    def at(self, base: str, offset: int | str) -> str:
        return self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def pointer(self, at: str) -> str:
        """A pointer that lies in memory."""
        return self.let(f"load ptr, ptr {at}")

    def move_byte(self, source: str, target: str) -> None:
        self.line(f"store i8 {self.let(f'load i8, ptr {source}')}, ptr {target}")

    # ------------------------------------------------------------------ arithmetic
    def op(self, name: str, a: str, b: str | int) -> str:
        return self.let(f"{name} i64 {a}, {b}")

    def add(self, a: str, b: str | int) -> str:
        return self.op("add", a, b)

    def sub(self, a: str, b: str | int) -> str:
        return self.op("sub", a, b)

    def mul(self, a: str, b: str | int) -> str:
        return self.op("mul", a, b)

    def test(self, condition: str, a: str, b: str | int) -> str:
        return self.let(f"icmp {condition} i64 {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.let(f"and i1 {a}, {b}")

    def select(self, condition: str, a: str | int, b: str | int) -> str:
        return self.let(f"select i1 {condition}, i64 {a}, i64 {b}")

    def smallest(self, a: str, b: str | int) -> str:
        return self.select(self.test("slt", a, b), a, b)

    def largest(self, a: str, b: str | int) -> str:
        return self.select(self.test("sgt", a, b), a, b)

    # ------------------------------------------------------------------ control
    @contextmanager
    def loop(self, count: str | int) -> Iterator[str]:
        """The body once for each number from 0 to `count` - 1, which it is given."""
        index = self.variable()
        head, body, end = (self.fresh_label(name) for name in ("head", "body", "end"))
        self.line(f"br label %{head}")
        self.label(head)
        number = self.get(index)
        self.line(f"br i1 {self.test('slt', number, count)}, label %{body}, label %{end}")
        self.label(body)
        yield number
        self.set(index, self.add(number, 1))
        self.line(f"br label %{head}")
        self.label(end)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """The body where a condition (i1) holds. It may end the function."""
        yes, end = self.fresh_label("yes"), self.fresh_label("end")
        self.line(f"br i1 {condition}, label %{yes}, label %{end}")
        self.label(yes)
        yield
        if not self.lines[-1].lstrip().startswith(("unreachable", "ret ")):
            self.line(f"br label %{end}")
        self.label(end)

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        with self.when(self.let(f"xor i1 {condition}, true")):
            yield
