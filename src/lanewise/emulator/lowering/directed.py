"""f32 and f64 arithmetic in a rounding mode, bit-exact.

To nearest, the CPU's own. Directed modes of f32 are computed beside f64: the result to nearest is compared with the
exact one and moved to its neighbour. f64 has nothing wider, so there the CPU's rounding mode is changed, which takes
tens of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.emulator.ir import Elementwise, Emitter, Value
from lanewise.emulator.lowering.floats import canonical
from lanewise.emulator.lowering.rounding import double_to_single, nudge

# The encoding of llvm.set.rounding.
_LLVM_ROUNDING = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_OPERATIONS = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fma": 3, "sqrt": 1}


def rounded(e: Elementwise, operation: str, rounding: str, *args: Value) -> Value:
    """fadd, fsub, fmul, fdiv, fma or sqrt of f32 or f64 in a rounding mode, bit-exact."""
    if rounding == "rn":
        if operation in ("fma", "sqrt"):
            return e.intrinsic(operation, *args)
        return e.op(operation, *args)
    if args[0].type == "double":
        return e.call(_define_rounded(e, operation, rounding), "double", *args)
    function = _SINGLE[operation]
    return canonical(e, function(e, rounding, *args))


def _define_rounded(e: Elementwise, operation: str, rounding: str) -> str:
    """A helper function that changes the CPU's rounding mode around one f64 operation.

    It is not inlined: only its own body may be compiled as if the mode could differ.
    """
    shape = e.shape("double")
    suffix = ("" if e.lanes == 1 else f"v{e.lanes}") + "f64"
    name = f"lanewise.{operation}.{rounding}.{suffix}"
    if name in e.out.definitions:
        return name
    count = _OPERATIONS[operation]
    intrinsic = f"@llvm.experimental.constrained.{operation}.{suffix}"
    e.out.declare("declare void @llvm.set.rounding(i32)")
    e.out.declare(f"declare {shape} {intrinsic}({', '.join([shape] * count)}, metadata, metadata)")
    params = ", ".join(f"{shape} %x{index}" for index in range(count))
    helper = Emitter()
    helper.line(f"call void @llvm.set.rounding(i32 {_LLVM_ROUNDING[rounding]}) strictfp")
    call = f'{intrinsic}({params}, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp'
    result = helper.let(f"call {shape} {call}")
    helper.line(f"call void @llvm.set.rounding(i32 {_LLVM_ROUNDING['rn']}) strictfp")
    helper.line(f"ret {shape} {result}")
    body = "\n".join(helper.lines)
    e.out.define(name, f"define internal {shape} @{name}({params}) noinline strictfp {{\n{body}\n}}")
    return name


def _doubles(e: Elementwise, *args: Value) -> list[Value]:
    return [e.cast("fpext", arg, "double") for arg in args]


def _sum(e: Elementwise, rounding: str, a: Value, b: Value) -> Value:
    """The sum of two f64 with at most 48 bits each, to f32."""
    total = e.op("fadd", a, b)
    nearest = e.cast("fptrunc", total, "float")
    back = e.cast("fpext", nearest, "double")
    # What the f64 sum lost, exactly (Knuth's TwoSum). With infinities it is NaN, which compares as nothing lost.
    other = e.op("fsub", total, a)
    lost = e.op("fadd", e.op("fsub", a, e.op("fsub", total, other)), e.op("fsub", b, other))
    zero = e.const("double", 0.0)
    same = e.fcmp("oeq", back, total)
    below = e.op("or", e.fcmp("olt", back, total), e.op("and", same, e.fcmp("ogt", lost, zero)))
    above = e.op("or", e.fcmp("ogt", back, total), e.op("and", same, e.fcmp("olt", lost, zero)))
    result = nudge(e, nearest, below, above, rounding)
    if rounding != "rm":
        return result
    # Rounding down, a sum that is exactly zero is -0 unless both operands are +0.
    signs = e.op("lshr", e.op("or", e.as_int(a), e.as_int(b)), e.const("i64", 63))
    sign = e.op("shl", e.resize(signs, "i32"), e.const("i32", 31))
    bits = e.as_int(result)
    return e.as_float(e.select(e.fcmp("oeq", total, zero), e.op("or", bits, sign), bits), "float")


def _add(e: Elementwise, rounding: str, a: Value, b: Value) -> Value:
    return _sum(e, rounding, *_doubles(e, a, b))


def _subtract(e: Elementwise, rounding: str, a: Value, b: Value) -> Value:
    return _sum(e, rounding, *_doubles(e, a, e.unary("fneg", b)))


def _multiply(e: Elementwise, rounding: str, a: Value, b: Value) -> Value:
    return double_to_single(e, e.op("fmul", *_doubles(e, a, b)), rounding)


def _fma(e: Elementwise, rounding: str, a: Value, b: Value, c: Value) -> Value:
    a, b, c = _doubles(e, a, b, c)
    return _sum(e, rounding, e.op("fmul", a, b), c)


def _divide(e: Elementwise, rounding: str, a: Value, b: Value) -> Value:
    """The quotient times the divisor is exact in f64. Both sides are compared as if the divisor were positive."""
    nearest = e.op("fdiv", a, b)
    quotient, dividend, divisor = _doubles(e, nearest, a, b)
    product = e.op("fmul", quotient, e.intrinsic("fabs", divisor))
    exact = e.op("fmul", dividend, e.intrinsic("copysign", e.const("double", 1.0), divisor))
    return nudge(e, nearest, e.fcmp("olt", product, exact), e.fcmp("ogt", product, exact), rounding)


def _square_root(e: Elementwise, rounding: str, a: Value) -> Value:
    nearest = e.intrinsic("sqrt", a)
    root, radicand = _doubles(e, nearest, a)
    square = e.op("fmul", root, root)
    return nudge(e, nearest, e.fcmp("olt", square, radicand), e.fcmp("ogt", square, radicand), rounding)


_SINGLE: dict[str, Callable[..., Value]] = {
    "fadd": _add,
    "fsub": _subtract,
    "fmul": _multiply,
    "fma": _fma,
    "fdiv": _divide,
    "sqrt": _square_root,
}
