"""The approximate functions of f32 (PTX ISA 9.7.3): sin, cos, lg2, ex2, tanh, as polynomials that stay in vectors.

Each is well within PTX's stated error; the card's own bits differ. Coefficients are interpolations at Chebyshev nodes,
rounded to f32, lowest power first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering.floating import compute
from lanewise.emulator.lowering.floats import canonical
from lanewise.ptx.syntax import Instruction

# (2**f - 1) / f on [-1/2, 1/2]: error 2**-26.
_EXP2 = (
    0.6931471824645996,
    0.24022650718688965,
    0.055503569543361664,
    0.009618056938052177,
    0.0013390866806730628,
    0.00015461447765119374,
)
# log2(1 + t) / t on [sqrt(1/2) - 1, sqrt(2) - 1]: error 2**-24.9.
_LOG2 = (
    1.4426950216293335,
    -0.7213473320007324,
    0.4808982014656067,
    -0.3606966435909271,
    0.2885688841342926,
    -0.23961904644966125,
    0.2045752853155136,
    -0.19102497398853302,
    0.18631209433078766,
    -0.11020159721374512,
)
# (sin(r)/r - 1) / r**2 and (cos(r) - 1 + r**2/2) / r**4 in r**2, on [0, (pi/4)**2]: errors 2**-25.3 and 2**-28.4.
_SIN = (-0.166666641831398, 0.008332745172083378, -0.00019587540009524673)
_COS = (0.0416666641831398, -0.0013888207031413913, 2.4535689590265974e-05)
# (tanh(x)/x - 1) / x**2 in x**2, on [0, 0.3]: error 2**-25.7.
_TANH = (
    -0.3333333134651184,
    0.1333310902118683,
    -0.0539090521633625,
    0.021308284252882004,
    -0.00660921074450016,
)
_TANH_SMALL = 0.55
_SQRT_HALF_BITS = 0x3F35_04F3


def ex2(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """2**a; relative error below 2**-22."""
    return compute(e, ins, exp2, a)


def lg2(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """log2(a); absolute error below 2**-22 in (0.5, 2), relative elsewhere."""
    return compute(e, ins, _log2, a)


def sin(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """Absolute error below 2**-20.5, for arguments of any size where the card is exact near 0 only."""
    return compute(e, ins, lambda inner, x: _circular(inner, x, quarter_turns=0), a)


def cos(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """As `sin`, a quarter turn on."""
    return compute(e, ins, lambda inner, x: _circular(inner, x, quarter_turns=1), a)


def tanh(e: Elementwise, ins: Instruction, a: Value) -> Value:
    """Relative error below 2**-11 (here 2**-22)."""
    return compute(e, ins, hyperbolic_tangent, a)


def _polynomial(e: Elementwise, x: Value, coefficients: Sequence[float]) -> Value:
    result = e.const("float", coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = e.intrinsic("fma", result, x, e.const("float", coefficient))
    return result


def _power_of_two(e: Elementwise, exponent: Value) -> Value:
    """2**exponent for normal results."""
    biased = e.op("add", exponent, e.const("i32", 127))
    return e.as_float(e.op("shl", biased, e.const("i32", 23)), "float")


def exp2(e: Elementwise, x: Value) -> Value:
    """2**x of an f32: the whole part goes to the exponent, in two steps so that subnormal results round once."""
    high, low = e.const("float", 129.0), e.const("float", -152.0)
    inside = e.select(e.fcmp("olt", x, high), x, high)  # NaN too becomes a number
    inside = e.select(e.fcmp("ogt", inside, low), inside, low)
    whole = e.intrinsic("roundeven", inside)
    fraction = e.op("fsub", inside, whole)
    one = e.const("float", 1.0)
    mantissa = e.intrinsic("fma", fraction, _polynomial(e, fraction, _EXP2), one)
    exponent = e.cast("fptosi", whole, "i32")
    first = e.op("ashr", exponent, e.const("i32", 1))
    second = e.op("sub", exponent, first)
    result = e.op("fmul", e.op("fmul", mantissa, _power_of_two(e, first)), _power_of_two(e, second))
    return canonical(e, e.select(e.is_nan(x), x, result))


def _log2(e: Elementwise, x: Value) -> Value:
    """Exponent plus the logarithm of a mantissa between the square roots of 1/2 and 2."""
    subnormal = e.fcmp("olt", x, e.const("float", 2.0**-126))
    scaled = e.select(subnormal, e.op("fmul", x, e.const("float", 2.0**24)), x)
    bits = e.as_int(scaled)
    exponent = e.op("ashr", e.op("sub", bits, e.const("i32", _SQRT_HALF_BITS)), e.const("i32", 23))
    mantissa = e.as_float(e.op("sub", bits, e.op("shl", exponent, e.const("i32", 23))), "float")
    t = e.op("fsub", mantissa, e.const("float", 1.0))
    whole = e.cast("sitofp", exponent, "float")
    whole = e.op("fsub", whole, e.select(subnormal, e.const("float", 24.0), e.const("float", 0.0)))
    result = e.intrinsic("fma", t, _polynomial(e, t, _LOG2), whole)
    zero, infinity = e.const("float", 0.0), e.const("float", math.inf)
    result = e.select(e.fcmp("oeq", x, infinity), infinity, result)
    result = e.select(e.fcmp("oeq", x, zero), e.const("float", -math.inf), result)
    return canonical(e, e.select(e.fcmp("oge", x, zero), result, e.const("float", math.nan)))


def _circular(e: Elementwise, x: Value, quarter_turns: int) -> Value:
    """sin(x + quarter_turns * pi/2). The whole quarter turns are taken off in f64."""
    finite = e.fcmp("olt", e.intrinsic("fabs", x), e.const("float", math.inf))
    safe = e.select(finite, x, e.const("float", 0.0))
    turns = e.op("fmul", e.cast("fpext", safe, "double"), e.const("double", 2 / math.pi))
    whole = e.intrinsic("roundeven", turns)
    rest = e.op("fmul", e.op("fsub", turns, whole), e.const("double", math.pi / 2))
    r = e.cast("fptrunc", rest, "float")
    fours = e.op("fmul", e.intrinsic("floor", e.op("fmul", whole, e.const("double", 0.25))), e.const("double", 4.0))
    quadrant = e.cast("fptosi", e.op("fsub", whole, fours), "i32")  # 0 to 3
    if quarter_turns:
        quadrant = e.op("add", quadrant, e.const("i32", quarter_turns))
    square = e.op("fmul", r, r)
    sine = e.intrinsic("fma", e.op("fmul", r, square), _polynomial(e, square, _SIN), r)
    cosine = e.intrinsic("fma", square, _polynomial(e, square, _COS), e.const("float", -0.5))
    cosine = e.intrinsic("fma", square, cosine, e.const("float", 1.0))
    odd = e.icmp("ne", e.op("and", quadrant, e.const("i32", 1)), e.const("i32", 0))
    sign = e.op("shl", e.op("lshr", quadrant, e.const("i32", 1)), e.const("i32", 31))
    bits = e.op("xor", e.as_int(e.select(odd, cosine, sine)), sign)
    result = e.as_float(bits, "float")
    if not quarter_turns:  # the sign of zero is lost on the way
        result = e.select(e.fcmp("oeq", x, e.const("float", 0.0)), x, result)
    return canonical(e, e.select(finite, result, e.const("float", math.nan)))


def hyperbolic_tangent(e: Elementwise, x: Value) -> Value:
    """1 - 2 / (exp(2|x|) + 1) with the sign of x; a polynomial near 0."""
    one, two = e.const("float", 1.0), e.const("float", 2.0)
    magnitude = e.intrinsic("fabs", x)
    exponential = exp2(e, e.op("fmul", magnitude, e.const("float", 2 / math.log(2))))
    large = e.op("fsub", one, e.op("fdiv", two, e.op("fadd", exponential, one)))
    square = e.op("fmul", x, x)
    small = e.intrinsic("fma", e.op("fmul", magnitude, square), _polynomial(e, square, _TANH), magnitude)
    result = e.select(e.fcmp("olt", magnitude, e.const("float", _TANH_SMALL)), small, large)
    return canonical(e, e.intrinsic("copysign", result, x))
