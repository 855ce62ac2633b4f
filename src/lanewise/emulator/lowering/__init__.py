"""PTX instructions as LLVM IR: one function an instruction, one file a group.

The instruction table names each function by a key such as `integer.add`; `resolve` finds it. Elementwise functions are
`(e: Elementwise, ins: Instruction, *operands: Value) -> Value | tuple[Value, ...]`: bits in, bits out, the same code
for one lane and for 32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def resolve(key: str) -> Callable[..., Any]:
    """The lowering function of a table key: "integer.add" is `add` of `lanewise.emulator.lowering.integer`.

    Raises LookupError where the key names no module or no function: an error in the table.
    """
    module_name, _, function_name = key.partition(".")
    try:
        function = getattr(import_module(f"{__name__}.{module_name}"), function_name)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"the instruction table names the lowering {key!r}, which does not exist") from error
    if not callable(function):
        raise LookupError(f"the instruction table names the lowering {key!r}, which is not a function")
    return function  # type: ignore[no-any-return]
