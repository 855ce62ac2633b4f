"""Standard headers that kernels include and NVRTC has not: what device code uses of them.

NVRTC knows printf, assert and the mathematical functions by itself, so their headers hold little or nothing; the rest
comes from libcu++. Values are those of the C standard for the types of a 64-bit Linux host.
"""

from __future__ import annotations

_STD = "namespace std { using namespace cuda::std; }\n"
_SIZES = ("8", "16", "32", "64")
_INTEGERS = [
    *(f"{sign}int{kind}{bits}_t" for sign in ("", "u") for kind in ("", "_least", "_fast") for bits in _SIZES),
    "intmax_t", "uintmax_t", "intptr_t", "uintptr_t",
]  # fmt: skip
_LIMITS = {
    "CHAR_BIT": "8", "SCHAR_MIN": "(-128)", "SCHAR_MAX": "127", "UCHAR_MAX": "255", "CHAR_MIN": "SCHAR_MIN",
    "CHAR_MAX": "SCHAR_MAX", "SHRT_MIN": "(-32768)", "SHRT_MAX": "32767", "USHRT_MAX": "65535",
    "INT_MIN": "(-INT_MAX - 1)", "INT_MAX": "2147483647", "UINT_MAX": "4294967295U",
    "LONG_MIN": "(-LONG_MAX - 1L)", "LONG_MAX": "9223372036854775807L", "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MIN": "(-LLONG_MAX - 1LL)", "LLONG_MAX": "9223372036854775807LL", "ULLONG_MAX": "18446744073709551615ULL",
}  # fmt: skip
_FLOAT = {
    "FLT_RADIX": "2", "FLT_MANT_DIG": "24", "FLT_DIG": "6", "FLT_MIN_EXP": "(-125)", "FLT_MAX_EXP": "128",
    "FLT_MIN_10_EXP": "(-37)", "FLT_MAX_10_EXP": "38", "FLT_MAX": "3.40282347e+38F", "FLT_MIN": "1.17549435e-38F",
    "FLT_EPSILON": "1.19209290e-07F",
    "DBL_MANT_DIG": "53", "DBL_DIG": "15", "DBL_MIN_EXP": "(-1021)", "DBL_MAX_EXP": "1024",
    "DBL_MIN_10_EXP": "(-307)", "DBL_MAX_10_EXP": "308", "DBL_MAX": "1.7976931348623157e+308",
    "DBL_MIN": "2.2250738585072014e-308", "DBL_EPSILON": "2.2204460492503131e-16",
}  # fmt: skip
_MATH = {
    # As libcu++ writes them, so that it may define them again.
    "INFINITY": "_CUDA_VSTD::numeric_limits<float>::infinity()",
    "NAN": "_CUDA_VSTD::numeric_limits<float>::quiet_NaN()",
    "M_E": "2.7182818284590452354", "M_LOG2E": "1.4426950408889634074", "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942", "M_LN10": "2.30258509299404568402", "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923", "M_PI_4": "0.78539816339744830962", "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308", "M_2_SQRTPI": "1.12837916709551257390", "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
}  # fmt: skip
_FUNCTIONS = """
    abs fabs fmod remainder fma fmax fmin fdim exp exp2 expm1 log log10 log2 log1p pow sqrt cbrt hypot
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma
    ceil floor trunc round lround llround nearbyint rint lrint llrint frexp ldexp modf scalbn scalbln ilogb logb
    nextafter copysign isfinite isinf isnan signbit
"""


def _macros(values: dict[str, str]) -> str:
    return "".join(f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in values.items())


def _header(*includes: str, rest: str = "") -> str:
    return "#pragma once\n" + "".join(f"#include <cuda/std/{name}>\n" for name in includes) + rest


def _all() -> dict[str, str]:
    functions = "namespace std { " + " ".join(f"using ::{name};" for name in _FUNCTIONS.split()) + " }\n"
    texts = {
        "cstdio": _header(rest="namespace std { using ::printf; }\n"),
        "cassert": _header(),
        "cmath": _header("limits", rest=functions + _macros(_MATH)),
        "cstdint": _header("cstdint", rest=_STD + "".join(f"using cuda::std::{name};\n" for name in _INTEGERS)),
        "cstddef": _header("cstddef", rest=_STD),
        "climits": _header(rest=_macros(_LIMITS)),
        "cfloat": _header(rest=_macros(_FLOAT)),
    }
    texts |= {f"{name[1:]}.h": text for name, text in texts.items()}
    for name in ("limits", "type_traits", "utility", "tuple", "array", "functional", "complex", "initializer_list"):
        texts[name] = _header(name, rest=_STD)
    return texts


HEADERS: dict[str, str] = _all()
