"""Conversions (PTX ISA 9.7.9.21 cvt, 9.7.9.22 cvt.pack): every pair of integer and floating-point types."""

from __future__ import annotations

from lanewise.emulator.ir import Elementwise, Value
from lanewise.emulator.lowering.common import is_float, is_signed, saturate
from lanewise.emulator.lowering.floats import canonical, flush, saturate_unit
from lanewise.emulator.lowering.rounding import FORMATS, Format, double_to_single, integer_to_double, narrow
from lanewise.ptx.syntax import TYPE_BITS, Instruction

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FRACTIONAL = ("rn", "rna", "rz", "rm", "rp")


def cvt(e: Elementwise, ins: Instruction, a: Value, *b: Value) -> Value:
    """`cvt.d.s d, a`, and the packed forms: two f32 to a pair (a goes to the upper half), pairs to pairs."""
    to, source = ins.types[:2]
    if to.endswith("x2"):
        part = to.removesuffix("x2")
        if source.endswith("x2"):
            low, high = _halves(e, a, source)
            source = source.removesuffix("x2")
        else:
            low, high = b[0], a
        width = TYPE_BITS[part]
        result = f"i{2 * width}"
        upper = e.resize(_convert(e, ins, part, source, high), result)
        lower = e.resize(_convert(e, ins, part, source, low), result)
        return e.op("or", e.op("shl", upper, e.const(result, width)), lower)
    return _convert(e, ins, to, source, a)


def _halves(e: Elementwise, a: Value, packed: str) -> tuple[Value, Value]:
    width = TYPE_BITS[packed] // 2
    return e.resize(a, f"i{width}"), e.resize(e.op("lshr", a, e.const(a.type, width)), f"i{width}")


def _convert(e: Elementwise, ins: Instruction, to: str, source: str, a: Value) -> Value:
    a = e.resize(a, f"i{TYPE_BITS[source]}")
    if not is_float(source):
        return _from_integer(e, ins, to, source, a)
    value = widen(e, a, source)
    # On the card .ftz has no effect on conversions to f16.
    if ins.has("ftz") and source == "f32" and to != "f16":
        value = canonical(e, flush(e, value))
    if not is_float(to):
        return _to_integer(e, ins, to, source, value)
    return _to_float(e, ins, to, source, value)


def widen(e: Elementwise, bits: Value, source: str) -> Value:
    """A float of any type as an LLVM float or double of the same value."""
    if source in ("f32", "tf32"):
        return e.as_float(bits, "float")
    if source == "f64":
        return e.as_float(bits, "double")
    if source == "bf16":
        return e.as_float(e.op("shl", e.resize(bits, "i32"), e.const("i32", 16)), "float")
    if source == "e5m2":
        bits = e.op("shl", e.resize(bits, "i16"), e.const("i16", 8))
    elif source == "e4m3":
        return _widen_e4m3(e, bits)
    return e.cast("fpext", e.as_float(bits, "half"), "float")


def _widen_e4m3(e: Elementwise, bits: Value) -> Value:
    """Read as an f16 with a mantissa of three bits, the exponent's bias is 8 short: exact after scaling."""
    code = e.resize(bits, "i16")
    magnitude = e.op("and", code, e.const("i16", 0x7F))
    half = e.as_float(e.op("shl", magnitude, e.const("i16", 7)), "half")
    value = e.op("fmul", e.cast("fpext", half, "float"), e.const("float", 256.0))
    nan = e.icmp("eq", magnitude, e.const("i16", 0x7F))
    value = e.select(nan, e.const("float", float("nan")), value)
    sign = e.op("shl", e.op("lshr", e.resize(code, "i32"), e.const("i32", 7)), e.const("i32", 31))
    return e.intrinsic("copysign", value, e.as_float(sign, "float"))


def _mode(ins: Instruction, default: str) -> str:
    return next((modifier for modifier in ins.modifiers if modifier in _FRACTIONAL), default)


def _from_integer(e: Elementwise, ins: Instruction, to: str, source: str, a: Value) -> Value:
    signed = is_signed(source)
    if not is_float(to):
        element = f"i{TYPE_BITS[to]}"
        if ins.has("sat"):
            return saturate(e, a, element, to_signed=is_signed(to), from_signed=signed)
        return e.resize(a, element, signed=signed)
    mode = _mode(ins, "rn")
    if mode == "rn" and to in ("f32", "f64"):
        result = e.cast("sitofp" if signed else "uitofp", a, "float" if to == "f32" else "double")
        return e.as_int(saturate_unit(e, result) if ins.has("sat") else result)
    if to == "f64":
        return _to_float(e, ins, to, source, integer_to_double(e, a, mode, signed=signed))
    return _to_float(e, ins, to, source, integer_to_double(e, a, "odd", signed=signed))


def _to_integer(e: Elementwise, ins: Instruction, to: str, source: str, value: Value) -> Value:
    """Rounded to an integer, clamped to the range. NaN gives 0 where both types have at most 32 bits, else the
    pattern with only the top bit set."""
    rounding = next((_INTEGRAL[modifier] for modifier in ins.modifiers if modifier in _INTEGRAL), "trunc")
    if rounding != "trunc":
        value = e.intrinsic(rounding, value)
    width, signed = TYPE_BITS[to], is_signed(to)
    element = f"i{width}"
    low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if signed else (0.0, 2.0**width)
    below = e.fcmp("olt", value, e.const(value.type, low))
    above = e.fcmp("oge", value, e.const(value.type, high))
    # LLVM's own saturating conversion is taken lane by lane, and the plain one is poison beyond the range.
    safe = e.select(e.fcmp("olt", value, e.const(value.type, high)), value, e.const(value.type, 0.0))
    safe = e.select(below, e.const(value.type, 0.0), safe)
    result = e.cast("fptosi" if signed or width < 32 else "fptoui", safe, f"i{max(width, 32)}")
    result = e.resize(result, element)
    result = e.select(above, e.const(element, (1 << (width - signed)) - 1), result)
    result = e.select(below, e.const(element, int(low)), result)
    if source == "f64" or width == 64:
        return e.select(e.is_nan(value), e.const(element, 1 << (width - 1)), result)
    return result


def _to_float(e: Elementwise, ins: Instruction, to: str, source: str, value: Value) -> Value:
    """A float (f32 or f64) as the bits of a PTX float type."""
    integral = next((_INTEGRAL[modifier] for modifier in ins.modifiers if modifier in _INTEGRAL), None)
    if integral is not None:
        value = e.intrinsic(integral, value)
    if ins.has("sat"):
        value = saturate_unit(e, value)
    if ins.has("relu"):
        zero = e.const(value.type, 0.0)
        value = e.select(e.fcmp("ule", value, zero), e.select(e.is_nan(value), value, zero), value)
    if to == "f64":
        return e.as_int(e.cast("fpext", value, "double"))
    if to == "f32":
        if value.type == "double":
            return e.as_int(_double_to_single(e, ins, value))
        changes_nan = integral is not None or source == "f16"  # other conversions to f32 move bits
        return e.as_int(canonical(e, value) if changes_nan else value)
    if value.type == "double":
        value = double_to_single(e, value, "odd")
    rounding = _mode(ins, "rn")
    if to == "f16" and rounding == "rn" and source != "f64" and not ins.has("satfinite"):
        half = e.cast("fptrunc", value, "half")
        return e.select(e.is_nan(value), e.const("i16", FORMATS["f16"].nan), e.as_int(half))
    form = FORMATS[to]
    code = narrow(e, value, form, rounding, finite=ins.has("satfinite") or form.largest == form.infinity)
    if source == "f64" or rounding == "rna":
        code = e.select(e.is_nan(value), _cut_nan(e, value, form), code)
    if to == "tf32":
        return e.op("shl", code, e.const("i32", 13))
    return e.resize(code, f"i{TYPE_BITS[to]}")


def _double_to_single(e: Elementwise, ins: Instruction, value: Value) -> Value:
    """Rounded once. With `.ftz` a result is tiny by its size rounded as if exponents had no limit."""
    mode = _mode(ins, "rn")
    result = double_to_single(e, value, mode)
    if not ins.has("ftz"):
        return result
    scaled = double_to_single(e, e.op("fmul", value, e.const("double", 2.0**64)), mode)
    tiny = e.fcmp("olt", e.intrinsic("fabs", scaled), e.const("float", 2.0 ** (64 - 126)))
    return e.select(tiny, e.intrinsic("copysign", e.const("float", 0.0), result), result)


def _cut_nan(e: Elementwise, value: Value, form: Format) -> Value:
    """The NaN of an f32 cut to a narrower format, sign and payload kept."""
    bits = e.as_int(value)
    code = e.op("lshr", e.op("and", bits, e.const("i32", 0x7FFF_FFFF)), e.const("i32", 23 - form.mantissa))
    code = e.op("and", code, e.const("i32", (1 << form.mantissa) - 1))
    sign = e.op("shl", e.op("lshr", bits, e.const("i32", 31)), e.const("i32", form.bits))
    return e.op("or", e.op("or", code, sign), e.const("i32", form.infinity))


def cvt_pack(e: Elementwise, ins: Instruction, a: Value, b: Value, *c: Value) -> Value:
    """`cvt.pack.sat.d.s32{.b32} d, a, b{, c}`: a and b clamped to d's range, a above b, and c's low bits above both."""
    kind = ins.modifiers[ins.modifiers.index("sat") + 1]
    width, signed = int(kind[1:]), is_signed(kind)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    parts = []
    for operand in (a, b):
        clamped = e.intrinsic("smin", e.intrinsic("smax", operand, e.const("i32", low)), e.const("i32", high))
        parts.append(e.op("and", clamped, e.const("i32", (1 << width) - 1)))
    result = e.op("or", e.op("shl", parts[0], e.const("i32", width)), parts[1])
    if not c:
        return result
    return e.op("or", result, e.op("shl", c[0], e.const("i32", 2 * width)))
