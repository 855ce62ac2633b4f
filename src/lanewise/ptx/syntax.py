"""The syntax tree of PTX: what the parser makes and everything else reads. Source: PTX ISA, chapters 4 to 6.

Operands are immutable; an instruction keeps its dotted modifiers as written, so that one table can give them meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanewise.records import Param, SourceLine

# Fundamental types (PTX ISA 5.2) and the packed and alternate ones that instructions name; value: bits.
TYPE_BITS: dict[str, int] = {
    "pred": 1,
    **{f"{letter}{bits}": bits for letter in "bsu" for bits in (8, 16, 32, 64, 128)},
    "f16": 16, "f16x2": 32, "bf16": 16, "bf16x2": 32, "tf32": 32, "f32": 32, "f64": 64, "f32x2": 64,
    "e4m3": 8, "e5m2": 8, "e4m3x2": 16, "e5m2x2": 16, "u16x2": 32, "s16x2": 32, "u8x4": 32, "s8x4": 32,
    "b4": 4, "u4": 4, "s4": 4, "b1": 1, "u2": 2, "s2": 2, "ue8m0": 8, "ue4m3": 8, "s2f6x2": 16,
    "e2m1": 4, "e2m3": 6, "e3m2": 6, "e2m1x2": 8, "e2m3x2": 16, "e3m2x2": 16, "ue8m0x2": 16,
    "e4m3x4": 32, "e5m2x4": 32, "e2m1x4": 16, "e2m3x4": 32, "e3m2x4": 32, "b1024": 1024,
    "texref": 64, "samplerref": 64, "surfref": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Register:
    """`%r1`, or a named register such as `temp`. Special registers are `Special`."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register with its component: `%tid.x`, `%laneid` (PTX ISA chapter 10)."""

    name: str  # with the component: "%tid.x"


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal or constant expression, folded, as a Python int (may be negative)."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """`0f3F800000`, `0d...`, or a decimal literal: the IEEE bits and how many of them (decimal literals are 64-bit)."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function or label used as a value, plus a byte offset (`var+8`)."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; base is a register, a symbol, or None for an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """`{a, b, c, d}`: elements are registers, literals or the sink `_`. A register declared as a vector is always
    written as its elements: `v` of `.v2` is `{v.x, v.y}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class PairOperand:
    """`p|q`: two destinations, as of setp, shfl and match. Either may be the sink."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`, or `-r` where an instruction allows it."""

    operand: Operand
    operator: str = "!"


@dataclass(frozen=True, slots=True)
class SubWord:
    """`r.b0`, `r.h1`, `r.b3210`: bytes or half-words of a register, as of the video instructions."""

    register: Register
    selector: str  # without the dot


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


@dataclass(frozen=True, slots=True)
class OperandList:
    """`(a, b)`: the arguments or results of a call, or the coordinates of a bulk tensor address after a comma."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """`[map, {x, y}]`, `[texture, sampler, {x, y}]`: an address with coordinates, as of tex and cp.async.bulk.tensor.
    `base` is a register or a symbol (an Address where it has an offset)."""

    base: Operand
    coordinates: tuple[Operand, ...]
    sampler: Operand | None = None


Operand = (
    Register | Special | Integer | Float | Symbol | Address | VectorOperand | PairOperand | Negated | SubWord | Sink
    | OperandList | TensorAddress
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` in front of an instruction."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `modifiers` are the dotted parts after the opcode, in order, without dots ("rn", "ftz", "f32");
    a modifier with scope such as `.shared::cta` stays one string ("shared::cta")."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    line: int = 0
    source: SourceLine | None = None

    def has(self, *modifiers: str) -> bool:
        """Whether any of the given modifiers is present."""
        return any(modifier in self.modifiers for modifier in modifiers)

    @property
    def types(self) -> tuple[str, ...]:
        """The modifiers that are types, in order: ("s64", "s32") for cvt.s64.s32."""
        return tuple(modifier for modifier in self.modifiers if modifier in TYPE_BITS)

    @property
    def type(self) -> str:
        """The last type: the one an arithmetic instruction works in. Raises IndexError where there is none."""
        return self.types[-1]

    @property
    def name(self) -> str:
        """As written, without operands: "add.rn.ftz.f32"."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable. `bits` of one element; `count` elements (0: `.extern` of unknown size).

    `initial` holds what the declaration says: ints, Float, Symbol, Negated/masked symbol as `SymbolPart`, nested lists
    flattened in memory order; empty where there is none.
    """

    name: str
    space: str
    type: str
    count: int = 1
    vector: int = 1
    alignment: int = 0
    linkage: str = ""  # "", "visible", "extern", "weak", "common"
    initial: tuple[InitialValue, ...] = ()
    line: int = 0
    managed: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return TYPE_BITS[self.type] // 8 * self.vector * self.count


@dataclass(frozen=True, slots=True)
class SymbolPart:
    """`generic(var)+8`, `0xFF(var)`: a symbol in an initialiser, generic where so marked, masked to a byte."""

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None


InitialValue = int | Float | SymbolPart


@dataclass(frozen=True, slots=True)
class RegisterDeclaration:
    """`.reg .b32 %r<5>` is one of `count` 5; a plain register has count None."""

    prefix: str
    type: str
    vector: int = 1
    count: int | None = None


Statement = Instruction | Label


@dataclass(slots=True)
class Function:
    """A kernel (`.entry`) or a device function (`.func`), with its body flattened (nested scopes are renamed apart)."""

    name: str
    is_kernel: bool
    params: tuple[Param, ...] = ()
    returns: tuple[Param, ...] = ()
    registers: dict[str, str] = field(default_factory=dict)  # register name -> type, `%r<5>` expanded lazily by lookup
    register_families: tuple[RegisterDeclaration, ...] = ()
    families_by_prefix: dict[str, RegisterDeclaration] = field(default_factory=dict, repr=False)
    variables: tuple[Variable, ...] = ()  # .local, .shared, .param declared in the body
    body: tuple[Statement, ...] = ()
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)  # .branchtargets tables by label
    call_prototypes: dict[str, CallPrototype] = field(default_factory=dict)  # .callprototype / .calltargets by label
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, minnctapersm, maxnreg...
    linkage: str = ""
    is_declaration: bool = False  # no body: extern or forward
    line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class CallPrototype:
    """`.callprototype` (params and returns) or `.calltargets` (names)."""

    params: tuple[Param, ...] = ()
    returns: tuple[Param, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(slots=True)
class PtxModule:
    """One PTX text. `text` is kept: reports show lines of it."""

    text: str
    version: tuple[int, int]
    target: str  # "sm_90"
    address_bits: int
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
