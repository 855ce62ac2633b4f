"""Writes docs/ptx-support.md from the table: `python -m lanewise.ptx.instructions.support > docs/ptx-support.md`."""

from __future__ import annotations

import sys

from lanewise.ptx.instructions import TABLE, InstructionSpec, Status
from lanewise.ptx.parser import NEWEST_VERSION, OLDEST_VERSION
from lanewise.ptx.special_registers import SPECIAL_REGISTERS, SpecialRegister

_HEAD = """# PTX support

<!-- Made from the table of instructions by `python -m lanewise.ptx.instructions.support`; do not edit. -->

PTX of versions {oldest} to {newest} is read. The table holds the instructions of PTX ISA 9.2, with the section numbers
of 9.1; one that came later is reported as unknown. A program that uses an instruction which is not supported is refused
before it runs, with all such instructions listed at once.

{supported} of {total} instructions are supported; they are translated by the functions named in the last column.
"""


def page() -> str:
    """The whole page."""
    parts = [
        _HEAD.format(
            oldest=".".join(map(str, OLDEST_VERSION)),
            newest=".".join(map(str, NEWEST_VERSION)),
            supported=sum(spec.status is Status.SUPPORTED for spec in TABLE),
            total=len(TABLE),
        )
    ]
    for name in dict.fromkeys(spec.group for spec in TABLE):
        parts.append(_group(name, [spec for spec in TABLE if spec.group == name]))
    parts.append(_registers())
    return "\n".join(parts)


def _group(name: str, specs: list[InstructionSpec]) -> str:
    lines = [f"## {name}", "", "| instruction | what | section | supported |", "| --- | --- | --- | --- |"]
    for spec in specs:
        state = f"`{spec.lowering}`" if spec.lowering else f"no: {spec.reason}"
        lines.append(f"| `{spec.opcode}` | {spec.title} | {spec.section} | {state} |")
    return "\n".join(lines) + "\n"


def _register_name(register: SpecialRegister) -> str:
    return f"`{register.name}`" + (" (.x, .y, .z)" if register.vector else "")


def _registers() -> str:
    lines = ["## Special registers", "", "| register | type | section | supported |", "| --- | --- | --- | --- |"]
    groups: dict[tuple[str, str, str | None], list[str]] = {}
    for register in SPECIAL_REGISTERS.values():
        groups.setdefault((register.type, register.section, register.reason), []).append(_register_name(register))
    for (ptx_type, section, reason), names in groups.items():
        shown = names if len(names) < 8 else [names[0], "...", names[-1]]
        lines.append(f"| {' '.join(shown)} | {ptx_type} | {section} | {'no: ' + reason if reason else 'yes'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
