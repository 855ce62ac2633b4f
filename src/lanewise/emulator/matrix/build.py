"""A function of LLVM IR written by Python: loops with values carried from one trip to the next, vectors of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanewise.emulator.ir import Emitter

Typed = tuple[str, str]  # LLVM type, text


class Builder(Emitter):
    """An `Emitter` that knows which block it is in."""

    def __init__(self) -> None:
        super().__init__()
        self.block = "entry"

    def label(self, name: str) -> None:
        super().label(name)
        self.block = name

    def splat(self, scalar: str, element: str, lanes: int = 8) -> str:
        """A vector with one scalar in all lanes."""
        kind = f"<{lanes} x {element}>"
        one = self.let(f"insertelement {kind} poison, {element} {scalar}, i32 0")
        return self.let(f"shufflevector {kind} {one}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def at(self, pointer: str, element: str, index: str) -> str:
        """The address of an element of an array."""
        return self.let(f"getelementptr {element}, ptr {pointer}, i64 {index}")

    def loop(self, count: str, carried: Sequence[Typed], body: Callable[[str, list[str]], Sequence[str]]) -> list[str]:
        """Run `body(index, values)` for 0 to count - 1 (at least once); it returns the values for the next trip. The
        result are the values of the last."""
        before, head, end = self.block, self.fresh_label("loop"), self.fresh_label("end")
        self.line(f"br label %{head}")
        self.label(head)
        place = len(self.lines)
        index, following = self.fresh("i"), self.fresh("i")
        values = [self.fresh("v") for _ in carried]
        results = list(body(index, values))
        self.line(f"{following} = add i64 {index}, 1")
        more = self.let(f"icmp ult i64 {following}, {count}")
        self.line(f"br i1 {more}, label %{head}, label %{end}")
        phis = [f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{self.block} ]"]
        phis += [
            f"  {value} = phi {kind} [ {start}, %{before} ], [ {new}, %{self.block} ]"
            for value, (kind, start), new in zip(values, carried, results, strict=True)
        ]
        self.lines[place:place] = phis
        self.label(end)
        return results


def function(name: str, parameters: str, write: Callable[[Builder], None], result: str = "void") -> str:
    """The text of a function; `write` emits its body, which returns by itself where there is a result."""
    out = Builder()
    write(out)
    body = "\n".join(out.lines + (["  ret void"] if result == "void" else []))
    declared = "".join(f"{text}\n" for text in sorted(out.declarations))
    return f"\ndefine internal {result} @{name}({parameters}) noinline nounwind {{\nentry:\n{body}\n}}\n{declared}"
