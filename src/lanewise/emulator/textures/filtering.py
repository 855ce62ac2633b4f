"""The arithmetic of linear filtering, as an H200 does it (measured; tests/emulator/texture_model.py).

Weights are of 8 bits and add up to 256. Floating-point texels are cut to a common exponent, added exactly, and rounded
once, ties away from zero. Fractions are filtered as whole numbers of 16 bits.
"""

from __future__ import annotations

from lanewise.emulator.ir import Emitter, Value
from lanewise.emulator.textures import texels
from lanewise.emulator.textures.coordinates import WEIGHT_BITS
from lanewise.emulator.textures.record import Decode, Texture
from lanewise.emulator.textures.writing import VECTOR, Function

WHOLE = 1 << WEIGHT_BITS
FLOAT_KEPT, HALF_KEPT = 28, 15  # bits kept below the exponent (of frexp) of the largest texel
_LEAST_HALF_EXPONENT = 1022 - 13  # of a double: that of the least normal half
_NAN, _HALF_NAN = 0x7FFFFFFF, 0x7FFFE000


def weights(f: Function, across: list[Value]) -> list[Value]:
    """Weights of 4 or 8 texels (the first axis varies fastest) from those of the upper texel along each axis.

    Depth is divided first, then each slice across, then each column down; what is left over goes to the other part.
    """
    e = f.e
    whole = e.const("i32", WHOLE)

    def part(total: Value, weight: Value) -> Value:
        product = e.op("add", e.op("mul", total, weight), e.const("i32", WHOLE // 2))
        return e.op("lshr", product, e.const("i32", WEIGHT_BITS))

    x, y = across[0], across[1]
    slices = [whole]
    if len(across) == 3:
        slices = [e.op("sub", whole, across[2]), across[2]]
    result = []
    for total in slices:
        right = part(total, x)
        left = e.op("sub", total, right)
        right_below = part(right, y)
        left_above = part(left, e.op("sub", whole, y))
        result += [
            left_above,
            e.op("sub", right, right_below),
            e.op("sub", left, left_above),
            right_below,
        ]
    return result


def require(out: Emitter, count: int) -> str:
    """Add the function that filters `count` (4 or 8) texels of one channel; returns its name.

    `<32 x i32> @name(ptr %d, i32 %c, <32 x i32> %r0, %w0, %r1, %w1, ...)`: bits of texels and their weights.
    """
    name = f"lw_filter_{count}"
    if name not in out.definitions:
        out.define(name, _filter(out, name, count))
    return name


def _filter(emitter: Emitter, name: str, count: int) -> str:
    f = Function.begin(emitter)
    e, s, out = f.e, f.s, f.out
    raws = [Value(f"%r{k}", "i32") for k in range(count)]
    shares = [Value(f"%w{k}", "i32") for k in range(count)]
    is_alpha = s.icmp("eq", Value("%c", "i32"), s.const("i32", texels.ALPHA))
    decode = f.field(Texture.DECODE)
    out.line(f"switch i32 {decode.text}, label %float [")
    for item in (Decode.F16, Decode.UNORM8, Decode.UNORM16, Decode.SNORM8, Decode.SNORM16, Decode.SRGB8):
        out.line(f"  i32 {item.value}, label %{item.name.lower()}")
    out.line("]")
    out.label("float")
    out.line(f"ret {VECTOR} {_floats(f, raws, shares, half=False).text}")
    out.label("f16")
    halves = [texels.half_to_float(f, raw) for raw in raws]
    out.line(f"ret {VECTOR} {_floats(f, halves, shares, half=True).text}")
    out.label("srgb8")
    out.line(f"br i1 {is_alpha.text}, label %unorm8, label %colour")
    out.label("colour")
    colours = [texels.srgb(f, raw) for raw in raws]
    out.line(f"ret {VECTOR} {_floats(f, colours, shares, half=True).text}")
    out.label("unorm8")
    out.line(
        f"ret {VECTOR} {_fractions(f, [e.op('mul', raw, e.const('i32', 257)) for raw in raws], shares, 65535).text}"
    )
    out.label("unorm16")
    out.line(f"ret {VECTOR} {_fractions(f, raws, shares, 65535).text}")
    out.label("snorm16")
    numbers = [e.intrinsic("smax", texels.signed(f, raw, 16), e.const("i32", -32767)) for raw in raws]
    out.line(f"ret {VECTOR} {_fractions(f, numbers, shares, 32767).text}")
    out.label("snorm8")
    total = _total(f, [texels.signed(f, raw, 8) for raw in raws], shares)
    out.line(f"ret {VECTOR} {texels.fraction(f, _widened(f, total), 32767).text}")
    arguments = ", ".join(f"{VECTOR} %r{k}, {VECTOR} %w{k}" for k in range(count))
    return f.finish(f"{VECTOR} @{name}(ptr %d, i32 %c, {arguments})")


def _total(f: Function, numbers: list[Value], shares: list[Value]) -> Value:
    return f.sum([f.e.op("mul", number, share) for number, share in zip(numbers, shares, strict=True)])


def _fractions(f: Function, numbers: list[Value], shares: list[Value], most: int) -> Value:
    """Whole numbers, rounded to nearest, ties up, as parts of `most`."""
    e = f.e
    total = e.op("add", _total(f, numbers, shares), e.const("i32", WHOLE // 2))
    return texels.fraction(f, e.op("ashr", total, e.const("i32", WEIGHT_BITS)), most)


def _widened(f: Function, total: Value) -> Value:
    """A weighted sum of signed bytes (at most 127 * 256) in steps of 1/32767."""
    e = f.e
    more = e.op("shl", e.op("ashr", total, e.const("i32", 12)), e.const("i32", 4))
    added = f.sum([total, more, e.const("i32", 64)])
    return e.op("add", total, e.op("ashr", added, e.const("i32", 7)))


def _floats(f: Function, bits: list[Value], shares: list[Value], *, half: bool) -> Value:
    """The weighted mean of floats, given and returned as bits."""
    e = f.e
    zero = e.const("i32", 0)
    nothing = e.const("double", -0.0)
    slices, odd = [], []
    for first in range(0, len(bits), 4):
        terms, exponents = [], []
        for raw, share in zip(bits[first : first + 4], shares[first : first + 4], strict=True):
            exponent = e.op("and", raw, e.const("i32", 0x7F800000))
            used = e.icmp("ne", share, zero)
            tiny = e.icmp("eq", exponent, zero)
            strange = e.icmp("eq", exponent, e.const("i32", 0x7F800000))
            flushed = e.select(tiny, e.op("and", raw, e.const("i32", -0x80000000)), raw)
            value = e.cast("fpext", e.as_float(flushed, "float"), "double")
            finite = e.op("and", used, e.not_(strange))
            terms.append((e.select(finite, value, nothing), share))
            counts = e.op("and", finite, e.not_(tiny))
            exponents.append(e.select(counts, e.op("lshr", exponent, e.const("i32", 23)), zero))
            odd.append(e.select(e.op("and", used, strange), value, nothing))
        slices.append(_aligned(f, terms, exponents, HALF_KEPT if half else FLOAT_KEPT, half=half))
    result = _rounded(f, f.sum(slices, "fadd"), half=half)
    strange_sum = e.as_int(e.cast("fptrunc", f.sum(odd, "fadd"), "float"))
    magnitude = e.op("and", strange_sum, e.const("i32", 0x7FFFFFFF))
    nan = e.const("i32", _HALF_NAN if half else _NAN)
    strange_sum = e.select(e.icmp("ugt", magnitude, e.const("i32", 0x7F800000)), nan, strange_sum)
    return e.select(e.icmp("ne", magnitude, zero), strange_sum, result)


def _aligned(f: Function, terms: list[tuple[Value, Value]], exponents: list[Value], kept: int, *, half: bool) -> Value:
    """The sum of weighted doubles, each cut towards zero to `kept` bits below the largest one's exponent."""
    e = f.e
    largest = exponents[0]
    for exponent in exponents[1:]:
        largest = e.intrinsic("umax", largest, exponent)
    biased = e.op("add", largest, e.const("i32", 1023 - 127))  # of a double
    if half:
        biased = e.intrinsic("umax", biased, e.const("i32", _LEAST_HALF_EXPONENT))
    up, down = (
        e.as_float(e.op("shl", e.resize(power, "i64"), e.const("i64", 52)), "double")
        for power in (
            e.op("sub", e.const("i32", 2 * 1023 - 1 + kept), biased),
            e.op("sub", biased, e.const("i32", kept - 1 + WEIGHT_BITS)),
        )
    )
    parts = []
    for value, share in terms:
        whole = e.intrinsic("trunc", e.op("fmul", value, up))
        weighted = e.op("fmul", whole, e.cast("uitofp", share, "double"))
        unused = e.icmp("eq", share, e.const("i32", 0))
        parts.append(e.select(unused, e.const("double", -0.0), weighted))
    return e.op("fmul", f.sum(parts, "fadd"), down)


def _rounded(f: Function, value: Value, *, half: bool) -> Value:
    """A double as bits of a float, rounded to nearest, ties away, to the precision of a float or a half."""
    e = f.e
    spare = 52 - (10 if half else 23)
    bits = e.as_int(value)
    nearest = e.op("add", bits, e.const("i64", 1 << (spare - 1)))
    cut = e.as_float(e.op("and", nearest, e.const("i64", -(1 << spare))), "double")
    magnitude = e.intrinsic("fabs", value)
    if half:
        steps = e.op("fadd", e.op("fmul", magnitude, e.const("double", 2.0**24)), e.const("double", 0.5))
        small = e.op("fmul", e.intrinsic("floor", steps), e.const("double", 2.0**-24))
        small = e.intrinsic("copysign", small, value)
        least = 2.0**-14
    else:
        small = e.intrinsic("copysign", e.const("double", 0.0), value)
        least = 2.0**-126
    result = e.select(e.fcmp("olt", magnitude, e.const("double", least)), small, cut)
    return e.as_int(e.cast("fptrunc", result, "float"))
