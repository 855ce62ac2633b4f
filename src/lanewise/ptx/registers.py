"""The type of a register, by name."""

from __future__ import annotations

from lanewise.ptx.scopes import family_prefixes
from lanewise.ptx.syntax import Function


def function_register_type(function: Function, name: str) -> str | None:
    """The declared type of a register of a function; None where there is no such register.

    Members of a family (`%r7` of `%r<8>`) are entered in `function.registers` when first asked for.
    """
    found = function.registers.get(name)
    if found is not None:
        return found
    base, _, component = name.partition(".")
    for prefix in family_prefixes(base):
        family = function.families_by_prefix.get(prefix)
        if family is None or family.count is None or int(base[len(prefix) :]) >= family.count:
            continue
        if bool(component) != (family.vector > 1):
            return None
        function.registers[name] = family.type
        return family.type
    return None
