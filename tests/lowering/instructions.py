"""Every form of every elementwise instruction, with operands to try it on. Standard library only: `card.py` runs the
same list on a GPU.

An operand is written as a PTX type with an optional selector and domain: "f32", "s32.b1", "-u32", "u32:shift". A plain
int is an immediate.
"""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

ROWS = 1024
Spec = str | int


@dataclass(frozen=True)
class Case:
    """One instruction: the lowering's key, its text, its operands and results.

    `against`: what the results are compared with: "card" (the bits that a GPU gave), "bound" (approximations: the
    error that PTX allows), "isa" (PTX's own pseudocode, where the assembler's emulation departs from it).
    `arch`: the least architecture that has it.
    """

    key: str
    name: str
    operands: tuple[Spec, ...]
    results: tuple[str, ...]
    against: str = "card"
    arch: int = 90

    @property
    def id(self) -> str:
        """The name and how many operands; immediates, selectors and signs where there are any."""
        marks = [
            str(spec) for spec in (*self.results, *self.operands) if isinstance(spec, int) or set("-.") & set(spec)
        ]
        return " ".join([f"{self.name}/{len(self.operands)}", *marks])

    @property
    def inputs(self) -> list[str]:
        return [spec for spec in self.operands if isinstance(spec, str)]


@cache
def kind_of(spec: str) -> str:
    """The PTX type of an operand."""
    return spec.lstrip("-").split(":")[0].split(".")[0]


def selector_of(spec: str) -> str:
    return spec.split(":")[0].partition(".")[2]


@cache
def width_of(spec: str) -> int:
    kind = kind_of(spec)
    special = {"pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32, "f32x2": 64, "e4m3x2": 16,
               "e5m2x2": 16, "u16x2": 32, "s16x2": 32}  # fmt: skip
    return special[kind] if kind in special else int(kind[1:])


# --- what to try
def _integers(width: int) -> list[int]:
    top = 1 << (width - 1)
    small = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255]
    return [*(value for value in small if value < top), top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]


def _floats(mantissa: int, exponent: int) -> list[int]:
    """Zeros, subnormals, ones, halves, large numbers, infinities, NaN: patterns of a format, both signs."""
    width = mantissa + exponent + 1
    bias = (1 << (exponent - 1)) - 1
    one, infinity = bias << mantissa, ((1 << exponent) - 1) << mantissa
    values = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, one - 1, one, one + 1]
    values += [one - (1 << mantissa), one + (1 << mantissa), one | 1 << (mantissa - 1), one + (5 << (mantissa - 2))]
    values += [infinity - 1, infinity, infinity | 1 << (mantissa - 1), infinity | 1]
    return values + [value | 1 << (width - 1) for value in values]


def _float_bits(letter: str, integer: str, value: float) -> int:
    number: int = struct.unpack("<" + integer, struct.pack("<" + letter, value))[0]
    return number


_LIMITS = [
    sign * (2.0**power + delta)
    for power in (7, 8, 15, 16, 31, 32)
    for delta in (-1.0, -0.5, 0.0, 0.5)
    for sign in (1.0, -1.0)
]
_LIMITS += [
    sign * value for value in (2.0**63, 2.0**64, 448.0, 464.0, 65504.0, 65520.0, 57344.0) for sign in (1.0, -1.0)
]
_EDGES: dict[str, list[int]] = {
    "f32": [*_floats(23, 8), *(_float_bits("f", "I", value) for value in _LIMITS)],
    "f64": [*_floats(52, 11), *(_float_bits("d", "Q", value) for value in _LIMITS)],
    "f16": _floats(10, 5),
    "bf16": _floats(7, 8),
}
_EDGES["f64"] += [
    _float_bits("d", "Q", value) for value in (3.4028235677973366e38, 3.4028236e38, 1e-45, 7e-46, 1.1754943e-38)
]
_EDGES["tf32"] = _EDGES["f32"]
_MANTISSA = {"f32": (23, 8), "tf32": (23, 8), "f64": (52, 11), "f16": (10, 5), "bf16": (7, 8)}


@cache
def edges(spec: str) -> list[int]:
    kind, domain = kind_of(spec), spec.partition(":")[2]
    if domain == "shift":
        return [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 2**31, 2**32 - 1]
    if domain == "bit":
        return [0, 1, 7, 15, 16, 30, 31]
    if domain == "count":
        return [0, 1, 2, 3, 5, 2**32 - 1, 2**32 - 2, 2**32 - 4]
    if kind == "pred":
        return [0, 1]
    if kind in _EDGES:
        return _EDGES[kind]
    return _integers(width_of(spec))


def number(spec: str, generator: random.Random) -> int:
    """A random operand: integers of every length, floats mostly of moderate size, a tenth edges."""
    kind, domain = kind_of(spec), spec.partition(":")[2]
    if domain or kind == "pred":
        return generator.choice(edges(spec))
    if (kind.endswith("x2") and kind[0] in "fbu") or kind == "s16x2":
        part = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32", "u16x2": "u16", "s16x2": "s16"}[kind]
        width = width_of(spec) // 2
        return number(part, generator) << width | number(part, generator)
    if generator.random() < 0.1:
        return generator.choice(edges(spec))
    width = width_of(spec)
    if kind not in _MANTISSA:
        return generator.getrandbits(width) >> generator.randrange(width)
    mantissa, exponent = _MANTISSA[kind]
    if generator.random() < 0.2:
        return generator.getrandbits(width)
    bias = (1 << (exponent - 1)) - 1
    spread = min(bias // 2, generator.choice((2, 8, 40)))
    biased = bias + generator.randint(-spread, spread)
    return generator.getrandbits(1) << (width - 1) | biased << mantissa | generator.getrandbits(mantissa)


def columns(case: Case) -> list[list[int]]:
    """ROWS operands for each input: edges with edges first, then random ones; the same on every machine."""
    generator = random.Random(case.id)
    inputs = case.inputs
    rows: list[tuple[int, ...]] = []
    tried = [edges(spec) for spec in inputs]
    if math.prod(len(values) for values in tried) <= ROWS // 2:
        rows += itertools.product(*tried)
    else:
        rows += [tuple(generator.choice(values) for values in tried) for _ in range(ROWS // 2)]
    while len(rows) < ROWS:
        rows.append(tuple(number(spec, generator) for spec in inputs))
    return [list(column) for column in zip(*rows, strict=True)]


# --- the instructions
def all_cases() -> Iterator[Case]:
    yield from _integer()
    yield from _carry()
    yield from _logic()
    yield from _floating()
    yield from _half()
    yield from _approximate()
    yield from _compare()
    yield from _convert()
    yield from _video()


def _integer() -> Iterator[Case]:
    for width, letter in itertools.product((16, 32, 64), "us"):
        t, wide = f"{letter}{width}", f"{letter}{2 * width}"
        for opcode in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield Case(f"integer.{opcode.split('.')[0]}", f"{opcode}.{t}", (t, t), (t,))
        yield Case("integer.sad", f"sad.{t}", (t, t, t), (t,))
        yield Case("integer.mad", f"mad.lo.{t}", (t, t, t), (t,))
        yield Case("integer.mad", f"mad.hi.{t}", (t, t, t), (t,))
        if width < 64:
            yield Case("integer.mul", f"mul.wide.{t}", (t, t), (wide,))
            yield Case("integer.mad", f"mad.wide.{t}", (t, t, wide), (wide,))
        if letter == "s":
            yield Case("integer.neg", f"neg.{t}", (t,), (t,))
            yield Case("integer.abs", f"abs.{t}", (t,), (t,))
        if width > 16:
            yield Case("integer.bfind", f"bfind.{t}", (t,), ("u32",))
            yield Case("integer.bfind", f"bfind.shiftamt.{t}", (t,), ("u32",))
            yield Case("integer.bfe", f"bfe.{t}", (t, "u32:shift", "u32:shift"), (t,))
    for width in (32, 64):
        b = f"b{width}"
        yield Case("integer.popc", f"popc.{b}", (b,), ("u32",))
        yield Case("integer.clz", f"clz.{b}", (b,), ("u32",))
        yield Case("integer.brev", f"brev.{b}", (b,), (b,))
        yield Case("integer.bfi", f"bfi.{b}", (b, b, "u32:shift", "u32:shift"), (b,))
    for t in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield Case("integer.mul24", f"mul24.{half}.{t}", (t, t), (t,))
            yield Case("integer.mad24", f"mad24.{half}.{t}", (t, t, t), (t,))
        for mode in ("clamp", "wrap"):
            yield Case("integer.szext", f"szext.{mode}.{t}", (t, "u32:shift"), (t,))
    for opcode in ("add", "sub"):
        yield Case(f"integer.{opcode}", f"{opcode}.sat.s32", ("s32", "s32"), ("s32",))
    yield Case("integer.mad", "mad.hi.sat.s32", ("s32",) * 3, ("s32",))
    yield Case("integer.mad24", "mad24.hi.sat.s32", ("s32",) * 3, ("s32",))
    for mode in ("clamp", "wrap"):
        yield Case("integer.bmsk", f"bmsk.{mode}.b32", ("u32:shift", "u32:shift"), ("b32",))
    yield Case("integer.fns", "fns.b32", ("b32", "b32:bit", "s32:count"), ("b32",))
    for t in ("u16x2", "s16x2"):
        for opcode in ("add", "min", "max"):
            yield Case(f"integer.{opcode}", f"{opcode}.{t}", (t, t), (t,))
    for t, opcode in itertools.product(("s32", "s16x2"), ("min", "max")):
        yield Case(f"integer.{opcode}", f"{opcode}.relu.{t}", (t, t), (t,))
    for a, b in itertools.product(("u32", "s32"), repeat=2):
        c = "s32" if "s32" in (a, b) else "u32"
        yield Case("integer.dp4a", f"dp4a.{a}.{b}", ("b32", "b32", c), (c,))
        for half in ("lo", "hi"):
            yield Case("integer.dp2a", f"dp2a.{half}.{a}.{b}", ("b32", "b32", c), (c,))


def _carry() -> Iterator[Case]:
    for t in ("u32", "s32", "u64", "s64"):
        for opcode in ("add", "sub"):
            yield Case(f"carry.{opcode}_cc", f"{opcode}.cc.{t}", (t, t), (t, "pred"))
            yield Case(f"carry.{opcode}c", f"{opcode}c.{t}", (t, t, "pred"), (t,))
            yield Case(f"carry.{opcode}c", f"{opcode}c.cc.{t}", (t, t, "pred"), (t, "pred"))
        for half in ("lo", "hi"):
            yield Case("carry.mad_cc", f"mad.{half}.cc.{t}", (t, t, t), (t, "pred"))
            yield Case("carry.madc", f"madc.{half}.{t}", (t, t, t, "pred"), (t,))
            yield Case("carry.madc", f"madc.{half}.cc.{t}", (t, t, t, "pred"), (t, "pred"))


def _logic() -> Iterator[Case]:
    for t in ("pred", "b16", "b32", "b64"):
        for opcode, function in (("and", "and_"), ("or", "or_"), ("xor", "xor")):
            yield Case(f"logic.{function}", f"{opcode}.{t}", (t, t), (t,))
        yield Case("logic.not_", f"not.{t}", (t,), (t,))
        if t != "pred":
            yield Case("logic.cnot", f"cnot.{t}", (t,), (t,))
            yield Case("logic.shl", f"shl.{t}", (t, "u32:shift"), (t,))
    for width, letter in itertools.product((16, 32, 64), "us"):
        t = f"{letter}{width}"
        yield Case("logic.shr", f"shr.{t}", (t, "u32:shift"), (t,))
    for way, mode in itertools.product(("l", "r"), ("clamp", "wrap")):
        yield Case("logic.shf", f"shf.{way}.{mode}.b32", ("b32", "b32", "u32:shift"), ("b32",))
    yield Case("logic.prmt", "prmt.b32", ("b32", "b32", "b32"), ("b32",))
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield Case("logic.prmt", f"prmt.b32.{mode}", ("b32", "b32", "b32"), ("b32",))
    for table in (
        0x00,
        0xFF,
        0x96,
        0xE8,
        0xCA,
        0xD8,
        0x1E,
        0x78,
        0x2D,
        0x0F,
        0x33,
        0x55,
        0xF0,
        0xCC,
        0xAA,
        0x80,
        0xFE,
        0x41,
    ):
        yield Case("logic.lop3", "lop3.b32", ("b32", "b32", "b32", table), ("b32",))


_ROUNDINGS = ("rn", "rz", "rm", "rp")


def _modified(*options: tuple[str, ...]) -> Iterator[str]:
    """All combinations of optional modifiers as dotted text: "" or ".rn.ftz"."""
    for chosen in itertools.product(*options):
        yield "".join("." + modifier for modifier in chosen if modifier)


def _floating() -> Iterator[Case]:
    for t in ("f32", "f64"):
        ftz, sat = (("", "ftz"), ("", "sat")) if t == "f32" else (("",), ("",))
        for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            for extra in _modified(_ROUNDINGS, ftz, sat):
                yield Case(f"floating.{opcode}", f"{opcode}{extra}.{t}", (t,) * count, (t,))
        for opcode, count in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            for extra in _modified(_ROUNDINGS, ftz):
                yield Case(f"floating.{opcode}", f"{opcode}{extra}.{t}", (t,) * count, (t,))
        for opcode in ("abs", "neg"):
            for extra in _modified(ftz):
                yield Case(f"floating.{opcode}", f"{opcode}{extra}.{t}", (t,), (t,))
        for opcode in ("min", "max"):
            modifiers = (ftz, ("", "NaN"), ("", "xorsign.abs")) if t == "f32" else (ftz,)
            for extra in _modified(*modifiers):
                yield Case(f"floating.{opcode}", f"{opcode}{extra}.{t}", (t, t), (t,))
        yield Case("floating.copysign", f"copysign.{t}", (t, t), (t,))
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Case("floating.testp", f"testp.{kind}.{t}", (t,), ("pred",))
    for extra in _modified(("approx", "full"), ("", "ftz")):
        yield Case("floating.div", f"div{extra}.f32", ("f32", "f32"), ("f32",), against="bound")
    for opcode in ("rcp", "sqrt", "rsqrt"):
        for extra in _modified(("", "ftz")):
            yield Case(f"floating.{opcode}", f"{opcode}.approx{extra}.f32", ("f32",), ("f32",), against="bound")
    for opcode in ("rcp", "rsqrt"):
        yield Case(f"floating.{opcode}", f"{opcode}.approx.ftz.f64", ("f64",), ("f64",), against="bound")
    yield Case("floating.rsqrt", "rsqrt.approx.f64", ("f64",), ("f64",), against="bound")
    for opcode, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for extra in _modified(_ROUNDINGS, ("", "ftz")):
            yield Case(f"floating.{opcode}", f"{opcode}{extra}.f32x2", ("f32x2",) * count, ("f32x2",), arch=100)
    for extra in _modified(("", "ftz"), ("", "NaN")):
        yield Case("floating.min", f"min{extra}.f32", ("f32",) * 3, ("f32",), arch=100)
        yield Case("floating.max", f"max{extra}.f32", ("f32",) * 3, ("f32",), arch=100)


def _half() -> Iterator[Case]:
    for t in ("f16", "f16x2"):
        for opcode in ("add", "sub", "mul"):
            for extra in _modified(("", "rn"), ("", "ftz"), ("", "sat")):
                yield Case(f"half.{opcode}", f"{opcode}{extra}.{t}", (t, t), (t,))
        for extra in _modified(("", "ftz"), ("", "sat", "relu")):
            yield Case("half.fma", f"fma.rn{extra}.{t}", (t, t, t), (t,))
        for opcode, ftz in itertools.product(("neg", "abs"), ("", ".ftz")):
            yield Case(f"half.{opcode}", f"{opcode}{ftz}.{t}", (t,), (t,))
    for t in ("bf16", "bf16x2"):
        for opcode in ("add", "sub", "mul"):
            yield Case(f"half.{opcode}", f"{opcode}.rn.{t}", (t, t), (t,))
        for extra in _modified(("", "relu")):
            yield Case("half.fma", f"fma.rn{extra}.{t}", (t, t, t), (t,))
        for opcode in ("neg", "abs"):
            yield Case(f"half.{opcode}", f"{opcode}.{t}", (t,), (t,))
    for t, extra in itertools.product(("f16", "bf16"), _modified(_ROUNDINGS)):
        yield Case("half.add", f"add{extra}.f32.{t}", (t, "f32"), ("f32",), arch=100)
        yield Case("half.sub", f"sub{extra}.f32.{t}", (t, "f32"), ("f32",), arch=100)
        yield Case("half.fma", f"fma{extra}.f32.{t}", (t, t, "f32"), ("f32",), arch=100)
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        ftz = ("", "ftz") if t.startswith("f") else ("",)
        for opcode in ("min", "max"):
            for extra in _modified(ftz, ("", "NaN"), ("", "xorsign.abs")):
                yield Case(f"half.{opcode}", f"{opcode}{extra}.{t}", (t, t), (t,))
        yield Case("half.ex2", f"ex2.approx{'' if t.startswith('f') else '.ftz'}.{t}", (t,), (t,), against="bound")
        yield Case("half.tanh", f"tanh.approx.{t}", (t,), (t,), against="bound")


def _approximate() -> Iterator[Case]:
    for opcode in ("sin", "cos", "lg2", "ex2"):
        for ftz in ("", ".ftz"):
            yield Case(f"approximate.{opcode}", f"{opcode}.approx{ftz}.f32", ("f32",), ("f32",), against="bound")
    yield Case("approximate.tanh", "tanh.approx.f32", ("f32",), ("f32",), against="bound")


_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
_FLOAT_COMPARISONS = (*_ORDERED, *(name + "u" for name in _ORDERED), "num", "nan")


def _compare() -> Iterator[Case]:
    for width, letter in itertools.product((16, 32, 64), "us"):
        t = f"{letter}{width}"
        for operator in _ORDERED:
            yield Case("compare.setp", f"setp.{operator}.{t}", (t, t), ("pred", "pred"))
        if letter == "u":
            for operator in ("lo", "ls", "hi", "hs"):
                yield Case("compare.setp", f"setp.{operator}.{t}", (t, t), ("pred", "pred"))
    for t in ("f32", "f64"):
        for operator in _FLOAT_COMPARISONS:
            yield Case("compare.setp", f"setp.{operator}.{t}", (t, t), ("pred", "pred"))
    for t, results in (("f16", 1), ("bf16", 1), ("f16x2", 2), ("bf16x2", 2)):
        for operator in _FLOAT_COMPARISONS:
            yield Case("compare.setp", f"setp.{operator}.{t}", (t, t), ("pred",) * results)
    for t, results in (("f32", 2), ("f16", 1), ("f16x2", 2)):
        yield Case("compare.setp", f"setp.lt.ftz.{t}", (t, t), ("pred",) * results)
    for combine, t in itertools.product(("and", "or", "xor"), ("s32", "f32", "f16x2")):
        yield Case("compare.setp", f"setp.lt.{combine}.{t}", (t, t, "pred"), ("pred", "pred"))
        if t != "f16x2":
            yield Case("compare.set_", f"set.lt.{combine}.u32.{t}", (t, t, "pred"), ("u32",))
    for to, t in itertools.product(("u32", "s32", "f32"), ("u16", "s32", "u64", "f32", "f64")):
        yield Case("compare.set_", f"set.gt.{to}.{t}", (t, t), (to,))
    for to, t in (("f16x2", "f16x2"), ("u32", "f16x2"), ("bf16x2", "bf16x2"), ("u32", "bf16x2"), ("f16", "f16"),
                  ("f16", "f32"), ("u16", "f16"), ("s32", "f16"), ("u32", "bf16"), ("bf16", "bf16")):  # fmt: skip
        yield Case("compare.set_", f"set.geu.{to}.{t}", (t, t), (to,))
    for t in ("b16", "b32", "b64", "f32", "f64"):
        yield Case("compare.selp", f"selp.{t}", (t, t, "pred"), (t,))
        yield Case("compare.slct", f"slct.{t}.s32", (t, t, "s32"), (t,))
        yield Case("compare.slct", f"slct.{t}.f32", (t, t, "f32"), (t,))
        yield Case("compare.slct", f"slct.ftz.{t}.f32", (t, t, "f32"), (t,))


_INTEGERS = tuple(f"{letter}{width}" for width in (8, 16, 32, 64) for letter in "us")


def _covers(to: str, source: str) -> bool:
    """Whether every number of one integer type is one of another, so that there is nothing to saturate."""
    if to[0] == source[0]:
        return width_of(to) >= width_of(source)
    return to[0] == "s" and width_of(to) > width_of(source)


def _convert() -> Iterator[Case]:
    def cvt(extra: str, to: str, source: str, *more: str) -> Case:
        return Case("convert.cvt", f"cvt{extra}.{to}.{source}", (source, *more), (to,))

    for to, source in itertools.product(_INTEGERS, repeat=2):
        yield cvt("", to, source)
        if not _covers(to, source):
            yield cvt(".sat", to, source)
    for integer, real in itertools.product(_INTEGERS, ("f16", "bf16", "f32", "f64")):
        if real == "bf16" and integer.endswith("8"):
            continue
        every = real == "f32" or integer in ("u32", "s64")
        for rounding in ("rni", "rzi", "rmi", "rpi") if every else ("rzi",):
            yield cvt(f".{rounding}", integer, real)
        for rounding in _ROUNDINGS if every else ("rn",):
            yield cvt(f".{rounding}", real, integer)
    for integer in _INTEGERS:
        yield cvt(".rzi.ftz", integer, "f32")
        yield cvt(".rzi.sat", integer, "f32")
        yield cvt(".rn.sat", "f32", integer)
    for extra in _modified(("", "ftz"), ("", "sat")):
        yield cvt(extra, "f32", "f32")
        yield cvt(extra, "f64", "f32")
        yield cvt(extra, "f32", "f16")
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            yield cvt(f".{rounding}{extra}", "f32", "f32")
        for rounding in _ROUNDINGS:
            yield cvt(f".{rounding}{extra}", "f32", "f64")
            yield cvt(f".{rounding}{extra}", "f16", "f32")
    for rounding in ("rni", "rzi", "rmi", "rpi"):
        yield cvt(f".{rounding}", "f64", "f64")
        yield cvt(f".{rounding}", "f16", "f16")
        yield cvt(f".{rounding}", "bf16", "bf16")
    for rounding in _ROUNDINGS:
        yield cvt(f".{rounding}", "f16", "f64")
        yield cvt(f".{rounding}", "bf16", "f64")
        yield cvt(f".{rounding}", "bf16", "f32")
        yield cvt(f".{rounding}", "bf16", "f16")
        yield cvt(f".{rounding}", "f16", "bf16")
    yield cvt("", "f64", "f16")
    yield cvt("", "f64", "bf16")
    yield cvt("", "f32", "bf16")
    yield cvt(".sat", "f16", "f16")
    yield cvt(".sat", "f64", "f64")
    for rounding, relu, satfinite in itertools.product(("rn", "rz"), ("", ".relu"), ("", ".satfinite")):
        arch = 90 if not satfinite else 100
        for t in ("f16", "bf16"):
            if relu or satfinite:
                yield Case("convert.cvt", f"cvt.{rounding}{relu}{satfinite}.{t}.f32", ("f32",), (t,), arch=arch)
            name = f"cvt.{rounding}{relu}{satfinite}.{t}x2.f32"
            yield Case("convert.cvt", name, ("f32", "f32"), (f"{t}x2",), arch=arch)
        yield Case("convert.cvt", f"cvt.{rounding}{relu}{satfinite}.tf32.f32", ("f32",), ("tf32",), arch=arch)
    yield Case("convert.cvt", "cvt.rna.tf32.f32", ("f32",), ("tf32",))
    yield Case("convert.cvt", "cvt.rna.satfinite.tf32.f32", ("f32",), ("tf32",), arch=100)
    for eight, relu in itertools.product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        yield Case("convert.cvt", f"cvt.rn.satfinite{relu}.{eight}.f32", ("f32", "f32"), (eight,))
        yield Case("convert.cvt", f"cvt.rn.satfinite{relu}.{eight}.f16x2", ("f16x2",), (eight,))
        yield Case("convert.cvt", f"cvt.rn{relu}.f16x2.{eight}", (eight.replace(eight, f"b16:{eight}"),), ("f16x2",))
    for t in ("u16", "s16"):
        yield Case("convert.cvt_pack", f"cvt.pack.sat.{t}.s32", ("s32", "s32"), ("b32",))
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield Case("convert.cvt_pack", f"cvt.pack.sat.{t}.s32.b32", ("s32", "s32", "b32"), ("b32",))


# Types of result and operands, thinned out.
_VIDEO_TYPES = (("u32", "u32", "u32"), ("s32", "s32", "s32"), ("u32", "s32", "u32"), ("s32", "u32", "s32"))


def _video() -> Iterator[Case]:
    for opcode in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        key = f"video.{opcode}"
        for d, a, b in _VIDEO_TYPES:
            yield Case(key, f"{opcode}.{d}.{a}.{b}", (a, b), (d,))
            yield Case(key, f"{opcode}.{d}.{a}.{b}.sat", (f"{a}.b1", f"{b}.h1"), (d,))
        for second in ("add", "min", "max"):
            yield Case(key, f"{opcode}.s32.u32.s32.{second}", ("u32.b3", "s32.b0", "s32"), ("s32",))
        yield Case(key, f"{opcode}.u32.u32.u32.sat.add", ("u32", "u32", "u32"), ("u32",), "isa")
        yield Case(key, f"{opcode}.s32.s32.s32.sat", ("s32.h0", "s32.b2", "s32"), ("s32.b1",), "isa")
        yield Case(key, f"{opcode}.u32.s32.u32", ("s32", "u32.h1", "u32"), ("u32.h1",), "isa")
    for opcode, t, mode in itertools.product(("vshl", "vshr"), ("u32", "s32"), ("clamp", "wrap")):
        yield Case(f"video.{opcode}", f"{opcode}.{t}.{t}.u32.{mode}", (t, "u32:shift"), (t,))
        against = "isa" if opcode == "vshl" else "card"
        yield Case(f"video.{opcode}", f"{opcode}.{t}.{t}.u32.sat.{mode}", (f"{t}.h1", "u32:shift"), (t,), against)
    for t, scale in itertools.product(("u32", "s32"), ("", ".shr7", ".shr15")):
        against = "isa" if t == "u32" and scale else "card"
        yield Case("video.vmad", f"vmad.{t}.{t}.{t}{scale}", (f"{t}.h0", f"{t}.b1", t), (t,), against)
        yield Case("video.vmad", f"vmad.{t}.{t}.{t}.sat{scale}", (t, f"{t}.h1", t), (t,), "isa")
    yield Case("video.vmad", "vmad.s32.s32.s32.sat.shr15", ("-s32", "s32.h1", "s32"), ("s32",), "isa")
    yield Case("video.vmad", "vmad.s32.u32.u32.shr7", ("u32.b1", "u32.h1", "-s32"), ("s32",), "isa")
    yield Case("video.vmad", "vmad.u32.u32.u32.po.shr7", ("u32.b1", "u32.h1", "u32"), ("u32",), "isa")
    for (_, a, b), operator in itertools.product(_VIDEO_TYPES, ("eq", "lt", "ge")):
        yield Case("video.vset", f"vset.{a}.{b}.{operator}", (f"{a}.b0", f"{b}.h1"), ("u32",))
    for opcode, parts in itertools.product(("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"), (2, 4)):
        name = f"{opcode}{parts}"
        key = f"video.{name}"
        picks = ("h31", "h02", "h1") if parts == 2 else ("b7051", "b3362", "b320")
        for d, a, b in _VIDEO_TYPES:
            yield Case(key, f"{name}.{d}.{a}.{b}", (a, b, d), (d,))
            if opcode != "vavrg":
                yield Case(key, f"{name}.{d}.{a}.{b}.sat", (a, b, d), (d,))
        yield Case(key, f"{name}.u32.u32.s32", (f"u32.{picks[0]}", f"s32.{picks[1]}", "u32"), (f"u32.{picks[2]}",))
        yield Case(key, f"{name}.u32.u32.u32.add", ("u32", "u32", "u32"), ("u32",))
        yield Case(key, f"{name}.s32.s32.s32.add", ("s32", "s32", "s32"), ("s32",))
    for parts, t, operator in itertools.product((2, 4), ("u32", "s32"), ("eq", "lt", "ge")):
        yield Case(f"video.vset{parts}", f"vset{parts}.{t}.{t}.{operator}", (t, t, "u32"), ("u32",))
        yield Case(f"video.vset{parts}", f"vset{parts}.{t}.{t}.{operator}.add", (t, t, "u32"), ("u32",))
