"""Names of C++ as the user wrote them, by the C++ library's own demangler."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache, lru_cache
from typing import Any


@cache
def _demangler() -> Any:
    for name in ("libstdc++.so.6", "libc++abi.dylib", "libc++.1.dylib", ctypes.util.find_library("stdc++") or ""):
        if not name:
            continue
        try:
            function = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
        return function
    return None


@lru_cache(maxsize=4096)
def demangle(symbol: str) -> str:
    """`vector_add(float const*, float*, int)` for `_Z10vector_addPKfPfi`; what is no mangled name stays as it is."""
    function = _demangler()
    if function is None or not symbol.startswith("_Z"):
        return symbol
    status = ctypes.c_int()
    result = function(symbol.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not result:
        return symbol
    text = ctypes.string_at(result).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(result))
    return text
