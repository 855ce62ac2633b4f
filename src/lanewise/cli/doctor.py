"""`lanewise doctor`: what is there, what is missing, why, and who can fix it."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from lanewise.cli.capabilities import Capability, checks
from lanewise.errors import ExitCode

__all__ = ["Capability", "checks", "doctor"]


def doctor(json: bool = False) -> int:
    """Print every capability; returns 0 where all that programs need is there, else the environment's exit code."""
    found = checks()
    if json:
        sys.stdout.write(as_json(found))
    else:
        show(found, Console(highlight=False, markup=False, emoji=False))
    return exit_code(found)


def exit_code(found: Sequence[Capability]) -> ExitCode:
    return ExitCode.ENVIRONMENT if any(item.blocks for item in found) else ExitCode.OK


def as_json(found: Sequence[Capability]) -> str:
    """One object: `ok`, and `capabilities` with the fields of `Capability`."""
    answer = {"ok": exit_code(found) == ExitCode.OK, "capabilities": [asdict(item) for item in found]}
    return json_text.dumps(answer, indent=2) + "\n"


def show(found: Sequence[Capability], console: Console) -> None:
    """A line for each capability; below a missing one its cause, who can fix it, and how."""
    width = max(len(item.name) for item in found)
    for item in found:
        mark, style = ("ok", "green") if item.present else ("missing", "bold red") if item.blocks else ("no", "yellow")
        head = Text.assemble((f"{mark:>7}", style), "  ", (f"{item.name:<{width}}", "bold"), "  ", item.detail)
        console.print(head, soft_wrap=True)
        for label, text in (("why", item.cause), (_fix_label(item), item.command)):
            if text is not None:
                console.print(Text(f"{' ' * (width + 11)}{label}: {text}"), soft_wrap=True)
    console.print()
    console.print(Text(_verdict(found)), soft_wrap=True)


def _fix_label(item: Capability) -> str:
    return f"{item.fixed_by or 'you'} can fix it"


def _verdict(found: Sequence[Capability]) -> str:
    blocking = [item.name for item in found if item.blocks]
    if blocking:
        return f"Programs cannot be run here: {', '.join(blocking)}."
    if any(item.name == "device" and item.present for item in found):
        return "Everything that programs need is there."
    return "Everything that programs need is there. They run on the CPU (no GPU found)."
