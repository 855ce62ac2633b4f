"""What is wrong with an asynchronous copy, in words, with the section of the PTX ISA that states the rule."""

from __future__ import annotations

from lanewise.emulator.layout import CopyFault

# By kind: what is wrong ("{}" is the number at fault), what to do.
_WORDS = {
    CopyFault.SOURCE_SIZE: (
        "an asynchronous copy reads {} bytes, more than it writes",
        "the size of the source is at most that of the copy (PTX ISA 9.7.9.25.3.1)",
    ),
}


def words(kind: int, number: int) -> tuple[str, str, tuple[str, ...], str | None]:
    """(check, message, evidence, next step) of a fault."""
    message, next_step = _WORDS[kind]
    return "copy", message.format(number), (), next_step
