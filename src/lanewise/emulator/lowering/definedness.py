"""Which bytes of registers were never written: a second, small value beside each register (`Events.defined`).

One bit a byte, 1 where it is not defined, eight bytes of a lane in a byte: `<32 x i8>` whatever the register's kind.
Where all sources are constants or were computed from such, LLVM finds that it is zero and nothing is left of it.
Arithmetic makes all bytes of its result undefined if one of its sources is; copies, logic, shifts and the like
keep bytes apart, so that padding may be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from lanewise.emulator.analysis import CARRY, spec_of, written_and_read
from lanewise.emulator.flow import registers_in
from lanewise.emulator.kinds import constant
from lanewise.emulator.layout import Hooks
from lanewise.emulator.lowering import undefined_shifts as shifts
from lanewise.ptx.syntax import (
    TYPE_BITS,
    Instruction,
    Operand,
    PairOperand,
    VectorOperand,
)

if TYPE_CHECKING:
    from lanewise.emulator.values import ValueTranslator

VECTOR = "<32 x i8>"
ZERO = "zeroinitializer"
BRANCH, ADDRESS = 0, 1  # what hangs on an undefined value, as UNDEFINED gives it
_ALL = 0xFF
_LOGIC = frozenset(("and", "or", "xor", "not", "lop3"))


class Definedness:
    """The undefined bytes of one function's registers. Everything is zero where the unit does not ask for it."""

    def __init__(self, t: ValueTranslator) -> None:
        self.t = t
        self.wanted = t.unit.events.defined
        self.results: dict[str, str] = {}  # of the instruction at hand, by register

    # ------------------------------------------------------------------ registers
    def prologue(self) -> None:
        """A place for each register: nothing is defined when the function begins."""
        if not self.wanted:
            return
        for name in sorted(self.t.analysis.kinds):
            self.t.out.line(f"{self._place(name)} = alloca {VECTOR}, align 32")
            self.t.out.line(f"store {VECTOR} splat (i8 -1), ptr {self._place(name)}, align 32")
        self.t.out.line(f"%undefined = alloca [8 x {VECTOR}], align 32")

    def _place(self, name: str) -> str:
        return f"%U.{self.t._safe(name)}"

    def of(self, operand: Operand) -> str:
        """The undefined bytes of an operand; of an address: of its register."""
        if not self.wanted:
            return ZERO
        result = ZERO
        for name in registers_in(operand):
            result = self._or(result, self._load(name))
        return result

    def _load(self, name: str) -> str:
        return self.t.out.let(f"load {VECTOR}, ptr {self._place(name)}, align 32")

    def write(self, name: str, lanes: str | None) -> None:
        """The instruction at hand has written a register, for some lanes (<32 x i1>) or, None, for all."""
        if not self.wanted:
            return
        text = self.results.get(name, ZERO)
        if lanes is not None:
            old = self._load(name)
            text = self.t.out.let(f"select <32 x i1> {lanes}, {VECTOR} {text}, {VECTOR} {old}")
        self.t.out.line(f"store {VECTOR} {text}, ptr {self._place(name)}, align 32")

    # ------------------------------------------------------------------ arithmetic on the bits
    def _op(self, opcode: str, a: str, b: str) -> str:
        return self.t.out.let(f"{opcode} {VECTOR} {a}, {b}")

    def _or(self, a: str, b: str) -> str:
        return b if a == ZERO else a if b == ZERO else self._op("or", a, b)

    def _and(self, a: str, mask: int) -> str:
        if a == ZERO or not mask & _ALL:
            return ZERO
        return a if mask & _ALL == _ALL else self._op("and", a, _splat(mask))

    def _shift(self, a: str, bytes_: int) -> str:
        """Towards higher bytes, or (negative) lower ones."""
        if a == ZERO or not bytes_:
            return a
        if abs(bytes_) >= 8:
            return ZERO
        return self._op("shl" if bytes_ > 0 else "lshr", a, _splat(abs(bytes_)))

    def _any(self, a: str) -> str:
        """All bytes where any is undefined."""
        if a == ZERO:
            return ZERO
        some = self.t.out.let(f"icmp ne {VECTOR} {a}, zeroinitializer")
        return self.t.out.let(f"sext <32 x i1> {some} to {VECTOR}")

    # ------------------------------------------------------------------ instructions
    def begin(self, ins: Instruction) -> None:
        """Before an instruction is lowered: what it decides, and the undefined bytes of its results."""
        if not self.wanted:
            return
        self.results = {}
        if ins.guard is not None:
            self.decides(ins.guard.register, BRANCH)
        spec = spec_of(ins)
        written, _ = written_and_read(ins)
        if not written:
            return
        lowering = spec.lowering or ""
        if lowering.startswith("move."):
            self._move(ins)
        elif spec.elementwise:
            text = self._elementwise(ins, spec.operand_types(ins))
            self.results = dict.fromkeys(written, text)
            if isinstance(ins.operands[0], PairOperand) or CARRY in written:
                self.results = dict.fromkeys(written, self._any(text))
        elif lowering == "warp.vote":
            whole = self._whole_warp(self.of(ins.operands[1]))
            self.results = dict.fromkeys(written, whole)
        elif lowering in ("address.cvta", "cluster.mapa", "address.isspacep"):
            self.results = dict.fromkeys(written, self._any(self._joined(map(self.of, ins.operands[1:]), ins)))

    def decides(self, operand: Operand, what: int, mask: str | None = None) -> None:
        """A branch or an address hangs on an operand: tell, where lanes that run have an undefined one."""
        text = self.of(operand)
        if text == ZERO:
            return
        out = self.t.out
        bits = out.let(f"bitcast <32 x i1> {out.let(f'icmp ne {VECTOR} {text}, zeroinitializer')} to i32")
        on = out.let(f"and i32 {bits}, {mask or self.t.active}")
        tell, done = out.fresh_label("undefined"), out.fresh_label("fine")
        out.line(f"br i1 {out.let(f'icmp ne i32 {on}, 0')}, label %{tell}, label %{done}, !prof !1")
        out.label(tell)
        place = self.t.unit.add_place(self.t.function, self.t.current)
        out.line(f"call void {self.hook(Hooks.UNDEFINED)}(ptr %x, ptr %w, i32 {place}, i32 {on}, i32 {what})")
        out.line(f"br label %{done}")
        out.label(done)

    def hook(self, which: int) -> str:
        """A function of the instrument's table."""
        place = self.t.out.let(f"getelementptr i8, ptr %hooks, i64 {which}")
        return self.t.out.let(f"load ptr, ptr {place}")

    def _whole_warp(self, text: str) -> str:
        """All lanes, where one that runs is undefined."""
        if text == ZERO:
            return ZERO
        out = self.t.out
        bits = out.let(f"bitcast <32 x i1> {out.let(f'icmp ne {VECTOR} {text}, zeroinitializer')} to i32")
        on = out.let(f"icmp ne i32 {out.let(f'and i32 {bits}, {self.t.active}')}, 0")
        return out.let(f"select i1 {on}, {VECTOR} splat (i8 -1), {VECTOR} zeroinitializer")

    def _move(self, ins: Instruction) -> None:
        destination, source = ins.operands
        bytes_ = TYPE_BITS[ins.type] // 8
        if isinstance(source, VectorOperand):
            part = bytes_ // len(source.elements)
            texts = [self._shift(self._and(self.of(e), (1 << part) - 1), n * part)
                     for n, e in enumerate(source.elements)]  # fmt: skip
            packed = ZERO
            for text in texts:
                packed = self._or(packed, text)
            self._give(destination, self._any(packed) if bytes_ > 8 else packed)
        elif isinstance(destination, VectorOperand):
            text = self.of(source)
            part = bytes_ // len(destination.elements)
            for n, element in enumerate(destination.elements):
                low = self._shift(text, -n * part) if bytes_ <= 8 else self._any(text)
                self._give(element, self._and(low, (1 << part) - 1))
        else:
            self._give(destination, self.of(source))

    def _give(self, operand: Operand, text: str) -> None:
        for name in registers_in(operand):
            self.results[name] = text

    def _elementwise(self, ins: Instruction, types: Sequence[str]) -> str:
        sources = ins.operands[spec_of(ins).destinations :]
        rule: Callable[[Instruction, Sequence[Operand]], str | None] | None = {
            "shl": self._shl, "shr": self._shr, "prmt": self._prmt, "selp": self._selp, "cvt": self._cvt,
            "bfe": self._bfe, "shf": self._shf,
        }.get(ins.opcode)  # fmt: skip
        if ins.opcode in _LOGIC and types[0] != "pred":
            return self._logic(ins, sources)
        made = rule(ins, sources) if rule is not None else None
        return made if made is not None else self._any(self._joined(map(self.of, sources), ins))

    def _joined(self, texts: Iterable[str], ins: Instruction) -> str:
        result = ZERO
        for text in texts:
            result = self._or(result, text)
        if ins.opcode in ("addc", "subc", "madc"):
            result = self._or(result, self._load(CARRY))
        return result

    def _logic(self, ins: Instruction, sources: Sequence[Operand]) -> str:
        """Bit by bit; a byte that a constant sets does not depend on the other source."""
        if ins.opcode in ("and", "or") and len(sources) == 2:
            for known, other in (sources, sources[::-1]):
                number = constant(known)
                if number is not None:
                    settled = 0 if ins.opcode == "and" else _ALL
                    keeps = sum(1 << n for n in range(8) if number >> 8 * n & 0xFF != settled)
                    return self._and(self.of(other), keeps)
        return self._joined(map(self.of, sources), ins)

    def _shl(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        return self._by_bytes(ins, sources, 1)

    def _shr(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        return None if ins.type.startswith("s") else self._by_bytes(ins, sources, -1)

    def _by_bytes(self, ins: Instruction, sources: Sequence[Operand], sign: int) -> str:
        """Each byte is made of one byte of the source, or of two neighbours where bits are left over."""
        mask = (1 << TYPE_BITS[ins.type] // 8) - 1
        text, count = self._and(self.of(sources[0]), mask), constant(sources[1])
        if count is not None:
            bytes_, bits = divmod(count, 8)
            moved = self._shift(text, sign * bytes_)
            if bits:
                moved = self._or(moved, self._shift(text, sign * (bytes_ + 1)))
        elif text == ZERO:
            moved = ZERO
        else:
            moved = shifts.shifted(self.t.out.let, text, self._amount(sources[1]), "shl" if sign > 0 else "lshr")
        return self._or(self._and(moved, mask), self._any(self.of(sources[1])))

    def _amount(self, operand: Operand) -> str:
        return self.t.vector(self.t.operand(operand, "u32"))

    def _pair(self, sources: Sequence[Operand]) -> str:
        """Eight bytes of two registers, the second above the first."""
        return self._or(self._and(self.of(sources[0]), 15), self._shift(self._and(self.of(sources[1]), 15), 4))

    def _shf(self, ins: Instruction, sources: Sequence[Operand]) -> str:
        both, moved = self._pair(sources), ZERO
        if both != ZERO:
            moved = shifts.funnelled(
                self.t.out.let, both, self._amount(sources[2]), left=ins.has("l"), wrap=ins.has("wrap")
            )
        return self._or(self._and(moved, 15), self._any(self.of(sources[2])))

    def _prmt(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        if ins.has("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
            return None
        selector, both = constant(sources[2]), self._pair(sources)
        if both == ZERO:
            return self._any(self.of(sources[2]))
        if selector is None:
            picked = shifts.permuted(self.t.out.let, both, self._amount(sources[2]))
            return self._or(picked, self._any(self.of(sources[2])))
        result = ZERO
        for n in range(4):
            place = selector >> 4 * n & 7
            result = self._or(result, self._shift(self._and(both, 1 << place), n - place))
        return result

    def _selp(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        chooses = self.t.vector(self.t.operand(sources[2], "pred"))
        first, second = self.of(sources[0]), self.of(sources[1])
        if first == second == ZERO:
            chosen = ZERO
        else:
            chosen = self.t.out.let(f"select <32 x i1> {chooses}, {VECTOR} {first}, {VECTOR} {second}")
        return self._or(chosen, self._any(self.of(sources[2])))

    def _cvt(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        to, source = ins.types[:2] if len(ins.types) == 2 else ("f", "f")
        if "f" in to[0] + source[0] or ins.has("sat"):
            return None
        low = self._and(self.of(sources[0]), (1 << TYPE_BITS[source] // 8) - 1)
        if TYPE_BITS[to] > TYPE_BITS[source] and source.startswith("s"):
            return self._any(low)
        return self._and(low, (1 << TYPE_BITS[to] // 8) - 1)

    def _bfe(self, ins: Instruction, sources: Sequence[Operand]) -> str | None:
        start, length = constant(sources[1]), constant(sources[2])
        if start is None or length is None or length == 0:
            return None
        touched = sum(1 << n for n in range(8) if 8 * n < start + length and start < 8 * n + 8)
        return self._any(self._and(self.of(sources[0]), touched))

    # ------------------------------------------------------------------ memory
    def loaded(self, targets: Sequence[Operand], texts: Sequence[str]) -> None:
        """What a load has brought, a component each."""
        for target, text in zip(targets, texts, strict=True):
            self._give(target, text)

    def shuffled(self, target: Operand, value: Operand, permute: Callable[[str], str]) -> None:
        """What an exchange has brought from other lanes; `permute` moves <32 x i32>."""
        text = self.of(value)
        if text == ZERO:
            return
        wide = self.t.out.let(f"zext {VECTOR} {text} to <32 x i32>")
        self._give(target, self.t.out.let(f"trunc <32 x i32> {permute(wide)} to {VECTOR}"))


def _splat(number: int) -> str:
    number &= 0xFF
    return f"splat (i8 {number - 256 if number > 127 else number})"
