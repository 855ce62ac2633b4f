"""Integer division that never traps, vectorised through double precision.

CPUs have no vector integer division, so LLVM would divide lane by lane. A correctly rounded f64 quotient of integers
below 2**52 truncates to the exact one: a quotient that is not whole is at least 1/a of itself away from the next whole
number, more than a rounding error.
"""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value, bits_of

_EXACT_BITS = 52


def quotient(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    """Truncated quotient. A zero divisor gives all ones; the most negative number over -1 wraps to itself."""
    width = bits_of(a.type)
    zero = e.icmp("eq", b, e.const(b.type, 0))
    divisor = e.select(zero, e.const(b.type, 1), b)
    if signed:
        overflow = e.icmp("eq", b, e.const(b.type, -1))
        if width < 64 and e.lanes > 1:
            whole = _through_double(e, a, divisor, signed=True)
        else:
            # x / -1 is -x, taken apart so that no lane overflows.
            safe = e.select(overflow, e.const(b.type, 1), divisor)
            whole = _divide(e, a, safe, signed=True)
            whole = e.select(overflow, e.op("sub", e.const(a.type, 0), a), whole)
    else:
        whole = _divide(e, a, divisor, signed=False)
    return e.select(zero, e.const(a.type, -1), whole)


def remainder(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    """The remainder of `quotient`, with the sign of a. A zero divisor gives all ones."""
    rest = e.op("sub", a, e.op("mul", quotient(e, a, b, signed=signed), b))
    return e.select(e.icmp("eq", b, e.const(b.type, 0)), e.const(a.type, -1), rest)


def _divide(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    if e.lanes == 1:
        return e.op("sdiv" if signed else "udiv", a, b)
    if bits_of(a.type) < 64:
        return _through_double(e, a, b, signed=signed)
    return _wide(e, a, b, signed=signed)


def _through_double(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    """16- and 32-bit quotients. The f64 quotient is converted at 64 bits where -2**31 / -1 = 2**31 has room."""
    to_double, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    ratio = e.op("fdiv", e.cast(to_double, a, "double"), e.cast(to_double, b, "double"))
    if not signed or bits_of(a.type) < 32:
        return e.resize(e.cast(back, ratio, "i32"), a.type)
    limit = e.const("double", 2.0**31 - 1)
    wraps = e.fcmp("ogt", ratio, limit)
    return e.select(wraps, e.const(a.type, -(1 << 31)), e.cast(back, e.select(wraps, limit, ratio), "i32"))


def _wide(e: Elementwise, a: Value, b: Value, *, signed: bool) -> Value:
    """64-bit quotients of a vector: a helper that takes the f64 path where all lanes fit 52 bits."""
    if not signed:
        return e.call(_define_wide(e, e.lanes), "i64", a, b)
    sign_a, sign_b = (e.op("ashr", operand, e.const("i64", 63)) for operand in (a, b))
    positive_a, positive_b = (e.intrinsic("abs", operand, extra=("i1 false",)) for operand in (a, b))
    sign = e.op("xor", sign_a, sign_b)
    magnitude = e.call(_define_wide(e, e.lanes), "i64", positive_a, positive_b)
    return e.op("sub", e.op("xor", magnitude, sign), sign)


def _define_wide(outer: Elementwise, lanes: int) -> str:
    """Adds `<n x i64> @lanewise.udiv.i64(<n x i64>, <n x i64>)`; the divisor is not 0."""
    name = f"lanewise.udiv.v{lanes}i64"
    if name in outer.out.definitions:
        return name
    from lanewise.emulator.ir import Emitter

    out = Emitter()
    e = Elementwise(out, lanes)
    vector = e.shape("i64")
    a, b = Value("%a", "i64"), Value("%b", "i64")
    high = e.op("lshr", e.op("or", a, b), e.const("i64", _EXACT_BITS))
    outer.out.declare(f"declare i64 @llvm.vector.reduce.or.v{lanes}i64({vector})")
    any_high = out.let(f"call i64 @llvm.vector.reduce.or.v{lanes}i64({vector} {high.text})")
    small = out.let(f"icmp eq i64 {any_high}, 0")
    out.line(f"br i1 {small}, label %fits, label %large")
    out.label("fits")
    # Integers below 2**52 are the low bits of a double in [2**52, 2**53).
    magic_bits, magic = e.const("i64", 0x4330_0000_0000_0000), e.const("double", 2.0**52)
    doubles = [e.op("fsub", e.as_float(e.op("or", operand, magic_bits), "double"), magic) for operand in (a, b)]
    ratio = e.intrinsic("trunc", e.op("fdiv", doubles[0], doubles[1]))
    whole = e.op("xor", e.as_int(e.op("fadd", ratio, magic)), magic_bits)
    out.line(f"ret {vector} {whole.text}")
    out.label("large")
    whole = e.op("udiv", a, b)
    out.line(f"ret {vector} {whole.text}")
    outer.out.declarations |= out.declarations
    body = "\n".join(out.lines)
    outer.out.define(name, f"define internal {vector} @{name}({vector} %a, {vector} %b) noinline {{\n{body}\n}}")
    return name
